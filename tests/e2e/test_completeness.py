#!/usr/bin/env python3
"""What arrived of what was measured: losses of every kind are made on purpose, and answers name them,
with their cause and amount. Needs root: without it everything is skipped.

    VESTAL=build/vestal tests/e2e/test_completeness.py
"""
import json
import math
import os
import signal
import subprocess
import tempfile
import time

from support.agent import Agent, Collector, Program
from support.recording import build, cpu_seconds
from support.server import Server
from support.tap import VESTAL, main, test
from support.wait import until

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
# 700 frames: some KiB for each sample.
DEPTH = "700"


def asked(server, path="top", **parameters):
    parameters.setdefault("time_range", "1h")
    return server.get(f"/api/v1/{path}", **parameters)


def completeness(server, service, **parameters):
    return asked(server, query=f'{{service_name="{service}"}}', type=CPU, **parameters)["completeness"]


def deep(service):
    return Program(build("deep_spin"), DEPTH, env={"OTEL_SERVICE_NAME": service})


def agent(server, *options, **more):
    return Agent("--interval", "1", "--cpu-budget", "0", "--memory-budget", "0", *options,
                 server=server.url, **more)


def arrived(server, service, condition, during=None):
    """The completeness of a service, when the condition holds for it."""
    found = {}

    def look():
        found.clear()
        try:
            found.update(completeness(server, service))
        except AssertionError as error:  # nothing of it yet
            found["error"] = str(error)
            return False
        return found.get("reported") and condition(found)
    (during.wait if during else until)(look)
    return dict(found)


def causes(found, kind="causes"):
    return {one["cause"]: one for one in found[kind]}


@test
def what_arrives_whole_says_so_in_every_answer():
    with Server() as server, deep("whole") as program, agent(server) as a:
        a.wait(lambda: cpu_seconds(program.pid) > 3)
        found = arrived(server, "whole", lambda c: c["kept"]["count"] > 200, a)
        assert found["kept_share"] == 1 and found["causes"] == [] and found["text"] == "", found
        assert found["off_share"] == 0 and found["truncated_share"] is not None, found
        # Each clock is up to a quarter off, by another share every 32 samples or more: four standard errors.
        # A level would be a factor of two.
        period, draws = found["level"]["period_ns"], found["kept"]["count"] / 32
        assert abs(period * 97 / 1e9 - 1) < 4 * 0.25 / math.sqrt(3 * draws) < 0.25, found
        assert round(found["kept"]["time_ns"] / found["kept"]["count"]) == period, found
        query = {"query": '{service_name="whole"}', "type": CPU}
        for path, more in (("top", {}), ("tree", {}), ("series", {}), ("heatmap", {}),
                           ("function", {"name": "spin"})):
            assert asked(server, path, **query, **more)["completeness"]["reported"], path
        # Nobody speaks for a thread alone: what is said is of the service.
        part = asked(server, query='{service_name="whole",thread.name=~"deep_spin.*"}', type=CPU)
        assert part["total"] > 0 and part["completeness"]["kept"]["count"] >= found["kept"]["count"]
        for path in ("diff", "change"):
            sides = asked(server, path, baseline='{service_name="whole"}', type=CPU,
                          comparison='{service_name="whole"}', **{"baseline_from": "-1h",
                                                                  "comparison_from": "-1h"})
            assert sides["completeness"]["baseline"]["reported"], (path, sides["completeness"])
            assert sides["completeness"]["comparison"]["kept_share"] == 1, (path, sides["completeness"])
        overview = asked(server, "overview")
        mine = next(s for s in overview["services"] if s["service"] == "whole")
        assert [t["type"] for t in mine["types"] if t["completeness"]["reported"]] == [CPU], mine
        listed = {t["id"] for t in asked(server, "types")["types"]}
        assert CPU in listed and not any(t.startswith("completeness") for t in listed), listed
        listed = {t["id"] for t in asked(server, "types", all="true")["types"]}
        assert any(t.startswith("completeness") for t in listed), listed
        # What was kept is what the profiles hold.
        total = asked(server, **query)
        assert total["completeness"]["kept"]["time_ns"] == total["total"], total["completeness"]


def printed(*arguments):
    done = subprocess.run([VESTAL, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def says_the_same_on_the_command_line(server, text):
    """What the API said stands in the tables of the commands, and the object in their JSON."""
    asked_for = ("--server", server.url, '{service_name="full"}', "--type", CPU, "--from", "-1h")
    said = printed("query", *asked_for)
    assert text in said, (text, said)
    found = json.loads(printed("query", *asked_for, "--json"))["completeness"]
    assert found["reported"] and found["text"] == text, found
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
        printed("query", *asked_for, "--pprof", file.name, "--force")
        assert text in printed("top", file.name), text
        assert json.loads(printed("top", "--json", file.name))["completeness"]["text"] == text
        assert printed("diff", file.name, file.name).count(text) == 2, text
        both = json.loads(printed("diff", "--json", file.name, file.name))
        assert json.dumps(both).count(json.dumps(text)) == 2, both


@test
def a_ring_that_is_full_loses_samples_of_those_who_run_and_kept_with_lost_is_what_they_used():
    with Server() as server, deep("full") as program, agent(
            server, "-F", "997", "--metrics", "127.0.0.1:0") as a:
        a.wait(lambda: cpu_seconds(program.pid) > 2)
        arrived(server, "full", lambda c: c["kept"]["count"] > 100, a)
        a.process.send_signal(signal.SIGSTOP)
        begin = cpu_seconds(program.pid)
        until(lambda: cpu_seconds(program.pid) > begin + 4)
        a.process.send_signal(signal.SIGCONT)
        lost = arrived(server, "full", lambda c: causes(c).get("ring full", {}).get("count", 0) > 1000, a)
        os.kill(program.pid, signal.SIGSTOP)
        used = cpu_seconds(program.pid)
        last = {}

        def quiet():
            before = dict(last)
            last.update(completeness(server, "full"))
            time.sleep(1.5)
            return last == before
        a.wait(quiet)
        os.kill(program.pid, signal.SIGCONT)
        assert "lost: ring full" in lost["text"], lost
        both = last["kept"]["time_ns"] + last["lost"]["time_ns"]
        count = last["kept"]["count"] + last["lost"]["count"]
        # Walking 700 frames a thousand times a second takes its part, which the kernel counts as an
        # interrupt's. It ran before the agent looked: that time it has to itself.
        metrics = a.metrics()
        walked = metrics['vestal_agent_cpu_seconds_total{where="bpf"}']
        assert metrics['vestal_agent_lost_samples_total{cause="ring full"}'] >= last["lost"]["count"], last
        says_the_same_on_the_command_line(server, last["text"])
        assert both / 1e9 <= used * 1.01 + 4 * used / math.sqrt(count) + walked, (last, used, walked)
        assert both / 1e9 >= (used - 3) * 0.99 - 4 * used / math.sqrt(count), (last, used)


# ExportProfilesServiceResponse: partial_success.rejected_profiles is 1.
ONE_REJECTED = b"\x0a\x02\x08\x01"


class Gate(Collector):
    """Hands on what an agent sends, or answers with a status of its own as long as it is closed; with
    `rejecting` it hands on and says that one profile was not taken."""

    def __init__(self, server):
        super().__init__(self)
        self.server, self.closed, self.turned_away, self.rejecting = server, 0, 0, False

    def ask(self, path, body, headers):
        if self.closed:
            self.turned_away += 1
            return self.closed, b""
        status, answer = self.server.ask(path, body, headers)
        return status, ONE_REJECTED if self.rejecting and status == 200 else answer


def lost_on_the_way(status, cause, *options):
    """An agent whose server answers with a status for a while, then takes everything."""
    with Server() as server, Gate(server) as gate, Program(
            build("deep_spin"), "5", env={"OTEL_SERVICE_NAME": "away"}) as program, Agent(
                "--interval", "1", "--cpu-budget", "0", "--memory-budget", "0", *options,
                server=gate.url) as a:
        gate.closed = status
        begin = cpu_seconds(program.pid)
        a.wait(lambda: cpu_seconds(program.pid) > begin + 3 and gate.turned_away > 4)
        # What cannot be sent now is dropped: there is hardly any room.
        a.wait(lambda: status == 400 or "export_dropped" in a.said() or
               a.metrics()["vestal_agent_export_dropped_total"] > 1)
        gate.closed = 0
        found = arrived(server, "away", lambda c: causes(c).get(cause, {}).get("count", 0) > 50, a)
        assert f"lost: {cause}" in found["text"], found
        os.kill(program.pid, signal.SIGSTOP)
        used, last = cpu_seconds(program.pid), {}

        def quiet():
            before = dict(last)
            last.update(completeness(server, "away"))
            time.sleep(1.5)
            return last == before
        a.wait(quiet)
        both, count = (last["kept"][k] + last["lost"][k] for k in ("time_ns", "count"))
        if "--metrics" in options:
            told = a.metrics()[f'vestal_agent_lost_samples_total{{cause="{cause}"}}']
            assert told >= last["lost"]["count"] > 0, (told, last)
        assert both / 1e9 <= used * 1.01 + 4 * used / math.sqrt(count) + 0.02, (last, used)
        assert both / 1e9 >= (used - 1) * 0.99 - 4 * used / math.sqrt(count), (last, used)


@test
def requests_that_the_server_refuses_are_lost_for_that_reason():
    lost_on_the_way(400, "refused by the server")


@test
def windows_that_a_full_queue_drops_are_told_when_the_server_is_back():
    lost_on_the_way(503, "queue full", "--queue-size", "96K", "--metrics", "127.0.0.1:0")


@test
def profiles_that_the_server_rejects_are_lost_for_that_reason():
    with Server() as server, Gate(server) as gate, deep("rejected") as program, Agent(
            "--interval", "1", "--cpu-budget", "0", "--memory-budget", "0", "--metrics",
            "127.0.0.1:0", server=gate.url) as a:
        gate.rejecting = True
        lost = "refused by the server"
        # One profile of many: of a window's samples it is less than one, and their time is told.
        found = arrived(server, "rejected", lambda c: causes(c).get(lost, {}).get("time_ns", 0), a)
        assert 0 < found["lost"]["time_ns"] < found["kept"]["time_ns"] / 2, found
        a.metrics_when(lambda m: m[f'vestal_agent_lost_samples_total{{cause="{lost}"}}'] > 0)
        os.kill(program.pid, signal.SIGSTOP)
        last = {}

        def quiet():
            before = dict(last)
            last.update(asked(server, query='{service_name="rejected"}', type=CPU))
            time.sleep(1.5)
            return {**last, "read": 0} == {**before, "read": 0}
        a.wait(quiet)
        os.kill(program.pid, signal.SIGCONT)
        # The gate handed on all of it: what is kept and what is said to be lost is what was measured.
        found = last["completeness"]
        assert found["kept"]["time_ns"] + found["lost"]["time_ns"] == last["total"], last
        assert found["kept_share"] == found["kept"]["time_ns"] / last["total"] < 1, last


if __name__ == "__main__":
    main()
