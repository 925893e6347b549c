// The query on top of every page.
import { commands } from "../commands";
import type { Page } from "../pages";
import { go, href, view } from "../router";
import { dark } from "../theme";
import { keyWord } from "./Keys";
import { Menu } from "./Menu";
import { SelectorBar } from "./SelectorBar";
import { TimeRange } from "./TimeRange";

function Brand() {
  return (
    <a class="brand" href="/" aria-label="Vestal, first page">
      <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" aria-hidden="true">
        <path d="M5 20h14" /><path class="ember" d="M12 17c-3.200 0-5-2-5-4.600C7 9 10.500 7.600 11 3.500c3.600 2 6 5.200 6 8.700 0 2.800-1.900 4.800-5 4.800z" />
      </svg>
      <span>Vestal</span>
    </a>
  );
}

// Commands as a list of buttons.
function CommandList({ ids, group, close }: { ids?: string[]; group?: string; close: () => void }) {
  const list = commands().filter((c) => (group ? c.group === group : ids?.includes(c.id)));
  return (
    <ul class="list">
      {list.map((c) => <li><button type="button" onClick={() => { close(); c.run(); }}>{c.id === "theme" ? (dark.value ? "Light" : "Dark") : c.title}{c.keys?.[0] && <kbd aria-hidden="true">{keyWord(c.keys[0])}</kbd>}</button></li>)}
    </ul>
  );
}

export function Header({ pages, current }: { pages: Page[]; current: Page }) {
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
      <Menu label="More" title="Commands, theme, keys" id="more">{(close) => <CommandList ids={["refresh", "palette", "theme", "help"]} close={close} />}</Menu>
      <Menu label="Share" title="Link, files, command" className="btn hot" id="share">{(close) => <CommandList group="Share" close={close} />}</Menu>
    </header>
  );
}
