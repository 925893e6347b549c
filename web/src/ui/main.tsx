// The served page.
import { render } from "preact";
import { startKeys } from "./commands";
import { startRouter } from "./router";
import { Shell } from "./shell/Shell";
import "../bench/tokens.css";
import "../bench/bench.css";
import "./ui.css";
import "./pages.css";

startRouter();
startKeys();
render(<Shell />, document.getElementById("app") as HTMLElement);
