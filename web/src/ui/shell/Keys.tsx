// Keys as they are printed on a keyboard.
const WORDS: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", "Ctrl+k": "Ctrl K", "Ctrl+f": "Ctrl F" };

export const keyWord = (key: string): string => WORDS[key] ?? key;

export function Keys({ keys }: { keys: string[] }) {
  return <>{keys.map((key, i) => <>{i > 0 && " "}<kbd>{keyWord(key)}</kbd></>)}</>;
}
