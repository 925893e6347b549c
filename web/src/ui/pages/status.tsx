// Status: ingest, storage, agents, tokens, and the settings of this page.
import { useState } from "preact/hooks";
import { copyText } from "../../bench/clipboard";
import { units } from "../../flame";
import { useAnswer } from "../answer";
import { forgetToken, hasToken, setToken } from "../api";
import { Spark } from "../charts/Spark";
import { commands } from "../commands";
import { say } from "../notice";
import { href } from "../router";
import { Foot } from "../shell/Foot";
import { Failure, Loading } from "../shell/states";
import { askAgents, askStatus, askTokens, perSecond, useFlow, type Agent, type Flow, type Status as Kept, type Token } from "../status/data";
import { dark, turnTheme } from "../theme";
import { ago, local, utc } from "../time";

const bytes = (n: number): string => units.amount(n, { name: "", unit: "bytes" });
const plain = (n: number): string => units.count(n);

function Fact({ word, value, title }: { word: string; value: string; title?: string }) {
  return <><dt>{word}</dt><dd title={title}>{value}</dd></>;
}

function Coming() {
  const seen = useFlow();
  const flows = seen.slice(1).map((s, i) => perSecond(seen[i], s));
  const mean = seen.length > 1 ? perSecond(seen[Math.max(0, seen.length - 8)], seen[seen.length - 1]) : null;
  const row = (word: string, key: keyof Flow, text: (v: number) => string) => (
    <tr><th scope="row">{word}</th><td><Spark values={flows.map((f) => f[key])} width={240} /></td><td>{mean ? text(mean[key]) : "…"}</td></tr>
  );
  return (
    <section class="part">
      <h2>Ingest, last two minutes</h2>
      <table class="flow"><tbody>
        {row("Samples", "samples", (v) => `${plain(v)}/s`)}
        {row("Data", "bytes", (v) => `${bytes(v)}/s`)}
        {row("Uploads", "uploads", (v) => `${plain(v)}/s`)}
        {row("Failures", "refused", (v) => `${plain(v)}/s`)}
      </tbody></table>
    </section>
  );
}

function Keeping({ status, now }: { status: Kept; now: number }) {
  const oldest = status.oldest_ns / 1e6;
  const newest = status.newest_ns / 1e6;
  const held = status.profiles > 0;
  return (
    <section class="part">
      <h2>Storage</h2>
      <dl>
        <Fact word="On disk" value={bytes(status.disk_bytes)} title={`${bytes(status.dictionary_bytes)} of names in memory`} />
        <Fact word="Limit" value={status.tenant_max_size > 0 ? bytes(status.tenant_max_size) : status.max_size > 0 ? bytes(status.max_size) : "none"} title={status.max_size > 0 ? `${bytes(status.max_size)} for all tenants` : ""} />
        <Fact word="Retention" value={status.retention_ns > 0 ? units.duration(status.retention_ns) : "forever"} />
        <Fact word="Oldest" value={held ? local(oldest, now) : "–"} title={held ? utc(oldest) : ""} />
        <Fact word="Newest" value={held ? ago(newest, now) : "–"} title={held ? utc(newest) : ""} />
        <Fact word="Services" value={plain(status.services)} />
        <Fact word="Series" value={plain(status.series)} />
        <Fact word="Profiles" value={plain(status.profiles)} />
        <Fact word="Samples" value={plain(status.samples)} />
        <Fact word="Spans" value={plain(status.spans)} />
      </dl>
      {status.disk_full && <p class="up" role="alert">{status.disk_state}: nothing more is taken.</p>}
      {status.retention_suspended && <p class="up" role="alert">{status.retention_suspended_why}</p>}
      {!status.retention_suspended && status.uncounted_ns > 0 && <p class="dim">The machine was off for {units.duration(status.uncounted_ns)}, which does not count towards the age of data.</p>}
      {status.upkeep_fails && <p class="up" role="alert">Upkeep fails: {status.upkeep_last_failure || "see the log"}.</p>}
    </section>
  );
}

function Agents({ now }: { now: number }) {
  const agents = useAnswer("agents", askAgents);
  const or = (value: number | null | undefined, text: (v: number) => string): string => (value === null || value === undefined ? "–" : text(value));
  return (
    <section class="part wide">
      <h2>Agents and their cost</h2>
      {agents.error && !agents.data ? <Failure error={agents.error} />
        : !agents.data?.length ? <p class="dim">{agents.loading ? "…" : "No agent has sent anything yet."} {!agents.loading && <code>sudo vestal agent --server {location.origin}</code>}</p>
          : (
            <div class="table-scroll" tabIndex={0} role="region" aria-label="Agents">
              <table class="agents">
                <thead><tr>{["Host", "Version", "Last seen", "Rate", "CPU", "Memory", "Samples", "Lost"].map((w) => <th scope="col">{w}</th>)}</tr></thead>
                <tbody>
                  {agents.data.map((a: Agent) => (
                    <tr>
                      <th scope="row"><a href={href({ page: "explore", query: `{host.name="${a.host}"}`, rest: {} })}>{a.host || "(no name)"}</a></th>
                      <td>{a.version || "–"}</td>
                      <td title={a.last_seen_ms ? utc(a.last_seen_ms) : ""}>{or(a.last_seen_ms, (v) => ago(v, now))}</td>
                      <td>{or(a.rate_hz, (v) => `${units.figure(v)} Hz`)}</td>
                      <td>{or(a.cpu_share, units.percent)}</td>
                      <td>{or(a.rss_bytes, bytes)}</td>
                      <td>{or(a.samples_per_s, (v) => `${plain(v)}/s`)}</td>
                      <td>{or(a.dropped, plain)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
    </section>
  );
}

function TokenRow({ token, own, tenants, now }: { token: Token; own: boolean; tenants: boolean; now: number }) {
  const line = `vestal token revoke ${token.id}`;
  const copy = async (): Promise<void> => say((await copyText(line)) ? "Copied the command" : "The browser did not allow copying");
  return (
    <tr>
      <th scope="row">{token.name || "(no name)"}{own && <span class="dim"> · this page's</span>}</th>
      {tenants && <td>{token.tenant}</td>}
      <td>{token.rights.join(", ")}</td>
      <td title={utc(token.created_s * 1e3)}>{local(token.created_s * 1e3, now)}</td>
      <td><button type="button" class="quiet" title={`Copy: ${line}`} aria-label={`Copy the command that revokes ${token.name || token.id}`} onClick={() => void copy()}>Copy “revoke”</button></td>
    </tr>
  );
}

// Tokens, for users with the right admin. They are created and revoked on the server's host.
function TokenList({ now }: { now: number }) {
  const answer = useAnswer("tokens", askTokens);
  const data = answer.data;
  const tenants = new Set(data?.tokens.map((t) => t.tenant)).size > 1;
  return (
    <section class="part wide">
      <h2>Tokens</h2>
      {answer.error && !data ? <Failure error={answer.error} /> : !data ? <p class="dim">…</p>
        : !data.needed ? <p class="dim">There are no tokens: every client that can reach this server may query, upload and delete. To restrict access, create the first one: <code>vestal token create --admin --name me</code></p>
          : (
            <div class="table-scroll" tabIndex={0} role="region" aria-label="Tokens">
              <table class="agents">
                <thead><tr>{["Name", ...(tenants ? ["Tenant"] : []), "May", "Made", "Revoke"].map((w) => <th scope="col">{w}</th>)}</tr></thead>
                <tbody>{data.tokens.map((t) => <TokenRow token={t} own={t.id === data.own} tenants={tenants} now={now} />)}</tbody>
              </table>
            </div>
          )}
    </section>
  );
}

function Settings() {
  const [token, set] = useState("");
  return (
    <section class="part">
      <h2>This page</h2>
      <div class="settings">
        <span>Theme</span>
        <span class="seg" role="group" aria-label="Theme">
          <button type="button" aria-pressed={dark.value} onClick={() => !dark.value && turnTheme()}>Dark</button>
          <button type="button" aria-pressed={!dark.value} onClick={() => dark.value && turnTheme()}>Light</button>
        </span>
        <span>Token</span>
        {hasToken()
          ? <span class="actions"><span class="dim">in use until this tab is closed</span><button type="button" class="btn" onClick={() => { forgetToken(); say("The token was removed"); }}>Remove</button></span>
          : <form class="token" onSubmit={(e) => { e.preventDefault(); if (token.trim()) { setToken(token.trim()); set(""); say("The token is used from now on"); } }}>
            <input type="password" aria-label="Token" placeholder="none (vst_…)" autocomplete="off" value={token} onInput={(e) => set(e.currentTarget.value)} />
            <button class="btn" disabled={!token.trim()}>Use</button>
          </form>}
      </div>
    </section>
  );
}

function Keys() {
  const groups = new Map<string, { keys: string; title: string }[]>();
  for (const c of commands()) if (c.keys?.length) groups.set(c.group, [...(groups.get(c.group) ?? []), { keys: c.keys[0], title: c.title }]);
  return (
    <section class="part wide">
      <h2>Keys, here and on every page</h2>
      <div class="key-columns">{[...groups].map(([name, list]) => <dl aria-label={name}>{list.map((c) => <><dt><kbd>{c.keys}</kbd></dt><dd>{c.title}</dd></>)}</dl>)}</div>
    </section>
  );
}

export function Status() {
  const answer = useAnswer("status", askStatus);
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return <Loading what="status" />;
  const { status, build } = answer.data;
  const now = Date.now();
  return (
    <div class="page status">
      <div class="scroll">
        <div class="head"><p class="big">{plain(status.samples)} samples<small> · {bytes(status.disk_bytes)} on disk · running for {units.duration(status.uptime_ns)} · vestal {build.version} <span class="mono">{build.revision}</span></small></p></div>
        <div class="parts">
          <Coming />
          <Keeping status={status} now={now} />
          <Settings />
          <Agents now={now} />
          {status.rights.includes("admin") && <TokenList now={now} />}
          <Keys />
        </div>
      </div>
      <Foot parts={[`tenant ${status.tenant}`]} ms={answer.ms} />
    </div>
  );
}
