// Title, search, types, and the one number.
import { units } from "../flame";
import type { App } from "../bench/app";
import { h, keyButton, press } from "../bench/dom";
import { SearchBox } from "../bench/search-box";

export class Header {
  readonly search: SearchBox;
  private readonly types = h("div", { class: "types", role: "group", "aria-label": "Sample type" });
  private readonly number = h("div", { class: "big" });

  constructor(
    private readonly app: App,
    top: HTMLElement,
    strip: HTMLElement,
    actions: { theme: () => void; help: () => void },
  ) {
    const { meta } = app.model;
    this.search = new SearchBox(app);
    const title = meta.diff ? `${meta.names[0]} → ${meta.names[1]}` : meta.title;
    top.append(
      h("div", { class: "title" }, h("h1", { text: title || "Profile", title }), h("p", { text: meta.subtitle, title: meta.subtitle })),
      this.search.element,
      keyButton("Theme", "d", "Dark or light", actions.theme, { class: "btn" }),
      keyButton("Keys", "?", "What the keys do", actions.help, { class: "btn" }),
    );
    meta.types.forEach((type, i) => {
      this.types.append(h("button", { type: "button", title: `${type.name}, ${type.unit}`, onclick: () => app.set({ type: i }) }, units.typeLabel(type)));
    });
    if (meta.types.length > 1) this.types.append(h("kbd", { "aria-hidden": "true", title: "Previous and next type" }, "[ ]"));
    strip.append(this.types, this.number);
    app.subscribe(() => this.update());
  }

  private update(): void {
    const { app } = this;
    const s = app.state;
    [...this.types.querySelectorAll("button")].forEach((b, i) => press(b, i === s.type));
    this.number.replaceChildren(...(app.model.meta.diff ? this.twoNumbers() : this.oneNumber()));
  }

  private oneNumber(): (Node | string)[] {
    const { app } = this;
    const { meta } = app.model;
    const type = meta.types[app.state.type];
    const total = app.derived.columns(app.state).totals[0];
    const small: string[] = [];
    const ns = units.asNanoseconds(total, type);
    const cores = units.figure(ns / meta.durationNs);
    if (type.name === "cpu" && ns > 0 && meta.durationNs > 0) small.push(`${cores} ${cores === "1" ? "core" : "cores"} over ${units.duration(meta.durationNs)}`);
    else if (meta.durationNs > 0) small.push(`over ${units.duration(meta.durationNs)}`);
    const samples = app.model.sampleType();
    if (samples >= 0 && samples !== app.state.type) small.push(units.amount(app.model.totals[samples], meta.types[samples]));
    if (meta.timeNs) small.push(when(meta.timeNs));
    return [units.amount(total, type), h("small", { text: small.map((t) => ` · ${t}`).join("") })];
  }

  private twoNumbers(): (Node | string)[] {
    const { app } = this;
    const type = app.model.meta.types[app.state.type];
    const [before, after] = app.model.sideTotals(app.state.type, app.state.swap);
    const ratio = before > 0 ? after / before - 1 : NaN;
    const tone = ratio > 0 ? "up" : "down";
    const text = isNaN(ratio) ? "" : Math.abs(ratio) < 0.0005 ? " · the same total" : ` · ${ratio > 0 ? "▲" : "▼"} ${(Math.abs(ratio) * 100).toFixed(1)} %`;
    return [
      `${units.amount(before, type)} → ${units.amount(after, type)}`,
      h("small", { class: tone, text }),
      h("small", { text: app.state.normalise ? " · shares compared" : " · values compared" }),
    ];
  }
}

function when(ns: string): string {
  const date = new Date(Number(BigInt.asIntN(64, safeBig(ns)) / 1000000n));
  return isNaN(date.getTime()) ? "" : date.toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

function safeBig(text: string): bigint {
  return /^\d+$/.test(text) ? BigInt(text) : 0n;
}
