// All of the view is one value, and that value is part of the address (the zoom, which needs the tree,
// is added by app.ts).
import type { Model, Order } from "../flame";

// Pictures first; the others are of the served page only.
export type ViewName = "flame" | "bottom-up" | "sandwich" | "tree" | "graph" | "source";
export type Measure = "self" | "total";
export type Sort = "value" | "change" | "name";

export interface State {
  type: number;
  view: ViewName;
  // Function in the middle of the sandwich, or -1.
  func: number;
  // Box that fills the width, in the tree shown.
  zoom: number;
  up: boolean;
  order: Order;
  query: string;
  regex: boolean;
  normalise: boolean;
  swap: boolean;
  table: boolean;
  measure: Measure;
  sort: Sort;
}

export function initialState(model: Model): State {
  return {
    type: model.meta.defaultType, view: "flame", func: -1, zoom: 0, up: false, order: "name", query: "", regex: false,
    normalise: true, swap: false, table: true, measure: model.meta.diff ? "total" : "self", sort: model.meta.diff ? "change" : "value",
  };
}

// Only what differs from the start is written, so that a fresh page has a clean address.
export function toParams(state: State, model: Model): URLSearchParams {
  const start = initialState(model);
  const out = new URLSearchParams();
  if (state.type !== start.type) out.set("type", model.meta.types[state.type].name);
  if (state.view !== start.view) out.set("view", state.view);
  if (state.view === "sandwich" && state.func >= 0) {
    const frame = model.funcFrame[state.func];
    out.set("fn", model.name(frame));
    if (model.module(frame)) out.set("in", model.module(frame));
  }
  if (state.up) out.set("flip", "1");
  if (state.order !== start.order) out.set("order", state.order);
  if (state.query) out.set("q", state.query);
  if (state.regex) out.set("re", "1");
  if (!state.normalise) out.set("norm", "0");
  if (state.swap) out.set("swap", "1");
  if (!state.table) out.set("table", "0");
  if (state.measure !== start.measure) out.set("measure", state.measure);
  if (state.sort !== start.sort) out.set("sort", state.sort);
  return out;
}

// Reads an address from anywhere: what does not fit this file is left at its start value.
export function fromParams(given: URLSearchParams, model: Model): State {
  const state = initialState(model);
  const type = model.meta.types.findIndex((t) => t.name === given.get("type"));
  if (type >= 0) state.type = type;
  const view = given.get("view");
  if (view === "bottom-up" || view === "tree" || view === "graph" || view === "source") state.view = view;
  if (view === "sandwich") {
    state.func = model.findFunction(given.get("fn") ?? "", given.get("in") ?? "");
    if (state.func >= 0) state.view = view;
  }
  state.up = given.get("flip") === "1";
  if (given.get("order") === "weight") state.order = "weight";
  state.query = given.get("q") ?? "";
  state.regex = given.get("re") === "1";
  state.normalise = given.get("norm") !== "0";
  state.swap = model.meta.diff && given.get("swap") === "1";
  state.table = given.get("table") !== "0";
  const measure = given.get("measure");
  if (measure === "self" || measure === "total") state.measure = measure;
  const sort = given.get("sort");
  if (sort === "value" || sort === "name" || (sort === "change" && model.meta.diff)) state.sort = sort;
  return state;
}
