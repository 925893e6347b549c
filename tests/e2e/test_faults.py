#!/usr/bin/env python3
"""A real server under a system that fails: short and interrupted calls, a full and a broken disk, no
descriptors left. What it acknowledged is there afterwards, it says 503 while the disk is full, and it
is well again by itself when the fault ends.

The faults come from tests/shim/fault_shim.c.
"""
import json
import mmap
import os
import shutil
import struct
import time
import urllib.error
import urllib.request

from support.server import Server
from support.tap import VESTAL, Skip, main, scratch, test, vestal

SHIM = os.environ.get("FAULT_SHIM_LIBRARY",
                      os.path.join(os.path.dirname(VESTAL), "tests/libfault_shim.so"))
ONE = 10_000_000  # a sample at 100 Hz, in nanoseconds
KINDS = ("disk_short disk_interrupt disk_full disk_bad_write disk_bad_sync disk_bad_read net_short "
         "net_interrupt no_descriptor aborted poll_interrupt disk_quota disk_read_only").split()


class Faults:
    """The shim's controls: faults(disk_full=3) lets every third write fail, faults() none."""

    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(bytes(8 * len(KINDS)))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8 * len(KINDS))

    def __call__(self, **every):
        for i, kind in enumerate(KINDS):
            struct.pack_into("=I", self.map, 8 * i, every.get(kind, 0))

    def count(self, kind):
        return struct.unpack_from("=I", self.map, 8 * KINDS.index(kind) + 4)[0]


class Shaken(Server):
    """A server whose system can fail."""

    def __init__(self, name, after=None):
        if not os.path.exists(SHIM):
            raise Skip("fault_shim is not built")
        self.folder = os.path.join(scratch(), name)
        if not after:
            shutil.rmtree(self.folder, ignore_errors=True)
        control = self.folder + ".faults"
        self.faults = Faults(control)
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        super().__init__("--log-level", "error", folder=self.folder,
                         env={"LD_PRELOAD": SHIM, "FAULT_SHIM": control, "ASAN_OPTIONS": sanitizer})
        self.sent = after.sent if after else 0
        self.acknowledged = after.acknowledged if after else set()

    def upload(self):
        """Sends one profile with a function of its own; the status, 0 without a reply."""
        self.sent += 1
        number = self.sent
        try:
            status, _ = self.ask("/ingest?name=shaken&format=folded",
                                 f"main;f{number} 1".encode())
        except (urllib.error.URLError, OSError):
            return 0
        if status == 200:
            self.acknowledged.add(number)
        return status

    def check(self):
        """What was acknowledged is there, once; nothing is there that was not sent."""
        found = functions(self.url)
        missing = [n for n in self.acknowledged if found.get(f"f{n}") != ONE]
        assert not missing, f"of {len(self.acknowledged)} acknowledged not there: {missing[:10]}"
        for name, value in found.items():
            assert name == "main" or (value == ONE and int(name[1:]) <= self.sent), (name, value)

    def recovers(self):
        """All faults are over: uploads work again, without anybody's help."""
        self.faults()
        wait(lambda: self.upload() == 200)
        self.check()

    def survives(self):
        """The same after a restart, and no checksum is wrong."""
        with Server(folder=self.folder) as again:
            self.url = again.url
            self.check()
        vestal("check", self.folder)


def functions(url):
    out, _ = vestal("query", "shaken", "--json", "-n", "0", env={"VESTAL_SERVER": url})
    return {row["name"]: row["flat"] for row in json.loads(out)["rows"]}


def wait(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it does not happen")


def metric(server, name):
    with urllib.request.urlopen(server.url + "/metrics", timeout=60) as reply:
        for line in reply.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    return None


@test
def half_done_and_interrupted_calls_change_nothing():
    with Shaken("short") as server:
        server.faults(disk_short=3, disk_interrupt=5, net_short=4, net_interrupt=3, poll_interrupt=3)
        for _ in range(60):
            status = server.upload()
            assert status == 200, (status, server.log)
        server.check()
        for kind in "disk_short disk_interrupt net_short net_interrupt poll_interrupt".split():
            assert server.faults.count(kind), kind
    server.survives()


@test
def a_full_disk_is_answered_with_503_until_there_is_room():
    with Shaken("full") as server:
        for _ in range(20):
            assert server.upload() == 200
        server.faults(disk_full=1)
        assert [server.upload() for _ in range(5)] == [503] * 5
        assert metric(server, "vestal_store_full") == 1
        server.check()  # Questions are answered all the while.
        server.recovers()
        assert metric(server, "vestal_store_full") == 0
    server.survives()


@test
def a_disk_that_is_full_now_and_then_loses_nothing_acknowledged():
    with Shaken("sometimes") as server:
        for every in (2, 3, 5, 7, 11, 13):
            server.faults(disk_full=every)
            statuses = {server.upload() for _ in range(20)}
            assert statuses <= {200, 503}, statuses
            server.recovers()
        assert server.faults.count("disk_full")
    server.survives()


@test
def a_disk_that_fails_to_write_or_to_sync_loses_nothing_acknowledged():
    with Shaken("broken") as server:
        assert server.upload() == 200
        for kind in ("disk_bad_write", "disk_bad_sync"):
            for every in (1, 2, 3, 5):
                server.faults(**{kind: every})
                statuses = {server.upload() for _ in range(15)}
                assert statuses <= {200, 503}, (kind, statuses)
                assert every > 1 or 200 not in statuses, kind
            server.recovers()
            assert server.faults.count(kind), kind
    server.survives()


@test
def every_reason_why_a_disk_takes_nothing_is_named_and_retried():
    reasons = {"disk_quota": "read-only: disk quota exceeded",
               "disk_read_only": "read-only: file system is mounted read-only",
               "disk_bad_write": "read-only: writing to the disk fails",
               "disk_bad_sync": "read-only: writing to the disk fails"}
    with Shaken("reasons") as server:
        for kind, text in reasons.items():
            assert server.upload() == 200
            server.faults(**{kind: 1})
            # Senders keep what they have: 503 is what OTLP sends again.
            assert [server.upload() for _ in range(3)] == [503] * 3, kind
            status, body = server.ask("/ready")
            assert status == 503 and body.decode().startswith(text), (kind, body)
            status, body = server.ask("/ready?for=queries")
            assert status == 200 and text in body.decode(), (kind, body)
            assert server.get("/api/v1/status")["disk_state"] == text
            out, _ = vestal("status", env={"VESTAL_SERVER": server.url})
            assert f"{text}: nothing new is taken" in out, out
            server.check()
            server.recovers()
            wait(lambda: server.ask("/ready")[0] == 200)
    server.survives()


@test
def a_disk_that_fails_to_read_is_told_and_forgotten():
    with Shaken("unread") as first:
        for _ in range(10):
            assert first.upload() == 200
    with Shaken("unread", after=first) as server:
        server.faults(disk_bad_read=1)
        for _ in range(5):
            status, _ = server.ask("/api/v1/query?query=shaken&type=samples")
            assert status in (200, 404, 500, 503), status
        server.recovers()
    server.survives()


@test
def connections_wait_while_there_are_no_descriptors():
    with Shaken("descriptors") as server:
        server.faults(aborted=2)
        for _ in range(20):
            assert server.upload() == 200
        assert server.faults.count("aborted")
        server.faults(no_descriptor=2)
        for _ in range(5):
            assert server.upload() == 200
        server.faults(no_descriptor=1)
        try:
            urllib.request.urlopen(server.url + "/ready", timeout=1).read()
            raise AssertionError("a connection without a descriptor")
        except (urllib.error.URLError, TimeoutError):
            pass
        assert server.faults.count("no_descriptor")
        server.recovers()
    server.survives()


main()
