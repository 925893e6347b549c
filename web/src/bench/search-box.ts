// The search over function names: substring, or a regular expression by a toggle.
import type { App } from "./app";
import { h, press } from "./dom";

export class SearchBox {
  readonly input = h("input", {
    type: "search", id: "search", placeholder: "Search functions", "aria-label": "Search functions", autocomplete: "off", spellcheck: "false",
  });
  private readonly regex: HTMLButtonElement;
  readonly element: HTMLElement;

  constructor(private readonly app: App) {
    this.regex = h("button", { type: "button", class: "mini-button", title: "Regular expression", "aria-label": "Regular expression", onclick: () => app.set({ regex: !app.state.regex }) }, ".*");
    this.element = h("div", { class: "query" }, this.input, this.regex, h("kbd", { "aria-hidden": "true" }, "/"));
    this.input.addEventListener("input", () => app.set({ query: this.input.value }, false));
    app.subscribe(() => this.update());
  }

  // Enter walks through the hits, Escape clears and gives the focus to the picture.
  listen(step: (by: number) => void, leave: () => void): void {
    this.input.addEventListener("keydown", (e) => {
      if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
      else if (e.key === "Escape") {
        if (this.input.value !== "") this.app.set({ query: "" });
        leave();
        e.preventDefault();
      } else return;
      e.stopPropagation();
    });
  }

  private update(): void {
    const s = this.app.state;
    if (this.input.value !== s.query) this.input.value = s.query;
    press(this.regex, s.regex);
    const { error } = this.app.derived.matches(s);
    this.input.setAttribute("aria-invalid", String(error !== ""));
    this.input.title = error;
    this.element.classList.toggle("bad", error !== "");
  }
}
