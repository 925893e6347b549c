#!/usr/bin/env python3
"""Time that is not spent on a processor, and where all threads are, as libvestal-preload.so tells it.

    VESTAL=build/vestal tests/e2e/test_preload_wall.py
"""
import json
import os
import subprocess

from support.inside import PRELOAD, build_inside, files, output, run
from support.recording import WAYS, build, top
from support.tap import VESTAL, Skip, main, scratch, test


def need_preload():
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")


def profiled(command, name, **env):
    need_preload()
    pattern = output(name)
    done = run(command, preload=True, VESTAL_OUTPUT=pattern, **env)
    found = files(pattern)
    assert len(found) == 1, found
    return done, found[0]


def tagged(path, kind, tag):
    rows = top(path, "--type", kind, "--tag", tag)[0]["rows"]
    return sum(row["flat"] for row in rows)


def check_sleep(way):
    done, path = profiled([build("restless", way), "4"], f"restless-{way}", VESTAL_TYPES="wall,threads")
    truth = json.loads(done.stdout)
    # Nobody is woken to be looked at.
    assert truth.pop("interrupted") == 0, done.stdout
    rows, names = top(path, "--type", "wall")
    asked = sum(truth.values())
    slept = sum(names[name]["cum"] for name in truth)
    # The sum is not sampled. A sleep is longer than it was asked to be, more so on a busy machine.
    assert 0.93 * asked < slept < 1.35 * asked, (slept, asked)
    # Where is sampled; on a busy machine who looks comes seldom, and a look stands for a long time.
    for name, ns in truth.items():
        assert ns / asked / 4 < names[name]["cum"] / slept < 4 * ns / asked, (name, names[name], truth)
    # Everything is below where threads begin, but what has no stack.
    stackless = sum(names.get(name, {"cum": 0})["cum"]
                    for name in ("[waits for a processor]", "[not sampled]"))
    # Of libc's names for where threads begin a debug file may say another one first.
    rooted = sum(names[name]["cum"] for name in ("clone3", "__clone3", "_start") if name in names)
    assert rooted > 0.98 * (rows["total"] - stackless), (rooted, rows["total"], stackless)
    # Nine threads, all the time.
    spent = rows["total"] / 9e9
    assert 3.6 < spent, (rows["total"], names)
    states = {state: tagged(path, "wall", f"state={state}") for state in ("running", "runnable", "sleep")}
    assert sum(states.values()) == rows["total"] and states["running"] > 0, states


@test
def sleep_is_told_where_it_happens_and_nobody_is_woken():
    check_sleep("plain")


@test
def the_same_where_functions_keep_a_frame_pointer():
    check_sleep("frame_pointers")


def add_way_tests():
    for way in WAYS:
        if "static" in way:
            continue

        def check(way=way):
            done, path = profiled([build("crowd", way), "2.5"], f"crowd-{way}",
                                  VESTAL_TYPES="wall,threads")
            truth = json.loads(done.stdout.splitlines()[0])
            rows, names = top(path, "--type", "threads")
            for name, number in truth.items():
                assert names[name]["cum"] == number, (name, names)
            assert rows["total"] == sum(truth.values()) + 1, rows["total"]
            assert names["work_in_crowd"]["cum"] == 1, names
            assert tagged(path, "threads", "state=sleep") == sum(truth.values())
            assert tagged(path, "threads", "state=running") == 1
            # Seven slept as long as the first one did, or longer: it began them.
            wall = top(path, "--type", "wall")[1]
            assert wall["wait_for_end"]["cum"] > 2.2e9, wall["wait_for_end"]
            assert 0.9 < wall["sleep_in_crowd"]["cum"] / 7 / wall["wait_for_end"]["cum"] < 1.5, wall
        check.__name__ = f"threads_are_counted_by_stack_and_state_{way}"
        test(check)


add_way_tests()


@test
def processor_time_is_part_of_wall_and_can_be_told_beside_it():
    done, path = profiled([build("shares"), "1"], "shares", VESTAL_TYPES="cpu,wall")
    truth = sum(json.loads(done.stdout).values())
    cpu, wall = top(path, "--type", "cpu")[1], top(path, "--type", "wall")[1]
    assert abs(cpu["descend"]["cum"] / truth - 1) < 0.1, (cpu, truth)
    assert wall["descend"]["cum"] == cpu["descend"]["cum"], (cpu, wall)


@test
def short_threads_are_told_to_their_end():
    # 300 threads of some milliseconds: their sleep is told by where they began.
    done, path = profiled([build("short_threads"), "300"], "short", VESTAL_TYPES="wall")
    truth = json.loads(done.stdout)["work"]
    _, names = top(path, "--type", "wall", "--tag", "state=running")
    assert abs(names["brief"]["cum"] / truth - 1) < 0.1, (names["brief"], truth)


@test
def record_counts_threads_and_tells_time():
    need_preload()
    path = os.path.join(scratch(), "record-wall.pb.gz")
    done = subprocess.run([VESTAL, "record", "--preload", "--type", "wall,threads", "-o", path, "--",
                           build("crowd"), "2"], capture_output=True, text=True, cwd=scratch(),
                          timeout=200, check=False)
    assert done.returncode == 0 and "sleep_in_crowd" in done.stdout, done
    assert top(path, "--type", "threads")[0]["total"] == 12


@test
def a_linked_program_can_ask_for_it():
    pattern = output("linked-wall")
    run([build_inside("inside"), "1", "3"], VESTAL_OUTPUT=pattern, VESTAL_TYPES="wall,threads")
    _, names = top(*files(pattern), "--type", "wall")
    assert names["work_plain"]["cum"] > 0.5e9, sorted(names)
    assert top(*files(pattern), "--type", "threads")[0]["total"] in (1, 2, 3)


@test
def ten_thousand_threads_are_counted():
    if run([build("many_threads"), "10000"], status=None).returncode:
        raise Skip("this machine has no 10,000 threads")
    done, _ = profiled([build("many_threads"), "10000"], "many", VESTAL_TYPES="wall,threads,lock")
    assert done.stdout == "10000\n", done


main()
