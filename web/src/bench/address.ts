// Where the state of a workbench is kept so that a link carries it: the report keeps it behind the #,
// the served page among the parameters of its own address.

export interface Address {
  read(): string;
  write(params: string, push: boolean): void;
  // Calls back when somebody else changed it (the back button); returns how to stop.
  listen(changed: () => void): () => void;
}

export class HashAddress implements Address {
  read(): string {
    return location.hash.replace(/^#/, "");
  }

  write(params: string, push: boolean): void {
    try {
      history[push ? "pushState" : "replaceState"](null, "", `#${params}`);
    } catch {
      // A sandboxed frame has no history; the page works without.
    }
  }

  listen(changed: () => void): () => void {
    const events = ["popstate", "hashchange"];
    for (const name of events) addEventListener(name, changed);
    return () => events.forEach((name) => removeEventListener(name, changed));
  }
}
