// The one-file report: unpacks the data, builds the page, and shows errors as one sentence.
import { decodeVft, Model, VftError } from "../flame";
import { HashAddress } from "../bench/address";
import { App } from "../bench/app";
import { AriaTree } from "../bench/aria";
import { DataError, dataText, inflate } from "./data";
import { Detail } from "../bench/detail";
import { byId, h, keyButton } from "../bench/dom";
import { Footer } from "./footer";
import { Functions } from "../bench/functions";
import { Header } from "./header";
import { Help } from "./help";
import { Actions } from "../bench/actions";
import { listenKeys } from "./keys";
import { listenPrint } from "./paper";
import { Stage } from "../bench/stage";
import { Tabs } from "./tabs";
import { startTheme } from "../bench/theme";
import { Toolbar } from "../bench/toolbar";
import "../bench/tokens.css";
import "../bench/bench.css";
import "./report.css";

function sentence(text: string): void {
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const page = byId("page");
  page.className = "alone";
  page.hidden = false;
  page.replaceChildren(h("p", { role: "alert", text }));
}

function build(model: Model): void {
  const app = new App(model, new HashAddress());
  const help = new Help(model.meta.diff);
  let stage: Stage | null = null;
  const actions = new Actions(app, () => stage as Stage);
  const toggleTheme = (): void => theme();
  const header = new Header(app, byId("top"), byId("strip"), { theme: toggleTheme, help: () => help.toggle() });
  stage = new Stage(app);
  const toolbar = new Toolbar(app, stage);
  const bar = byId("bar");
  for (const part of [toolbar.views, toolbar.lie, toolbar.compare, toolbar.legend, toolbar.match]) if (part) bar.append(part);
  bar.append(keyButton("Copy folded", "y", "Copy the stacks of this zoom as folded text", () => actions.copyFolded(), { class: "quiet" }));
  bar.after(toolbar.trail);
  byId("graph").append(stage.element);
  new Functions(app, byId("functions"));
  new Detail(app, byId("detail"), { copyName: () => actions.copyName(), copyStack: () => actions.copyStack(), sandwich: () => toolbar.sandwich() });
  new Footer(app, byId("foot"), stage);
  new Tabs(app, byId("tabs"), byId("panels"));
  new AriaTree(app, stage);
  byId("page").hidden = false;
  byId("page").classList.toggle("diff", model.meta.diff);
  const turn = startTheme((dark) => app.setTheme(dark));
  const theme = (): void => app.announce(turn() ? "Dark" : "Light");
  app.start();
  listenKeys({ app, actions, toolbar, help, search: header.search, stage, theme });
  listenPrint(app, stage);
}

async function start(): Promise<void> {
  const text = dataText();
  if (text === null || text === "") return sentence("This page is an empty template: write a report with “vestal flame -o report.html profile.pb.gz”.");
  try {
    build(new Model(decodeVft(await inflate(text))));
  } catch (e) {
    if (e instanceof DataError) sentence(e.message);
    else if (e instanceof VftError) sentence(`This page cannot show its data: ${e.message}. Write it again with the same version of Vestal.`);
    else {
      sentence("Internal error while drawing. Please report it with the file.");
      throw e;
    }
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => void start());
else void start();
