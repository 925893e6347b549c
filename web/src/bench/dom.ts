// Elements in one line. Text is always text: nothing from the data ever becomes markup.

type Child = Node | string | null | false;
type Props = Record<string, string | number | boolean | null | ((e: Event) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === false) continue;
    if (typeof value === "function") el.addEventListener(key.slice(2), value);
    // A style attribute would be refused by a policy without inline styles; a property is not.
    else if (key === "style") el.style.cssText = String(value);
    else if (key === "text") el.textContent = String(value);
    else el.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== false) el.append(child);
  return el;
}

export function byId<T extends HTMLElement>(id: string): T {
  const el = document.getElementById(id);
  if (!el) throw new Error(`the page has no #${id}`);
  return el as T;
}

// A button with its key beside the word.
export function keyButton(label: string, key: string, title: string, act: () => void, extra: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", title, onclick: act, ...extra }, label, key ? h("kbd", { "aria-hidden": "true" }, key) : null);
}

export function press(button: HTMLElement, on: boolean): void {
  button.setAttribute("aria-pressed", String(on));
}
