// The call graph: the functions that matter, edges between them, and a place for each.
// Layers from caller to callee; inside a layer the order of the flame graph, then fewer crossings.
import type { Columns, Model, Tree } from "../../flame";

export interface GraphNode {
  func: number;
  self: number;
  total: number;
  layer: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface GraphEdge {
  from: number;
  to: number;
  weight: number;
  // Functions between the two are not shown.
  skipped: boolean;
  // Against the flow: recursion over several functions.
  back: boolean;
}

export interface CallGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  width: number;
  height: number;
  hidden: number;
}

export interface Weights {
  self: Float64Array;
  total: Float64Array;
}

// Own value and total per function, from the exact table.
export function functionWeights(model: Model, columns: Columns): Weights {
  const self = new Float64Array(model.funcs);
  const total = new Float64Array(model.funcs);
  for (let f = 0; f < model.funcs; f++) {
    const row = model.funcRow[f];
    if (row < 0) continue;
    for (const run of columns.tableSelf) self[f] += run[row];
    for (const run of columns.tableTotal) total[f] += run[row];
  }
  return { self, total };
}

const LAYER_GAP = 56;
const NODE_GAP = 22;

function edgesBetween(tree: Tree, model: Model, kept: Map<number, number>): GraphEdge[] {
  const found = new Map<number, GraphEdge>();
  // Nearest shown caller of each box, and whether something between is not shown.
  const shown = new Int32Array(tree.count).fill(-1);
  const gap = new Uint8Array(tree.count);
  for (let i = 1; i < tree.count; i++) {
    const above = tree.parent[i];
    const at = kept.get(model.funcOf[tree.frame[i]]);
    if (at === undefined) {
      shown[i] = shown[above];
      gap[i] = 1;
      continue;
    }
    shown[i] = at;
    const from = shown[above];
    if (from < 0 || from === at) continue;
    const key = from * kept.size + at;
    const edge = found.get(key) ?? { from, to: at, weight: 0, skipped: true, back: false };
    edge.weight += tree.weight[i];
    if (gap[above] === 0) edge.skipped = false;
    found.set(key, edge);
  }
  return [...found.values()].sort((a, b) => b.weight - a.weight);
}

// Heavy edges first; one that would close a circle points backwards.
function breakCircles(count: number, edges: GraphEdge[]): void {
  const next: number[][] = Array.from({ length: count }, () => []);
  const reaches = (from: number, wanted: number): boolean => {
    const seen = new Set([from]);
    const stack = [from];
    while (stack.length > 0) {
      const n = stack.pop() as number;
      if (n === wanted) return true;
      for (const m of next[n]) if (!seen.has(m)) {
        seen.add(m);
        stack.push(m);
      }
    }
    return false;
  };
  for (const e of edges) {
    if (reaches(e.to, e.from)) e.back = true;
    else next[e.from].push(e.to);
  }
}

function layers(count: number, edges: GraphEdge[]): number[] {
  const layer = new Array<number>(count).fill(0);
  for (let round = 0; round < count; round++) {
    let changed = false;
    for (const e of edges) if (!e.back && layer[e.to] <= layer[e.from]) {
      layer[e.to] = layer[e.from] + 1;
      changed = true;
    }
    if (!changed) break;
  }
  return layer;
}

// Puts the nodes of one layer as near to where they want to be as their widths allow.
function settle(row: GraphNode[], wanted: Map<GraphNode, number>): void {
  let right = -Infinity;
  let drift = 0;
  for (const n of row) {
    const want = (wanted.get(n) ?? n.x + n.width / 2) - n.width / 2;
    n.x = Math.max(want, right + NODE_GAP);
    right = n.x + n.width;
    drift += want - n.x;
  }
  for (const n of row) n.x += drift / row.length;
}

export function callGraph(tree: Tree, model: Model, columns: Columns, most: number, widthOf: (name: string, share: number) => [number, number]): CallGraph {
  const { self, total } = functionWeights(model, columns);
  const whole = tree.weight[0] || 1;
  const ranked = Array.from({ length: model.funcs }, (_, f) => f).filter((f) => model.funcFrame[f] !== 0 && !model.pruned[model.funcFrame[f]] && total[f] > 0);
  ranked.sort((a, b) => total[b] + self[b] - total[a] - self[a]);
  const chosen = ranked.slice(0, most).filter((f) => total[f] >= whole * 0.002);
  const kept = new Map(chosen.map((f, i) => [f, i]));
  const edges = edgesBetween(tree, model, kept).filter((e) => e.weight >= whole * 0.001);
  for (const e of edges) e.weight = Math.min(e.weight, total[chosen[e.from]], total[chosen[e.to]]);
  breakCircles(chosen.length, edges);
  const layer = layers(chosen.length, edges);
  const nodes = chosen.map((f, i): GraphNode => {
    const [width, height] = widthOf(model.name(model.funcFrame[f]), self[f] / whole);
    return { func: f, self: self[f], total: total[f], layer: layer[i], x: 0, y: 0, width, height };
  });
  const rows: GraphNode[][] = [];
  for (const n of nodes) (rows[n.layer] ??= []).push(n);
  place(rows, nodes, edges, (n) => model.nameRank[model.funcFrame[n.func]]);
  let y = 0;
  for (const row of rows) {
    const tall = Math.max(...row.map((n) => n.height));
    for (const n of row) n.y = y + (tall - n.height) / 2;
    y += tall + LAYER_GAP;
  }
  const left = Math.min(...nodes.map((n) => n.x), 0);
  for (const n of nodes) n.x -= left;
  return { nodes, edges, width: Math.max(0, ...nodes.map((n) => n.x + n.width)), height: Math.max(0, y - LAYER_GAP), hidden: ranked.length - chosen.length };
}

function place(rows: GraphNode[][], nodes: GraphNode[], edges: GraphEdge[], rank: (n: GraphNode) => number): void {
  for (const row of rows) {
    row.sort((a, b) => rank(a) - rank(b));
    let x = 0;
    for (const n of row) {
      n.x = x;
      x += n.width + NODE_GAP;
    }
    const shift = (x - NODE_GAP) / 2;
    for (const n of row) n.x -= shift;
  }
  const middle = (n: GraphNode): number => n.x + n.width / 2;
  for (let sweep = 0; sweep < 10; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      const wanted = new Map<GraphNode, number>();
      for (const n of row) {
        let sum = 0;
        let weight = 0;
        for (const e of edges) {
          const [here, there] = down ? [e.to, e.from] : [e.from, e.to];
          if (nodes[here] !== n || e.back) continue;
          sum += middle(nodes[there]) * Math.sqrt(e.weight);
          weight += Math.sqrt(e.weight);
        }
        if (weight > 0) wanted.set(n, sum / weight);
      }
      row.sort((a, b) => (wanted.get(a) ?? middle(a)) - (wanted.get(b) ?? middle(b)));
      settle(row, wanted);
    }
  }
}
