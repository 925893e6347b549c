// Completeness of the data, from the server (docs/completeness.md).
export interface Completeness {
  // Whether a sender reports its losses; otherwise unknown.
  reported: boolean;
  // The server's text; may be empty.
  text: string;
}

// The completeness of a response; older servers and files have none.
export function completenessOf(answer: unknown): Completeness | undefined {
  const found = (answer as { completeness?: Partial<Completeness> } | null | undefined)?.completeness;
  return typeof found?.reported === "boolean" && typeof found.text === "string" ? { reported: found.reported, text: found.text } : undefined;
}

export function lacks(c: Completeness | undefined): string {
  return c?.reported ? c.text : "";
}

// For a comparison: equal texts of both sides are shown once.
export function lacksOfBoth(before: Completeness | undefined, after: Completeness | undefined): string {
  const [a, b] = [lacks(before), lacks(after)];
  if (a === b) return a;
  return [a && `before: ${a}`, b && `after: ${b}`].filter(Boolean).join(" · ");
}
