// A dialog that keeps the focus while it is open and gives it back.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dialog({ title, onClose, className, children }: { title: string; onClose: () => void; className?: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current as HTMLDialogElement;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog ref={box} class={className} aria-label={title} onClose={onClose} onClick={(e) => e.target === box.current && onClose()}>
      {children}
    </dialog>
  );
}
