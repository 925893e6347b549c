// The workbench of src/bench inside a page: functions, picture, detail around one model. A new answer
// is loaded into the same workbench, so that zoom, selection and scroll stay.
import { useEffect, useRef, useState } from "preact/hooks";
import { Actions } from "../../bench/actions";
import { App } from "../../bench/app";
import { AriaTree } from "../../bench/aria";
import { Detail } from "../../bench/detail";
import { Functions } from "../../bench/functions";
import { SearchBox } from "../../bench/search-box";
import { Stage } from "../../bench/stage";
import { Toolbar } from "../../bench/toolbar";
import type { Model } from "../../flame";
import { useCommands, type Command } from "../commands";
import { say } from "../notice";
import { RestAddress } from "../rest-address";
import { dark } from "../theme";

export interface Drawn {
  boxes: number;
  merged: number;
  ms: number;
}

interface Bench {
  app: App;
  actions: Actions;
  toolbar: Toolbar;
  search: SearchBox;
  stage: Stage;
}

type Tab = "graph" | "functions" | "detail";
const TABS: [Tab, string][] = [["graph", "Graph"], ["functions", "Functions"], ["detail", "Detail"]];

function build(model: Model, hosts: { bar: HTMLElement; find: HTMLElement; graph: HTMLElement; functions: HTMLElement; detail: HTMLElement }): Bench {
  const app = new App(model, new RestAddress());
  const stage = new Stage(app);
  const actions = new Actions(app, () => stage);
  const search = new SearchBox(app);
  const toolbar = new Toolbar(app, stage, hosts.bar, () => actions.copyFolded(), hosts.find);
  hosts.find.prepend(search.element);
  hosts.graph.append(stage.element);
  new Functions(app, hosts.functions);
  new Detail(app, hosts.detail, { copyName: () => actions.copyName(), copyStack: () => actions.copyStack(), sandwich: () => toolbar.sandwich() });
  new AriaTree(app, stage);
  search.listen((by) => toolbar.step(by), () => stage.element.focus());
  app.notify = say;
  return { app, actions, toolbar, search, stage };
}

function benchCommands({ app, actions, toolbar, search, stage }: Bench): Command[] {
  const picture = "Picture";
  const walk = (key: string): void => {
    if (document.activeElement?.closest(".rows, .side, .types, .timeline, .menu")) return;
    actions.walk(key);
    stage.element.focus();
  };
  const list: Command[] = [
    { id: "bench/up", group: picture, title: "Walk between boxes", keys: ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], run: () => undefined },
    { id: "bench/zoom", group: picture, title: "Zoom to the selected box", keys: ["Enter"], run: () => actions.zoomSelected() },
    { id: "bench/back", group: picture, title: "One step back", keys: ["Escape"], run: () => app.back() },
    { id: "bench/all", group: picture, title: "Show everything", keys: ["0"], run: () => app.zoom(0) },
    { id: "bench/search", group: picture, title: "Search functions", keys: ["/", "Ctrl+f"], run: () => search.input.select() },
    { id: "bench/next", group: picture, title: "Next match, the widest first", keys: ["n"], run: () => toolbar.step(1) },
    { id: "bench/previous", group: picture, title: "Previous match", keys: ["N"], run: () => toolbar.step(-1) },
    { id: "bench/regex", group: picture, title: "Search by regular expression", keys: ["r"], run: () => app.set({ regex: !app.state.regex }) },
    { id: "bench/invert", group: picture, title: "Bottom-up: what ran, and who called it", keys: ["i"], run: () => toolbar.invert() },
    { id: "bench/sandwich", group: picture, title: "Sandwich: callers and callees", keys: ["s"], run: () => toolbar.sandwich() },
    { id: "bench/flip", group: picture, title: "Flip: root at the bottom or at the top", keys: ["f"], run: () => app.set({ up: !app.state.up }) },
    { id: "bench/order", group: picture, title: "Order by size or by name", keys: ["o"], run: () => app.set({ order: app.state.order === "name" ? "weight" : "name" }) },
    { id: "bench/table", group: picture, title: "Function table on or off", keys: ["t"], run: () => app.set({ table: !app.state.table }, false) },
    { id: "bench/name", group: picture, title: "Copy the name of the function", keys: ["c"], run: () => actions.copyName() },
    { id: "bench/stack", group: picture, title: "Copy the stack", keys: ["C"], run: () => actions.copyStack() },
    { id: "bench/folded", group: picture, title: "Copy all stacks of the zoom", keys: ["y"], run: () => actions.copyFolded() },
  ];
  if (app.model.meta.types.length > 1) {
    list.push({ id: "bench/type-before", group: picture, title: "Previous sample type", keys: ["["], run: () => actions.nextType(-1) },
      { id: "bench/type-after", group: picture, title: "Next sample type", keys: ["]"], run: () => actions.nextType(1) });
  }
  if (app.model.meta.diff) {
    list.push({ id: "bench/shares", group: picture, title: "Compare shares or values", keys: ["m"], run: () => app.set({ normalise: !app.state.normalise }) },
      { id: "bench/swap", group: picture, title: "Swap before and after", keys: ["w"], run: () => app.set({ swap: !app.state.swap }) });
  }
  return [...list.slice(1), ...["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map((key) => ({ ...list[0], id: `bench/${key}`, keys: [key], title: `Walk ${key.slice(5).toLowerCase()}`, run: () => walk(key) }))];
}

export function Workbench({ model, stale, onDrawn }: { model: Model; stale: boolean; onDrawn: (drawn: Drawn) => void }) {
  const root = useRef<HTMLDivElement>(null);
  const [bench, setBench] = useState<Bench | null>(null);
  const [tab, setTab] = useState<Tab>("graph");
  const [table, setTable] = useState(true);
  useEffect(() => {
    const find = (name: string): HTMLElement => root.current?.querySelector(`[data-host=${name}]`) as HTMLElement;
    const made = build(model, { bar: find("bar"), find: find("find"), graph: find("graph"), functions: find("functions"), detail: find("detail") });
    made.stage.onDrawn = (boxes, merged, ms) => onDrawn({ boxes, merged, ms });
    made.app.subscribe(() => setTable(made.app.state.table));
    made.app.setTheme(dark.peek());
    made.app.start();
    setBench(made);
    const stop = dark.subscribe((d) => made.app.setTheme(d));
    return () => {
      stop();
      made.app.dispose();
    };
  }, []);
  useEffect(() => {
    if (bench && bench.app.model !== model) bench.app.load(model);
  }, [model, bench]);
  useCommands(() => (bench ? benchCommands(bench) : []), [bench, model.meta.diff]);
  return (
    <div class={`bench ${stale ? "stale" : ""} ${model.meta.diff ? "diff" : ""}`} ref={root}>
      <div class="tabs" role="group" aria-label="Parts of the page">
        {TABS.map(([name, word]) => <button type="button" aria-pressed={tab === name} onClick={() => setTab(name)}>{word}</button>)}
      </div>
      <div class={`panels ${table ? "" : "no-table"}`} data-tab={tab}>
        <section data-host="functions" class="functions" aria-label="Functions" />
        <section data-host="graph" class="graph" aria-label="Flame graph"><div data-host="bar" class="bar" /><div data-host="find" class="bar find" /></section>
        <section data-host="detail" class="side" aria-label="Detail" tabIndex={0} />
      </div>
    </div>
  );
}
