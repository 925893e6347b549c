// Dark or light: the system's setting, until the user chooses; the choice is stored if possible.

const KEY = "vestal-theme";

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

// Calls `apply` now and after each change; returns a function that toggles it.
export function startTheme(apply: (dark: boolean) => void): () => boolean {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let dark = stored() ? stored() === "dark" : system.matches;
  const set = (next: boolean): void => {
    dark = next;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    apply(dark);
  };
  set(dark);
  system.addEventListener("change", () => {
    if (!stored()) set(system.matches);
  });
  return () => {
    set(!dark);
    try {
      localStorage.setItem(KEY, dark ? "dark" : "light");
    } catch {
      // Not remembered, still changed.
    }
    return dark;
  };
}
