#!/usr/bin/env python3
"""Waits as kernels without the tracepoint sched_exit_tp show them: stacks are taken when threads
leave. The same truth as in test_record.py, on whatever kernel this is.

    VESTAL=build/vestal tests/e2e/test_record_switch.py
"""
import json
import os
import subprocess
import time

from support.recording import allowed, build, record, top, whole
from support.tap import main, scratch, test, vestal

os.environ["VESTAL_NO_SCHED_EXIT"] = "1"


@test
def the_doctor_says_which_way_it_is():
    allowed()
    said, _ = vestal("doctor", status=None)
    assert "when threads leave" in said, said


@test
def waits_are_as_long_as_the_program_measured():
    done, path = record("--type", "offcpu", program=[build("sleeper"), "5"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path, "--type", "off_cpu")
    for name in ("wait_asleep", "wait_for_lock"):
        share = names[name]["cum"] / truth[name]
        assert abs(share - 1) < 0.03, (name, share, truth)
    assert whole(done)[1] >= 99, done.stderr


@test
def the_waits_of_a_convoy_are_as_long_as_it_measured():
    done, path = record("--type", "offcpu", program=[build("convoy"), "4"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path, "--type", "off_cpu")
    share = names["queue_for_lock"]["cum"] / truth["queue_for_lock"]
    assert abs(share - 1) < 0.03, (share, truth)


@test
def waits_for_locks_are_told_apart_and_wakers_named():
    done, path = record("--type", "offcpu,lock,wall", program=[build("sleeper"), "4"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path, "--type", "delay")
    assert abs(names["wait_for_lock"]["cum"] / truth["wait_for_lock"] - 1) < 0.03, truth
    assert "wait_asleep" not in names, names["wait_asleep"]
    assert abs(top(path, "--type", "wall")[0]["total"] / 8e9 - 1) < 0.1
    for waiter, waker in (("wait_for_lock", "wake_others;.*pthread_mutex_unlock"),
                          ("wait_asleep", "hrtimer")):
        everything = top(path, "--focus", waiter)[1][waiter]["cum"]
        woken = top(path, "--focus", waiter, "--tag", f"waker=~{waker}")[1].get(waiter)
        # One that had to wait for a processor after it was woken may be kept for that alone.
        assert woken and woken["cum"] > 0.8 * everything, (waiter, woken, everything)


@test
def a_deadlock_shows_though_nothing_ever_moves():
    allowed()
    process = subprocess.Popen([build("deadlock")])
    try:
        time.sleep(0.5)
        path = os.path.join(scratch(), "deadlock.pb.gz")
        vestal("record", "--type", "offcpu,lock", "-p", str(process.pid), "-d", "2", "-o", path)
        rows, names = top(path, "--type", "delay")
        for name in ("first_then_second", "second_then_first"):
            assert abs(names[name]["cum"] / 2e9 - 1) < 0.1, (name, names[name], rows["total"])
    finally:
        process.kill()
        process.wait()


main()
