// The commands of a workbench.
import type { Actions } from "../../bench/actions";
import type { App } from "../../bench/app";
import type { SearchBox } from "../../bench/search-box";
import type { Stage } from "../../bench/stage";
import type { State } from "../../bench/state";
import type { Toolbar } from "../../bench/toolbar";
import type { Command } from "../commands";
import { filterSelected } from "./detail-more";

export interface Bench {
  app: App;
  actions: Actions;
  toolbar: Toolbar;
  search: SearchBox;
  stage: Stage;
}

// Arrow keys belong to the focused element, if it is a list.
const OWN_ARROWS = ".rows, .side, .types, .timeline, .menu, .calltree, .graph-scroll, .source";

export function benchCommands({ app, actions, toolbar, search, stage }: Bench, stored: boolean): Command[] {
  const group = "Picture";
  const walk = (key: string): void => {
    if (document.activeElement?.closest(OWN_ARROWS)) return;
    actions.walk(key);
    if (stage.element.offsetParent) stage.element.focus();
  };
  const show = (view: State["view"]) => (): void => app.set({ view, func: -1 });
  const list: Command[] = [
    { id: "bench/zoom", group, title: "Zoom to the selected box", keys: ["Enter"], run: () => actions.zoomSelected() },
    { id: "bench/back", group, title: "One step back", keys: ["Escape"], run: () => app.back() },
    { id: "bench/all", group, title: "Show everything", keys: ["0"], run: () => app.zoom(0) },
    { id: "bench/search", group, title: "Search functions", keys: ["/", "Ctrl+f"], run: () => search.input.select() },
    { id: "bench/next", group, title: "Next match, the widest first", keys: ["n"], run: () => toolbar.step(1) },
    { id: "bench/previous", group, title: "Previous match", keys: ["N"], run: () => toolbar.step(-1) },
    { id: "bench/regex", group, title: "Search by regular expression", keys: ["r"], run: () => app.set({ regex: !app.state.regex }) },
    { id: "bench/flame", group, title: "Flame graph, top-down", keys: ["1"], run: show("flame") },
    { id: "bench/invert", group, title: "Bottom-up: functions and their callers", keys: ["i", "2"], run: () => toolbar.invert() },
    { id: "bench/sandwich", group, title: "Sandwich: callers and callees", keys: ["s", "3"], run: () => toolbar.sandwich() },
    { id: "bench/tree", group, title: "Call tree", keys: ["4"], run: show("tree") },
    { id: "bench/graph", group, title: "Call graph", keys: ["5"], run: show("graph") },
    { id: "bench/flip", group, title: "Flame or icicle: root at the bottom or at the top", keys: ["f"], run: () => app.set({ up: !app.state.up }) },
    { id: "bench/order", group, title: "Order by size or by name", keys: ["o"], run: () => app.set({ order: app.state.order === "name" ? "weight" : "name" }) },
    { id: "bench/table", group, title: "Function table on or off", keys: ["t"], run: () => app.set({ table: !app.state.table }, false) },
    { id: "bench/name", group: "Share", title: "Copy the name of the function", keys: ["c"], run: () => actions.copyName() },
    { id: "bench/stack", group: "Share", title: "Copy the stack", keys: ["C"], run: () => actions.copyStack() },
    { id: "bench/folded", group: "Share", title: "Copy all stacks of the zoom", keys: ["y"], run: () => actions.copyFolded() },
    ...[["ArrowUp", "↑"], ["ArrowDown", "↓"], ["ArrowLeft", "←"], ["ArrowRight", "→"]].map(([key, sign]) => ({ id: `bench/${key}`, group, title: `Walk ${sign}`, keys: [key], run: () => walk(key) })),
  ];
  if (stored) {
    list.push(
      { id: "bench/source", group, title: "Source lines", keys: ["6"], run: show("source") },
      { id: "filter/add", group: "Filters", title: "Filter by name", keys: ["x"], run: () => document.getElementById("filter-menu")?.click() },
      { id: "filter/focus", group: "Filters", title: "Focus on the selected function", keys: ["F"], run: () => filterSelected(app, "focus") },
      { id: "filter/ignore", group: "Filters", title: "Ignore stacks through it", keys: ["I"], run: () => filterSelected(app, "ignore") },
      { id: "filter/hide", group: "Filters", title: "Hide it", keys: ["H"], run: () => filterSelected(app, "hide") },
      { id: "filter/from", group: "Filters", title: "Show from it on", keys: ["B"], run: () => filterSelected(app, "show_from") },
    );
  }
  if (app.model.meta.types.length > 1)
    list.push({ id: "bench/type-before", group, title: "Previous sample type", keys: ["["], run: () => actions.nextType(-1) }, { id: "bench/type-after", group, title: "Next sample type", keys: ["]"], run: () => actions.nextType(1) });
  if (app.model.meta.diff)
    list.push({ id: "bench/shares", group, title: "Compare shares or values", keys: ["m"], run: () => app.set({ normalise: !app.state.normalise }) }, { id: "bench/swap", group, title: "Swap before and after", keys: ["w"], run: () => app.set({ swap: !app.state.swap }) });
  return list;
}
