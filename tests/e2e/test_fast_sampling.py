#!/usr/bin/env python3
"""A thousand samples a second: by perf events where they are allowed, else as often as timers can, and
true either way.

    VESTAL=build/vestal tests/e2e/test_fast_sampling.py
"""
import json
import math
import os
import re
import time

from support.inside import PRELOAD, build_inside, counts, files, output, run
from support.recording import build, close, top
from support.tap import Skip, main, test, vestal

CLOCK_MONOTONIC_COARSE = 6
TICK = time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1e9
ASKED = 1e6


def is_filtered():
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return "Seccomp:\t0" not in file.read()


def period_of(path):
    number, unit = re.search(r"period +([\d.]+)(ms|us|s) of cpu", vestal("show", path)[0]).groups()
    return float(number) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def profiled(way, command, name, before=(), **env):
    """What the program printed, its profile, and the period that it states."""
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")
    pattern = output(f"{name}-{way}")
    wall = [build("walled"), "refuse"] if way == "timers" else []
    env.setdefault("LD_PRELOAD", PRELOAD)
    done = run([*wall, *before, "env", *(f"{k}={v}" for k, v in env.items()), *command], VESTAL_OUTPUT=pattern,
               VESTAL_RATE="1000")
    found = files(pattern)
    assert len(found) == 1, found
    period = period_of(found[0])
    if way == "events" and period == TICK and (is_filtered() or os.geteuid() != 0):
        raise Skip("perf events are not allowed here")
    assert period == (ASKED if way == "events" else max(TICK, ASKED)), (way, period)
    return done, found[0], period


def check_numbers(path, period, truth, threads=1):
    """All of the time, and as many samples as it has periods."""
    value = top(path, "--type", "cpu")[0]["total"]
    number = top(path, "--type", "samples")[0]["total"]
    # A program begins and ends outside of what it measures.
    assert truth * 0.99 <= value <= truth * 1.03 + 2e7, (value, truth)
    assert abs(number - value / period) <= 3 * math.sqrt(threads) + 1, (number, value, period)


def both(check):
    for way in ("events", "timers"):
        def one(way=way):
            check(way)
        one.__name__ = f"{check.__name__}_by_{way}"
        test(one)
    return check


@both
def samples_and_time_are_right(way):
    pattern = output(f"inside-{way}")
    wall = [build("walled"), "refuse"] if way == "timers" else []
    done = run([*wall, build_inside("inside"), "2", "2"], VESTAL_OUTPUT=pattern, VESTAL_RATE="1000")
    truth, path = json.loads(done.stdout), files(pattern)[0]
    period, total = period_of(path), sum(truth.values())
    if way == "events" and period == TICK and (is_filtered() or os.geteuid() != 0):
        raise Skip("perf events are not allowed here")
    assert period == (ASKED if way == "events" else max(TICK, ASKED)), (way, period)
    check_numbers(path, period, total, threads=2)
    # Times from one to the next are between half a period and one and a half. Those that a busy machine
    # is late with are in the next one.
    signals, wanted = counts(done)["samples"], total / period
    assert 0.4 * wanted <= signals <= wanted + 3 * math.sqrt(wanted / 12) + 0.03 * wanted, (signals, wanted)
    names = top(path)[1]
    for name, spent in truth.items():
        # Samples that are late stand for more than others: as good as half of them.
        assert close(names[name]["cum"] / total, spent / total, signals / 2), (name, names[name], truth)


@both
def time_in_the_kernel_is_told_by_who_called_it(way):
    done, path, period = profiled(way, [build("into_kernel"), "2"], "kernel")
    truth = json.loads(done.stdout)
    check_numbers(path, period, truth.pop("all"))
    names, total = top(path)[1], sum(truth.values())
    seen = sum(names[name]["cum"] for name in truth)
    for name, spent in truth.items():
        # What happens in the kernel is seen with the clock tick in both ways.
        assert close(names[name]["cum"] / seen, spent / total, total / TICK, 0.02), \
            (name, names[name]["cum"], truth)


@both
def threads_that_come_and_go_are_counted_to_the_end(way):
    done, path, period = profiled(way, [build("short_threads"), "300"], "short")
    truth = json.loads(done.stdout)["work"]
    assert abs(top(path)[1]["brief"]["cum"] / truth - 1) < 0.1, truth
    check_numbers(path, period, top(path)[0]["total"], threads=301)


@both
def more_threads_than_descriptors_are_counted_and_the_program_has_its_own(way):
    done, path, period = profiled(way, [build("busy_crowd"), "150"], "crowd",
                                  before=("prlimit", "--nofile=64"))
    said = json.loads(done.stdout)
    # Three that it begins with; one in eight may be ours, and two for a moment.
    assert said["left"] >= 64 - 3 - 8 - 2, said
    cum = top(path)[1]["run"]["cum"]
    assert abs(cum / said["work"] - 1) < 0.05, (said, cum)
    check_numbers(path, period, top(path)[0]["total"], threads=151)


@test
def a_filter_that_kills_for_events_is_not_provoked():
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")
    pattern = output("killer")
    run([build("walled"), "kill", "env", f"LD_PRELOAD={PRELOAD}", build("shares"), "0.3"],
        VESTAL_OUTPUT=pattern, VESTAL_RATE="1000")
    assert any("work_most" in top(path)[1] for path in files(pattern))


@test
def children_and_programs_that_follow_are_not_hurt():
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")
    # Each is profiled and becomes another program in the middle of its work.
    script = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); (x=0; while [ $x -lt 200 ]; do x=$((x+1)); " \
             "done; exec true) || echo hurt $?; done; echo done"
    done = run(["bash", "-c", script], preload=True, timeout=300, VESTAL_OUTPUT=output("exec"),
               VESTAL_RATE="1000")
    assert (done.stdout, done.stderr) == ("done\n", ""), done


@test
def a_program_that_closes_every_descriptor_is_sampled_all_the_same():
    for way in ("events", "timers"):
        done, path, period = profiled(way, [build("closes_all"), "1"], "closes")
        truth = json.loads(done.stdout)
        assert truth["kept"], truth
        check_numbers(path, period, truth["work"], threads=21)


main()
