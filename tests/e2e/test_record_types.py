#!/usr/bin/env python3
"""vestal record --type: threads, memory, event loops and locks of programs that know the truth.

    VESTAL=build/vestal tests/e2e/test_record_types.py
"""
import json
import os
import subprocess
import time

from support.recording import allowed, build, record, tagged, top
from support.tap import Skip, main, scratch, test, vestal


@test
def threads_are_counted_by_what_they_do():
    done, path = record("--type", "threads", program=[build("crowd"), "2"])
    truth = json.loads(done.stdout.splitlines()[0])
    rows, names = top(path)
    assert rows["type"] == "threads" and rows["unit"] == "count", rows
    for name, number in truth.items():
        assert names[name]["cum"] == number, (name, names)
    # The one that works has no stack at the moment it is on a processor.
    assert rows["total"] == sum(truth.values()) + 1, rows["total"]
    states = {state: tagged(path, f"state={state}") for state in ("sleep", "running", "runnable")}
    assert states["sleep"] == sum(truth.values()), states
    assert states["running"] + states["runnable"] == 1, states
    assert tagged(path, "thread.name=crowd-member") == 11


@test
def threads_of_a_running_process_are_counted_beside_its_waits():
    allowed()
    process = subprocess.Popen([build("crowd"), "30"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        path = os.path.join(scratch(), "crowd.pb.gz")
        vestal("record", "--type", "offcpu,threads", "-p", str(process.pid), "-d", "2", "-o", path)
        assert top(path, "--type", "threads")[0]["total"] == 12
        waited = top(path, "--type", "off_cpu")[1]
        assert abs(waited["sleep_in_crowd"]["cum"] / 14e9 - 1) < 0.1, waited["sleep_in_crowd"]
    finally:
        process.kill()
        process.wait()


@test
def memory_growth_is_where_the_program_grew():
    done, path = record("--type", "faults", program=[build("leaker"), "1.5"])
    truth = json.loads(done.stdout.splitlines()[0])
    rows, names = top(path)
    assert rows["type"] == "faults" and rows["unit"] == "bytes", rows
    # 60 to 120 MiB in steps of 128 KiB, of which 2 in 5 are kept: 6 and 4 % of standard error.
    for name, size in truth.items():
        tolerance = 0.25 if size < 100 << 20 else 0.18
        assert abs(names[name]["cum"] / size - 1) < tolerance, (name, size, names[name])
    # All of it together is known better; 8 MiB are used again and again.
    assert abs(names["main"]["cum"] / (sum(truth.values()) + (8 << 20)) - 1) < 0.09, names["main"]
    assert names.get("use_again", {"cum": 0})["cum"] < 4 << 20, names["use_again"]
    assert tagged(path, "memory=anonymous") > 0.95 * rows["total"]


@test
def address_space_is_counted_where_it_was_asked_for():
    done, path = record("--type", "faults", program=[build("leaker"), "1.5"])
    truth = json.loads(done.stdout.splitlines()[0])
    truth["leak_huge_page"] *= 2
    _, names = top(path, "--type", "mapped")
    for name, size in truth.items():
        assert abs(names[name]["cum"] / size - 1) < 0.2, (name, size, names[name])
    # A reservation is nothing that can be used.
    assert "reserve_only" not in names, names["reserve_only"]


@test
def the_turns_of_an_event_loop_are_as_long_as_it_measured():
    done, path = record("--type", "loop", "-F", "499", program=[build("looper"), "4"])
    truth = json.loads(done.stdout.splitlines()[0])
    rows, names = top(path)
    assert rows["type"] == "lag" and rows["unit"] == "nanoseconds", rows
    assert abs(rows["total"] / truth["total"] - 1) < 0.03, (rows["total"], truth)
    # Who is slow is named, whether it works or blocks. (The first turns come before the tables.)
    for name in ("handle_slow", "handle_blocking"):
        assert abs(names[name]["cum"] / truth[name] - 1) < 0.15, (name, names[name], truth)
    # Long turns are counted one by one, and known by their length.
    long = [f"{2 ** i}-{2 ** (i + 1)} ms" for i in range(6, 14)]
    counted = sum(tagged(path, f"loop.turn={label}", "--type", "turns") for label in long)
    assert abs(counted - truth["long"]) <= 1, (counted, truth)
    slow = sum(tagged(path, f"loop.turn={label}") for label in long)
    assert abs(slow / truth["long_ns"] - 1) < 0.1, (slow, truth)
    quick = top(path, "--type", "turns")[0]["total"]
    assert abs(quick / truth["turns"] - 1) < 0.5, (quick, truth)


@test
def a_turn_that_does_not_end_is_seen():
    program = """
import select
def stuck():
    while True:
        pass
loop = select.epoll()
loop.poll(0.01)
stuck()
"""
    _, path = record("--type", "loop", "-d", "3", program=["python3", "-c", program])
    total = top(path)[0]["total"]
    assert 1.5e9 < total < 3.5e9, total


@test
def calls_of_32_bit_programs_are_known_by_their_own_numbers():
    done, path = record("--type", "faults,loop", program=[build("calls32")])
    truth = json.loads(done.stdout.splitlines()[0])
    if not truth:
        raise Skip("this kernel runs no 32-bit programs")
    mapped, lag = (top(path, "--type", kind)[1] for kind in ("mapped", "lag"))
    # Steps of 4 MiB are kept one and all, turns of 8 ms nearly so.
    assert abs(mapped["map_by_32"]["cum"] / truth["map_by_32"] - 1) < 1e-6, mapped["map_by_32"]
    assert "change_directory_by_32" not in mapped, mapped["change_directory_by_32"]
    assert mapped.get("grow_a_little", {"cum": 0})["cum"] < 1 << 20, mapped["grow_a_little"]
    assert abs(lag["turn_by_32"]["cum"] / truth["turn_by_32"] - 1) < 0.05, (lag["turn_by_32"], truth)


@test
def locks_are_named_and_conditions_are_no_locks():
    done, path = record("--type", "offcpu,lock", program=[build("locks"), "3"])
    truth = json.loads(done.stdout.splitlines()[0])
    delay, waits = (top(path, "--type", kind)[1] for kind in ("delay", "off_cpu"))
    for name in ("wait_for_ledger", "wait_for_heap_lock"):
        assert abs(delay[name]["cum"] / truth[name] - 1) < 0.05, (name, delay[name], truth)
    assert abs(waits["wait_for_news"]["cum"] / truth["wait_for_news"] - 1) < 0.05, (waits, truth)
    for name in ("wait_for_news", "wait_for_thread"):
        assert name in waits and name not in delay, (name, delay)
    # A lock of the program's own has its name, one that was allocated an address.
    for tag, name in (("lock.name=ledger_lock", "wait_for_ledger"),
                      ("lock.address=~^0x[0-9a-f]+$", "wait_for_heap_lock")):
        named = top(path, "--type", "delay", "--tag", tag)[1]
        assert named[name]["cum"] > 0.95 * delay[name]["cum"], (tag, named)


main()
