// The server's status: storage, ingest, agents.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, getText } from "../api";

export type Right = "read" | "write" | "admin" | "operator";

export interface Status {
  tenant: string;
  rights: Right[];
  uptime_ns: number;
  profiles: number;
  samples: number;
  series: number;
  services: number;
  spans: number;
  oldest_ns: number;
  newest_ns: number;
  disk_bytes: number;
  dictionary_bytes: number;
  disk_full: boolean;
  disk_state: string;
  retention_suspended: boolean;
  retention_suspended_why: string;
  uncounted_ns: number;
  upkeep_fails: boolean;
  // For those who may see the whole server.
  upkeep_last_failure?: string;
  retention_ns: number;
  max_size: number;
  tenant_max_size: number;
}

export interface Build {
  version: string;
  revision: string;
}

export interface Agent {
  host: string;
  version?: string;
  last_seen_ms?: number;
  rate_hz?: number | null;
  cpu_share?: number | null;
  rss_bytes?: number | null;
  samples_per_s?: number | null;
  dropped?: number | null;
}

// One line per series of Prometheus' text format; labels stay part of the name.
export function parseMetrics(text: string): Map<string, number> {
  const out = new Map<string, number>();
  for (const line of text.split("\n")) {
    const found = line.match(/^([a-zA-Z_:][\w:]*(?:\{.*\})?)\s+(\S+)/);
    if (found && !line.startsWith("#")) out.set(found[1], Number(found[2]));
  }
  return out;
}

// The sum of a counter over all its labels.
export function counter(metrics: Map<string, number>, name: string): number {
  let sum = 0;
  for (const [key, value] of metrics) if (key === name || key.startsWith(`${name}{`)) sum += value;
  return sum;
}

const COUNTERS = { samples: "vestal_samples_total", bytes: "vestal_received_bytes_total", uploads: "vestal_uploads_total", refused: "vestal_requests_failed_total" };
export type Flow = Record<keyof typeof COUNTERS, number>;

export interface Seen {
  time: number;
  totals: Flow;
}

export function flowOf(text: string): Flow {
  const metrics = parseMetrics(text);
  return Object.fromEntries(Object.entries(COUNTERS).map(([key, name]) => [key, counter(metrics, name)])) as Flow;
}

// Per second between two looks; a server that started again counts from nothing.
export function perSecond(a: Seen, b: Seen): Flow {
  const seconds = Math.max(0.001, (b.time - a.time) / 1e3);
  return Object.fromEntries(Object.keys(COUNTERS).map((key) => {
    const k = key as keyof Flow;
    return [k, Math.max(0, b.totals[k] - a.totals[k]) / seconds];
  })) as Flow;
}

const EVERY_MS = 2000;
const KEPT = 61;

// Looks every two seconds while the page is open.
export function useFlow(): Seen[] {
  const [seen, setSeen] = useState<Seen[]>([]);
  const control = useRef(new AbortController());
  useEffect(() => {
    let timer = 0;
    control.current = new AbortController();
    const look = async (): Promise<void> => {
      try {
        const totals = flowOf(await getText("/metrics", control.current.signal));
        setSeen((list) => [...list, { time: Date.now(), totals }].slice(-KEPT));
      } catch {
        // The shell says when the server is away; without the right to look there is no flow.
      }
      if (!control.current.signal.aborted) timer = window.setTimeout(() => void look(), EVERY_MS);
    };
    void look();
    return () => {
      control.current.abort();
      clearTimeout(timer);
    };
  }, []);
  return seen;
}

export async function askStatus(signal: AbortSignal): Promise<{ status: Status; build: Build }> {
  const [status, build] = await Promise.all([get<Status>("status", {}, signal), get<{ data: Build }>("status/buildinfo", {}, signal)]);
  return { status, build: build.data };
}

export interface Token {
  id: string;
  tenant: string;
  name: string;
  created_s: number;
  rights: Right[];
}

export interface Tokens {
  // Whether the server asks for one, and the one this page uses.
  needed: boolean;
  own: string;
  tokens: Token[];
}

export function askTokens(signal: AbortSignal): Promise<Tokens> {
  return get<Tokens>("tokens", {}, signal);
}

export async function askAgents(signal: AbortSignal): Promise<Agent[]> {
  return (await get<{ agents: Agent[] }>("agents", {}, signal)).agents;
}
