// The tree of a selection: bytes from the server, decoded into a model.
import { decodeVft, Model } from "../flame";
import { getBytes } from "./api";
import { filterParams, question, type View } from "./view";

export interface TreeAnswer {
  model: Model;
  // Bytes of the answer and milliseconds to decode it.
  bytes: number;
  ms: number;
}

export const MAX_NODES = 16384;

export function treeParams(view: View): [string, string][] {
  return [...question(view), ...filterParams(view)];
}

export async function askTree(params: [string, string][], signal: AbortSignal): Promise<TreeAnswer> {
  const buffer = await getBytes("tree", [...params, ["format", "vft"]], signal);
  const start = performance.now();
  const model = new Model(decodeVft(buffer));
  return { model, bytes: buffer.byteLength, ms: performance.now() - start };
}
