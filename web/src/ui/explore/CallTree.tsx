// The tree as a table one unfolds; rows have one height, so only those on the screen are in the page.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../../bench/app";
import { changeOf, changeText } from "../../bench/facts";
import { childLists, pathOf, units, type Children, type Tree } from "../../flame";
import { hotPath, visibleRows } from "./rows";
import { useBench } from "./useBench";

const ROW = 24;
// Where the way goes on without a fork there is nothing to tell apart: a small step is enough.
const INDENT = 12;
const CHAIN_INDENT = 2;
// Of the column's width; deeper rows say how deep they are.
const MOST_INDENT = 0.4;

// How far each box is moved in below the root.
function indentsOf(tree: Tree, children: Children, root: number): (node: number) => number {
  const known = new Map<number, number>([[root, 0]]);
  return (node) => {
    const way: number[] = [];
    let at = node;
    while (!known.has(at)) {
      way.push(at);
      at = tree.parent[at];
    }
    let indent = known.get(at) as number;
    for (const n of way.reverse()) {
      const above = tree.parent[n];
      indent += children.first[above + 1] - children.first[above] > 1 ? INDENT : CHAIN_INDENT;
      known.set(n, indent);
    }
    return indent;
  };
}

export function CallTree({ app }: { app: App }) {
  useBench(app);
  const tree = app.tree();
  const root = Math.min(app.state.zoom, tree.count - 1);
  const children = useMemo(() => childLists(tree, app.model.nameRank, "weight"), [tree]);
  const [open, setOpen] = useState(() => new Set(hotPath(tree, children, root)));
  const [scroll, setScroll] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const selected = app.selection && app.selection.pane === "main" && app.selection.node < tree.count ? app.selection.node : -1;

  useEffect(() => setOpen(new Set(hotPath(tree, children, root))), [tree, root]);
  // Expands and scrolls to a function that was selected elsewhere.
  useEffect(() => {
    if (selected < 0) return;
    const missing = pathOf(tree, selected).slice(0, -1).filter((n) => !open.has(n));
    if (missing.length > 0) setOpen(new Set([...open, ...missing]));
  }, [selected, tree]);

  const indents = useMemo(() => indentsOf(tree, children, root), [tree, children, root]);
  const rows = useMemo(() => visibleRows(children, root, open), [children, root, open]);
  const at = rows.indexOf(selected);
  useEffect(() => {
    const el = box.current;
    if (!el || at < 0) return;
    if (at * ROW < el.scrollTop) el.scrollTop = at * ROW;
    else if ((at + 2) * ROW > el.scrollTop + el.clientHeight - ROW) el.scrollTop = (at + 3) * ROW - el.clientHeight;
  }, [at]);

  const { totals } = app.derived.columns(app.state);
  const type = app.model.meta.types[app.state.type];
  const share = (value: number, side: number): string => (totals[side] > 0 ? ((value / totals[side]) * 100).toFixed(1) : "–");
  const hasChildren = (node: number): boolean => children.first[node + 1] > children.first[node];
  const fold = (node: number, unfold: boolean): void => {
    const next = new Set(open);
    if (unfold) for (const n of hotPath(tree, children, node, 0.9)) next.add(n);
    else next.delete(node);
    setOpen(next);
  };
  const choose = (node: number): void => app.select({ pane: "main", node, whole: false });
  const onKey = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const node = at >= 0 ? rows[at] : root;
    if (e.key === "ArrowDown") choose(rows[Math.min(rows.length - 1, at + 1)]);
    else if (e.key === "ArrowUp") choose(rows[Math.max(0, at - 1)]);
    else if (e.key === "ArrowRight") {
      if (!open.has(node) && hasChildren(node)) fold(node, true);
      else if (hasChildren(node)) choose(children.child[children.first[node]]);
    } else if (e.key === "ArrowLeft") {
      if (open.has(node) && hasChildren(node)) fold(node, false);
      else if (node !== root) choose(tree.parent[node]);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const height = box.current?.clientHeight ?? 600;
  const mostIndent = Math.round(((box.current?.clientWidth ?? 500) - 230) * MOST_INDENT);
  const first = Math.max(0, Math.floor(scroll / ROW) - 4);
  const last = Math.min(rows.length, first + Math.ceil(height / ROW) + 10);
  const depth0 = tree.depth[root];
  const { diff } = app.model.meta;
  return (
    <div class="calltree" role="treegrid" aria-label="Call tree" aria-rowcount={rows.length + 1} tabIndex={0} onKeyDown={onKey} aria-activedescendant={at >= first && at < last ? `row-${selected}` : undefined}>
      <div class="tree-head" role="row"><span role="columnheader">Function</span><span role="columnheader">{diff ? "Before %" : "Total %"}</span><span role="columnheader">{diff ? "After %" : "Self %"}</span><span role="columnheader">{diff ? "Change" : "Total"}</span></div>
      <div class="tree-rows" role="rowgroup" ref={box} onScroll={(e) => setScroll(e.currentTarget.scrollTop)}>
        <div style={{ height: `${rows.length * ROW}px`, position: "relative" }} role="presentation">
          {rows.slice(first, last).map((node, i) => {
            const name = app.model.name(tree.frame[node]);
            const deep = tree.depth[node] - depth0;
            const change = diff ? changeText(changeOf(app, tree.total[0][node], tree.total[1][node])) : null;
            return (
              <div key={node} id={`row-${node}`} class={`tree-row ${node === selected ? "sel" : ""}`} role="row" aria-level={deep + 1} aria-rowindex={first + i + 2} aria-selected={node === selected}
                aria-expanded={hasChildren(node) ? open.has(node) : undefined} style={{ transform: `translateY(${(first + i) * ROW}px)` }} onClick={() => choose(node)} onDblClick={() => app.zoom(node)}>
                <span role="gridcell" style={{ paddingLeft: `${Math.min(indents(node), Math.max(24, mostIndent))}px` }} title={name}>
                  <button type="button" tabIndex={-1} class="twist" aria-label={open.has(node) ? "Fold" : "Unfold"} hidden={!hasChildren(node)} onClick={(e) => { e.stopPropagation(); fold(node, !open.has(node)); }}>{open.has(node) ? "▾" : "▸"}</button>
                  {indents(node) > Math.max(24, mostIndent) && <i class="faint">{deep} </i>}{name}
                </span>
                <span role="gridcell">{!diff && <i class="fill" style={{ width: `${tree.weight[root] > 0 ? (tree.weight[node] / tree.weight[root]) * 100 : 0}%` }} />}{share(tree.total[0][node], 0)}</span>
                <span role="gridcell">{diff ? share(tree.total[1][node], 1) : share(tree.self[0][node], 0)}</span>
                <span role="gridcell" class={change?.tone ?? "dim"}>{change?.text ?? units.bare(tree.total[0][node], type)}</span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
