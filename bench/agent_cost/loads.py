"""What runs on the machine while something is measured."""
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NATIVE = f"{ROOT}/tests/workloads/native"
SCRATCH = tempfile.mkdtemp(prefix="vestal-bench-")
CPUS = os.cpu_count()

PYTHON = """
def inner(n): return sum(i * i for i in range(n))
def outer(n): return inner(n) + inner(n // 2)
while True: outer(1000)
"""
NODE = """
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
function outer(n) { return inner(n) + JSON.stringify({n}).length; }
for (;;) outer(1000);
"""
JAVA = """
class Busy {
    static long inner(int n) { long s = 0; for (int i = 0; i < n; i++) s += Long.toString(i).hashCode(); return s; }
    public static void main(String[] a) { long s = 0; while (s != 42) s = inner(1000); }
}
"""
# A percent of a processor, through libraries.
SELDOM = """
import time, json, hashlib
while True:
    t = time.process_time() + 0.002
    while time.process_time() < t:
        hashlib.sha256(json.dumps([1] * 50).encode())
    time.sleep(0.2)
"""
PING_PONG = """
import os, sys
work = range(int(sys.argv[1]))
a, b = os.pipe()
c, d = os.pipe()
if os.fork():
    while os.write(b, b"x") and os.read(c, 1):
        sum(work)
while os.read(a, 1) and os.write(d, b"x"):
    sum(work)
"""


def build(name):
    out = f"{SCRATCH}/{name}"
    if not os.path.exists(out):
        subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-o", out, f"{NATIVE}/{name}.c",
                        "-lpthread", "-ldl"], check=True)
    return out


class Load:
    """Commands that run as long as the `with` lasts, each in a process group of its own, and all of
    them in a cgroup, where one can be made: `cgroup` is its path."""

    cgroup = None

    def __init__(self, commands):
        self.commands = commands

    def make_cgroup(self):
        for place in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids"):
            if os.access(f"{place}/cgroup.procs", os.W_OK):
                self.cgroup = tempfile.mkdtemp(prefix="vestal-bench-", dir=place)
                return

    def enter_cgroup(self):
        if not self.cgroup:
            return
        with open(f"{self.cgroup}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    def __enter__(self):
        self.make_cgroup()
        # pylint: disable-next=subprocess-popen-preexec-fn
        self.running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         start_new_session=True, preexec_fn=self.enter_cgroup)
                        for command in self.commands]
        return self

    def __exit__(self, *_):
        for process in self.running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        # Grandchildren are reaped by somebody else, a moment later.
        while self.cgroup and os.path.exists(self.cgroup):
            try:
                os.rmdir(self.cgroup)
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                time.sleep(0.05)


def busy():
    """Every processor full with stacks of 32 frames, without frame pointers."""
    return Load([[build("shares"), "3600"]] * CPUS)


def mixed():
    """A program of every language there is here, all of which only work."""
    commands = [[build("shares"), "3600"], [sys.executable, "-c", PYTHON]]
    if shutil.which("node"):
        commands.append(["node", "-e", NODE])
    if shutil.which("javac"):
        with open(f"{SCRATCH}/Busy.java", "w", encoding="ascii") as file:
            file.write(JAVA)
        subprocess.run(["javac", "-d", SCRATCH, f"{SCRATCH}/Busy.java"], check=True)
        commands.append(["java", "-cp", SCRATCH, "Busy"])
    if shutil.which("go"):
        program = f"{SCRATCH}/go_shares"
        env = dict(os.environ, GOTOOLCHAIN="local", GOWORK="off", GO111MODULE="off")
        subprocess.run(["go", "build", "-o", program, f"{NATIVE}/go_shares.go"], check=True, env=env)
        commands.append([program, "3600"])
    return Load(commands)


def many():
    """Two hundred processes of a percent each."""
    return Load([[sys.executable, "-c", SELDOM]] * 200)


def short():
    """A hundred processes of 5 ms a second."""
    return Load([["sh", "-c", f"while :; do {build('short_lived')} 10; sleep 0.06; done"]])


def compiler():
    """A compiler on every processor: large tables, 40 frames, nothing stays in the caches."""
    source = f"{SCRATCH}/large.c"
    with open(source, "w", encoding="ascii") as file:
        for i in range(6000):
            file.write(f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) "
                       f"s += a[i] * (s >> {i % 7}) + (a[i] > {i} ? a[n - i] : s % {i + 3}); return s; }}\n")
    compiling = f"while :; do clang -O2 -c -o /dev/null {source}; done"
    return Load([["sh", "-c", compiling]] * CPUS)


def debug_compiler():
    """C++ of the standard library with debug information, on every processor."""
    source = f"{SCRATCH}/large.cc"
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n")
        for i in range(100):
            file.write(f"int f{i}(std::map<std::string, std::vector<int>> &m) {{ std::regex r(\"a{i}b*\"); "
                       f"int s = {i}; for (auto &k : m) {{ std::sort(k.second.begin(), k.second.end()); "
                       f"s += std::regex_match(k.first, r); }} return s; }}\n")
    compiling = f"while :; do clang++ -g -O2 -c -o /dev/null {source}; done"
    return Load([["sh", "-c", compiling]] * CPUS)


def idle():
    return Load([])


def switches():
    """Two processes that throw a byte to and fro on one processor as fast as they can."""
    return Load([["taskset", "-c", "0", sys.executable, "-c", PING_PONG, "0"]])


def few_switches():
    """The same with some work between."""
    return Load([["taskset", "-c", "0", sys.executable, "-c", PING_PONG, "500"]])


def storm():
    """Pairs of threads that exchange a byte as fast as they can, on every CPU."""
    return Load([[build("pingpong"), "3600", str(2 * CPUS)]])
