// Requests to the server. An error is the server's message; a server that does not respond is a
// separate state, and all requests are repeated when it is back.
import { signal } from "@preact/signals";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
  // Nothing is stored that fits: not a mistake.
  get empty(): boolean {
    return this.code === "not_found";
  }
}

export class AwayError extends Error {}

export type Params = [string, string][] | Record<string, string>;

// Whether the server responds, and a number that is incremented when it is back or on refresh.
export const away = signal(false);
export const revision = signal(0);
export const needsToken = signal(false);

const TOKEN = "vestal-token";
const RETRY_MS = 2000;

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
  needsToken.value = false;
  revision.value++;
}

export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN) !== null;
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN);
  revision.value++;
}

function headers(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

let watching = false;

// Polls until the server responds again.
async function watch(): Promise<void> {
  if (watching) return;
  watching = true;
  away.value = true;
  while (watching) {
    await new Promise((r) => setTimeout(r, RETRY_MS));
    try {
      const reply = await fetch("/-/healthy", { cache: "no-store" });
      if (reply.ok) watching = false;
    } catch {
      // Still no response.
    }
  }
  away.value = false;
  revision.value++;
}

async function refusal(reply: Response): Promise<Error> {
  let body: { code?: string; message?: string } = {};
  try {
    body = (await reply.json()) as typeof body;
  } catch {
    // A proxy's page, not the server's answer.
    if (reply.status >= 502 && reply.status <= 504) {
      void watch();
      return new AwayError("the server does not respond");
    }
  }
  if (reply.status === 401) needsToken.value = true;
  return new ApiError(reply.status, body.code ?? "http", body.message ?? `the server returned status ${reply.status}`);
}

export function address(path: string, params: Params = {}): string {
  const text = new URLSearchParams(params).toString();
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

// Requests sent before their page was loaded; each is used once.
const early = new Map<string, Promise<Response>>();

export function askEarly(path: string, params: Params): void {
  const url = address(path, params);
  const reply = fetch(url, { headers: headers() });
  // The user of the result handles failures.
  reply.catch(() => undefined);
  early.set(url, reply);
}

function taken(url: string, init: RequestInit): Promise<Response> | undefined {
  const reply = init.method === undefined ? early.get(url) : undefined;
  early.delete(url);
  return reply;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let reply: Response;
  try {
    reply = await (taken(url, init) ?? fetch(url, { ...init, headers: { ...headers(), ...init.headers } }));
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    void watch();
    throw new AwayError("the server does not respond");
  }
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

// Reading the body may fail half way, when the server stops while it answers.
async function whole<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    void watch();
    throw new AwayError("the response was incomplete");
  }
}

export async function get<T>(path: string, params: Params, signal?: AbortSignal): Promise<T> {
  const reply = await send(address(path, params), { signal });
  return whole(reply.json() as Promise<T>);
}

export async function getBytes(path: string, params: Params, signal?: AbortSignal): Promise<ArrayBuffer> {
  const reply = await send(address(path, params), { signal });
  return whole(reply.arrayBuffer());
}

// Paths outside of /api/v1: the server's own metrics.
export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return whole((await send(path, { signal, cache: "no-store" })).text());
}

export async function post(path: string, params: Params, body: BodyInit, signal?: AbortSignal): Promise<Response> {
  return send(address(path, params), { method: "POST", body, signal });
}
