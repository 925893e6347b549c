import { signal } from "@preact/signals";
import { startTheme as start } from "../bench/theme";

export const dark = signal(true);
export const turnTheme = start((value) => (dark.value = value));
