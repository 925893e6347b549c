#!/usr/bin/env python3
"""Causes that keep data from the agent, made on purpose: each appears by its name in the completeness of
answers and in the agent's metrics, and what was kept, with what was lost, is what the program used by its own
clock. (Full rings, queues and servers that refuse: test_completeness.py.) Needs root.

    VESTAL=build/vestal tests/e2e/test_seeded_losses.py
"""
import contextlib
import errno
import json
import math
import os
import re
import signal
import subprocess
import time

from support.agent import Agent, Program
from support.recording import ROOT, build, cpu_seconds
from support.server import Server
from support.tap import Skip, main, scratch, test
from support.wait import until

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
OFF_CPU = "off_cpu"


def shim(name, **env):
    """An environment with one of tests/shim."""
    library = os.path.join(scratch(), f"{name}.so")
    if not os.path.exists(library):
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, f"{ROOT}/tests/shim/{name}.c", "-ldl"], check=True)
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0",
            **env}


def spinning(service):
    return Program(build("deep_spin"), "5", env={"OTEL_SERVICE_NAME": service})


def completeness(server, service):
    try:
        return server.get("/api/v1/top", query=f'{{service_name="{service}"}}', type=CPU,
                          time_range="1h")["completeness"]
    except AssertionError:  # nothing of it yet
        return {}


def causes(found, kind):
    return {one["cause"]: one for one in found.get(kind, [])}


def all_of(server, service, program, agent):
    """The completeness of a program that was stopped, when all of it has arrived; and its CPU seconds."""
    os.kill(program.pid, signal.SIGSTOP)
    used, seen = cpu_seconds(program.pid), {}

    def quiet():
        before = dict(seen)
        seen.update(completeness(server, service))
        time.sleep(2.5)
        return seen == before
    agent.wait(quiet)
    os.kill(program.pid, signal.SIGCONT)
    return dict(seen), used


def agrees(found, used, unseen, period):
    """Kept and lost together are what was used, but for the seconds before the agent looked, within 1 % and
    four standard errors of samples that stand for `period` seconds at most."""
    both = (found["kept"]["time_ns"] + found["lost"]["time_ns"]) / 1e9
    slack = 0.01 * used + 4 * math.sqrt(period * used) + 0.02
    assert used - unseen - slack <= both <= used + slack, (both, used, unseen, slack, found)


@test
def a_rate_that_the_budget_lowers_is_told_and_nothing_is_lost_by_it():
    with Server() as server, spinning("lowered") as program:
        until(lambda: cpu_seconds(program.pid) > 0)
        with Agent("--interval", "1", "-F", "997", "--cpu-budget", "0.001%", "--metrics", "127.0.0.1:0",
                   server=server.url) as agent:
            unseen = cpu_seconds(program.pid)
            agent.metrics_when(lambda m: m["vestal_agent_rate_hz"] < 997)
            agent.wait(lambda: causes(completeness(server, "lowered"), "lowered").get("cpu budget", {}).get(
                "time_ns", 0))
            found, used = all_of(server, "lowered", program, agent)
            rate = agent.metrics()["vestal_agent_rate_hz"]
        assert found["lowered_share"] > 0 and not found["causes"], found
        agrees(found, used, unseen, 1 / rate)


@test
def frames_whose_reader_ends_have_no_names_for_that_reason():
    with Server() as server, spinning("unread") as program:
        until(lambda: cpu_seconds(program.pid) > 0)
        with Agent("--interval", "1", "--metrics", "127.0.0.1:0", server=server.url,
                   env=shim("worker_shim", WORKER_SHIM="vestal-names")) as agent:
            unseen = cpu_seconds(program.pid)
            agent.wait(lambda: causes(completeness(server, "unread"), "unnamed_causes").get(
                "symbol reader ended", {}).get("count", 0) > 100)
            told = agent.metrics()
            found, used = all_of(server, "unread", program, agent)
        assert told["vestal_agent_workers_lost_total"] > 0, told
        assert told['vestal_agent_workers_replaced_total{reason="ended"}'] >= 2, told
        assert found["unnamed_share"] > 0.9 and not found["causes"], found
        assert "symbol reader ended" in found["text"], found
        agrees(found, used, unseen, 1 / 97)


@test
def stacks_without_unwind_tables_are_kept_and_told_as_truncated():
    with Server() as server, spinning("unwound") as program:
        until(lambda: cpu_seconds(program.pid) > 0)
        with Agent("--interval", "1", "--metrics", "127.0.0.1:0", server=server.url,
                   env=shim("worker_shim", WORKER_SHIM="vestal-tables")) as agent:
            unseen = cpu_seconds(program.pid)
            agent.wait(lambda: completeness(server, "unwound").get("kept", {}).get("count", 0) > 200)
            told = agent.metrics()
            found, used = all_of(server, "unwound", program, agent)
        assert told["vestal_agent_workers_lost_total"] > 0, told
        assert found["truncated_share"] > 0.5 and not found["causes"], found
        agrees(found, used, unseen, 1 / 97)


@test
def a_cpu_whose_clock_the_kernel_refuses_is_told_for_all_its_time():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("needs two CPUs")
    with Server() as server, spinning("seen") as program, spinning("unseen") as other:
        os.sched_setaffinity(program.pid, {cpus[0]})
        os.sched_setaffinity(other.pid, {cpus[1]})
        until(lambda: cpu_seconds(program.pid) > 0)
        with Agent("--interval", "1", "--metrics", "127.0.0.1:0", server=server.url,
                   env=shim("bpf_shim", BPF_SHIM=f"clock {cpus[1]} {errno.EMFILE}")) as agent:
            unseen = cpu_seconds(program.pid)
            agent.wait(lambda: causes(completeness(server, "seen"), "off").get("kernel refused", {}).get("time_ns", 0))
            agent.wait(lambda: completeness(server, "seen").get("kept", {}).get("count", 0) > 200)
            found, used = all_of(server, "seen", program, agent)
            assert not completeness(server, "unseen").get("kept", {}).get("count"), "a CPU without a clock was sampled"
        part = 1 / os.sysconf("SC_NPROCESSORS_ONLN")
        assert abs(found["off_share"] - part) < 0.02, (found, part)
        assert "kernel refused" in found["text"] and not found["causes"], found
        agrees(found, used, unseen, 1 / 97)


def occupy_scratch(pid):
    """As if another program were in the middle of a sample, on every CPU and for ever: SCRATCH_TRACE (1) of
    the map is marked as busy. A sample that is under way clears the mark when it ends, so it is set several
    times."""
    ids = set()
    for number in os.listdir(f"/proc/{pid}/fdinfo"):
        # One that is closed meanwhile is none of the maps.
        with contextlib.suppress(FileNotFoundError), \
                open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii", errors="replace") as file:
            ids |= {int(found) for found in re.findall(r"^map_id:\s+(\d+)", file.read(), re.M)}
    maps = json.loads(subprocess.run(["bpftool", "-j", "map", "show"], capture_output=True, check=True).stdout)
    mine = next(m for m in maps if m.get("name") == "scratches" and m["id"] in ids)
    value = ["0xff"] * mine["bytes_value"]
    for _ in range(10):
        subprocess.run(["bpftool", "map", "update", "id", str(mine["id"]), "key", "1", "0", "0", "0", "value", *value],
                       check=True)
        time.sleep(0.05)


@test
def waits_are_lost_for_that_reason_while_another_sample_is_under_way():
    lost = "another sample under way"
    with Server() as server, Agent("--interval", "1", "--type", "offcpu", "--metrics", "127.0.0.1:0",
                                   server=server.url, env={"VESTAL_NO_SCHED_EXIT": "1"}) as agent:
        def seen():
            try:
                return server.get("/api/v1/top", query='{service_name="crowded"}', type=OFF_CPU,
                                  time_range="1h")["completeness"]
            except AssertionError:  # nothing of it yet
                return {}

        def run(seconds):
            done = subprocess.run([build("sleeper"), seconds], capture_output=True, text=True, check=True,
                                  env={"OTEL_SERVICE_NAME": "crowded"})
            return sum(json.loads(done.stdout).values()) / 1e9

        def told():
            found = seen()
            return found if causes(found, "causes").get(lost, {}).get("time_ns", 0) / 1e9 > 0.95 * truth else None
        # All of its waits are lost, or nearly all: the type is listed all the same.
        occupy_scratch(agent.process.pid)
        truth = run("4")
        found = agent.wait(told)
        assert lost in found["text"] and found["kept_share"] < 0.05, found
        types = server.get("/api/v1/types", query="crowded")["types"]
        assert {t["type"] for t in types} == {"off_cpu_waits", "off_cpu"}, types
        overview = server.get("/api/v1/overview", time_range="1h", type=OFF_CPU)
        [service] = [s for s in overview["services"] if s["service"] == "crowded"]
        assert lost in json.dumps(service), service
        agent.metrics_when(lambda m: m[f'vestal_agent_lost_samples_total{{cause="{lost}"}}'] > 0)


if __name__ == "__main__":
    main()
