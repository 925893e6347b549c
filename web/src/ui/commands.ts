// Everything one can do, in one table: the keys, the help and the command palette are made of it.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Command {
  id: string;
  title: string;
  group: string;
  // "e", "?", "Ctrl+k", "g e" (one after the other). The first one is shown.
  keys?: string[];
  run: () => void;
}

const tables = signal<Command[][]>([]);

export function commands(): Command[] {
  return tables.value.flat();
}

// The commands of a component, as long as it is on the screen. `dependencies` as in an effect.
export function useCommands(make: () => Command[], dependencies: unknown[]): void {
  useEffect(() => {
    const table = make();
    tables.value = [...tables.peek(), table];
    return () => void (tables.value = tables.peek().filter((t) => t !== table));
  }, dependencies);
}

const PREFIX_MS = 1200;

export function keyName(e: KeyboardEvent): string {
  const key = e.key === " " ? "Space" : e.key;
  const ctrl = e.ctrlKey || e.metaKey ? "Ctrl+" : "";
  return `${ctrl}${e.altKey ? "Alt+" : ""}${ctrl ? key.toLowerCase() : key}`;
}

const isText = (target: HTMLElement): boolean => target.closest("input, textarea, select, [contenteditable]") !== null;

export function startKeys(): void {
  let prefix = "";
  let since = 0;
  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.isComposing) return;
    const target = e.target as HTMLElement;
    const name = keyName(e);
    const plain = !name.startsWith("Ctrl+") && !name.startsWith("Alt+");
    if (plain && (isText(target) || document.querySelector("dialog[open]"))) return;
    // Enter on a button presses it.
    if ((e.key === "Enter" || e.key === " ") && target.closest("button, a, summary, [role=option]")) return;
    const pressed = prefix && performance.now() - since < PREFIX_MS ? `${prefix} ${name}` : name;
    prefix = "";
    // The newest table wins: a page may take a key of the shell.
    const all = tables.peek().flat().reverse();
    const command = all.find((c) => c.keys?.includes(pressed)) ?? all.find((c) => c.keys?.includes(name));
    if (command) {
      e.preventDefault();
      command.run();
    } else if (all.some((c) => c.keys?.some((k) => k.startsWith(`${name} `)))) {
      prefix = name;
      since = performance.now();
    }
  });
}
