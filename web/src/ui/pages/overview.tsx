// The first page: every service, what it uses, what changed.
import { useRef } from "preact/hooks";
import { useAnswer } from "../answer";
import { get } from "../api";
import { Spark } from "../charts/Spark";
import { useCommands } from "../commands";
import { useVersions } from "../diff/data";
import { changeText, coverageText, kindLabel, rate, verdictText, verdictTone } from "../kinds";
import { askOverview, changed, ordered, usageIn, type Changed, type Column, type Order, type Overview as Data, type Service, type Usage } from "../overview/data";
import { href, setRest, view } from "../router";
import { withMatcher } from "../selector";
import { FirstData } from "../shell/FirstData";
import { Foot } from "../shell/Foot";
import { LacksMark } from "../shell/Lacks";
import { Failure, Loading, Sentence } from "../shell/states";
import { setRange } from "../shell/TimeRange";
import { ago, local, rangeLabel, toMs, utc } from "../time";
import { question } from "../view";

const COLUMNS: [Column, string][] = [["cpu", "CPU"], ["waiting", "Waiting"], ["memory", "Memory"]];
// Shows the services with the highest use; all of them on request.
const FIRST_SERVICES = 200;
const MOST_SERVICES = 10_000;
const MOST_CHANGES = 9;
const MOST_VERSIONS = 3;

function useOverview() {
  const params: [string, string][] = [...question({ ...view.value, type: "" }), ["points", "60"], ["limit", view.value.rest.all ? String(MOST_SERVICES) : String(FIRST_SERVICES)]];
  return useAnswer(JSON.stringify(params), (signal): Promise<Data> => askOverview(params, signal));
}

const say = (u: Usage, value: number | null): string => rate(value, u.kind);
const inExplore = (service: Service, usage?: Usage): string => href({ page: "explore", query: withMatcher("", "service_name", service.name), type: usage?.kind.id ?? "", rest: {} });

function Cell({ usage }: { usage: Usage | undefined }) {
  if (!usage) return <td class="usage none"><span class="faint">–</span></td>;
  return <td class="usage"><Spark values={usage.points} /><span title={coverageText(usage.amount)}>{say(usage, usage.amount.rate)}<LacksMark text={usage.lacking} /></span></td>;
}

function ChangeCell({ usage }: { usage: Usage | undefined }) {
  const c = usage?.change;
  if (!usage || !c) return <td class="faint">–</td>;
  const title = `${say(usage, c.before.rate)} before, ${say(usage, c.after.rate)} now`;
  if (c.verdict === "noise") return <td class="noise" title={`${verdictText(c)}: ${title}`}>noise</td>;
  if (c.verdict === "no_earlier_data") return <td class="faint" title={verdictText(c)}>new</td>;
  if (c.verdict !== "more" && c.verdict !== "less") return <td class="faint" title={verdictText(c)}>–</td>;
  return <td class={verdictTone(c.verdict)} title={title}>{verdictText(c)}</td>;
}

const short = (text: string): string => (text.length > 14 ? `${text.slice(0, 12)}…` : text);

function Changes({ list, compared, from, now }: { list: Changed[]; compared: boolean; from: number; now: number }) {
  const v = view.value;
  const versions = useVersions(v.query, v.from, v.until).filter((x) => !x.first && x.time >= from).slice(-MOST_VERSIONS).reverse();
  const range = rangeLabel(v.from, v.until, now).text.toLowerCase();
  return (
    <section class="changes" aria-labelledby="changes-title">
      <h2 id="changes-title">What changed: {range} against the previous period</h2>
      {list.length === 0 && versions.length === 0 && <p class="dim">{compared ? "No significant change." : "No earlier data to compare with."}</p>}
      <ul>
        {list.map(({ service, usage }) => (
          <li>
            <a href={href({ page: "diff", query: withMatcher("", "service_name", service.name), type: usage.kind.id, rest: {} })} title={`Compare ${service.name} with the previous period`}>
              <span class={verdictTone(usage.change.verdict)}>{changeText(usage.change.share) || verdictText(usage.change)}</span>
              <b>{service.name}</b>
              <span class="dim">{kindLabel(usage.kind)} {say(usage, usage.change.before.rate)} → {say(usage, usage.change.after.rate)}</span>
            </a>
          </li>
        ))}
        {versions.map((x) => (
          <li>
            <a href={href({ page: "explore", query: withMatcher("", "service_name", x.service), rest: { by: x.label } })} title={`${x.label} ${x.value}, ${utc(x.time)}`}>
              <span class="mark">◆ {local(x.time, now)}</span><b>{x.service}</b><span class="dim">{x.label} {short(x.value)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Services({ services, order, now }: { services: Service[]; order: Order; now: number }) {
  const body = useRef<HTMLTableSectionElement>(null);
  // Up and down walk through the services.
  const walk = (by: number): void => {
    const links = [...(body.current?.querySelectorAll<HTMLElement>("th a") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
  };
  useCommands(() => [
    { id: "services/next", group: "Overview", title: "Next service", keys: ["ArrowDown", "j"], run: () => walk(1) },
    { id: "services/previous", group: "Overview", title: "Previous service", keys: ["ArrowUp", "k"], run: () => walk(-1) },
  ], []);
  const head = (name: Order, word: string) => (
    <th scope="col" aria-sort={order === name ? (name === "name" ? "ascending" : "descending") : undefined}>
      <button type="button" onClick={() => setRest({ sort: name === "cpu" ? undefined : name })}>{word}</button>
    </th>
  );
  // Columns without values are left out.
  const columns = COLUMNS.filter(([c]) => services.some((s) => usageIn(s, c)));
  return (
    <table class="services">
      <thead><tr>{head("name", "Service")}{columns.map(([c, word]) => head(c, word))}<th scope="col" class="short">CPU change</th><th scope="col" class="short">Last seen</th></tr></thead>
      <tbody ref={body}>
        {services.map((s) => (
          <tr key={s.name} onClick={(e) => !(e.target as Element).closest("a") && (e.currentTarget.querySelector("a") as HTMLElement).click()}>
            <th scope="row"><a href={inExplore(s)} title={s.name}>{s.name || "(no name)"}</a></th>
            {columns.map(([c]) => <Cell usage={usageIn(s, c)} />)}
            <ChangeCell usage={usageIn(s, "cpu")} />
            <td class="dim" title={utc(s.lastSeen)}>{isFinite(s.lastSeen) ? ago(s.lastSeen, now) : "–"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// The names are known long before what they use is added up.
function Coming({ names }: { names: string[] }) {
  return (
    <div class="page overview">
      <div class="scroll">
        <div class="head"><p class="big">{names.length} services<small> · computing totals</small></p></div>
        <table class="services coming" aria-busy="true">
          <thead><tr><th scope="col">Service</th><th scope="col">CPU</th></tr></thead>
          <tbody>{names.slice(0, FIRST_SERVICES).map((name) => (
            <tr key={name}><th scope="row"><a href={href({ page: "explore", query: withMatcher("", "service_name", name), type: "", rest: {} })}>{name || "(no name)"}</a></th><td class="usage"><i class="wait" /></td></tr>
          ))}</tbody>
        </table>
      </div>
      <Foot parts={["asking …"]} />
    </div>
  );
}

export function Overview() {
  const v = view.value;
  const answer = useOverview();
  const stored = useAnswer("services", (signal) => get<{ services: string[] }>("services", {}, signal));
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data && answer.slow && !v.query && stored.data?.services.length) return <Coming names={stored.data.services} />;
  if (!answer.data || !stored.data) return <Loading what="services" />;
  const now = Date.now();
  if (answer.data.services.length === 0) {
    if (stored.data.services.length === 0) return <FirstData />;
    return (
      <Sentence title={v.query ? "No service fits this selector in this range." : "No profile arrived in this range."} role="status">
        <div class="actions">
          <button type="button" class="btn" onClick={() => setRange("-1d", "now")}>Last day</button>
          <button type="button" class="btn" onClick={() => setRange("-30d", "now")}>Last 30 days</button>
          {v.query && <a class="btn" href={href({ query: "" })}>All services</a>}
        </div>
      </Sentence>
    );
  }
  const order = (["name", "waiting", "memory"] as Order[]).find((o) => o === v.rest.sort) ?? "cpu";
  const services = ordered(answer.data.services, order);
  const cpu = services.map((s) => usageIn(s, "cpu")).filter((u): u is Usage => u !== undefined);
  const coverage = coverageText(answer.data.cpu);
  return (
    <div class="page overview">
      <div class="scroll">
        <div class="head">
          <p class="big">{cpu.length ? rate(answer.data.cpu.rate, cpu[0].kind) : `${services.length} services`}<small>{cpu.length > 0 && coverage && ` ${coverage}`}{cpu.length > 0 && ` · ${answer.data.more ? `the ${services.length} largest of ${stored.data.services.length}` : services.length} ${services.length === 1 ? "service" : "services"}`}{v.query && <> that fit <code>{v.query}</code> · <a href={href({ query: "" })}>all</a></>}</small></p>
        </div>
        <Changes list={changed(services, MOST_CHANGES)} compared={services.some((s) => s.usages.some((u) => u.change.p_value !== null))} from={toMs(v.from, now)} now={now} />
        <Services services={services} order={order} now={now} />
        {answer.data.more && <p class="more"><span class="dim">These {services.length} use most.</span> <a href={href({ rest: { ...v.rest, all: "1" } })}>Show every service</a></p>}
      </div>
      <Foot parts={[`${services.length} services`]} ms={answer.ms} />
    </div>
  );
}
