"""What the tests of the agent share: may this user record, and programs that know their own truth."""
import json
import math
import os
import re
import shutil
import subprocess
import time

from support.tap import ROOT, VESTAL, Skip, scratch, vestal

SOURCES = os.path.join(ROOT, "tests/workloads/native")
WAYS = {
    "plain": ["gcc", "-O2", "-fomit-frame-pointer"],
    "frame_pointers": ["gcc", "-O2", "-fno-omit-frame-pointer"],
    "o3": ["gcc", "-O3", "-fomit-frame-pointer"],
    "no_pie": ["gcc", "-O2", "-no-pie", "-fno-pie"],
    "static": ["gcc", "-O2", "-static"],
    "static_pie": ["gcc", "-O2", "-static-pie"],
    "clang": ["clang", "-O2", "-fomit-frame-pointer"],
    # Nothing in the file says how its stacks are to be walked.
    "silent": ["gcc", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
}
# A libc that says nothing of its own stacks.
MUSL_WAYS = {
    "musl": ["musl-gcc", "-O2", "-fomit-frame-pointer"],
    "musl_static": ["musl-gcc", "-O2", "-fomit-frame-pointer", "-static"],
}

_refused = []


def allowed():
    """Skips where this user or this kernel cannot record."""
    if os.geteuid() != 0:
        raise Skip("recording needs root")
    if not _refused:
        done = subprocess.run([VESTAL, "record", "-a", "-d", "0.1", "-o", "allowed.pb.gz", "-f"],
                              cwd=scratch(), capture_output=True, text=True, check=False)
        _refused.append(done.stderr.strip() if done.returncode else "")
    if _refused[0]:
        raise Skip(_refused[0])


def build(name, way="plain", suffix="c", extra=()):
    """A workload, compiled in some way."""
    command = list({**WAYS, **MUSL_WAYS}[way])
    if suffix == "cc":
        command[0] = "g++"
    if not shutil.which(command[0]):
        raise Skip(f"no {command[0]}")
    out = os.path.join(scratch(), f"{name}-{way}")
    if not os.path.exists(out):
        # A call in tail position would take its caller off the stack.
        subprocess.run(command + ["-Wall", "-g", "-fno-optimize-sibling-calls", "-o", out,
                                  f"{SOURCES}/{name}.{suffix}", "-lpthread", "-ldl", *extra],
                       check=True, capture_output=True)
    return out


def build_other(name, suffix, command):
    """A workload of another compiler: `command` takes the result behind -o and then the source."""
    if not shutil.which(command[0]):
        raise Skip(f"no {command[0]}")
    out = os.path.join(scratch(), f"{name}-{suffix}")
    if not os.path.exists(out):
        env = dict(os.environ, GOTOOLCHAIN="local", GOWORK="off", GO111MODULE="off")
        subprocess.run(command + ["-o", out, f"{SOURCES}/{name}.{suffix}"], check=True, env=env,
                       capture_output=True)
    return out


def close(share, truth, samples, slack=0.005):
    """Within three standard errors and half a point."""
    return abs(share - truth) <= 3 * math.sqrt(truth * (1 - truth) / samples) + slack


def record(*options, program=(), timeout=300):
    """What the program printed, what vestal said, and the file."""
    allowed()
    path = os.path.join(scratch(), f"record-{time.monotonic_ns()}.pb.gz")
    done = subprocess.run([VESTAL, "record", "-o", path, *options, "--", *program],
                          capture_output=True, text=True, timeout=timeout, cwd=scratch(), check=False)
    assert os.path.exists(path), done.stderr
    return done, path


def top(path, *options):
    rows = json.loads(vestal("top", "--json", "-n", "0", *options, path)[0])
    return rows, {row["name"]: row for row in rows["rows"]}


def whole(done):
    """(samples, share of whole stacks) as vestal says it."""
    match = re.search(r"(\d+) samples in .*?; ([\d.]+) % of the stacks are whole", done.stderr)
    return int(match[1]), float(match[2])


def tagged(path, tag, *options):
    """How much of a file has this tag."""
    return json.loads(vestal("top", "--json", "--tag", tag, *options, path)[0])["kept"]


def cpu_seconds(pid):
    """What a process has used so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waiting_threads(pid, call):
    """How many threads of a process wait in this system call (by number)."""
    found = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
            found += file.read().split()[0] == str(call)
    return found
