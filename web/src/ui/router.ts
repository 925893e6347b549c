// The view as a signal, tied to the address.
import { signal } from "@preact/signals";
import { fromUrl, toUrl, type View } from "./view";

export const view = signal<View>(fromUrl(location.pathname, location.search));

function merged(patch: Partial<View>): View {
  const next = { ...view.peek(), ...patch };
  // Parameters of a page are dropped on navigation to another page.
  if (patch.page !== undefined && patch.page !== view.peek().page && patch.rest === undefined) next.rest = {};
  return next;
}

export function href(patch: Partial<View>): string {
  return toUrl(merged(patch));
}

// Shows another view; `push` makes a step that "back" undoes.
export function go(patch: Partial<View>, push = true): void {
  const next = merged(patch);
  const url = toUrl(next);
  if (url === toUrl(view.peek())) return;
  history[push ? "pushState" : "replaceState"](null, "", url);
  view.value = next;
}

// Changes some of the page's own parameters; undefined and "" take one away.
export function setRest(patch: Record<string, string | undefined>, push = true): void {
  const rest = { ...view.peek().rest };
  for (const [name, value] of Object.entries(patch)) {
    if (value) rest[name] = value;
    else delete rest[name];
  }
  go({ rest }, push);
}

export function startRouter(): void {
  addEventListener("popstate", () => (view.value = fromUrl(location.pathname, location.search)));
  // Links inside the page change the view; with a modifier key they are the browser's.
  document.addEventListener("click", (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    const link = (e.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin || link.pathname.startsWith("/api/")) return;
    e.preventDefault();
    go(fromUrl(link.pathname, link.search));
    scrollTo(0, 0);
  });
}
