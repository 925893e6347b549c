// Every key in one table.
import type { Actions } from "../bench/actions";
import type { App } from "../bench/app";
import type { SearchBox } from "../bench/search-box";
import type { Stage } from "../bench/stage";
import type { Toolbar } from "../bench/toolbar";
import type { Help } from "./help";

export interface Parts {
  app: App;
  actions: Actions;
  toolbar: Toolbar;
  help: Help;
  search: SearchBox;
  stage: Stage;
  theme: () => void;
}

export function listenKeys({ app, actions, toolbar, help, search: box, stage, theme }: Parts): void {
  const search = box.input;
  box.listen((by) => toolbar.step(by), () => stage.element.focus());
  const { diff } = app.model.meta;
  const table: Record<string, () => void> = {
    Enter: () => actions.zoomSelected(),
    Escape: () => app.back(),
    "0": () => app.zoom(0),
    "/": () => search.select(),
    n: () => toolbar.step(1),
    N: () => toolbar.step(-1),
    r: () => app.set({ regex: !app.state.regex }),
    "1": () => app.set({ view: "flame", func: -1 }),
    i: () => toolbar.invert(),
    s: () => toolbar.sandwich(),
    f: () => app.set({ up: !app.state.up }),
    o: () => app.set({ order: app.state.order === "name" ? "weight" : "name" }),
    t: () => app.set({ table: !app.state.table }, false),
    "[": () => actions.nextType(-1),
    "]": () => actions.nextType(1),
    c: () => actions.copyName(),
    C: () => actions.copyStack(),
    y: () => actions.copyFolded(),
    d: theme,
    "?": () => help.toggle(),
    m: () => diff && app.set({ normalise: !app.state.normalise }),
    w: () => diff && app.set({ swap: !app.state.swap }),
  };
  document.addEventListener("keydown", (e) => {
    // The browser's own search sees no text in a picture; pressed twice it is still there.
    if (e.key === "f" && (e.ctrlKey || e.metaKey) && !e.altKey && document.activeElement !== search) {
      e.preventDefault();
      return search.select();
    }
    if (e.ctrlKey || e.metaKey || e.altKey || help.open) return;
    const target = e.target as HTMLElement;
    if (target === search) return;
    if (e.key.startsWith("Arrow")) {
      if (target.closest(".rows, .side, .types")) return;
      e.preventDefault();
      return actions.walk(e.key);
    }
    // Enter on a button presses the button.
    if (e.key === "Enter" && target.closest("button, a, dialog")) return;
    const act = table[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
}
