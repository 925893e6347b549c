// The states that are not data: one sentence, one action.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, AwayError, revision, setToken } from "../api";

export function Sentence({ title, children, role }: { title: string; children?: ComponentChildren; role?: "alert" | "status" }) {
  return (
    <div class="sentence" role={role}>
      <p class="lead">{title}</p>
      {children}
    </div>
  );
}

// Bars where the answer will be, so that nothing jumps when it comes.
export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status" aria-label={`Loading ${what}`}>
      {[100, 84, 62, 62, 40, 22].map((w) => <i style={{ width: `${w}%` }} />)}
    </div>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function Failure({ error, children }: { error: Error; children?: ComponentChildren }) {
  if (error instanceof ApiError && error.status === 401) return <TokenForm />;
  const again = <button type="button" class="btn" onClick={() => revision.value++}>Refresh</button>;
  if (error instanceof AwayError) return <Sentence role="status" title="The server does not respond. Retrying every two seconds.">{again}</Sentence>;
  const text = error instanceof ApiError ? error.message : "Internal error of this page. Please report it with the URL.";
  return <Sentence role="alert" title={`${capital(text).replace(/\.$/, "")}.`}>{children ?? again}</Sentence>;
}

// The code of a page could not be loaded: the server does not respond, or has another version than this
// page.
export function NotFetched({ title }: { title: string }) {
  return (
    <Sentence role="alert" title={`“${title}” could not be loaded: the server does not respond, or has another version.`}>
      <button type="button" class="btn" onClick={() => location.reload()}>Reload</button>
    </Sentence>
  );
}

export function TokenForm() {
  const [token, set] = useState("");
  return (
    <Sentence title="This server requires a token.">
      <form class="token" onSubmit={(e) => { e.preventDefault(); if (token.trim()) setToken(token.trim()); }}>
        <input type="password" aria-label="Token" placeholder="vst_…" autocomplete="off" value={token} onInput={(e) => set(e.currentTarget.value)} />
        <button class="btn hot">Use</button>
      </form>
      <p class="faint">It is kept until this tab is closed. “vestal token create” makes one.</p>
    </Sentence>
  );
}

