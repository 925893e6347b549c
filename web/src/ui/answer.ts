// An answer of the server inside a component: asked when its key changes, stale questions are given up,
// the last answer stays on the screen until the next one is there.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { AwayError, revision } from "./api";

export interface Answer<T> {
  data: T | undefined;
  error: Error | undefined;
  // A question is under way; `slow` after a moment, so that quick answers do not flicker.
  loading: boolean;
  slow: boolean;
  // How long the last answer took.
  ms: number;
}

const SLOW_MS = 200;

export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: undefined, error: undefined, loading: key !== null, slow: false, ms: 0 });
  const round = revision.value;
  const asked = useRef<string | null>(null);
  // Asked before the browser paints: an effect would wait for the next frame.
  useLayoutEffect(() => {
    if (key === null) return undefined;
    const control = new AbortController();
    const start = performance.now();
    const again = asked.current === key;
    asked.current = key;
    setAnswer((a) => ({ ...a, loading: true, slow: false, error: again ? a.error : undefined }));
    const timer = setTimeout(() => setAnswer((a) => ({ ...a, slow: a.loading })), SLOW_MS);
    ask(control.signal)
      .then((data) => {
        if (!control.signal.aborted) setAnswer({ data, error: undefined, loading: false, slow: false, ms: performance.now() - start });
      })
      .catch((error: Error) => {
        if (control.signal.aborted) return;
        // What is on the screen stays there while the server is away.
        setAnswer((a) => ({ ...a, data: error instanceof AwayError ? a.data : undefined, error, loading: false, slow: false }));
      })
      .finally(() => clearTimeout(timer));
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [key, round]);
  return answer;
}
