#!/usr/bin/env python3
"""The agent on a machine that does not stay as it is: suspended, with processors that go and come, with
more switches than its budget allows, with stacks deeper than what is copied at first. Needs root.

    VESTAL=build/vestal tests/e2e/test_agent_rough.py
"""
import json
import os
import re
import signal
import subprocess

from support.agent import Agent, Collector, Program
from support.recording import ROOT, allowed, build, cpu_seconds, top
from support.tap import VESTAL, Skip, main, scratch, test, vestal
from support.wait import until

ONLINE = "/sys/devices/system/cpu/cpu1/online"


@test
def no_window_is_as_long_as_the_machine_was_suspended():
    allowed()
    shim, jump = os.path.join(scratch(), "clock_shim.so"), os.path.join(scratch(), "jump")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, f"{ROOT}/tests/shim/clock_shim.c"], check=True)
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    env = {"LD_PRELOAD": shim, "CLOCK_SHIM": jump, "ASAN_OPTIONS": sanitizer}
    with Collector() as collector:
        with Program(build("shares"), "120"), \
                Agent("--interval", "600", "--type", "cpu,offcpu,wall", "--metrics", "127.0.0.1:0",
                      server=collector.url, env=env) as agent:
            # Of the first, short window, and then of one that lasts.
            agent.wait(lambda: collector.requests)
            seen = agent.metrics()["vestal_agent_samples_total"]
            agent.metrics_when(lambda rows: rows["vestal_agent_samples_total"] > seen + 50)
            with open(jump, "w", encoding="utf-8"):
                pass
            agent.wait_for("the machine was suspended")
            agent.wait(lambda: len(collector.requests) > 1)
        profiles = list(collector.profiles())
    lengths = [p["duration_ns"] / 1e9 for p in profiles]
    assert profiles and max(lengths) < 300, lengths
    begun = [p["time_ns"] / 1e9 for p in profiles]
    assert max(begun) - min(begun) > 3500, begun
    # Nobody waited or worked an hour.
    most = max(abs(t["total"]) for p in profiles for t in p["types"] if t["unit"] == "nanoseconds")
    assert most < 600e9, most


@test
def when_waits_cost_more_than_the_budget_fewer_are_kept_and_never_none():
    with Collector() as collector:
        with Program(build("pingpong"), "300"), \
                Agent("--interval", "1", "--type", "cpu,offcpu", "--cpu-budget", "0.01%",
                      server=collector.url) as agent:
            agent.wait_for("off-CPU time costs too much")
            agent.wait(lambda: any(b"vestal.waits.mean" in body for body in collector.bodies()))
            seen = len(collector.requests)
            agent.wait(lambda: any(b"off_cpu" in body for body in collector.bodies()[seen + 3:]))
            said = agent.said()
    # How often that changes is no matter of the log.
    assert said.count("off-CPU time is followed less closely") + said.count("switch most is followed") <= 2, said


@test
def above_its_memory_budget_the_agent_gives_back_then_lowers_the_rate_and_says_so():
    with Collector() as collector:
        # Less than it can do with.
        with Program(build("shares"), "300"), \
                Agent("--interval", "1", "--memory-budget", "2MB", "--cpu-budget", "0", "--metrics",
                      "127.0.0.1:0", server=collector.url) as agent:
            agent.wait_for("memory is given back")
            line = agent.wait_for("rate lowered")
            assert "memory budget" in line and "wanted_hz=97" in line, line
            rows = agent.metrics_when(lambda rows: rows["vestal_agent_rate_hz"] < 97)
            assert rows["vestal_agent_wanted_rate_hz"] == 97, rows
            assert rows["vestal_agent_memory_bytes"] > 2e6, rows
            agent.wait(lambda: b"vestal.rate.limited_by" in collector.bodies()[-1])
        last = collector.bodies()[-1]
    assert b"vestal.rate.wanted" in last and b"memory budget" in last
    assert not any(b"vestal.rate.wanted" in body for body in collector.bodies()[:1])


@test
def what_the_ring_had_no_room_for_is_counted_and_told():
    with Collector() as collector, Program(build("deep"), "1000", "300") as deep:
        # Whole stacks of 8 KiB: 2 MiB are full before a second of work is sampled.
        with Agent("--interval", "1", "-F", "997", "--cpu-budget", "0", "-p", str(deep.pid), "--metrics",
                   "127.0.0.1:0", server=collector.url) as agent:
            agent.metrics_when(lambda rows: rows['vestal_agent_unwind_ends_total{end="root"}'] > 100)
            assert not any(b"vestal.samples.lost" in body for body in collector.bodies())
            agent.process.send_signal(signal.SIGSTOP)
            try:
                spent = cpu_seconds(deep.pid)
                until(lambda: cpu_seconds(deep.pid) > spent + 3)
            finally:
                agent.process.send_signal(signal.SIGCONT)
            line = agent.wait_for("samples were lost: there was no room for them")
            assert int(re.search(r"lost=(\d+)", line)[1]) > 0, line
            agent.wait(lambda: any(b"vestal.samples.lost" in body for body in collector.bodies()))
            rows = agent.metrics()
            assert rows["vestal_agent_dropped_total"] > 0, rows


@test
def a_deep_stack_that_was_there_before_is_soon_whole():
    allowed()
    with Program(build("deep"), "1000", "60") as process:
        # It is at its end when it has worked for a while.
        until(lambda: cpu_seconds(process.pid) > 0.2)
        path = os.path.join(scratch(), "deep.pb.gz")
        _, said = vestal("record", "-p", str(process.pid), "-F", "199", "-d", "4", "-o", path)
    samples, share = re.search(r"(\d+) samples in .*?; ([\d.]+) % of the stacks are whole", said).groups()
    cut = re.search(r"not whole: (\d+) too deep", said)
    # Those of the first moments are copied, and cut where the copy ends: marked and counted.
    assert int(samples) > 20 and float(share) > 75, said
    rows, names = top(path)
    folded = vestal("convert", path, "-o", "-", "--to", "folded")[0]
    assert max(line.count("step_down") for line in folded.splitlines()) == 1001
    if cut and int(cut[1]):
        assert rows["broken_share"] > 0 and "[truncated]" in names, said
        assert abs(rows["broken_share"] - (1 - float(share) / 100)) < 0.02, (rows["broken_share"], share)
    else:
        assert rows["broken_share"] == 0, rows["broken_share"]


def switch(on):
    with open(ONLINE, "w", encoding="ascii") as file:
        file.write(on)


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
    try:
        with Collector() as collector, \
                Agent("--interval", "1", "-F", "199", server=collector.url) as agent:
            switch("0")
            windows = len(collector.requests)
            agent.wait(lambda: len(collector.requests) > windows + 2)
            switch("1")
            until(lambda: processors() == before)
            with Program("taskset", "-c", "1", build("shares"), "120"):
                agent.wait(lambda: sum(t["total"] for p in collector.profiles() for t in p["types"]
                                       if t["type"] == "cpu" and "shares" in json.dumps(p)) > 1.5e9)
    finally:
        if processors() != before:
            switch("1")
    assert processors() == before, processors()


main()
