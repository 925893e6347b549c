// Files dropped on the page. They are kept in this tab, and stored on the server only on request.
import { signal } from "@preact/signals";
import type { Model } from "../../flame";
import { ApiError, post, type Params } from "../api";
import { modelOf } from "../tree";
import { ALL_NODES } from "../view";

export interface Opened {
  name: string;
  file: Blob;
  model: Model;
  bytes: number;
  ms: number;
  // Its service on the server, after it was stored.
  stored: string;
}

export const opened = signal<Opened[]>([]);
export const MAX_BYTES = 64 * 2 ** 20;

// What the program says of its own options is of no use here.
function asked<T>(reply: Promise<T>): Promise<T> {
  return reply.catch((e: unknown) => {
    throw e instanceof ApiError ? new ApiError(e.status, e.code, e.message.replace(/ \(say it with --\w+\)/, "")) : e;
  });
}

export async function view(file: Blob, params: Params, signal?: AbortSignal): Promise<Model> {
  const reply = await asked(post("view", [["format", "vft"], ["max_nodes", String(ALL_NODES)], ...(Array.isArray(params) ? params : Object.entries(params))], file, signal));
  return modelOf(await reply.arrayBuffer(), signal ?? new AbortController().signal);
}

// A name twice is the same file in a newer state.
export function add(item: Opened): void {
  opened.value = [...opened.value.filter((o) => o.name !== item.name), item];
}

export function close(name: string): void {
  opened.value = opened.value.filter((o) => o.name !== name);
}

export function markStored(name: string, service: string): void {
  opened.value = opened.value.map((o) => (o.name === name ? { ...o, stored: service } : o));
}

// "cpu-checkout.pb.gz" → "cpu-checkout": a service's name to begin with.
export function serviceName(file: string): string {
  const base = file.replace(/^.*[/\\]/, "").replace(/\.(pb|gz|zst|folded|collapsed|txt|json|pprof|prof|perf|data|script|speedscope|cpuprofile|heapprofile|heapsnapshot|jfr|nettrace|out)\b/gi, "");
  return base.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "") || "file";
}
