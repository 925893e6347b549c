// The keys, from the table they come from.
import { commands } from "../commands";
import { Dialog } from "./Dialog";

const MOUSE: [string, string][] = [
  ["click a box", "zoom to it"], ["Ctrl + wheel", "zoom at the pointer"], ["drag", "move sideways when zoomed; on the time line: choose a range"],
  ["double click", "in the table: callers and callees"],
];

export function Help({ onClose }: { onClose: () => void }) {
  const groups = new Map<string, { keys: string; title: string }[]>();
  for (const c of commands()) {
    if (!c.keys?.length) continue;
    groups.set(c.group, [...(groups.get(c.group) ?? []), { keys: c.keys.join("   "), title: c.title }]);
  }
  return (
    <Dialog title="Keys" className="help" onClose={onClose}>
      <div class="columns">
        {[...groups].map(([name, list]) => (
          <section>
            <h2>{name}</h2>
            <dl>{list.map((c) => <><dt><kbd>{c.keys}</kbd></dt><dd>{c.title}</dd></>)}</dl>
          </section>
        ))}
        <section>
          <h2>Mouse</h2>
          <dl>{MOUSE.map(([what, text]) => <><dt><kbd>{what}</kbd></dt><dd>{text}</dd></>)}</dl>
        </section>
      </div>
      <form method="dialog"><button class="btn">Close<kbd>Esc</kbd></button></form>
    </Dialog>
  );
}
