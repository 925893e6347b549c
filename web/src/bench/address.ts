// Stores the state of a workbench in the URL, so that links contain it: after the # in the report,
// among the parameters of the page in the UI.

export interface Address {
  read(): string;
  write(params: string, push: boolean): void;
  // Calls back when it was changed elsewhere (the back button); returns a function to stop.
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
