// Every command by name, and services, because opening one is the most frequent action.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "../answer";
import { get } from "../api";
import { commands, type Command } from "../commands";
import { go } from "../router";
import { Dialog } from "./Dialog";
import { keyWord } from "./Keys";
import { score } from "./score";

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const services = useAnswer("services", (signal) => get<{ services: string[] }>("services", { limit: "1000" }, signal));
  const all: Command[] = [
    ...commands().filter((c) => c.id !== "palette"),
    ...(services.data?.services ?? []).map((s) => ({ id: `service/${s}`, title: `Explore ${s}`, group: "Services", run: () => go({ page: "explore", query: s, rest: {} }) })),
  ];
  const wanted = text.trim().toLowerCase();
  const found = all.map((c) => ({ c, s: score(c.title, wanted) })).filter((x) => x.s >= 0).sort((a, b) => a.s - b.s).slice(0, 60).map((x) => x.c);
  useEffect(() => list.current?.querySelector(".on")?.scrollIntoView({ block: "nearest" }), [chosen]);
  const run = (c: Command | undefined): void => {
    if (!c) return;
    onClose();
    // After the dialog gave the focus back, so that a command may take it.
    requestAnimationFrame(() => c.run());
  };
  const onKey = (e: KeyboardEvent): void => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setChosen((chosen + (e.key === "ArrowDown" ? 1 : -1) + found.length) % Math.max(1, found.length));
    } else if (e.key === "Enter") {
      e.preventDefault();
      run(found[chosen]);
    }
  };
  return (
    <Dialog title="Commands" className="palette" onClose={onClose}>
      <input type="text" role="combobox" aria-label="Command" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found.length ? `palette-${chosen}` : undefined}
        placeholder="Search commands" autocomplete="off" spellcheck={false} value={text}
        onInput={(e) => { setText(e.currentTarget.value); setChosen(0); }} onKeyDown={onKey} />
      <ul id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {found.map((c, i) => (
          <li id={`palette-${i}`} role="option" aria-selected={i === chosen} class={i === chosen ? "on" : ""} onPointerMove={() => setChosen(i)} onClick={() => run(c)}>
            <span>{c.title}</span><span class="faint">{c.group}</span>{c.keys?.[0] && <kbd>{keyWord(c.keys[0])}</kbd>}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="dim empty" role="status">No matches.</p>}
    </Dialog>
  );
}
