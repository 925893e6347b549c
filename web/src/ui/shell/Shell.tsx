// The frame around every page: header, the state of the connection, the page, messages.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { away, needsToken, revision } from "../api";
import { useCommands, type Command } from "../commands";
import { notice, say } from "../notice";
import { pageOf, PAGES, type Page } from "../pages";
import { go, view } from "../router";
import { turnTheme } from "../theme";
import { toMs, shifted, widened } from "../time";
import { copyText } from "../../bench/clipboard";
import { Header } from "./Header";
import { Help } from "./Help";
import { Palette } from "./Palette";
import { Loading, NotFetched, TokenForm } from "./states";
import { setRange } from "./TimeRange";

function moveRange(how: (from: number, until: number, now: number) => [number, number]): void {
  const { from, until } = view.peek();
  const now = Date.now();
  const [a, b] = how(toMs(from, now), toMs(until, now), now);
  if (isFinite(a) && isFinite(b)) setRange(String(a), String(b));
}

export async function copyLink(): Promise<void> {
  say((await copyText(location.href)) ? "Copied the link" : "The browser did not allow copying");
}

function shellCommands(open: { help: () => void; palette: () => void }): Command[] {
  const focus = (id: string): void => document.getElementById(id)?.focus();
  return [
    { id: "selector", group: "Question", title: "Edit the selector", keys: ["e"], run: () => focus("selector") },
    { id: "range", group: "Question", title: "Choose the time range", keys: ["T"], run: () => document.getElementById("range")?.click() },
    { id: "earlier", group: "Question", title: "Earlier: the range before this one", keys: ["<"], run: () => moveRange((a, b) => shifted(a, b, -1)) },
    { id: "later", group: "Question", title: "Later: the range after this one", keys: [">"], run: () => moveRange((a, b) => shifted(a, b, 1)) },
    { id: "wider", group: "Question", title: "Double the time range", keys: ["-"], run: () => moveRange(widened) },
    { id: "refresh", group: "Question", title: "Refresh", keys: ["R"], run: () => void revision.value++ },
    ...PAGES.filter((p) => !p.hidden).map((p) => ({ id: `page/${p.path}`, group: "Pages", title: p.title, keys: [`g ${p.key}`], run: () => go({ page: p.path }) })),
    { id: "link", group: "Share", title: "Copy a link to this view", keys: ["L"], run: () => void copyLink() },
    { id: "theme", group: "Everywhere", title: "Dark or light", keys: ["d"], run: () => say(turnTheme() ? "Dark" : "Light") },
    { id: "palette", group: "Everywhere", title: "All commands", keys: ["Ctrl+k", ":"], run: open.palette },
    { id: "help", group: "Everywhere", title: "What the keys do", keys: ["?"], run: open.help },
  ];
}

// A page is fetched when it is first opened.
function usePage(page: Page): { Component?: ComponentType; error?: Error } {
  const [loaded, set] = useState<{ page?: Page; Component?: ComponentType; error?: Error }>({});
  useLayoutEffect(() => {
    page.load().then(
      (Component) => set({ page, Component }),
      (error: Error) => set({ page, error }),
    );
  }, [page]);
  return loaded.page === page ? loaded : {};
}

export function Shell() {
  const [dialog, setDialog] = useState<"" | "help" | "palette">("");
  const page = pageOf(view.value.page);
  const { Component, error } = usePage(page);
  useCommands(() => shellCommands({ help: () => setDialog("help"), palette: () => setDialog("palette") }), []);
  const { query } = view.value;
  useEffect(() => void (document.title = [query, page.title, "Vestal"].filter(Boolean).join(" · ")), [page, query]);
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <Header pages={PAGES} current={page} />
      {away.value && <div class="away" role="alert"><b>The server went away.</b> What you see is the last answer; the page asks again every two seconds.</div>}
      <main id="main" tabIndex={-1} aria-label={page.title}>
        <h1 class="sr">{page.title}{query ? `: ${query}` : ""}</h1>
        {needsToken.value ? <TokenForm /> : error ? <NotFetched title={page.title} /> : Component ? <Component key={page.path} /> : <Loading what={page.title} />}
      </main>
      {dialog === "help" && <Help onClose={() => setDialog("")} />}
      {dialog === "palette" && <Palette onClose={() => setDialog("")} />}
      <div class={`notice ${notice.value ? "on" : ""}`} role="status" aria-live="polite">{notice.value}</div>
    </>
  );
}
