#!/usr/bin/env python3
"""Off-CPU time that the agent sends, against the programs' own clocks: of programs that switch as often as
they can, whatever level the agent chooses, and of programs that block once and end. Needs root: without it
everything is skipped.

    VESTAL=build/vestal tests/e2e/test_offcpu.py
"""
import json
import os
import shutil
import subprocess
import tempfile
import time

from support.agent import Agent, Collector
from support.recording import build, top
from support.server import Server
from support.tap import main, scratch, test
from support.wait import until

SECONDS = "12"


def only(name, number):
    """A workload under a name that nothing else on the machine has."""
    path = os.path.join(scratch(), f"{name[:6]}-{number}-{os.getpid()}"[:15])
    if not os.path.exists(path):
        shutil.copy(build(name), path)
    return path


def sent(collector):
    """{function: row} of all that arrived, values summed."""
    waits, counts = {}, {}
    for body in collector.bodies():
        path = tempfile.mkstemp(suffix=".otlp", dir=scratch())[1]
        with open(path, "wb") as file:
            file.write(body)
        for kind, sums in (("off_cpu", waits), ("off_cpu_waits", counts)):
            for name, row in top(path, "--type", kind)[1].items():
                sums[name] = sums.get(name, 0) + row["cum"]
    return waits, counts


def until_quiet(collector):
    """Nothing has come for two windows: all of the programs that ended was sent."""
    seen = [-1, 0]

    def quiet():
        if len(collector.requests) != seen[0]:
            seen[:] = [len(collector.requests), time.monotonic()]
        return time.monotonic() - seen[1] > 5
    until(quiet)


def followed(commands, *options):
    """What these programs print, what arrived of them, and what the agent said.

    They run once before: how the first stacks of a file are told is another matter."""
    names = [part for command in commands for part in ("-n", os.path.basename(command[0]))]
    with Collector() as collector, Agent("--type", "offcpu", "--interval", "2", "--cpu-budget", "0", *names,
                                         *options, server=collector.url) as agent:
        for command in commands:
            subprocess.run([command[0], "1", *command[2:]], stdout=subprocess.DEVNULL, check=True)
        until_quiet(collector)
        collector.requests.clear()
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
        truths = [json.loads(process.communicate()[0]) for process in running]
    waits, counts = sent(collector)
    return truths, waits, counts, agent.said()


def check(truth, waits, name, slack, said):
    share = waits.get(name, 0) / truth[name]
    assert abs(share - 1) < slack, (name, share, truth, said)


@test
def sums_of_busy_threads_stay_right_at_the_level_they_get():
    (truth,), waits, _, said = followed([[only("pingpong", 1), SECONDS, "2"]])
    # At level 4 the standard error of each is about 3 %.
    check(truth, waits, "pass_on", 0.12, said)
    check(truth, waits, "wait_long", 0.12, said)
    assert "left out" not in said, said


@test
def a_storm_takes_no_samples_of_others():
    (_, truth), waits, _, said = followed([[only("pingpong", 1), SECONDS, "4"], [only("sleeper", 1), SECONDS]])
    for name in ("wait_asleep", "wait_for_lock"):
        check(truth, waits, name, 0.05, said)


@test
def the_only_wait_of_a_process_is_told_and_named():
    (truth,), waits, counts, said = followed([[only("one_shot", 1), "1000"]])
    assert truth["count"] == 1000, truth
    assert counts.get("block_once", 0) >= 990, (counts.get("block_once"), truth)
    check(truth, waits, "block_once", 0.03, said)


@test
def each_of_a_thousand_processes_is_recorded_or_counted_as_lost():
    program = only("one_shot", 2)
    service = f'{{service_name=~"(unknown_service:)?{os.path.basename(program)}"}}'
    with Server() as server, Agent("--type", "offcpu", "--interval", "15", server=server.url) as agent:
        def found():
            try:
                return server.get("/api/v1/top", query=service, type="off_cpu_waits", time_range="1h", limit="1000")
            except AssertionError:  # nothing of it yet
                return {"rows": [], "completeness": {}}

        def named():
            return sum(row["cum"] for row in found()["rows"] if row["name"] == "block_once")
        done = subprocess.run([program, "1000"], stdout=subprocess.PIPE, text=True, check=True)
        assert json.loads(done.stdout)["count"] == 1000, done.stdout
        try:
            # A wait of 10 ms is sampled with a probability of 0.99995.
            agent.wait(lambda: named() >= 990)
        except AssertionError as error:
            told = found()["completeness"]
            both = sum(told.get(part, {"count": 0})["count"] for part in ("kept", "lost"))
            assert both >= 1000, ("neither recorded nor counted as lost", told)
            raise AssertionError(("without names, or lost", named(), told, agent.said())) from error


main()
