"""Children, plug-ins, memory and the library's own thread."""
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

from library_cost import peers
from library_cost.meter import (PRELOAD, ROOT, SCRATCH, VESTAL, WORKLOADS, build, fresh, in_turns, profiled,
                                row, run, top)

# With the first profile sent, what is named once is named; then two more.
BEGIN_SECONDS, STEADY_SECONDS = 12, 20
WORK = ("import json, time\n"
        "begun = time.monotonic()\n"
        "while time.monotonic() - begun < %d: json.loads(json.dumps(list(range(20000))))\n")


def forks():
    """Children of an allocating, threaded parent; a stuck one is killed after 20 seconds."""
    program, peer = build(WORKLOADS / "forker.c"), peers.heaptrack()
    found = json.loads(run([program, "1000"], profiled(VESTAL_TYPES="cpu,alloc,heap", VESTAL_RATE="1000")).stdout)
    beside = []
    if peer:
        other = json.loads(run([program, "20"], peer).stdout)
        beside = [("heaptrack", f"{20 - other['well']} of 20")]
    row("children of fork() that got stuck or failed", f"{1000 - found['well']} of 1000", beside, "0")


def names_by_gperftools(command):
    out = SCRATCH / "plugin.prof"
    env, reader = peers.gperftools(out), peers.google_pprof()
    if not env or not reader:
        return []
    run(command, env)
    text = subprocess.run([reader, "--text", command[0], out], capture_output=True, text=True,
                          check=False).stdout
    return [("gperftools", "yes" if "work_in_plugin" in text else "no")]


def plugin():
    """A library that is closed before anybody asks for names."""
    library, out = SCRATCH / "plugin.so", fresh("plugin") / "profile.pb.gz"
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", "-o", library, WORKLOADS / "plugin.c"], check=True)
    command = [build(WORKLOADS / "opener.c"), library]
    run(command, dict(profiled(), VESTAL_OUTPUT=str(out)))
    found = top(out).get("work_in_plugin", {"cum": 0})["cum"] / 1.2e9
    row("a closed plug-in: CPU time under its own names, told / true", f"{found:.2f}",
        names_by_gperftools(command), "1")


def thread_seconds(pid):
    """Processor time of the library's own thread so far."""
    own = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as file:
            name = file.read().strip()
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            own += int(file.read().split()[0]) if name == "vestal" else 0
    return own / 1e9


def memory_and_thread(env):
    """MiB resident at the end, what its thread took at first in ms, and then of a processor in percent."""
    process = subprocess.Popen([os.path.realpath(sys.executable), "-c",
                                WORK % (BEGIN_SECONDS + STEADY_SECONDS + 2)], env=dict(os.environ, **env))
    time.sleep(BEGIN_SECONDS)
    first, begun = thread_seconds(process.pid), time.monotonic()
    time.sleep(STEADY_SECONDS)
    share = 100 * (thread_seconds(process.pid) - first) / (time.monotonic() - begun)
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        resident = int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024
    process.wait()
    return resident, 1000 * first, share


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def footprint():
    """A program that works without pause and sends to a server, every ten seconds as usual."""
    port = free_port()
    server = subprocess.Popen([VESTAL, "server", "--listen", f"127.0.0.1:{free_port()}", "--otlp-http",
                               f"127.0.0.1:{port}", "--otlp-grpc", "none", "--memory"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    try:
        time.sleep(1)
        sending = {"LD_PRELOAD": str(PRELOAD), "VESTAL_TYPES": "cpu,alloc,heap",
                   "OTEL_SERVICE_NAME": "footprint",
                   "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        plain, full = in_turns(memory_and_thread, 3, {}, sending)
    finally:
        server.terminate()
        server.wait()
    row("resident memory added to a busy python3",
        f"{statistics.median(b[0] - a[0] for a, b in zip(plain, full)):.1f} MiB", (), "<= 8 MB")
    row("the library's own thread, of a processor", f"{statistics.median(one[2] for one in full):.3f} %",
        [("in its first 12 s", f"{statistics.median(one[1] for one in full):.0f} ms")], "<= 0.1 %")


def code():
    size = subprocess.run(["size", "-A", PRELOAD], capture_output=True, text=True, check=True).stdout
    text = int(next(line for line in size.splitlines() if line.startswith(".text")).split()[1])
    row("code of libvestal-preload.so", f"{text / 1000:.0f} kB", (), "< 300 kB")
