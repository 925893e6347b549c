"""One attack beside an innocent tenant: what the innocent one notices, and what the server takes.

An attack is a function of a Target and an event: it goes on until the event is set, in a process of its own.
It sends as tenant "attacker" (Target.attacker). `run` lets it go on for some seconds beside an Innocent, who uploads and
asks in turn and checks every answer, and gives back a Row. Times are printed and never judged: machines
that run tests are busy. Attackers run at nice 19, so that the CPU time of their own programs is not what the
innocent tenant waits for; `served` is what the server's clock says, from the last byte of a request to its
reply. What is judged: uploads acknowledged and lost, wrong answers, requests of the innocent tenant refused,
memory above the budget.
"""
import concurrent.futures
import contextlib
import http.client
import json
import multiprocessing
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

from support.tap import VESTAL, scratch

LONG = bool(os.environ.get("ATTACKS_LONG"))
SECONDS = float(os.environ.get("ATTACK_SECONDS", "30" if LONG else "3"))
SLACK = 64 << 20
ATTACKER_NICENESS = int(os.environ.get("ATTACKER_NICENESS", "19"))
INNOCENT, ATTACKER = "innocent", "attacker"
JSON = {"Content-Type": "application/json"}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def set_niceness(value, pid=0):
    """Of a process, and against other sessions where the kernel makes a group of each."""
    os.setpriority(os.PRIO_PROCESS, pid, value)
    with contextlib.suppress(OSError), open(f"/proc/{pid or 'self'}/autogroup", "w", encoding="ascii") as file:
        file.write(str(value))


class Target:
    """A server on a directory of its own that believes X-Scope-OrgID, and is watched for its memory."""

    def __init__(self, budget, *arguments, descriptors=None, folder=None):
        self.budget = budget
        self.folder = folder or tempfile.mkdtemp(dir=scratch())
        self.command = [VESTAL, "server", "--data", self.folder, "--listen", "127.0.0.1:0", "--otlp-grpc",
                        "127.0.0.1:0", "--otlp-http", "none", "--log-level", "warn", "--insecure",
                        "--trust-tenant-header", "--memory-limit", str(budget), *arguments]
        if descriptors:
            self.command = ["sh", "-c", f"ulimit -n {descriptors}; exec \"$@\"", "sh", *self.command]
        self.peak = 0
        self.served = None  # seconds the last request took, by the server's clock
        self.said = []
        self.over = threading.Event()

    def __enter__(self):
        self.process = subprocess.Popen(self.command, cwd=scratch(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True)
        set_niceness(os.getpriority(os.PRIO_PROCESS, 0), self.process.pid)
        line = self.process.stderr.readline()
        match = re.search(r"server on http://([\d.]+):(\d+)", line)
        assert match, line + (self.process.stderr.read() if self.process.poll() is not None else "")
        self.host, self.port = match[1], int(match[2])
        self.grpc = re.search(r"on (\S+)", self.process.stderr.readline())[1]
        self.threads = [threading.Thread(target=self.said.extend, args=(self.process.stderr,)),
                        threading.Thread(target=self.watch)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.over.set()
        self.process.terminate()
        status = self.process.wait(120)
        for thread in self.threads:
            thread.join()
        assert kind or status == 0, f"the server ended with {status}: {''.join(self.said)[:4000]}"

    def resident(self):
        """Bytes of the server's own memory; pages of files are the system's to take back."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
                return int(re.search(r"RssAnon:\s+(\d+) kB", file.read())[1]) << 10
        except (OSError, TypeError):
            return 0

    def watch(self):
        while not self.over.wait(0.005):
            self.peak = max(self.peak, self.resident())

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=60)

    def ask(self, tenant, method, path, body=None, headers=None, timeout=120, **parameters):
        """Status and body of one request over a connection of its own."""
        if parameters:
            path += "?" + urllib.parse.urlencode(parameters, doseq=True)
        client = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            client.request(method, path, body, {"X-Scope-OrgID": tenant, "Vestal-Timing": "1", **(headers or {})})
            reply = client.getresponse()
            timing = re.search(r"total;dur=([\d.]+)", reply.getheader("Server-Timing", ""))
            self.served = float(timing[1]) / 1000 if timing else None
            return reply.status, reply.read()
        finally:
            client.close()

    def attacker(self, method, path, body=None, headers=None, **parameters):
        """The attacker takes what it gets, also nothing at all."""
        try:
            return self.ask(ATTACKER, method, path, body, headers, **parameters)
        except (OSError, http.client.HTTPException):
            return 0, b""

    def metric(self, name):
        _, text = self.ask(INNOCENT, "GET", "/metrics")
        found = re.search(rf"^vestal_{re.escape(name)} (\S+)$", text.decode(), re.M)
        return float(found[1]) if found else None


class Innocent:
    """A small tenant: in turn an upload, a question whose answer is known, and a look at /ready."""

    def __init__(self, target):
        self.target = target
        self.times, self.served = [], []
        self.refused, self.wrong, self.acknowledged = [], [], 0

    def upload(self):
        status, body = self.target.ask(INNOCENT, "POST", "/api/v1/profiles", b"main;work 7\nmain;idle 3\n",
                                       service="shop")
        if status == 200:
            self.acknowledged += 1
        else:
            self.refused.append(("upload", status, body[:200]))

    def total(self):
        status, body = self.target.ask(INNOCENT, "GET", "/api/v1/top", query="shop", type="samples",
                                       **{"from": "now-24h"})
        if status == 404 and not self.acknowledged:
            return 0
        if status != 200:
            self.refused.append(("top", status, body[:200]))
            return None
        return round(json.loads(body)["total"])

    def turn(self):
        for step in (self.upload, self.check, self.ready):
            begun = time.monotonic()
            try:
                step()
            except (OSError, http.client.HTTPException) as error:
                self.refused.append((step.__name__, 0, repr(error)))
            self.times.append(time.monotonic() - begun)
            if self.target.served is not None:
                self.served.append(self.target.served)
            time.sleep(0.01)

    def check(self):
        total = self.total()
        if total is not None and total != self.acknowledged * 10:
            self.wrong.append((total, self.acknowledged * 10))

    def ready(self):
        status, body = self.target.ask(INNOCENT, "GET", "/ready")
        if status != 200:
            self.refused.append(("ready", status, body[:200]))

    def go_on(self, seconds):
        """The times of that many seconds, at least of three turns: as seen here, and by the server."""
        self.times, self.served = [], []
        end = time.monotonic() + seconds
        turns = 0
        while turns < 3 or time.monotonic() < end:
            self.turn()
            turns += 1
        return self.times, self.served


class Row:
    """What an attack did."""

    def __init__(self, name, quiet, attacked, peak, innocent, lost):
        self.name, self.peak = name, peak
        (self.quiet, self.quiet_served), (self.attacked, self.attacked_served) = quiet, attacked
        self.lost, self.wrong, self.refused = lost, innocent.wrong, innocent.refused

    HEAD = f"{'attack':<28}{'quiet p50':>10}{'p99':>8}{'attacked p50':>14}{'p99':>8}" \
           f"{'served p99':>12}{'attacked':>10}{'peak MiB':>10}" \
           f"{'lost':>6}{'wrong':>7}{'refused':>9}"

    def __str__(self):
        def ms(values, share):
            return f"{percentile(values, share) * 1000:.1f}"
        return f"{self.name:<28}{ms(self.quiet, .5):>10}{ms(self.quiet, .99):>8}{ms(self.attacked, .5):>14}" \
               f"{ms(self.attacked, .99):>8}{ms(self.quiet_served, .99):>12}{ms(self.attacked_served, .99):>10}" \
               f"{self.peak / 2**20:>10.0f}{self.lost:>6}{len(self.wrong):>7}" \
               f"{len(self.refused):>9}"


def humbly(attack, target, stop):
    os.setsid()
    set_niceness(ATTACKER_NICENESS)
    attack(target, stop)


def run(target, name, attacks, seconds=SECONDS):
    """One attack, or several at once, beside the innocent tenant."""
    innocent = Innocent(target)
    quiet = innocent.go_on(min(seconds, 3))
    fork = multiprocessing.get_context("fork")
    stop = fork.Event()
    # Processes: threads of this one would keep the innocent tenant's own clock waiting.
    attackers = [fork.Process(target=humbly, args=(attack, target, stop), daemon=True) for attack in attacks]
    target.peak = 0
    for attacker in attackers:
        attacker.start()
    time.sleep(0.5)
    attacked = innocent.go_on(seconds)
    stop.set()
    for attacker in attackers:
        attacker.join(60)
        if attacker.is_alive():
            attacker.terminate()
            attacker.join()
    # Whatever was acknowledged is there afterwards, and nothing else.
    lost = innocent.acknowledged * 10 - (innocent.total() or 0)
    return Row(name, quiet, attacked, target.peak, innocent, lost)


def judge(row, budget):
    """Never a time."""
    assert not row.wrong, f"{row.name}: wrong answers (total, expected): {row.wrong[:5]}"
    assert not row.lost, f"{row.name}: acknowledged and lost: {row.lost}"
    assert not row.refused, f"{row.name}: {len(row.refused)} refused: {row.refused[:5]}"
    assert row.peak <= budget + SLACK, \
        f"{row.name}: {row.peak / 2**20:.0f} MiB with a budget of {budget / 2**20:.0f} MiB"


def crowd(count, work, stop):
    """`work(number)` again and again in so many threads until the attack is over."""
    def again(number):
        while not stop.is_set():
            work(number)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(again, number) for number in range(count)]:
            future.result()
