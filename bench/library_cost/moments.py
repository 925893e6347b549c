"""What one event costs: a sample, a lock, a span; and whether waits and brief threads are true."""
import json
import statistics
import subprocess

from library_cost import peers
from library_cost.meter import (ROUNDS, SCRATCH, WORKLOADS, build, fresh, medians, number, profiled, row,
                                run, top)


def cpu_sample():
    """Signals that the program sends itself, against a handler that does nothing."""
    who = {"none": {}, "libvestal": profiled(VESTAL_RATE="19", VESTAL_TYPES="cpu")}
    peer = peers.gperftools(SCRATCH / "cpu.prof")
    if peer:
        who["gperftools"] = peer
    found = dict(zip(who, medians(lambda env: number(["signal", "40"], env), *who.values())))
    beside = [("the signal itself", f"{found['none'] / 1000:.2f} us")]
    if peer:
        beside.append(("gperftools", f"{(found['gperftools'] - found['none']) / 1000:.2f}"))
    row("CPU sample, 40 frames without frame pointers, besides the signal",
        f"{(found['libvestal'] - found['none']) / 1000:.2f} us", beside, "<= 5 us")
    plain, slow = medians(lambda env: number(["spin", "1"], env), {}, profiled(VESTAL_RATE="100"))
    row("a loop at 100 Hz, slower by", f"{(plain / slow - 1) * 100:.2f} %")


def span():
    found, = medians(lambda env: number(["span"], env), profiled(VESTAL_TYPES="cpu"))
    row("span entered and left", f"{found:.1f} ns", (), "<= 20 ns")


def mutex():
    plain, timed, other = medians(lambda env: number(["mutex"], env), {}, profiled(VESTAL_TYPES="lock"),
                                  profiled(VESTAL_TYPES="cpu"))
    single, beside = medians(lambda env: number(["mutex-alone"], env), {}, profiled(VESTAL_TYPES="lock"))
    row(f"added to a mutex locked and unlocked in {plain:.1f} ns", f"{timed - plain:.2f} ns",
        [("without the type lock", f"{other - plain:.2f}"),
         (f"in a program that had one thread ({single:.1f} ns)", f"{beside - single:.2f}")], "<= 2 ns")


def told_waits(program, out):
    """{name: told / true} of one run."""
    truth = json.loads(run([program, "5"], dict(profiled(VESTAL_TYPES="lock"),
                                                VESTAL_OUTPUT=str(out))).stdout)
    kinds = {"wait_mutex": "delay", "wait_read": "delay", "wait_write": "delay",
             "wait_condition": "block_delay", "wait_semaphore": "block_delay"}
    tables = {kind: top(out, "--type", kind) for kind in set(kinds.values())}
    return {name: tables[kind][name]["cum"] / truth[name][0] for name, kind in kinds.items()}


def waits():
    program = build(WORKLOADS / "waits.c")
    runs = [told_waits(program, fresh("waits") / "profile.pb.gz") for _ in range(3)]
    for name in runs[0]:
        row(f"{name.replace('_', ' for ', 1)}: told otherwise than the program measured by",
            f"{100 * (statistics.median(one[name] for one in runs) - 1):+.2f} %", (), "+-2 %")


def perf_share(program):
    """What `perf record` finds of the same, where it may: all samples, of the program's own code or not."""
    data = SCRATCH / "perf.data"
    done = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "99", "-o", data, "--", program,
                           "300"], capture_output=True, text=True, check=False)
    if done.returncode:
        return []
    truth = json.loads(done.stdout)["work"]
    lines = subprocess.run(["perf", "script", "-i", data, "-F", "time"], capture_output=True, text=True,
                           check=False).stdout
    return [("perf record -F 99", f"{len(lines.splitlines()) / 99 * 1e9 / truth:.2f}")]


def brief_threads():
    program = build(WORKLOADS / "short_threads.c")
    ratios = []
    for _ in range(ROUNDS):
        out = fresh("brief") / "profile.pb.gz"
        truth = json.loads(run([program, "300"], dict(profiled(), VESTAL_OUTPUT=str(out))).stdout)["work"]
        ratios.append(top(out)["brief"]["cum"] / truth)
    row("threads of 2 ms: their CPU time, told / true",
        f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
        perf_share(program), "0.9 to 1.1")
