// The pages. To add one: pages/NAME.tsx with a component, and a line here (web/src/ui/README.md).
import type { ComponentType } from "preact";

export interface Page {
  // First part of the address; "" is the first page.
  path: string;
  title: string;
  // "g KEY" goes there.
  key: string;
  load: () => Promise<ComponentType>;
  // Not in the header's list, only by links.
  hidden?: boolean;
  // False: the page does not use the selector and the time range.
  question?: boolean;
}

export const PAGES: Page[] = [
  { path: "", title: "Overview", key: "o", load: () => import("./pages/overview").then((m) => m.Overview) },
  { path: "explore", title: "Explore", key: "e", load: () => import("./pages/explore").then((m) => m.Explore) },
  { path: "diff", title: "Diff", key: "d", question: false, load: () => import("./pages/diff").then((m) => m.Diff) },
  { path: "heatmap", title: "Heat map", key: "h", load: () => import("./pages/heatmap").then((m) => m.HeatMap) },
  { path: "function", title: "Function", key: "u", hidden: true, load: () => import("./pages/function").then((m) => m.FunctionPage) },
  { path: "files", title: "Files", key: "f", question: false, load: () => import("./pages/files").then((m) => m.Files) },
  { path: "status", title: "Status", key: "s", question: false, load: () => import("./pages/status").then((m) => m.Status) },
];

// Shown for an address that is none of these.
const NOWHERE: Page = { path: "?", title: "Nothing here", key: "", hidden: true, question: false, load: () => import("./pages/nowhere").then((m) => m.Nowhere) };

// "services" was the first page's name once.
export function pageOf(path: string): Page {
  return PAGES.find((p) => p.path === path) ?? (path === "services" ? PAGES[0] : NOWHERE);
}
