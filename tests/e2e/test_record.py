#!/usr/bin/env python3
"""vestal record over programs that know the truth about themselves (tests/workloads/native).

Shares must be within 3 standard errors and half a point of what the program measured, and at least
99 of 100 stacks must reach their true root. Needs root: without it everything is skipped.

    VESTAL=build/vestal tests/e2e/test_record.py
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from support import wait_truth
from support.recording import MUSL_WAYS, SOURCES, WAYS, allowed, build, build_other, close, record, top, whole
from support.tap import VESTAL, Skip, main, scratch, test, vestal


def check_shares(way):
    done, path = record("-F", "997", program=[build("shares", way), "1.5"])
    truth = json.loads(done.stdout.splitlines()[0])
    rows, names = top(path)
    samples, complete = whole(done)
    known = sum(truth.values())
    seen = sum(names[name]["cum"] for name in truth)
    assert samples > 500, done.stderr
    assert complete >= 99, done.stderr
    for name, spent in truth.items():
        assert close(names[name]["cum"] / seen, spent / known, samples), (name, truth, names[name])
    # All of it is below main, through the 25 calls between.
    assert names["main"]["cum"] > 0.97 * rows["total"], names.get("main")
    assert names["descend"]["cum"] >= 0.99 * seen


def add_shares_tests():
    for way in (*WAYS, *MUSL_WAYS):
        def run(way=way):
            check_shares(way)
        run.__name__ = f"shares_are_true_in_a_program_built_{way}"
        test(run)


add_shares_tests()


def check_libc(way):
    """Everything is below a thread's own function, be libc above it, between or at work itself."""
    done, path = record("-F", "997", "--type", "cpu,offcpu", program=[build("libc_user", way), "3"])
    _, complete = whole(done)
    assert complete >= 99, done.stderr
    for kind in ("cpu", "off_cpu"):
        rows, names = top(path, "--type", kind)
        assert names["work"]["cum"] > 0.97 * rows["total"], (kind, names["work"], rows["total"])
    _, names = top(path, "--type", "cpu")
    _, below = top(path, "--type", "cpu", "--focus", "^compare$")
    # libc calls it, and its caller is found below libc.
    assert names["compare"]["cum"] > 0
    assert below["sorts"]["cum"] == below["compare"]["cum"], (below["sorts"], below["compare"])
    _, names = top(path, "--type", "off_cpu", "--focus", "^naps$")
    assert names["naps"]["cum"] > 1e9, names["naps"]


def add_libc_tests():
    for way in ("plain", "static", *MUSL_WAYS):
        def run(way=way):
            check_libc(way)
        run.__name__ = f"stacks_go_through_libc_in_a_program_built_{way}"
        test(run)


add_libc_tests()


def check_others(program, names_of):
    """The two functions of a program of another language, and that all stacks go to their root."""
    done, path = record("-F", "997", program=[program, "2"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path)
    samples, complete = whole(done)
    found = {name: sum(row["cum"] for shown, row in names.items() if names_of(name, shown))
             for name in truth}
    seen, known = sum(found.values()), sum(truth.values())
    assert complete >= 99, done.stderr
    for name, spent in truth.items():
        assert close(found[name] / seen, spent / known, samples), (name, truth, found)
    deep = sum(row["cum"] for shown, row in names.items() if "descend" in shown)
    assert deep >= 0.99 * seen, (deep, seen)


@test
def shares_are_true_in_a_go_program():
    check_others(build_other("go_shares", "go", ["go", "build"]), lambda name, shown: name == shown)


@test
def what_gos_runtime_does_belongs_to_the_goroutine_that_asked():
    program = build_other("go_crowd", "go", ["go", "build", "-ldflags=-s -w"])
    done, path = record("-F", "997", "--type", "cpu,offcpu", program=[program, "4"])
    assert whole(done)[1] >= 99, done.stderr
    # The clock is read on the stack of a thread, and garbage is found room for there.
    for function, asked_by in (("time.now", "main.(askForTime|one)"),
                               ("runtime.(*mcache).refill", "main.(makeGarbage|one)")):
        pattern = f"^{re.escape(function)}$"
        seen = top(path, "--type", "cpu", "--focus", pattern)[1][function]["cum"]
        others = top(path, "--type", "cpu", "--focus", pattern, "--ignore", asked_by)[1]
        assert others.get(function, {"cum": 0})["cum"] < 0.1 * seen, (function, seen, others)
    # Nobody asked for what the scheduler waits for.
    _, names = top(path, "--type", "off_cpu", "--focus", "^runtime.mcall$")
    assert names["runtime.mcall"]["cum"] > 1e9 and "[unwind_failed]" not in names, names.keys()


@test
def c_that_go_calls_is_below_its_caller():
    program = build_other("go_calls_c", "go", ["go", "build"])
    # Long enough for what comes before its table is there: of two stacks, one is copied.
    done, path = record("-F", "997", program=[program, "6"])
    assert whole(done)[1] >= 99, done.stderr
    _, names = top(path)
    in_c = names["burn_in_c"]["cum"]
    assert in_c > 0.1e9, names["burn_in_c"]
    for caller in ("runtime.asmcgocall", "main.callC", "main.main", "runtime.main"):
        assert names[caller]["cum"] >= 0.99 * in_c, (caller, names.get(caller), in_c)


@test
def functions_that_a_file_says_nothing_about_lead_to_their_callers():
    if not shutil.which("node"):
        raise Skip("no node")
    script = ("const m = new Map(), end = Date.now() + 4000;"
              "for (let i = 0; Date.now() < end; i++) m.set(`k${i % 9999}`, i)")
    done, path = record("-F", "499", program=["node", "-e", script])
    assert whole(done)[1] >= 97, done.stderr
    names = top(path)[1]
    # Debian's node is stripped: it is walked, but which code is V8's nobody can say.
    if not any(name.startswith("Builtins_") for name in names):
        raise Skip("this node has no names of V8's own code")
    # V8's own, written in no language that has tables; all are called by main.
    inside = max(row["cum"] for name, row in names.items() if name.startswith("Builtins_"))
    start = max(row["cum"] for name, row in names.items() if name.startswith("node::Start("))
    assert inside > 0.1e9 and start >= 0.99 * inside, (inside, start, done.stderr)


@test
def shares_are_true_in_a_rust_program():
    program = build_other("rust_shares", "rs", ["rustc", "-O", "-C", "force-frame-pointers=no"])
    check_others(program, lambda name, shown: re.search(rf"::{name} as .*::run", shown))


@test
def threads_that_come_and_go_are_named_and_one_that_outlives_the_first_is_whole():
    done, path = record("-F", "997", program=[build("threads"), "100"])
    _, names = top(path)
    spent = names["work_in_thread"]["cum"] / 1e9
    assert abs(spent - (100 * 0.01 + 0.5)) < 0.1, names["work_in_thread"]
    assert abs(names["work_alone"]["cum"] / 1e9 - 0.5) < 0.05, names["work_alone"]
    assert whole(done)[1] >= 99, done.stderr
    threads = {name: json.loads(vestal("top", "--json", "--tag", f"thread.name={name}", path)[0])
               for name in ("brief", "alone")}
    assert threads["brief"]["total"] > 0.8e9 and threads["alone"]["total"] > 0.4e9, threads


@test
def the_waits_of_a_convoy_are_as_long_as_it_measured():
    wait_truth.check_convoy()


@test
def work_in_step_with_the_clock_is_seen_as_it_is():
    # Clocks that kept step would find it always at the same place, or never.
    done, path = record("-F", "100", program=[build("metronome"), "12", "10000"])
    truth = json.loads(done.stdout.splitlines()[0])
    _, names = top(path)
    ticks = 12 * 100
    for name, spent in truth.items():
        seen = names.get(name, {"cum": 0})["cum"]
        assert close(seen / 12e9, spent / 12e9, ticks), (name, seen, truth)


@test
def a_stripped_program_keeps_whole_stacks_and_offsets():
    path = build("shares")
    stripped = path + "-stripped"
    subprocess.run(["strip", "-o", stripped, path], check=True)
    done, out = record("-F", "997", program=[stripped, "1"])
    _, names = top(out)
    assert whole(done)[1] >= 99, done.stderr
    assert any(re.fullmatch(r"shares-plain-stripped\+0x[0-9a-f]+", name) for name in names), list(names)


@test
def a_stack_of_nine_hundred_frames_is_whole():
    done, path = record("-F", "997", program=[build("deep"), "900"])
    folded = vestal("convert", path, "-o", "-", "--to", "folded")[0]
    deepest = max(line.split(" ")[0].count("step_down") for line in folded.splitlines())
    assert whole(done)[1] >= 99, done.stderr
    assert deepest == 901, deepest


@test
def a_stack_deeper_than_the_ceiling_is_marked_as_cut():
    done, _ = record("-F", "499", program=[build("deep"), "3000"])
    assert re.search(r"not whole: [1-9]\d* too deep", done.stderr), done.stderr


def check_signal(*arguments):
    done, path = record("-F", "997", program=[build("in_signal"), *arguments])
    rows, names = top(path)
    assert whole(done)[1] >= 99, done.stderr
    assert names["work_in_handler"]["cum"] > 0.25 * rows["total"]
    folded = vestal("convert", path, "-o", "-", "--to", "folded")[0]
    through = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()
                  if re.search(r"main;.*interrupted_function;.*on_alarm;.*work_in_handler", line))
    assert through > 0.99 * names["work_in_handler"]["cum"], (through, names["work_in_handler"])


@test
def a_handler_stands_on_what_it_interrupted():
    check_signal()


@test
def a_handler_with_a_stack_of_its_own_stands_on_what_it_interrupted():
    check_signal("own")


@test
def a_library_opened_late_and_twice_is_named():
    library = os.path.join(scratch(), "plugin.so")
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", library, f"{SOURCES}/plugin.c"],
                   check=True)
    done, path = record("-F", "997", program=[build("opener"), library])
    rows, names = top(path)
    assert whole(done)[1] >= 99, done.stderr
    assert names["work_in_plugin"]["cum"] > 0.9 * rows["total"], names


@test
def templates_and_exceptions_are_whole_and_readable():
    done, path = record("-F", "997", program=[build("templates", suffix="cc")])
    rows, names = top(path)
    total = [row for name, row in names.items() if "shop::basket<unsigned long>::total" in name]
    thrown = [row for name, row in names.items() if name.startswith("shop::fail")]
    assert whole(done)[1] >= 99, done.stderr
    assert total and total[0]["cum"] > 0.1 * rows["total"], list(names)[:20]
    assert thrown and thrown[0]["cum"] > 0.05 * rows["total"], list(names)[:20]


@test
def processes_of_five_milliseconds_are_caught_with_names():
    done, path = record("-F", "997", program=[build("short_lived"), "300"])
    _, names = top(path)
    spent = names["work_briefly"]["cum"] / 1e9
    assert spent > 0.95 * 300 * 0.005, spent
    assert whole(done)[1] >= 95, done.stderr


@test
def work_in_bursts_between_sleeps_is_counted():
    done, path = record("-F", "997", program=[build("bursts"), "120"])
    truth = json.loads(done.stdout.splitlines()[0])["work_in_bursts"]
    _, names = top(path)
    share = names["work_in_bursts"]["cum"] / truth
    assert 0.97 < share < 1.03, (share, truth, done.stderr)


@test
def waits_are_as_long_as_the_program_measured():
    wait_truth.check_lengths()


@test
def waits_for_locks_are_told_apart_and_wakers_named():
    wait_truth.check_locks_and_wakers(0.8)


@test
def a_deadlock_shows_though_nothing_ever_moves():
    wait_truth.check_deadlock()


@test
def the_status_of_the_program_is_passed_on():
    done, _ = record(program=["/bin/sh", "-c", "exit 7"])
    assert done.returncode == 7, done


@test
def a_program_that_is_not_there_is_said():
    allowed()
    done = subprocess.run([VESTAL, "record", "--", "/no/such/program"], capture_output=True, text=True,
                          cwd=scratch(), check=False)
    assert done.returncode == 127 and "/no/such/program" in done.stderr, done


@test
def an_interrupt_keeps_what_was_recorded():
    allowed()
    path = os.path.join(scratch(), "interrupted.pb.gz")
    busy = subprocess.Popen([build("shares"), "60"], stdout=subprocess.DEVNULL)
    process = subprocess.Popen([VESTAL, "record", "-a", "-d", "60", "-o", path], cwd=scratch(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert top(path)[0]["total"] > 0
    finally:
        process.kill()
        busy.kill()
        busy.wait()


@test
def a_running_process_is_recorded_by_its_number_and_by_its_name():
    allowed()
    program = build("shares")
    process = subprocess.Popen([program, "20"], stdout=subprocess.DEVNULL)
    try:
        for choice in (["-p", str(process.pid)], ["-n", os.path.basename(program)[:15]]):
            path = os.path.join(scratch(), f"running{choice[0]}.pb.gz")
            _, said = vestal("record", *choice, "-F", "499", "-d", "2", "-o", path)
            rows, names = top(path)
            assert names["work_most"]["cum"] > 0.4 * rows["total"], said
    finally:
        process.kill()
        process.wait()


@test
def wrong_options_are_said():
    for options, words in ((["-F", "0"], "1 to 5000"), ([], "what?"), (["-a", "-p", "1"], "leave out"),
                           (["-a", "--type", "x"], "not one of"), (["-p", "x"], "no process")):
        allowed()
        _, said = vestal("record", *options, status=None)
        assert words in said, (options, said)


main()
