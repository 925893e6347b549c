// How well a command matches the typed text.

// All letters in order; words that begin with them first. -1 = no match.
export function score(title: string, wanted: string): number {
  const text = title.toLowerCase();
  const at = text.indexOf(wanted);
  if (at >= 0) return at === 0 || text[at - 1] === " " ? 0 : 1;
  let from = 0;
  for (const letter of wanted.replace(/\s/g, "")) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return -1;
  }
  return 2;
}
