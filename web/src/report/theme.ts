// Dark or light: what the system says, until the reader chooses; the choice is kept where storage is
// allowed.
import type { App } from "./app";

const KEY = "vestal-theme";

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function startTheme(app: App): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  app.setTheme(stored() ? stored() === "dark" : system.matches);
  system.addEventListener("change", () => {
    if (!stored()) app.setTheme(system.matches);
  });
  return () => {
    const dark = !app.palette.dark;
    app.setTheme(dark);
    app.announce(dark ? "Dark" : "Light");
    try {
      localStorage.setItem(KEY, dark ? "dark" : "light");
    } catch {
      // Not remembered, still changed.
    }
  };
}
