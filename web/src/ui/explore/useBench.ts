// A pane that is drawn again whenever the workbench changes.
import { useEffect, useState } from "preact/hooks";
import type { App } from "../../bench/app";

export function useBench(app: App): void {
  const [, set] = useState(0);
  useEffect(() => app.subscribe(() => set((n) => n + 1)), [app]);
}
