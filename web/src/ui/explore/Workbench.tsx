// The workbench of src/bench inside a page: functions, picture, detail around one model, and the other
// views, one of them beside the first when the reader wants. A new answer is loaded into the same
// workbench, so that zoom, selection and scroll stay.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Actions } from "../../bench/actions";
import { App } from "../../bench/app";
import { AriaTree } from "../../bench/aria";
import { Detail } from "../../bench/detail";
import { Functions } from "../../bench/functions";
import { SearchBox } from "../../bench/search-box";
import { Stage } from "../../bench/stage";
import type { ViewName } from "../../bench/state";
import { Toolbar } from "../../bench/toolbar";
import type { Model } from "../../flame";
import { useCommands } from "../commands";
import { say } from "../notice";
import { RestAddress } from "../rest-address";
import { setRest, view } from "../router";
import { dark } from "../theme";
import { benchCommands, type Bench } from "./bench-commands";
import { CallGraphPane } from "./CallGraphPane";
import { CallTree } from "./CallTree";
import { detailMore } from "./detail-more";
import { nothingDrawn, sayDrawn } from "./drawn";
import { Chips, FilterMenu } from "./Filters";
import { shareCommands } from "./share";
import { SourcePane } from "./SourcePane";

interface Props {
  model: Model;
  // Dimmed while a new answer is on its way.
  stale: boolean;
  // Id and short word of the type, for questions about the same; "" when the model is not the server's.
  type: string;
  typeWord: string;
}

type Tab = "graph" | "functions" | "detail";
const TABS: [Tab, string][] = [["graph", "Graph"], ["functions", "Functions"], ["detail", "Detail"]];
const PICTURES: ViewName[] = ["flame", "bottom-up", "sandwich"];
const BESIDE: [string, string][] = [["flame", "Flame graph"], ["tree", "Tree"], ["graph", "Call graph"], ["source", "Source"]];

function build(model: Model, root: HTMLElement, stored: boolean, type: () => string): Bench {
  const host = (name: string): HTMLElement => root.querySelector(`[data-host=${name}]`) as HTMLElement;
  const app = new App(model, new RestAddress());
  const stage = new Stage(app);
  const actions = new Actions(app, () => stage);
  const search = new SearchBox(app);
  const more: [ViewName, string, string, string][] = [["tree", "Tree", "4", "The call tree as a table"], ["graph", "Graph", "5", "Functions and the calls between them"]];
  if (stored) more.push(["source", "Source", "6", "Lines of source"]);
  const toolbar = new Toolbar(app, stage, more);
  for (const part of [toolbar.views, toolbar.compare, toolbar.legend]) if (part) host("views").append(part);
  host("find").append(search.element, toolbar.match);
  host("lie").append(toolbar.lie);
  host("trail").append(toolbar.trail);
  host("stage").append(stage.element);
  new Functions(app, host("functions"));
  new Detail(app, host("detail"), { copyName: () => actions.copyName(), copyStack: () => actions.copyStack(), sandwich: () => toolbar.sandwich() }, stored ? detailMore(app, type) : undefined);
  new AriaTree(app, stage);
  search.listen((by) => toolbar.step(by), () => stage.element.focus());
  app.notify = say;
  return { app, actions, toolbar, search, stage };
}

function Pane({ name, bench, type }: { name: string; bench: Bench; type: string }) {
  if (name === "tree") return <CallTree app={bench.app} />;
  if (name === "graph") return <CallGraphPane app={bench.app} />;
  return <SourcePane app={bench.app} type={type} />;
}

function Beside({ main, value, stored }: { main: string; value: string; stored: boolean }) {
  const choices = BESIDE.filter(([name]) => name !== main && (stored || name !== "source") && !(name === "flame" && PICTURES.includes(main as ViewName)));
  return (
    <label class="by wide-only">second view
      <select value={value} onChange={(e) => setRest({ beside: e.currentTarget.value })}>
        <option value="">none</option>
        {choices.map(([name, word]) => <option value={name}>{word}</option>)}
      </select>
    </label>
  );
}

export function Workbench({ model, stale, type, typeWord }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const typeNow = useRef(type);
  typeNow.current = type;
  const [bench, setBench] = useState<Bench | null>(null);
  const [tab, setTab] = useState<Tab>("graph");
  const [shown, setShown] = useState<{ table: boolean; view: ViewName }>({ table: true, view: "flame" });
  const stored = type !== "";
  // Built and drawn in the same frame as the page around it.
  useLayoutEffect(() => {
    const made = build(model, root.current as HTMLElement, stored, () => typeNow.current);
    made.stage.onDrawn = sayDrawn;
    made.app.subscribe(() => setShown((old) => (old.table === made.app.state.table && old.view === made.app.state.view ? old : { table: made.app.state.table, view: made.app.state.view })));
    made.app.setTheme(dark.peek());
    made.app.start();
    setBench(made);
    const stop = dark.subscribe((d) => made.app.setTheme(d));
    return () => {
      stop();
      made.app.dispose();
      nothingDrawn();
    };
  }, []);
  useLayoutEffect(() => {
    if (bench && bench.app.model !== model) bench.app.load(model);
  }, [model, bench]);
  useCommands(() => (bench ? [...benchCommands(bench, stored), ...shareCommands(bench.app, type, typeWord)] : []), [bench, model.meta.diff, type]);

  const main = shown.view;
  const wanted = view.value.rest.beside ?? "";
  const beside = wanted === main || (wanted === "flame" && PICTURES.includes(main)) ? "" : wanted;
  const picture = PICTURES.includes(main) || beside === "flame";
  const others = [PICTURES.includes(main) ? "" : main, beside === "flame" ? "" : beside].filter((n) => n !== "");
  return (
    <div class={`bench ${stale ? "stale" : ""} ${model.meta.diff ? "diff" : ""}`} ref={root}>
      <div class="tabs" role="group" aria-label="Parts of the page">
        {TABS.map(([name, word]) => <button type="button" aria-pressed={tab === name} onClick={() => setTab(name)}>{word}</button>)}
      </div>
      <div class={`panels ${shown.table ? "" : "no-table"}`} data-tab={tab}>
        <section data-host="functions" class="functions" aria-label="Functions" />
        <section class="graph" aria-label="Picture">
          <div class="bar"><span data-host="views" class="host" /><Beside main={main} value={beside} stored={stored} /></div>
          <div class="bar find"><span data-host="find" class="host grow" />{stored && <FilterMenu />}<span data-host="lie" class="push" /></div>
          {stored && <Chips />}
          <div data-host="trail" />
          <div class={`panes ${main !== "flame" && beside === "flame" ? "turned" : ""}`}>
            <div data-host="stage" class={`pane-slot ${PICTURES.includes(main) ? "" : "extra"}`} hidden={!picture} />
            {bench && others.map((name) => <div key={name} class={`pane-slot ${name === main ? "" : "extra"}`}><Pane name={name} bench={bench} type={type} /></div>)}
          </div>
        </section>
        <section data-host="detail" class="side" aria-label="Detail" tabIndex={0} />
      </div>
    </div>
  );
}
