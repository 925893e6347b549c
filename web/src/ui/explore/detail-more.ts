// Details of a function in the UI: filters, its page, its values over time.
import type { App } from "../../bench/app";
import { h, keyButton } from "../../bench/dom";
import { PAGES } from "../pages";
import { href } from "../router";
import type { FilterKind } from "../view";
import { addFilter, exactly } from "./Filters";
import { spark } from "./spark";

const BUTTONS: [FilterKind, string, string, string][] = [
  ["focus", "Focus", "F", "Only stacks through this function"], ["ignore", "Ignore", "I", "No stacks through this function"],
  ["hide", "Hide", "H", "Take this function out of the stacks"], ["show_from", "Show from", "B", "Cut off its callers"],
];

export function filterSelected(app: App, kind: FilterKind): void {
  const func = app.selectedFunc();
  if (func < 0 || app.model.funcFrame[func] === 0) return app.notify("Select a function first");
  addFilter({ kind, text: exactly(app.model.name(app.model.funcFrame[func])) });
}

export function detailMore(app: App, type: () => string): (func: number) => HTMLElement[] {
  const line = spark(type);
  return (func) => {
    const name = app.model.name(app.model.funcFrame[func]);
    const actions = h("div", { class: "actions" }, ...BUTTONS.map(([kind, word, key, title]) => keyButton(word, key, title, () => filterSelected(app, kind), { class: "btn" })));
    const parts: HTMLElement[] = [actions];
    if (PAGES.some((p) => p.path === "function")) {
      const link = h("a", { href: href({ page: "function", rest: { name } }), text: "Everything about this function" });
      parts.push(h("p", null, link));
    }
    parts.push(line(name));
    return parts;
  };
}
