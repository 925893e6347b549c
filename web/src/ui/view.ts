// The state of the page is one value, stored in the URL: a link, a reload and the back button all give
// the same view. Only what differs from the start is written.

export type FilterKind = "focus" | "ignore" | "hide" | "show_from";
export const FILTER_KINDS: FilterKind[] = ["focus", "ignore", "hide", "show_from"];

export interface Filter {
  kind: FilterKind;
  // A regular expression over function names.
  text: string;
}

export interface View {
  // First part of the path; "" is the first page.
  page: string;
  // The query: which profiles, of which type, when.
  query: string;
  type: string;
  from: string;
  until: string;
  // What of the answer: filters on functions, and on labels of single samples ("name=value").
  filters: Filter[];
  tags: string[];
  // Everything else that stands in the address: each page and the workbench own some names.
  rest: Record<string, string>;
}

export const START: View = { page: "", query: "", type: "", from: "-1h", until: "now", filters: [], tags: [], rest: {} };

const OWN = new Set<string>(["query", "type", "from", "until", "tag", ...FILTER_KINDS]);

export function toUrl(view: View): string {
  const out = new URLSearchParams();
  if (view.query) out.set("query", view.query);
  if (view.type) out.set("type", view.type);
  if (view.from !== START.from) out.set("from", view.from);
  if (view.until !== START.until) out.set("until", view.until);
  for (const { kind, text } of view.filters) out.append(kind, text);
  for (const tag of view.tags) out.append("tag", tag);
  for (const name of Object.keys(view.rest).sort()) out.set(name, view.rest[name]);
  // Characters that selectors are made of stay readable; the browser and the server take them as they are.
  const text = out.toString().replace(/%(2C|3A|2F|3D|3B|40|24)/g, (code) => decodeURIComponent(code));
  return `/${view.page}${text ? `?${text}` : ""}`;
}

// Reads an address from anywhere; what makes no sense is left out.
export function fromUrl(path: string, search: string): View {
  const given = new URLSearchParams(search);
  const view: View = { ...START, page: path.split("/")[1] ?? "", filters: [], tags: given.getAll("tag").filter(Boolean), rest: {} };
  view.query = given.get("query") ?? "";
  view.type = given.get("type") ?? "";
  view.from = given.get("from") || START.from;
  view.until = given.get("until") || START.until;
  for (const [name, value] of given) {
    if ((FILTER_KINDS as string[]).includes(name)) {
      if (value) view.filters.push({ kind: name as FilterKind, text: value });
    } else if (!OWN.has(name)) view.rest[name] = value;
  }
  return view;
}

// The parameters of a request to the server.
export function question(view: View): [string, string][] {
  const out: [string, string][] = [["query", view.query || "{}"], ["from", view.from], ["until", view.until]];
  if (view.type) out.push(["type", view.type]);
  return out;
}

export function filterParams(view: View): [string, string][] {
  return [...view.filters.map((f): [string, string] => [f.kind, f.text]), ...view.tags.map((t): [string, string] => ["tag", t])];
}

// A first picture has as many boxes as the page lays out in a moment; where it leaves out much, all of
// them follow.
export const FIRST_NODES = 16384;
export const ALL_NODES = 1048576;
// Its function table has the largest, which are all that is seen of it in that moment.
const FIRST_ROWS = 4096;

// How much of an answer is wanted.
export function sizeParams(nodes: number): [string, string][] {
  const all: [string, string][] = [["max_nodes", String(nodes)]];
  return nodes === FIRST_NODES ? [...all, ["max_rows", String(FIRST_ROWS)]] : all;
}

// The request for the tree of a type.
export function treeQuestion(view: View, type: string, nodes = FIRST_NODES): [string, string][] {
  const size: [string, string][] = view.rest.nodes ? [["max_nodes", view.rest.nodes]] : sizeParams(nodes);
  return [...question({ ...view, type }), ...filterParams(view), ...size, ["format", "vft"]];
}
