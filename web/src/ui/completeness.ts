// What arrived of what was measured, as the server says (docs/completeness.md).
export interface Completeness {
  // Somebody says what it lost; else nothing is known.
  reported: boolean;
  // The server's words; empty when there is nothing to say.
  text: string;
}

// What an answer says of itself; older servers and files say nothing.
export function completenessOf(answer: unknown): Completeness | undefined {
  const found = (answer as { completeness?: Partial<Completeness> } | null | undefined)?.completeness;
  return typeof found?.reported === "boolean" && typeof found.text === "string" ? { reported: found.reported, text: found.text } : undefined;
}

export function lacks(c: Completeness | undefined): string {
  return c?.reported ? c.text : "";
}

// Of a comparison: the same of both sides is said once.
export function lacksOfBoth(before: Completeness | undefined, after: Completeness | undefined): string {
  const [a, b] = [lacks(before), lacks(after)];
  if (a === b) return a;
  return [a && `before: ${a}`, b && `after: ${b}`].filter(Boolean).join(" · ");
}
