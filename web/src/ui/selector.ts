// The selector as text: which part the cursor stands in (for completion), its parts (for colour), and
// how a matcher is added by a click.

export type Part = { kind: "service" | "name" | "value" | "mark"; text: string };

const OPERATORS = ["=~", "!~", "!=", "="];

// Splits a selector into coloured parts; anything goes, also half-written text.
export function parts(text: string): Part[] {
  const out: Part[] = [];
  const brace = text.indexOf("{");
  const service = brace < 0 ? text : text.slice(0, brace);
  if (service) out.push({ kind: "service", text: service });
  let at = brace < 0 ? text.length : brace;
  while (at < text.length) {
    const rest = text.slice(at);
    const value = rest.match(/^"(?:[^"\\]|\\.)*"?/);
    const name = rest.match(/^[A-Za-z_][\w.]*/);
    const mark = rest.match(/^(=~|!~|!=|[^A-Za-z_"])/);
    const found = value?.[0] ?? name?.[0] ?? mark?.[0] ?? rest[0];
    out.push({ kind: value ? "value" : name ? "name" : "mark", text: found });
    at += found.length;
  }
  return out;
}

export interface Completing {
  kind: "service" | "name" | "operator" | "value" | "end";
  // What is written of it so far, and where it stands.
  written: string;
  from: number;
  to: number;
  // The label whose value is wanted.
  label: string;
}

export function completingAt(text: string, cursor: number): Completing {
  const brace = text.indexOf("{");
  if (brace < 0 || cursor <= brace) {
    const to = brace < 0 ? text.length : brace;
    return { kind: "service", written: text.slice(0, cursor).trim(), from: 0, to, label: "" };
  }
  let at = brace + 1;
  for (;;) {
    const blank = (text.slice(at, cursor).match(/^[\s,]*/) as RegExpMatchArray)[0].length;
    at += blank;
    const label = (text.slice(at).match(/^[A-Za-z_][\w.]*/) ?? [""])[0];
    if (at + label.length >= cursor) return { kind: "name", written: text.slice(at, cursor), from: at, to: at + label.length, label: "" };
    at += label.length;
    const space = (text.slice(at).match(/^\s*/) as RegExpMatchArray)[0].length;
    const operator = OPERATORS.find((o) => text.startsWith(o, at + space));
    if (!operator) return { kind: text[at + space] === "}" ? "end" : "operator", written: "", from: at + space, to: at + space, label };
    at += space + operator.length;
    const gap = (text.slice(at).match(/^\s*/) as RegExpMatchArray)[0].length;
    if (text[at + gap] !== '"') return { kind: "value", written: text.slice(at + gap, cursor), from: at + gap, to: at + gap, label };
    at += gap;
    const value = (text.slice(at).match(/^"(?:[^"\\]|\\.)*"?/) as RegExpMatchArray)[0];
    const closed = value.length > 1 && value.endsWith('"');
    if (cursor < at + value.length || (cursor === at + value.length && !closed))
      return { kind: "value", written: text.slice(at + 1, cursor), from: at, to: at + value.length, label };
    at += value.length;
    if (text[at] === "}") return { kind: "end", written: "", from: at + 1, to: at + 1, label: "" };
    if (text[at] !== "," || cursor <= at) return { kind: "end", written: "", from: at, to: at, label: "" };
  }
}

export function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}

// The text after a choice, and where the cursor goes.
export function completed(text: string, at: Completing, choice: string): { text: string; cursor: number } {
  const before = text.slice(0, at.from);
  const after = text.slice(at.to);
  if (at.kind === "name") {
    const tail = /^\s*(=|!)/.test(after) ? "" : '="';
    return { text: before + choice + tail + after, cursor: (before + choice + tail).length };
  }
  if (at.kind === "value") {
    const close = /^\s*[,}]/.test(after) ? "" : "}";
    return { text: before + quoted(choice) + close + after, cursor: (before + quoted(choice) + close).length };
  }
  return { text: before + choice + after, cursor: (before + choice).length };
}

// Adds name="value" to a selector, or replaces what it says about the name.
export function withMatcher(text: string, name: string, value: string): string {
  if (name === "service_name") {
    const brace = text.indexOf("{");
    return /^[\w.\-/]+$/.test(value) ? value + (brace < 0 ? "" : text.slice(brace)) : `{service_name=${quoted(value)}}`;
  }
  const matcher = `${name}=${quoted(value)}`;
  const brace = text.indexOf("{");
  if (brace < 0) return `${text}{${matcher}}`;
  const inside = text.slice(brace + 1, text.lastIndexOf("}") < 0 ? undefined : text.lastIndexOf("}"));
  const kept = matchers(inside).filter((m) => m.match(/^\s*([A-Za-z_][\w.]*)/)?.[1] !== name);
  return `${text.slice(0, brace)}{${[...kept, matcher].join(",")}}`;
}

// Everything but these values of a label.
export function withoutValues(text: string, name: string, values: string[]): string {
  const brace = text.indexOf("{");
  const inside = brace < 0 ? "" : text.slice(brace + 1, text.lastIndexOf("}"));
  const all = [...matchers(inside), ...values.map((v) => `${name}!=${quoted(v)}`)];
  return `${brace < 0 ? text : text.slice(0, brace)}{${all.join(",")}}`;
}

function matchers(inside: string): string[] {
  return inside.match(/[A-Za-z_][\w.]*\s*(=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"/g) ?? [];
}

// Whether every quote and brace is closed: worth asking the server.
export function isWhole(text: string): boolean {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  return !bare.includes('"') && (bare.match(/\{/g)?.length ?? 0) === (bare.match(/\}/g)?.length ?? 0);
}
