// Several trees side by side in one: a box per group below the root, each group's own tree below it.
import { Frames, sameType } from "./merge";
import { Model } from "./model";
import type { Meta, Vft } from "./vft";

export interface Part {
  name: string;
  model: Model;
}

// Over the type the first part shows first; parts without it are left out.
export function groupOf(parts: Part[]): Model {
  const [lead] = parts;
  const wanted = lead.model.meta.types[lead.model.meta.defaultType];
  const frames = new Frames();
  frames.add(lead.model, 0);
  const parent = [0];
  const frame = [0];
  const self = [0];
  // Own value and total of each function, and a frame that names it.
  const rows = new Map<string, { frame: number; self: number; total: number }>();
  let total = 0;
  for (const { name, model } of parts) {
    const type = sameType(model, wanted);
    if (type < 0) continue;
    const to = Uint32Array.from({ length: model.vft.frames.count }, (_, f) => (f === 0 ? 0 : frames.add(model, f)));
    const base = parent.length;
    const { vft } = model;
    total += model.totals[type];
    // The part's root becomes the box of the group.
    for (let i = 0; i < vft.nodes; i++) {
      parent.push(i === 0 ? 0 : base + vft.parent[i]);
      frame.push(i === 0 ? frames.group(name) : to[vft.frame[i]]);
      self.push(vft.self[type][i]);
    }
    for (let r = 0; r < vft.table.count; r++) {
      const at = to[vft.table.frame[r]];
      const key = frames.functionOf(at);
      const row = rows.get(key) ?? { frame: at, self: 0, total: 0 };
      row.self += vft.table.self[type][r];
      row.total += vft.table.total[type][r];
      rows.set(key, row);
    }
  }
  const values = [...rows.values()];
  const table: Vft["table"] = {
    count: rows.size, frame: Uint32Array.from(values, (v) => v.frame), verdicts: null,
    self: [Float64Array.from(values, (v) => v.self)], total: [Float64Array.from(values, (v) => v.total)],
  };
  const sum = (pick: (m: Meta) => number): number => parts.reduce((n, p) => n + pick(p.model.meta), 0);
  const meta: Meta = {
    ...lead.model.meta, types: [wanted], defaultType: 0, totals: [total], scale: [1], nodesTotal: sum((m) => m.nodesTotal), nodesPruned: sum((m) => m.nodesPruned),
    prunedShare: Math.max(...parts.map((p) => p.model.meta.prunedShare)), functionsTotal: rows.size, notes: [...new Set(parts.flatMap((p) => p.model.meta.notes))],
    tookMs: sum((m) => m.tookMs),
  };
  return new Model({
    meta, nodes: parent.length, parent: Uint32Array.from(parent), frame: Uint32Array.from(frame), self: [Float64Array.from(self)],
    frames: frames.table(), table, strings: frames.strings.table(),
  });
}
