#!/usr/bin/env python3
"""The agent on a machine that does not stay as it is: suspended, with processors that go and come, with
more switches than its budget allows, with stacks deeper than what is copied at first. Needs root.

    VESTAL=build/vestal tests/e2e/test_agent_rough.py
"""
import gzip
import http.server
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from support.recording import ROOT, allowed, build, top
from support.tap import VESTAL, Skip, main, scratch, test, vestal

ONLINE = "/sys/devices/system/cpu/cpu1/online"


class Collector:
    """Takes what an agent sends."""

    def __init__(self):
        outer = self
        self.bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(gzip.decompress(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def profiles(self):
        """What arrived, as `vestal show` tells it."""
        for body in list(self.bodies):
            path = tempfile.mkstemp(suffix=".otlp", dir=scratch())[1]
            with open(path, "wb") as file:
                file.write(body)
            for file in json.loads(vestal("show", "--json", path)[0])["files"]:
                yield from file["profiles"]

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Agent:
    """`vestal agent` as long as the `with` lasts."""

    def __init__(self, url, *options, env=None):
        self.command = [VESTAL, "agent", "--server", url, "--queue",
                        tempfile.mkdtemp(dir=scratch()), *options]
        self.env = {**os.environ, **(env or {})}

    def __enter__(self):
        allowed()
        self.log = tempfile.mkstemp(dir=scratch())[1]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, cwd=scratch(), stderr=log, env=self.env)
        self.wait_for("agent started")
        return self

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, words, seconds=120):
        until(lambda: words in self.said() or self.process.poll() is not None, seconds, self.said)
        assert words in self.said(), self.said()

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        assert kind or self.process.returncode == 0, self.said()


def until(condition, seconds, describe=lambda: ""):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, ("it did not happen", describe())
        time.sleep(0.1)


class Program:
    """A program that runs as long as the `with` lasts."""

    def __init__(self, *command):
        self.command = command

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@test
def no_window_is_as_long_as_the_machine_was_suspended():
    allowed()
    shim, jump = os.path.join(scratch(), "clock_shim.so"), os.path.join(scratch(), "jump")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, f"{ROOT}/tests/shim/clock_shim.c"], check=True)
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    env = {"LD_PRELOAD": shim, "CLOCK_SHIM": jump, "ASAN_OPTIONS": sanitizer}
    collector = Collector()
    try:
        with Program(build("shares"), "120"), Agent(collector.url, "--interval", "600", "--type",
                                                    "cpu,offcpu,wall", env=env) as agent:
            # Of the first, short window, and then of one that lasts.
            until(lambda: collector.bodies, 60, agent.said)
            time.sleep(1)
            with open(jump, "w", encoding="utf-8"):
                pass
            agent.wait_for("the machine was suspended")
            first = len(collector.bodies)
            until(lambda: len(collector.bodies) > first or first > 1, 60, agent.said)
        profiles = list(collector.profiles())
    finally:
        collector.close()
    lengths = [p["duration_ns"] / 1e9 for p in profiles]
    assert profiles and max(lengths) < 300, lengths
    begun = [p["time_ns"] / 1e9 for p in profiles]
    assert max(begun) - min(begun) > 3500, begun
    # Nobody waited or worked an hour.
    most = max(abs(t["total"]) for p in profiles for t in p["types"] if t["unit"] == "nanoseconds")
    assert most < 600e9, most


@test
def when_waits_cost_more_than_the_budget_fewer_are_kept_and_then_none():
    collector = Collector()
    try:
        with Program(build("pingpong"), "300"), Agent(collector.url, "--interval", "1", "--type",
                                                      "cpu,offcpu", "--cpu-budget", "0.01%") as agent:
            agent.wait_for("fewer waits are kept")
            agent.wait_for("waits are left out")
            seen = len(collector.bodies)
            until(lambda: len(collector.bodies) > seen + 1, 60, agent.said)
            bodies = list(collector.bodies)
    finally:
        collector.close()
    # Profiles say so, and the rate of samples did not have to give way for it.
    assert any(b"vestal.waits.mean" in body for body in bodies[:seen])
    assert b"vestal.waits" in bodies[-1] and b"left out" in bodies[-1]
    assert b"off_cpu" not in bodies[-1]


@test
def a_deep_stack_that_was_there_before_is_soon_whole():
    allowed()
    with Program(build("deep"), "1000", "60") as process:
        time.sleep(0.5)
        path = os.path.join(scratch(), "deep.pb.gz")
        _, said = vestal("record", "-p", str(process.pid), "-F", "199", "-d", "4", "-o", path)
    samples, share = re.search(r"(\d+) samples in .*?; ([\d.]+) % of the stacks are whole", said).groups()
    cut = re.search(r"not whole: (\d+) too deep", said)
    # Those of the first moments are copied, and cut where the copy ends: marked and counted.
    assert int(samples) > 100 and float(share) > 75, said
    rows, names = top(path)
    folded = vestal("convert", path, "-o", "-", "--to", "folded")[0]
    assert max(line.count("step_down") for line in folded.splitlines()) == 1001
    if cut and int(cut[1]):
        assert rows["broken_share"] > 0 and "[truncated]" in names, said
        assert abs(rows["broken_share"] - (1 - float(share) / 100)) < 0.02, (rows["broken_share"], share)
    else:
        assert rows["broken_share"] == 0, rows["broken_share"]


def processors():
    with open("/sys/devices/system/cpu/online", encoding="ascii") as file:
        return file.read().strip()


@test
def a_processor_that_went_and_came_back_is_sampled_again():
    # Everybody loses half of the machine for a moment: not where others work.
    if not os.environ.get("VESTAL_TEST_HOTPLUG"):
        raise Skip("VESTAL_TEST_HOTPLUG=1 switches a processor off and on")
    allowed()
    before = processors()
    collector = Collector()
    try:
        with Agent(collector.url, "--interval", "1", "-F", "199") as agent:
            with open(ONLINE, "w", encoding="ascii") as file:
                file.write("0")
            time.sleep(3)
            with open(ONLINE, "w", encoding="ascii") as file:
                file.write("1")
            until(lambda: processors() == before, 10)
            time.sleep(3)
            with Program("taskset", "-c", "1", build("shares"), "60"):
                time.sleep(4)
        total = sum(t["total"] for p in collector.profiles() for t in p["types"]
                    if t["type"] == "cpu" and "shares" in json.dumps(p))
    finally:
        if processors() != before:
            with open(ONLINE, "w", encoding="ascii") as file:
                file.write("1")
        collector.close()
    assert total > 1.5e9, (total, agent.said())


main()
