// The served page.
import { render } from "preact";
import { askEarly } from "./api";
import { startKeys } from "./commands";
import { pageOf } from "./pages";
import { startRouter, view } from "./router";
import { Shell } from "./shell/Shell";
import "../bench/tokens.css";
import "../bench/bench.css";
import "./ui.css";
import "./pages.css";
import { treeQuestion } from "./view";

// The first page's code and, where the address says it all, its first answers come at the same time.
const first = view.peek();
const page = pageOf(first.page);
page.load().catch(() => undefined);
if (page.path === "explore") {
  askEarly("types", first.query ? { query: first.query } : {});
  if (first.type && !first.rest.group) askEarly("tree", treeQuestion(first, first.type));
}

startRouter();
startKeys();
render(<Shell />, document.getElementById("app") as HTMLElement);
