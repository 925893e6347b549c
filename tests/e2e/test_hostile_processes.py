#!/usr/bin/env python3
"""What processes of other users can do to the agent, and to what it sees of an innocent one: each attack
for some seconds, and all of them at once. Needs root.

The innocent program tells by its own CPU clock what the agent should have seen, and the agent by its own
counters what it did; nothing is judged by how long it took.

    VESTAL=build/vestal HOSTILE_SECONDS=60 tests/e2e/test_hostile_processes.py
"""
import contextlib
import ctypes
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

from support.agent import Agent
from support.recording import allowed, build
from support.server import Server
from support.tap import Skip, main, scratch, test, vestal
from support.wait import until

SECONDS = float(os.environ.get("HOSTILE_SECONDS", "4"))
RATE, BUDGET = 97, 0.01  # Hz; of all CPUs
ATTACKER, INNOCENT = 65533, 65532  # uids
NAMELESS = re.compile(r"^(0x|\[unknown|\[truncated)|\+0x[0-9a-f]+$")
QUIET = {}  # what was measured without an attack, on this machine and at this time


def public(*parts):
    """A path below the scratch folder that every user may pass."""
    os.chmod(scratch(), 0o755)
    return os.path.join(scratch(), *parts)


def as_user(uid, *command, **options):
    return subprocess.Popen(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *command],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **options)


def program(name):
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    path = build(name)
    os.chmod(public(), 0o755)
    os.chmod(path, 0o755)
    return path


def lonely_program():
    """A stripped program whose debug file would be 6 GiB, most of them a hole."""
    folder = public("lonely")
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    path = os.path.join(folder, "lonely")
    if os.path.exists(path):
        return path
    debug, link = path + ".debug", path + ".link"
    source = os.path.join(os.path.dirname(__file__), "../workloads/native/attacker.c")
    subprocess.run(["gcc", "-O2", "-Wl,--build-id=none", "-o", debug, source, "-lpthread"], check=True)
    subprocess.run(["objcopy", "--strip-all", debug, path], check=True)
    with open(link, "wb") as file:
        file.write(b"lonely.debug\0\0\0\0" + (0x12345678).to_bytes(4, "little"))
    subprocess.run(["objcopy", "--add-section", f".gnu_debuglink={link}", path], check=True)
    os.truncate(debug, 6 << 30)
    for one in (path, debug):
        os.chmod(one, 0o755)
    return path


@contextlib.contextmanager
def attack(kind, count, *arguments):
    """So many of these programs, as long as the `with` lasts."""
    path = lonely_program() if kind == "spin" else program("attacker")
    running = [as_user(ATTACKER, path, kind, "600", *arguments, start_new_session=True)
               for _ in range(count)]
    try:
        yield running
    finally:
        for one in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


ATTACKS = {"mappings": 3, "forks": 1, "execs": 1, "threads": 1, "names": 1, "files": 1, "code": 2, "spin": 2,
           "stopped": 2}


class Innocent:
    """Works for so many seconds; then `cpu` is what it used by its own clock."""

    def __init__(self, service, seconds):
        env = dict(os.environ, OTEL_SERVICE_NAME=service)
        self.service, self.cpu = service, None
        self.process = as_user(INNOCENT, program("shares"), str(seconds), env=env)

    def has_ended(self):
        """Also when nobody has waited for it: its clock is asked then."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"

    def end(self):
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = status
        assert status == 0, status
        self.cpu = usage.ru_utime + usage.ru_stime
        return self.cpu


def seen_of(server, service):
    """Seconds of CPU time that arrived of a service, and those of them whose function has a name."""
    ask = urllib.parse.urlencode({"query": '{service_name="%s"}' % service, "type": "cpu", "n": 0})
    status, body = server.ask(f"/api/v1/top?{ask}")
    assert status in (200, 404), (status, body)
    if status == 404:
        return 0, 0
    answer = json.loads(body)
    named = sum(row["flat"] for row in answer["rows"] if not NAMELESS.search(row["name"]))
    # null: of the range nothing is known yet.
    return (answer["total"] or 0) / 1e9, named / 1e9


class Watched:
    """An agent with its default budget and the server that it sends to."""

    def __enter__(self):
        allowed()
        self.stack = contextlib.ExitStack()
        try:
            return self.begin()
        except BaseException:
            self.stack.close()
            raise

    def begin(self):
        """The server, the agent, and until this agent has names of the innocent program."""
        self.server = self.stack.enter_context(Server())
        self.control = os.path.join(tempfile.mkdtemp(dir=public()), "control.sock")
        self.agent = self.stack.enter_context(Agent(
            "--interval", "5", "-F", str(RATE), "--cpu-budget", "1%", "--metrics", "127.0.0.1:0", "--control",
            self.control, server="http://" + self.server.otlp_http))
        # A budget of 1 % reads what all others on the machine run first, or beside: until names come.
        early = Innocent("early", 3600)
        try:
            until(lambda: seen_of(self.server, "early")[1] > 0.5, self.agent.said)
        finally:
            early.process.kill()
            early.process.wait()
        return self

    def __exit__(self, *problem):
        return self.stack.__exit__(*problem)

    def status(self):
        return json.loads(vestal("agent", "ctl", "--control", self.control, "status")[0])

    def judge(self, service, seconds):
        """Watches an innocent program for so long, beside whatever else there is."""
        begun, rows = time.monotonic(), [self.agent.metrics_when(lambda r: r["vestal_agent_rate_hz"] > 0)]
        innocent = Innocent(service, seconds)
        self.innocent = innocent.process.pid
        while not innocent.has_ended():
            rows.append(self.agent.metrics())
            time.sleep(0.5)
        cpu = innocent.end()
        rates = [row["vestal_agent_rate_hz"] for row in rows[1:]]
        mean = sum(rates) / len(rates)
        # Samples are drawn, fewer of them while the rate is lower.
        slack = 3 * (cpu / mean) ** 0.5
        until(lambda: seen_of(self.server, service)[0] >= 0.9 * cpu - slack, self.agent.said, 60)
        sent = self.agent.metrics()["vestal_agent_export_requests_total"]
        self.agent.metrics_when(
            lambda now: now["vestal_agent_export_requests_total"] > sent + 2)
        total, named = seen_of(self.server, service)
        used, length = spent(rows[-1]) - spent(rows[0]), time.monotonic() - begun
        QUIET.setdefault("rate", mean)
        print(f"# {service}: {cpu:.2f} s of CPU, {total:.2f} s seen, {named:.2f} s with names; "
              f"mean rate {mean:.0f} Hz; the agent took {used:.2f} s in {length:.0f} s", flush=True)
        assert named >= 0.95 * cpu - slack, (named, total, cpu)
        share = used / length / (os.cpu_count() or 1)
        # What others do on the machine costs the agent as well: compare with how it was without an attack.
        # Only above its budget may the agent lower the rate.
        assert mean >= 0.8 * min(RATE, QUIET["rate"]) or share > BUDGET, (QUIET, rates, share)
        return share


def spent(rows):
    """CPU time of the agent in all its processes, and in the kernel for it."""
    return sum(value for name, value in rows.items() if name.startswith("vestal_agent_cpu_seconds_total"))


def under(kind):
    with Watched() as watched:
        with attack(kind, ATTACKS[kind]):
            watched.judge(f"beside-{kind}", SECONDS)
        assert not [line for line in watched.agent.said().splitlines() if "restart the agent" in line]
        return watched.status()


@test
def without_an_attack_all_of_it_is_seen():
    with Watched() as watched:
        watched.judge("undisturbed", SECONDS)
        # Other tests on the machine may have processes that are.
        limited = {one["pid"] for one in watched.status()["limited"]}
        assert watched.innocent not in limited, watched.status()


@test
def a_process_with_32000_mappings_is_limited_and_named_and_nobody_else():
    with Watched() as watched:
        with attack("mappings", ATTACKS["mappings"]) as bombs:
            watched.judge("beside-mappings", SECONDS)
            pids = {bomb.pid for bomb in bombs}
            status = watched.agent.wait(lambda: next(
                (s for s in [watched.status()] if pids & {one["pid"] for one in s["limited"]}), None))
        assert status["limited_processes"] >= 1, status
        # None of those that do nothing of the kind.
        assert all(one["name"].startswith("attacker") for one in status["limited"]), status


@test
def forks_and_programs_without_end_hide_nobody():
    under("forks")
    under("execs")


@test
def threads_and_changes_of_names_without_end_hide_nobody():
    under("threads")
    under("names")


@test
def files_of_code_without_end_hide_nobody():
    under("files")


@test
def code_made_and_dropped_and_a_perf_map_of_newlines_hide_nobody():
    under("code")


@test
def lists_of_mappings_that_take_long_to_read_keep_nobody_from_their_service():
    with Watched() as watched:
        before = seen_of(watched.server, "attacker-plain")[0]
        with attack("lists", 4):
            # The agent has begun to read them.
            until(lambda: seen_of(watched.server, "attacker-plain")[0] > before + 2, watched.agent.said)
            watched.judge("beside-lists", SECONDS)


def cached_mib(path):
    """How much of a file is in memory."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    size = os.path.getsize(path)
    pages = (ctypes.c_ubyte * (-(-size // mmap.PAGESIZE)))()
    with open(path, "rb") as file:
        at = library.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
        assert at != ctypes.c_void_p(-1).value, ctypes.get_errno()
        assert not library.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), pages), ctypes.get_errno()
        library.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return sum(map(int.__and__, pages, [1] * len(pages))) * mmap.PAGESIZE >> 20


@test
def a_debug_file_of_gigabytes_is_not_read():
    debug = lonely_program() + ".debug"
    before = cached_mib(debug)
    under("spin")
    assert cached_mib(debug) - before < 2048, (before, cached_mib(debug))


@test
def programs_that_are_stopped_hide_nobody():
    under("stopped")


def family(pid):
    """All that the agent has begun: the hosts of its readers, and those."""
    found = set()
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        first = [int(one) for one in file.read().split()]
    uids = {os.stat(f"/proc/{one}").st_uid for one in first}
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and status_uid(int(name)) in {status_uid(one) for one in first}:
                found.add(int(name))
    assert first and uids
    return found


def status_uid(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(next(line.split()[1] for line in file if line.startswith("Uid:")))


REPLACED = ["vestal_agent_worker_hosts_replaced_total"] + [
    f'vestal_agent_workers_replaced_total{{reason="{reason}"}}' for reason in ("stopped", "ended", "hung")]


@test
def no_user_can_stop_or_end_the_readers_of_files():
    path = program("attacker")
    with Watched() as watched:
        before = watched.agent.metrics()
        pids = family(watched.agent.process.pid)
        assert len(pids) >= 2, pids
        assert not {status_uid(pid) for pid in pids} & {0, 65534, ATTACKER, INNOCENT}
        for uid in (65534, ATTACKER, 1000):
            done = subprocess.run(
                ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", path, "killer", "1",
                 *map(str, pids)], stdout=subprocess.PIPE, text=True, check=True)
            assert not done.stdout, (uid, done.stdout)
        # A reader without work ends by itself; none may have been stopped, or ended by others.
        rows = watched.agent.metrics()
        for name in REPLACED:
            assert rows[name] == before[name], (name, before, rows)


@test
def readers_that_root_stops_or_ends_are_replaced_and_the_work_goes_on():
    with Watched() as watched:
        # Whichever run then: hosts, readers of tables and of names.
        for number, sign in enumerate((signal.SIGSTOP, signal.SIGKILL, signal.SIGSTOP)):
            replaced = watched.agent.metrics()["vestal_agent_worker_hosts_replaced_total"]
            hit = sorted(family(watched.agent.process.pid))
            # One of the two hosts stays: it starts the other one again.
            hosts = [pid for pid in hit if comm(pid) == "vestal-host"]
            for pid in set(hit) - set(hosts[:1]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sign)
            watched.agent.wait_for("the process that starts readers of files was replaced")
            watched.agent.metrics_when(
                lambda rows, n=replaced: rows["vestal_agent_worker_hosts_replaced_total"] > n)
            # Both ways for files that nobody has read yet: a new program each time.
            watched.judge(f"after-{number}", SECONDS)


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


@test
def all_of_it_at_once_hides_nobody_and_stays_within_the_budget():
    # Beside so many it takes ten times as long and more: half a minute at least.
    seconds = 2 * SECONDS
    with Watched() as watched, contextlib.ExitStack() as attacks:
        for kind, count in ATTACKS.items():
            attacks.enter_context(attack(kind, count))
        share = watched.judge("beside-all", seconds)
        # Of all CPUs. Readers of new files may take what was not used in the minute before (budget.h).
        assert share <= BUDGET + 0.02, share
        assert watched.status()["limited_processes"] >= 1, watched.status()


main()
