// The question on top of every page.
import type { Page } from "../pages";
import { go, href, view } from "../router";
import { dark, turnTheme } from "../theme";
import { SelectorBar } from "./SelectorBar";
import { TimeRange } from "./TimeRange";

export function Brand() {
  return (
    <a class="brand" href="/" aria-label="Vestal, first page">
      <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" aria-hidden="true">
        <path d="M5 20h14" /><path class="ember" d="M12 17c-3.200 0-5-2-5-4.600C7 9 10.500 7.600 11 3.500c3.600 2 6 5.200 6 8.700 0 2.800-1.900 4.800-5 4.800z" />
      </svg>
      <span>Vestal</span>
    </a>
  );
}

export function Header({ pages, current, onHelp, onPalette }: { pages: Page[]; current: Page; onHelp: () => void; onPalette: () => void }) {
  const v = view.value;
  return (
    <header id="top">
      <Brand />
      <nav aria-label="Pages">
        {pages.filter((p) => !p.hidden).map((p) => <a href={href({ page: p.path })} aria-current={p === current ? "page" : undefined}>{p.title}</a>)}
      </nav>
      {current.question !== false ? (
        <>
          <SelectorBar value={v.query} onChange={(query) => go({ query })} />
          <TimeRange />
        </>
      ) : <span class="push" />}
      <button type="button" class="btn" title="All commands" onClick={onPalette}>Commands<kbd aria-hidden="true">Ctrl K</kbd></button>
      <button type="button" class="btn" title="Dark or light" onClick={() => turnTheme()}>{dark.value ? "Light" : "Dark"}<kbd aria-hidden="true">d</kbd></button>
      <button type="button" class="btn" title="What the keys do" onClick={onHelp}>Keys<kbd aria-hidden="true">?</kbd></button>
    </header>
  );
}
