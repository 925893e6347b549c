// Dark or light: what the system says, until the reader chooses; the choice is kept where storage is
// allowed.

const KEY = "vestal-theme";

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

// Tells `apply` now and after each change; returns what turns it over.
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
