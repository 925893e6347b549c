// The same question for a terminal.
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
