// A server without data: the ways to get some, with lines to copy.
import { copyText } from "../../bench/clipboard";
import { revision } from "../api";
import { say } from "../notice";
import { Sentence } from "./states";

function ways(): [string, string][] {
  const { origin } = location;
  return [
    ["Profile this machine, all programs", `sudo vestal agent --server ${origin}`],
    ["Send a profile you have, of any format", `curl --data-binary @profile.pb.gz '${origin}/api/v1/profiles?service=my-service'`],
    ["Point a client you already use (Pyroscope, OpenTelemetry) here", `export PYROSCOPE_SERVER_ADDRESS=${origin} OTEL_EXPORTER_OTLP_ENDPOINT=${origin}`],
  ];
}

export function FirstData() {
  const copy = async (line: string): Promise<void> => say((await copyText(line)) ? "Copied" : "The browser did not allow copying");
  return (
    <Sentence title="This server has no profiles yet. Three ways to get some:" role="status">
      <ol class="ways">
        {ways().map(([what, line]) => (
          <li>
            <span>{what}</span>
            <div class="copyable"><code>{line}</code><button type="button" class="quiet" onClick={() => void copy(line)} aria-label={`Copy: ${what}`}>Copy</button></div>
          </li>
        ))}
      </ol>
      <button type="button" class="btn" onClick={() => revision.value++}>Refresh</button>
    </Sentence>
  );
}
