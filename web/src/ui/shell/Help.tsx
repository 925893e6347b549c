// The keys, from the table they come from.
import { commands } from "../commands";
import { Dialog } from "./Dialog";
import { Keys } from "./Keys";

const MOUSE: [string, string][] = [
  ["click a box", "zoom to it"], ["Ctrl + wheel", "zoom at the pointer"], ["drag", "move sideways when zoomed; on the time line: choose a range"],
  ["double click", "in the table: callers and callees"],
];

export function Help({ onClose }: { onClose: () => void }) {
  const groups = new Map<string, { keys: string[]; title: string }[]>();
  for (const c of commands()) {
    if (!c.keys?.length) continue;
    groups.set(c.group, [...(groups.get(c.group) ?? []), { keys: c.keys, title: c.title }]);
  }
  return (
    <Dialog title="Keys" className="help" onClose={onClose}>
      <form method="dialog" class="help-head"><button class="btn">Close<kbd>Esc</kbd></button></form>
      <div class="columns">
        {[...groups].map(([name, list]) => (
          <section>
            <h2>{name}</h2>
            <dl>{list.map((c) => <><dt><Keys keys={c.keys} /></dt><dd>{c.title}</dd></>)}</dl>
          </section>
        ))}
        <section>
          <h2>Mouse</h2>
          <dl>{MOUSE.map(([what, text]) => <><dt><kbd>{what}</kbd></dt><dd>{text}</dd></>)}</dl>
        </section>
      </div>
    </Dialog>
  );
}
