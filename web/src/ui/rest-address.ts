// The state of a workbench among the other parameters of the page's address.
import type { Address } from "../bench/address";
import { setRest, view } from "./router";

// "type" is part of the query; the displayed column of a response has another name.
const NAMES: Record<string, string> = { type: "column" };
const OWN = ["type", "view", "fn", "in", "zoom", "flip", "order", "q", "re", "norm", "swap", "table", "measure", "sort"];

export class RestAddress implements Address {
  read(): string {
    const out = new URLSearchParams();
    const { rest } = view.peek();
    for (const name of OWN) {
      const value = rest[NAMES[name] ?? name];
      if (value !== undefined) out.set(name, value);
    }
    return out.toString();
  }

  write(params: string, push: boolean): void {
    const given = new URLSearchParams(params);
    setRest(Object.fromEntries(OWN.map((name) => [NAMES[name] ?? name, given.get(name) ?? undefined])), push);
  }

  listen(changed: () => void): () => void {
    return view.subscribe(() => changed());
  }
}
