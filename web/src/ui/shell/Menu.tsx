// A button that opens a panel below it; Escape and a click elsewhere close it and give the focus back.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  label: ComponentChildren;
  title?: string;
  hint?: string;
  id?: string;
  className?: string;
  align?: "left" | "right";
  children: (close: () => void) => ComponentChildren;
}

export function Menu({ label, title, hint, id, className = "btn", align = "right", children }: Props) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!open) return undefined;
    root.current?.querySelector<HTMLElement>(".menu button, .menu a, .menu input, .menu select")?.focus();
    const outside = (e: PointerEvent): void => {
      if (!root.current?.contains(e.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  // Arrows walk through what can be chosen.
  const onKey = (e: KeyboardEvent): void => {
    if (!open) return;
    if (e.key === "Escape") {
      e.preventDefault();
      e.stopPropagation();
      return close();
    }
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    if ((e.target as HTMLElement).matches("select, input")) return;
    const items = [...(root.current?.querySelectorAll<HTMLElement>(".menu button:enabled, .menu a") ?? [])];
    const next = items[(items.indexOf(document.activeElement as HTMLElement) + (e.key === "ArrowDown" ? 1 : -1) + items.length) % items.length];
    next?.focus();
    e.preventDefault();
  };
  return (
    <div class="menu-root" ref={root} onKeyDown={onKey}>
      <button type="button" ref={button} id={id} class={className} title={title} aria-haspopup="dialog" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}{hint && <kbd aria-hidden="true">{hint}</kbd>}
      </button>
      {open && <div class={`menu ${align}`} role="dialog" aria-label={title}>{children(close)}</div>}
    </div>
  );
}
