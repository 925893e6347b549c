// Large responses are decoded, summed and laid out in a worker, so that the page stays responsive. The
// bytes and the computed columns are transferred back, not copied.
import { decodeVft, layout, makeTree, Model, VftError, type Layout, type Tree } from "../flame";

export interface Job {
  id: number;
  buffer: ArrayBuffer;
}

export interface Done {
  id: number;
  buffer?: ArrayBuffer;
  tree?: Tree;
  lay?: Layout;
  // The decoding error.
  error?: string;
}

// The first type, by name: what the page shows first.
export function prepare(buffer: ArrayBuffer): { tree: Tree; lay: Layout } {
  const model = new Model(decodeVft(buffer));
  const columns = model.columns({ type: model.meta.defaultType, normalise: true, swap: false });
  const tree = makeTree(model.vft.parent, model.vft.frame, columns.self);
  return { tree, lay: layout(tree, model.nameRank, "name") };
}

function buffersOf(tree: Tree, lay: Layout, own: ArrayBuffer): ArrayBuffer[] {
  const arrays = (part: object): ArrayBufferView[] => Object.values(part).filter((v): v is ArrayBufferView => ArrayBuffer.isView(v));
  const views = [tree.depth, ...tree.total, tree.weight, ...arrays(lay), ...arrays(lay.steps)];
  return [...new Set([own, ...views.map((v) => v.buffer as ArrayBuffer)])];
}

if (typeof document === "undefined" && typeof self !== "undefined" && "postMessage" in self) {
  self.addEventListener("message", (e: MessageEvent<Job>) => {
    const { id, buffer } = e.data;
    const send = (done: Done, transfer: ArrayBuffer[]): void => (self as unknown as Worker).postMessage(done, transfer);
    try {
      const { tree, lay } = prepare(buffer);
      send({ id, buffer, tree, lay }, buffersOf(tree, lay, buffer));
    } catch (error) {
      if (!(error instanceof VftError)) throw error;
      send({ id, error: error.message }, []);
    }
  });
}
