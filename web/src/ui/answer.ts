// A response of the server in a component: requested when its key changes; stale requests are
// cancelled; the last response stays visible until the next one arrives.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { AwayError, revision } from "./api";

export interface Answer<T> {
  data: T | undefined;
  error: Error | undefined;
  // A request is running; `slow` after a moment, so that fast responses do not flicker.
  loading: boolean;
  slow: boolean;
  // Duration of the last request.
  ms: number;
}

const SLOW_MS = 200;

export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: undefined, error: undefined, loading: key !== null, slow: false, ms: 0 });
  const round = revision.value;
  const asked = useRef<string | null>(null);
  // Requested before the browser paints: an effect would wait for the next frame.
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
        // Keep the current content while the server does not respond.
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
