"""Who is measured: the agent of this build, and other profilers that run on the same machine."""
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request

from agent_cost.loads import ROOT, SCRATCH
from agent_cost.meter import Meter, listing

VESTAL = os.environ.get("VESTAL", f"{ROOT}/build/vestal")
HTTP, OTLP_HTTP, OTLP_GRPC = "127.0.0.1:14040", "127.0.0.1:14318", "127.0.0.1:14317"
METRICS = "127.0.0.1:14464"


def metrics(address):
    """{name with labels: value} of what a program tells Prometheus."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as reply:
        lines = reply.read().decode().splitlines()
    return {name: float(value) for name, _, value in
            (line.rpartition(" ") for line in lines if line and line[0] != "#")}


def wait_until(condition, seconds, step=0.005):
    """Seconds that it took."""
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        try:
            if condition():
                return time.monotonic() - begin
        except OSError:
            pass
        time.sleep(step)
    raise TimeoutError("nothing came of it")


class Server:
    """Somebody who takes what profilers send."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [VESTAL, "server", "--memory", "--listen", HTTP, "--otlp-http", OTLP_HTTP, "--otlp-grpc",
             OTLP_GRPC, "--log-level", "off"], cwd=SCRATCH, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_until(lambda: metrics(HTTP), 10)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    @staticmethod
    def received():
        """Samples, and bytes as sent, so far."""
        told = metrics(HTTP)
        return told["vestal_samples_total"], told["vestal_received_bytes_total"]

    @staticmethod
    def selector(program):
        return f'{{service_name=~"(unknown_service:)?{program}"}}'

    @staticmethod
    def answer(program, kind="samples"):
        """What `vestal query --json` says of a program; {} when there is nothing."""
        done = subprocess.run([VESTAL, "query", "--json", "-n", "0", "--type", kind, Server.selector(program)],
                              check=False, capture_output=True, text=True,
                              env=dict(os.environ, VESTAL_SERVER=f"http://{HTTP}"))
        return {} if done.returncode else json.loads(done.stdout)

    @staticmethod
    def top(program, kind="samples"):
        """The sum of a program's values, and {function: row}; nothing when there are none."""
        rows = Server.answer(program, kind)
        return rows.get("total", 0), {row["name"]: row for row in rows.get("rows", [])}

    @staticmethod
    def truncated(program):
        """The share of truncated stacks, in percent."""
        return 100 * (Server.answer(program).get("completeness", {}).get("truncated_share") or 0)


class DiskServer(Server):
    """The same with a store on disk."""

    def __enter__(self):
        self.folder = f"{SCRATCH}/stored-{time.monotonic_ns()}"
        self.start()
        return self

    def start(self):
        self.process = subprocess.Popen(
            [VESTAL, "server", "--data", self.folder, "--listen", HTTP, "--otlp-http", OTLP_HTTP,
             "--otlp-grpc", OTLP_GRPC, "--log-level", "off"], cwd=SCRATCH, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_until(lambda: metrics(HTTP), 10)

    def size(self):
        """Bytes on disk without the reserve for a full one, all of it written to its place: the
        server is started again for that, and the agent sends again what it could not deliver
        meanwhile."""
        self.process.terminate()
        self.process.wait(60)
        total = sum(os.path.getsize(os.path.join(place, name))
                    for place, _, names in os.walk(self.folder) for name in names
                    if os.path.basename(place) != ".reserve")
        self.start()
        return total


class Contender:
    """A profiler as long as the `with` lasts. `settle` seconds later it does what it always does."""

    name = command = ""
    settle = 4

    def __init__(self, *options):
        self.options = options

    @classmethod
    def is_here(cls):
        return bool(shutil.which(cls.command))

    def arguments(self):
        raise NotImplementedError

    def __enter__(self):
        before = set(listing("prog")) | {("map", one) for one in listing("map")}
        self.log = open(f"{SCRATCH}/{self.command.rpartition('/')[2]}.log", "w+", encoding="utf-8",
                        errors="replace")
        self.begun = time.monotonic()
        self.process = subprocess.Popen(self.arguments(), cwd=SCRATCH, stdout=self.log,
                                        stderr=self.log)
        self.meter = Meter(self.process.pid, before)
        return self

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            return log.read()

    def sampled(self):
        """True when its program of the clock has run."""
        return any(one["type"] == "perf_event" and one.get("run_cnt") for number, one in
                   listing("prog").items() if number not in self.meter.before)

    def measure(self, seconds, settle=None):
        time.sleep(self.settle if settle is None else settle)
        self.meter.restart()
        time.sleep(seconds)
        return self.meter.finish()

    def end(self):
        self.process.terminate()

    def __exit__(self, *_):
        self.meter.stop.set()
        self.end()
        self.process.wait(60)
        self.log.close()


class Vestal(Contender):
    name = "vestal"
    command = VESTAL

    def arguments(self):
        return [VESTAL, "agent", "--server", f"http://{OTLP_HTTP}", "--queue", "none", "--cpu-budget",
                "0", "--memory-budget", "0", "--metrics", METRICS, *self.options]

    def sample_no_waits(self):
        """From now on hardly any wait is sampled: R, the first field of the programs' settings, is four seconds."""
        ids = set()
        for number in os.listdir(f"/proc/{self.process.pid}/fdinfo"):
            with open(f"/proc/{self.process.pid}/fdinfo/{number}", encoding="ascii", errors="replace") as file:
                ids |= {int(found) for found in re.findall(r"^map_id:\s+(\d+)", file.read(), re.M)}
        settings = next(str(one["id"]) for one in listing("map").values()
                        if one["id"] in ids and one.get("name", "").endswith(".data"))
        found = json.loads(subprocess.run(["bpftool", "-j", "map", "lookup", "id", settings, "key", "0", "0", "0", "0"],
                                          capture_output=True, check=True).stdout)["value"]
        found[:8] = [f"0x{byte:02x}" for byte in (4 * 10**9).to_bytes(8, "little")]
        subprocess.run(["bpftool", "map", "update", "id", settings, "key", "0", "0", "0", "0", "value", *found],
                       check=True)

    def sampled(self):
        folder = f"/proc/{self.process.pid}/fdinfo"
        for number in os.listdir(folder):
            with open(f"{folder}/{number}", encoding="ascii", errors="replace") as file:
                text = file.read()
            if re.search(r"prog_type:\s+7\b", text) and re.search(r"run_cnt:\s+[1-9]", text):
                return True
        return False


class Before(Vestal):
    """An older build, for a comparison."""

    name = "before"
    command = os.environ.get("BENCH_BEFORE", "")


def within_budget(build):
    """The same with the budget that it has when nobody says anything."""

    class Limited(build):
        def arguments(self):
            return [build.command, "agent", "--server", f"http://{OTLP_HTTP}", "--queue", "none",
                    "--metrics", METRICS, *self.options]

    return Limited


class OpenTelemetry(Contender):
    name = "OpenTelemetry eBPF profiler"
    command = os.environ.get("OTEL_PROFILER", "")

    def arguments(self):
        return [self.command, "-collection-agent", OTLP_GRPC, "-disable-tls", "-samples-per-second",
                "97", "-reporter-interval", "15s", *self.options]


class Bpftrace(Contender):
    """Frame pointers, counted in the kernel."""

    name = "bpftrace (frame pointers)"
    command = "bpftrace"
    switch = ("tracepoint:sched:sched_switch { @left[args->prev_pid] = nsecs; "
              "$left = @left[args->next_pid]; if ($left) { @away[args->next_comm] = sum(nsecs - $left); "
              "delete(@left[args->next_pid]); } }")

    def end(self):
        # To print what it counted it looks for names, which takes minutes.
        self.process.kill()

    def arguments(self):
        rate = self.options[0] if self.options else 97
        probe = f"profile:hz:{rate} {{ @[kstack, ustack, comm] = count(); }}"
        return ["bpftrace", "-e", self.switch if rate == "switches" else probe]


class Perf(Contender):
    """perf record; its share is what it takes to copy, not to walk and to name."""

    name = "perf record (dwarf: copies, walks nothing)"
    command = "perf"

    def arguments(self):
        return ["perf", "record", "-q", "-a", "-F", "97", "--call-graph", "dwarf,8192", "-o",
                f"{SCRATCH}/perf.data"]


def contenders(*wanted):
    """Those that are here, this build first."""
    return [one for one in wanted or (Vestal, OpenTelemetry, Bpftrace, Perf) if one.is_here()]
