// The same query as a terminal command.
import type { View } from "./view";

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

export function questionWords(view: View, type: string): string[] {
  const words = [view.query || "{}"];
  if (type) words.push("--type", type);
  words.push("--from", view.from);
  if (view.until !== "now") words.push("--until", view.until);
  for (const { kind, text } of view.filters) words.push(`--${kind.replace("_", "-")}`, text);
  for (const tag of view.tags) words.push("--tag", tag);
  return words;
}

// `more`: what this view adds, such as --flame out.html.
export function vestalCommand(view: View, type: string, server: string, more: string[] = []): string {
  const words = ["vestal", "query", ...questionWords(view, type), ...more];
  if (server !== "http://127.0.0.1:4040") words.push("--server", server);
  return words.map(shellWord).join(" ");
}

export interface Asked {
  query: string;
  from: string;
  until: string;
}

// The URL of the selection as a file, which "vestal diff" can read.
function fileOf(view: View, asked: Asked, type: string, server: string): string {
  const out = new URLSearchParams([["query", asked.query || "{}"], ["type", type], ["from", asked.from], ["until", asked.until]]);
  for (const { kind, text } of view.filters) out.append(kind, text);
  for (const tag of view.tags) out.append("tag", tag);
  out.set("format", "pprof");
  return `${server}/api/v1/export?${out}`;
}

// Two selections as the two sides of "vestal diff".
export function diffCommand(view: View, before: Asked, after: Asked, type: string, server: string): string {
  const words = ["vestal", "diff", fileOf(view, before, type, server), fileOf(view, after, type, server)];
  if (view.rest.norm === "0") words.push("--no-normalise");
  return words.map(shellWord).join(" ");
}
