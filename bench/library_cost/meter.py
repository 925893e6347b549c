"""How the parts of bench/library measure: in turns with what they are compared with, by processor time."""
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "tests/workloads/native"
VESTAL = pathlib.Path(os.environ.get("VESTAL", ROOT / "build/vestal"))
PRELOAD = VESTAL.parent / "libvestal-preload.so"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="vestal-bench-"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
PAIRS = int(os.environ.get("BENCH_PAIRS", "24"))
ROWS = []


def row(what, measured, beside=(), target=""):
    """`beside` are (name, text)."""
    ROWS.append((what, measured, "; ".join(f"{name} {text}" for name, text in beside), target))
    print("  " + "  ".join(one for one in ROWS[-1] if one), flush=True)


def build(source, *options):
    """A program of ours, optimized and without frame pointers."""
    out = SCRATCH / pathlib.Path(source).stem
    if not out.exists():
        subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                        *options, "-o", out, source, "-lpthread", "-ldl", "-lm"], check=True)
    return out


def inside():
    return build(ROOT / "bench/inside.c")


def profiled(**extra):
    """The environment of a program with the library."""
    return {"LD_PRELOAD": str(PRELOAD), "VESTAL_OUTPUT": f"{SCRATCH}/%p.pb.gz", **extra}


def run(command, env, timeout=None):
    return subprocess.run(command, env=dict(os.environ, **env), check=True, text=True, cwd=SCRATCH,
                          capture_output=True, timeout=timeout)


def number(arguments, env):
    """What bench/inside.c measured of itself."""
    return float(run([inside(), *arguments], env).stdout)


def in_turns(measure, rounds, *candidates):
    """[figures of each round] by candidate; every second round backwards, so that who comes first
    has no advantage."""
    found = [[] for _ in candidates]
    for turn in range(rounds):
        order = list(zip(found, candidates))
        for place, candidate in reversed(order) if turn % 2 else order:
            place.append(measure(candidate))
    return found


def medians(measure, *candidates):
    return [statistics.median(one) for one in in_turns(measure, ROUNDS, *candidates)]


def interval(values):
    """The median, and its 95 % interval by order: it holds for whatever a busy machine does."""
    ordered = sorted(values)
    n = len(ordered)
    cut, below = 0, 0.5 ** n
    while cut < n // 2 and below + math.comb(n, cut + 1) * 0.5 ** n <= 0.025:
        cut += 1
        below += math.comb(n, cut) * 0.5 ** n
    return statistics.median(ordered), ordered[cut], ordered[-1 - cut]


def slowdown(ratios):
    middle, low, high = (100 * (one - 1) for one in interval(ratios))
    return f"{middle:+.2f} % ({low:+.2f} to {high:+.2f})"


def top(path, *options):
    """{name: row} of a file."""
    done = subprocess.run([VESTAL, "top", "--json", "-n", "0", *options, path], check=True, text=True,
                          capture_output=True)
    return {one["name"]: one for one in json.loads(done.stdout)["rows"]}


def fresh(name):
    """A folder of its own, empty."""
    folder = SCRATCH / f"{name}.d"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def load():
    return f"load {os.getloadavg()[0]:.1f}"
