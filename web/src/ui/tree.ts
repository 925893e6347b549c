// The tree of a selection: bytes from the server, decoded into a model; a large one by a worker.
import { decodeVft, Model, VftError } from "../flame";
import { getBytes } from "./api";
import { completenessOf, type Completeness } from "./completeness";
import type { Amount, RateChange } from "./kinds";
import type { Done } from "./tree-worker";
import { filterParams, question, type View } from "./view";

export interface TreeAnswer {
  model: Model;
  // The total from the server; for a comparison also the change.
  amount?: Amount;
  change?: RateChange;
  // Its completeness; for a comparison of both sides.
  completeness?: Completeness;
  completenessBefore?: Completeness;
  // Bytes of the answer and milliseconds to decode it.
  bytes: number;
  ms: number;
}

// Below this the page itself is done before a worker has started.
const LARGE_BYTES = 3 << 20;

export function treeParams(view: View): [string, string][] {
  return [...question(view), ...filterParams(view)];
}

export async function askTree(params: [string, string][], signal: AbortSignal): Promise<TreeAnswer> {
  const buffer = await getBytes("tree", params, signal);
  const start = performance.now();
  const bytes = buffer.byteLength;
  const model = await modelOf(buffer, signal);
  return { model, amount: amountOf(model), completeness: completenessOf(model.meta.answer), bytes, ms: performance.now() - start };
}

export function amountOf(model: Model): Amount {
  return model.meta.answer as unknown as Amount;
}

export function changeOf(model: Model): RateChange {
  return model.meta.answer as unknown as RateChange;
}

export async function modelOf(buffer: ArrayBuffer, signal: AbortSignal): Promise<Model> {
  if (buffer.byteLength < LARGE_BYTES || typeof Worker === "undefined") return new Model(decodeVft(buffer));
  const done = await inWorker(buffer, signal);
  if (!done.buffer || !done.tree || !done.lay) throw new VftError(done.error ?? "the data could not be read");
  const model = new Model(decodeVft(done.buffer));
  // The columns that are the answer's own came back with its bytes.
  const columns = model.columns({ type: model.meta.defaultType, normalise: true, swap: false });
  model.prepared = { tree: { ...done.tree, parent: model.vft.parent, frame: model.vft.frame, self: columns.self }, lay: done.lay };
  return model;
}

let worker: Worker | null = null;
let jobs = 0;

function inWorker(buffer: ArrayBuffer, signal: AbortSignal): Promise<Done> {
  worker ??= new Worker(new URL("./tree-worker.ts", import.meta.url), { type: "module" });
  const own = worker;
  const id = ++jobs;
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      own.removeEventListener("message", hear);
      own.removeEventListener("error", fail);
      signal.removeEventListener("abort", give);
    };
    const hear = (e: MessageEvent<Done>): void => {
      if (e.data.id !== id) return;
      stop();
      resolve(e.data);
    };
    const fail = (e: ErrorEvent): void => {
      stop();
      worker = null;
      reject(new Error(e.message));
    };
    const give = (): void => {
      stop();
      reject(new DOMException("cancelled", "AbortError"));
    };
    own.addEventListener("message", hear);
    own.addEventListener("error", fail);
    signal.addEventListener("abort", give);
    own.postMessage({ id, buffer }, [buffer]);
  });
}
