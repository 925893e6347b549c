"""Waits compared with what programs measured of themselves (tests/workloads/native)."""
import json
import os
import time

from support.agent import Program
from support.recording import allowed, build, record, top, waiting_threads, whole
from support.tap import scratch, vestal
from support.wait import until

FUTEX = 202


def tolerance():
    """The program's clock also runs while it is ready and has no CPU, which is no wait: on a machine
    with more than two threads to a CPU that is a few percent."""
    load = os.getloadavg()[0] / os.cpu_count()
    if load > 2:
        print(f"# load of {load:.1f} for each CPU: 6 % instead of 3 %")
    return 0.06 if load > 2 else 0.03


def check_lengths():
    # A wait is kept with a probability below 1: the sum has an error of its own, 0.6 % of 12 s.
    done, path = record("--type", "offcpu", program=[build("sleeper"), "12"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path, "--type", "off_cpu")
    for name in ("wait_asleep", "wait_for_lock"):
        share = names[name]["cum"] / truth[name]
        assert abs(share - 1) < tolerance(), (name, share, truth, done.stderr)
    assert whole(done)[1] >= 99, done.stderr


def check_convoy():
    done, path = record("--type", "offcpu", program=[build("convoy"), "4"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path, "--type", "off_cpu")
    share = names["queue_for_lock"]["cum"] / truth["queue_for_lock"]
    assert abs(share - 1) < tolerance(), (share, truth)


def check_locks_and_wakers(woken_share):
    """At least so much of what was waited must say who ended it."""
    done, path = record("--type", "offcpu,lock,wall", program=[build("sleeper"), "4"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path, "--type", "delay")
    assert abs(names["wait_for_lock"]["cum"] / truth["wait_for_lock"] - 1) < tolerance(), truth
    assert "wait_asleep" not in names, names["wait_asleep"]
    # The main thread waits all the time, the other nearly so.
    assert abs(top(path, "--type", "wall")[0]["total"] / 8e9 - 1) < 0.1
    # Whoever gives the lock back is seen doing it; a sleep is ended by the clock.
    for waiter, waker in (("wait_for_lock", "wake_others;.*pthread_mutex_unlock"),
                          ("wait_asleep", "hrtimer")):
        everything = top(path, "--focus", waiter)[1][waiter]["cum"]
        woken = top(path, "--focus", waiter, "--tag", f"waker=~{waker}")[1].get(waiter)
        assert woken and woken["cum"] > woken_share * everything, (waiter, woken, everything)


def check_deadlock():
    allowed()
    with Program(build("deadlock")) as process:
        # Both threads, and the one that waits for their end.
        until(lambda: waiting_threads(process.pid, FUTEX) == 3)
        path = os.path.join(scratch(), f"deadlock-{time.monotonic_ns()}.pb.gz")
        vestal("record", "--type", "offcpu,lock", "-p", str(process.pid), "-d", "2", "-o", path)
    rows, names = top(path, "--type", "delay")
    for name in ("first_then_second", "second_then_first"):
        assert abs(names[name]["cum"] / 2e9 - 1) < 0.1, (name, names[name], rows["total"])
