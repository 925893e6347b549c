// The exact function table beside the picture. Rows have one height, so only those on the screen are
// in the page.
import { units } from "../flame";
import type { App } from "./app";
import { h, press } from "./dom";
import { changeText, marginOf, rowChange } from "./facts";
import type { Measure, Sort } from "./state";

const ROW = 26;

// "expand(node*, int) const" is "expand()" where there is room for little; the whole name is in the title.
export function withoutParameters(name: string): string {
  const end = name.lastIndexOf(")");
  if (end < 0 || !/^( const| volatile|&|\s)*$/.test(name.slice(end + 1))) return name;
  let depth = 0;
  for (let i = end; i > 0; i--) {
    if (name[i] === ")") depth++;
    else if (name[i] === "(" && --depth === 0) return `${name.slice(0, i)}()`;
  }
  return name;
}

const LONG = 32;

// "a::Handle<b::String> a::Table::find<b::Key, b::Isolate>" is "a::Table::find<…>": what a template was made for, and
// what it returns, tell little. An operator's "<" and Rust's "<T as Trait>" are not such.
export function withoutTemplates(name: string): string {
  let out = "";
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === "<" && (depth > 0 || (/\w$/.test(out) && !/\boperator$/.test(out)))) {
      if (depth++ === 0) out += "<…>";
    } else if (c === ">" && depth > 0 && name[i - 1] !== "-") depth--;
    else if (depth === 0) out += c;
  }
  // Brackets that do not close are something else.
  if (depth > 0) return name;
  const clone = out.match(/ \[[^\]]*\]$/)?.[0] ?? "";
  const bare = out.slice(0, out.length - clone.length);
  const space = bare.lastIndexOf(" ");
  return /::/.test(bare.slice(space)) && space > 0 && !/operator$|\(anonymous$|[,*&]$/.test(bare.slice(0, space)) ? bare.slice(space + 1) + clone : out;
}

// What stands in a narrow column.
export function briefName(name: string): string {
  const bare = withoutParameters(name);
  return bare.length > LONG ? withoutTemplates(bare) : bare;
}

export class Functions {
  private readonly count = h("span", { class: "faint" });
  private readonly body = h("tbody", null);
  private readonly head = h("tr", null);
  private readonly scroll = h("div", { class: "rows", tabindex: "0", role: "region", "aria-label": "Function table" });
  private readonly empty = h("p", { class: "empty" });
  private order: number[] = [];
  private orderKey = "";
  private rows: number[] = [];
  // Largest share in the sorted column: the full length of a bar.
  private longest = 1;
  private key = "";
  private readonly measures: { button: HTMLButtonElement; measure: Measure }[] = [];

  constructor(
    private readonly app: App,
    panel: HTMLElement,
  ) {
    const measure = (label: string, m: Measure): HTMLButtonElement => {
      const button = h("button", { type: "button", onclick: () => this.sortBy(app.state.sort === "name" ? "value" : app.state.sort, m) }, label);
      this.measures.push({ button, measure: m });
      return button;
    };
    panel.append(
      h("div", { class: "bar" }, h("strong", { text: "Functions" }), this.count, h("span", { class: "seg push", role: "group", "aria-label": "Measure" }, measure("Self", "self"), measure("Total", "total"))),
      this.scroll,
    );
    this.scroll.append(h("table", null, h("thead", null, this.head), this.body), this.empty);
    this.scroll.addEventListener("scroll", () => this.draw(), { passive: true });
    this.scroll.addEventListener("keydown", (e) => this.onKey(e));
    new ResizeObserver(() => this.draw()).observe(this.scroll);
    app.subscribe((changed) => this.update(changed.before === null));
  }

  private sortBy(sort: Sort, measure = this.app.state.measure): void {
    this.app.set({ sort, measure });
  }

  private update(fresh: boolean): void {
    const { app } = this;
    const s = app.state;
    for (const { button, measure } of this.measures) press(button, measure === s.measure);
    const orderKey = `${s.type}/${s.normalise}/${s.swap}/${s.measure}/${s.sort}`;
    if (fresh || orderKey !== this.orderKey) this.order = this.ordered();
    this.orderKey = orderKey;
    const key = `${orderKey}/${s.query}/${s.regex}`;
    if (fresh || key !== this.key) {
      this.key = key;
      this.rows = this.sorted();
      if (!fresh) this.scroll.scrollTop = 0;
      const all = app.model.meta.functionsTotal || app.model.vft.table.count;
      const shown = app.model.vft.table.count;
      this.count.textContent = `${this.rows.length !== shown ? `${units.count(this.rows.length)} of ` : ""}${all.toLocaleString("en-US")} · exact`;
      this.drawHead();
    }
    this.draw();
  }

  // All rows in order; a search only leaves some of them out.
  private ordered(): number[] {
    const { app } = this;
    const s = app.state;
    const { table } = app.model.vft;
    const columns = app.derived.columns(s);
    const values = s.measure === "self" ? columns.tableSelf : columns.tableTotal;
    const weight = new Float64Array(table.count);
    for (let r = 0; r < table.count; r++)
      weight[r] = s.sort === "change" ? this.changeWeight(r) : values.reduce((sum, run) => sum + run[r], 0);
    const rank = app.model.nameRank;
    const byName = (a: number, b: number): number => rank[table.frame[a]] - rank[table.frame[b]];
    return Array.from(weight, (_, r) => r).sort(s.sort === "name" ? byName : (a, b) => weight[b] - weight[a] || byName(a, b));
  }

  private sorted(): number[] {
    const { app } = this;
    const s = app.state;
    const { table } = app.model.vft;
    const matches = app.derived.matches(s);
    const columns = app.derived.columns(s);
    const values = s.measure === "self" ? columns.tableSelf : columns.tableTotal;
    const rows = matches.active ? this.order.filter((r) => matches.frames[table.frame[r]] === 1) : this.order;
    this.longest = rows.reduce((most, r) => Math.max(most, values[0][r]), 0) / (columns.totals[0] || 1) || 1;
    return rows;
  }

  // Real changes first, by size; noise after them.
  private changeWeight(row: number): number {
    const c = rowChange(this.app, row, this.app.state.measure);
    return Math.abs(c.delta) + (c.noise ? 0 : 2);
  }

  private drawHead(): void {
    const { app } = this;
    const s = app.state;
    const cell = (label: string, on: boolean, act: () => void, title: string): HTMLElement =>
      h("th", { scope: "col", "aria-sort": on ? (label === "Function" ? "ascending" : "descending") : null }, h("button", { type: "button", title, onclick: act }, label));
    const cells = [cell("Function", s.sort === "name", () => this.sortBy("name"), "Sort by name")];
    if (app.model.meta.diff) {
      const [before, after] = app.model.sideNames(s.swap);
      cells.push(
        h("th", { scope: "col", text: "Before %", title: before }),
        cell("After %", s.sort === "value", () => this.sortBy("value"), after),
        cell("Change", s.sort === "change", () => this.sortBy("change"), "Sort by change"),
      );
    } else {
      cells.push(
        cell("Self %", s.sort === "value" && s.measure === "self", () => this.sortBy("value", "self"), "Sort by self"),
        cell("Total %", s.sort === "value" && s.measure === "total", () => this.sortBy("value", "total"), "Sort by total"),
        h("th", { scope: "col", text: s.measure === "self" ? "Self" : "Total" }),
      );
    }
    this.head.replaceChildren(...cells);
  }

  private draw(): void {
    const { rows, scroll } = this;
    if (scroll.clientHeight === 0) return;
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 4);
    const last = Math.min(rows.length, first + Math.ceil(scroll.clientHeight / ROW) + 8);
    const selected = this.app.selectedFunc();
    const list: HTMLElement[] = [];
    if (first > 0) list.push(h("tr", { "aria-hidden": "true", style: `height:${first * ROW}px` }));
    for (let i = first; i < last; i++) list.push(this.rowOf(rows[i], selected));
    if (last < rows.length) list.push(h("tr", { "aria-hidden": "true", style: `height:${(rows.length - last) * ROW}px` }));
    this.body.replaceChildren(...list);
    this.empty.textContent = rows.length > 0 ? "" : this.app.state.query ? "No function has this in its name." : "The file has no function table.";
  }

  private rowOf(row: number, selected: number): HTMLElement {
    const { app } = this;
    const s = app.state;
    const frame = app.model.vft.table.frame[row];
    const func = app.model.funcOf[frame];
    const { tableSelf, tableTotal, totals } = app.derived.columns(s);
    const share = (v: number, side: number): number => (totals[side] > 0 ? v / totals[side] : 0);
    const digits = (v: number): string => (v * 100).toFixed(1);
    const name = app.model.name(frame);
    const cells: HTMLElement[] = [h("th", { scope: "row", title: `${name}\n${app.model.module(frame)}` }, h("button", { type: "button", tabindex: "-1" }, h("bdi", { text: briefName(name) })))];
    if (app.model.meta.diff) {
      const values = s.measure === "self" ? tableSelf : tableTotal;
      const { text, tone } = changeText(rowChange(app, row, s.measure));
      const margin = s.measure === "total" ? marginOf(app, row) : "";
      cells.push(h("td", { text: digits(share(values[0][row], 0)) }), h("td", { text: digits(share(values[1][row], 1)) }), h("td", { class: tone, text, title: margin ? `${margin}: half of the 95 % interval` : null }));
    } else {
      const bar = h("span", { class: "fill" });
      const own = share(tableSelf[0][row], 0);
      const whole = share(tableTotal[0][row], 0);
      bar.style.width = `${Math.min(100, ((s.measure === "self" ? own : whole) / this.longest) * 100)}%`;
      const [selfBar, totalBar] = s.measure === "self" ? [bar, null] : [null, bar];
      const type = app.model.meta.types[s.type];
      cells.push(
        h("td", null, selfBar, digits(own)),
        h("td", null, totalBar, digits(whole)),
        h("td", { class: "dim", text: units.bare((s.measure === "self" ? tableSelf : tableTotal)[0][row], type) }),
      );
    }
    return h("tr", { class: func === selected ? "sel" : null, "aria-selected": func === selected ? "true" : null, onclick: () => app.selectFunction(func), ondblclick: () => app.sandwich(func) }, ...cells);
  }

  // Up and down walk the rows, Enter opens the sandwich.
  private onKey(e: KeyboardEvent): void {
    const { app, rows } = this;
    if (e.ctrlKey || e.metaKey || e.altKey || rows.length === 0) return;
    const selected = app.selectedFunc();
    const funcAt = (i: number): number => app.model.funcOf[app.model.vft.table.frame[rows[i]]];
    let at = rows.findIndex((_, i) => funcAt(i) === selected);
    if (e.key === "Enter" && at >= 0) app.sandwich(selected);
    else if (e.key === "ArrowDown") at = Math.min(rows.length - 1, at + 1);
    else if (e.key === "ArrowUp") at = Math.max(0, at - 1);
    else return;
    e.preventDefault();
    e.stopPropagation();
    if (e.key === "Enter") return;
    const top = at * ROW;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top + 2 * ROW > this.scroll.scrollTop + this.scroll.clientHeight) this.scroll.scrollTop = top + 3 * ROW - this.scroll.clientHeight;
    app.selectFunction(funcAt(at));
    app.announce(app.model.name(app.model.funcFrame[funcAt(at)]));
  }
}
