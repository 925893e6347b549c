#!/usr/bin/env python3
"""libvestal-preload.so in programs that know nothing of it: true numbers, and no harm.

    VESTAL=build/vestal tests/e2e/test_preload.py
"""
import json
import math
import os
import re
import shutil
import subprocess

from support.inside import PRELOAD, build_inside, files, output, run
from support.recording import SOURCES, build, close, top
from support.server import Server
from support.tap import ROOT, VESTAL, Skip, main, scratch, test, vestal

FORKS = os.environ.get("PRELOAD_FORKS", "1000")


def need_preload():
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")


def profiled(command, name, timeout=120, status=0, **env):
    """Runs it; what it printed, and the files of all its processes."""
    need_preload()
    pattern = output(name)
    done = run(command, timeout=timeout, status=status, preload=True, VESTAL_OUTPUT=pattern, **env)
    return done, files(pattern)


@test
def cpu_of_a_program_that_was_not_built_for_it_is_true():
    done, found = profiled([build("shares"), "1.5"], "shares")
    truth = json.loads(done.stdout)
    rows, names = top(*found)
    known, seen = sum(truth.values()), sum(names[name]["cum"] for name in truth)
    for name, spent in truth.items():
        assert close(names[name]["cum"] / seen, spent / known, 80), (name, truth, names[name])
    assert names["main"]["cum"] > 0.95 * rows["total"], names["main"]
    assert names["descend"]["cum"] >= 0.99 * seen


@test
def it_sends_to_a_server_and_the_environment_names_the_service():
    need_preload()
    with Server() as server:
        run([build("shares"), "0.5"], preload=True, OTEL_SERVICE_NAME="strange",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{server.otlp_http}")
        out, _ = vestal("query", "strange", "--json", env={"VESTAL_SERVER": server.url})
        assert "work_most" in out, out


@test
def threads_shorter_than_a_clock_tick_are_counted_to_the_end():
    done, found = profiled([build("short_threads"), "300"], "short")
    truth = json.loads(done.stdout)["work"]
    rows, names = top(*found)
    # Its time is told by where the thread began, where it was too short for a sample.
    assert abs(names["brief"]["cum"] / truth - 1) < 0.1, (truth, names["brief"], rows["total"])


def check_by_site(path, kind, column, truth, interval):
    _, names = top(path, "--type", kind)
    for name, (total, sizes) in truth.items():
        variance = sum(share * total * size * (1 / (1 - math.exp(-size / interval)) - 1)
                       for size, share in sizes.items())
        got = names[name]["cum"]
        assert abs(got - total) <= 4 * math.sqrt(variance) + 0.001 * total, \
            (column, name, got, total, math.sqrt(variance))


@test
def bytes_by_site_are_true_for_every_size():
    interval = 64 << 10
    done, found = profiled([build("allocator"), "64"], "alloc", VESTAL_TYPES="alloc,heap",
                           VESTAL_ALLOC_INTERVAL="64KB")
    truth = json.loads(done.stdout)
    sizes = {"alloc_tiny": {16: 1}, "alloc_small": {512: 1}, "alloc_large": {1 << 20: 1},
             "alloc_huge": {4 << 20: 1}, "alloc_aligned": {4096: 1}, "keep_some": {1024: 1},
             "keep_grown": {4096: 1 / 3, 8192: 2 / 3}}
    check_by_site(found[0], "alloc_space", "alloc",
                  {name: (total, sizes[name]) for name, total in truth["alloc"].items()}, interval)
    sizes["keep_grown"] = {8192: 1}
    check_by_site(found[0], "inuse_space", "heap",
                  {name: (total, sizes[name]) for name, total in truth["heap"].items()}, interval)
    _, names = top(found[0], "--type", "inuse_space")
    assert "alloc_tiny" not in names and "alloc_large" not in names, sorted(names)
    # 90 calls below main, to the root.
    _, names = top(found[0], "--type", "alloc_space")
    assert names["main"]["cum"] >= 0.99 * sum(truth["alloc"].values()) * 0.9, names["main"]


@test
def every_allocation_is_counted_with_an_interval_of_one():
    done, found = profiled([build("allocator"), "1"], "all", VESTAL_TYPES="heap",
                           VESTAL_ALLOC_INTERVAL="1")
    truth = json.loads(done.stdout)["heap"]
    _, names = top(found[0], "--type", "inuse_space")
    # The table of watched objects holds them all.
    for name, total in truth.items():
        assert abs(names[name]["cum"] - total) <= 0.02 * total, (name, names[name], total)


@test
def children_of_an_allocating_threaded_parent_never_get_stuck():
    done, _ = profiled([build("forker"), FORKS], "forks", timeout=500,
                       VESTAL_TYPES="cpu,alloc,heap", VESTAL_RATE="1000")
    assert json.loads(done.stdout) == {"well": int(FORKS), "stuck": 0, "failed": 0}, done.stdout


@test
def children_that_work_have_profiles_of_their_own():
    _, found = profiled([build("forker"), "20"], "children", VESTAL_TYPES="cpu")
    assert sum("child" in top(path)[1] for path in found) >= 2, found


@test
def exceptions_are_thrown_and_caught_while_samples_are_taken():
    done, _ = profiled([build("thrower", suffix="cc"), "2"], "throws", VESTAL_RATE="1000",
                       VESTAL_TYPES="cpu,alloc,heap", VESTAL_ALLOC_INTERVAL="10KB")
    assert int(done.stdout) > 1000, done.stdout


@test
def exceptions_by_the_hundred_thousand_are_caught_at_a_thousand_samples_a_second():
    done, found = profiled([build("thrower", suffix="cc"), "1", "1", "150000"], "fast-throws",
                           VESTAL_RATE="1000", VESTAL_TYPES="cpu,alloc,heap,lock",
                           VESTAL_ALLOC_INTERVAL="16KB")
    assert int(done.stdout) >= 300000, done.stdout
    _, names = top(*found)
    assert any("_Unwind" in name for name in names) and \
        any("throw_below" in name for name in names), sorted(names)[:40]


@test
def a_host_with_signals_of_its_own_keeps_them():
    done, found = profiled([build("host_signals")], "signals", VESTAL_RATE="1000")
    assert json.loads(done.stdout)["jumps"] > 0, done.stdout
    assert top(*found)[1]["main"]["cum"] > 5e8


def watched(command):
    """Runs it with the shim that ends it when the handler does what it must not."""
    need_preload()
    shim = os.path.join(scratch(), "handler_shim.so")
    if not os.path.exists(shim):
        subprocess.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", "-o", shim,
                        f"{ROOT}/tests/shim/handler_shim.c", "-ldl"], check=True)
    return run(command, timeout=200, LD_PRELOAD=f"{PRELOAD} {shim}",
               VESTAL_RATE="1000", VESTAL_TYPES="cpu,alloc,heap,lock", VESTAL_ALLOC_INTERVAL="16KB",
               VESTAL_OUTPUT=output("watched"))


@test
def the_handler_neither_allocates_nor_takes_a_lock():
    for command in ([build("shares"), "0.5"], [build("thrower", suffix="cc"), "0.5"],
                    [build("threads"), "20"], [build("allocator"), "64"], [build("holders"), "0.5"]):
        done = watched(command)
        assert int(re.search(r"handled (\d+)", done.stderr)[1]) > 10, done.stderr


@test
def no_variable_of_a_thread_is_made_in_the_handler():
    need_preload()
    names = subprocess.run(["nm", "-D", PRELOAD], check=True, capture_output=True, text=True).stdout
    assert "__tls_get_addr" not in names, "a thread's variables must have their place from its start"


@test
def memory_that_is_allocated_before_main_is_no_problem():
    done, _ = profiled([build("early")], "early", VESTAL_TYPES="cpu,alloc,heap",
                       VESTAL_ALLOC_INTERVAL="1")
    assert done.stdout == "early\n"


@test
def threads_that_allocate_while_tables_are_made_survive():
    # What lies above a stack comes and goes in that moment.
    for _ in range(25):
        profiled([build("short_threads"), "10"], "start", VESTAL_TYPES="alloc,heap",
                 VESTAL_ALLOC_INTERVAL="1")


@test
def ten_thousand_threads_are_no_problem():
    plain = run([build("many_threads"), "10000"], status=None)
    if plain.returncode:
        raise Skip(f"this machine has no 10,000 threads: {plain.stderr.strip()}")
    done, _ = profiled([build("many_threads"), "10000"], "many", VESTAL_TYPES="cpu,alloc,heap",
                       VESTAL_RATE="1000")
    assert done.stdout == "10000\n", done


def check_allocator(library):
    need_preload()
    pattern = output(library)
    done = run([build("allocator"), "64"], VESTAL_TYPES="heap", VESTAL_ALLOC_INTERVAL="256KB",
               VESTAL_OUTPUT=pattern, LD_PRELOAD=f"{PRELOAD} {library}", status=None)
    if "cannot be preloaded" in done.stderr:
        raise Skip(f"no {library}")
    assert done.returncode == 0, done.stderr
    total = json.loads(done.stdout)["heap"]["keep_grown"]
    kept = top(*files(pattern))[1]["keep_grown"]["cum"]
    # 256 samples: nearly five standard errors.
    assert 0.7 < kept / total < 1.3, (kept, total, done.stderr)


@test
def it_stands_in_front_of_jemalloc():
    check_allocator("libjemalloc.so.2")


@test
def it_stands_in_front_of_tcmalloc():
    check_allocator("libtcmalloc.so.4")


@test
def it_stands_in_front_of_mimalloc():
    check_allocator("libmimalloc.so.2")


@test
def java_runs_as_before():
    if not shutil.which("java"):
        raise Skip("no java")
    done, _ = profiled(["java", "-version"], "java", VESTAL_TYPES="cpu,alloc,heap", VESTAL_RATE="250",
                       VESTAL_ALLOC_INTERVAL="16KB")
    assert "version" in done.stderr and "libvestal" not in done.stderr, done.stderr


@test
def a_closed_plug_in_keeps_its_names():
    plugin = os.path.join(scratch(), "plugin.so")
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", "-o", plugin, f"{SOURCES}/plugin.c"],
                   check=True)
    _, found = profiled([build("opener"), plugin], "plugin")
    assert abs(top(*found)[1]["work_in_plugin"]["cum"] / 1.2e9 - 1) < 0.1


PROGRAMS = {
    "bash": (["bash", "-c", "for i in 1 2 3 4 5; do (echo $i | cat) ; x=$(ls /etc | wc -l); done;"
                            " echo done"]),
    "git": (["sh", "-c", "rm -rf g && git init -q g && cd g && for i in 1 2 3; do echo $i > f; "
                         "git add f; git -c user.name=x -c user.email=x@x commit -q -m $i; done; "
                         "git log --format=%s; git gc -q"]),
    "python3": (["python3", "-c", "import json,threading,subprocess\n"
                 "t=[threading.Thread(target=lambda: json.dumps(list(range(100000)))) for _ in range(8)]\n"
                 "[x.start() for x in t]; [x.join() for x in t]\n"
                 "print(subprocess.run(['echo','sub'],capture_output=True).stdout)"]),
    "sqlite3": (["sqlite3", ":memory:", "create table t(x); with recursive c(x) as (select 1 union all "
                 "select x+1 from c limit 200000) insert into t select x from c; select sum(x) from t;"]),
    "node": (["node", "-e", "let a=[];for(let i=0;i<300000;i++)a.push({i});"
              "console.log(JSON.stringify(a).length)"]),
    "perl": (["perl", "-e", "my %h; $h{$_}=$_ x 3 for 1..200000; print scalar(keys %h), qq{\\n}"]),
}


def add_program_tests():
    for name, command in PROGRAMS.items():
        def check(name=name, command=command):
            if not shutil.which(name):
                raise Skip(f"no {name}")
            need_preload()
            plain = run(command, timeout=200)
            for _ in range(3):
                done, found = profiled(command, f"run-{name}", timeout=200, VESTAL_RATE="250",
                                       VESTAL_TYPES="cpu,alloc,heap", VESTAL_ALLOC_INTERVAL="16KB")
                assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr), done
                assert found, "no file"
                for path in found:
                    vestal("show", path)
        check.__name__ = f"{name}_runs_as_before_and_leaves_profiles"
        test(check)


add_program_tests()


@test
def record_runs_a_program_and_shows_what_it_holds():
    need_preload()
    path = os.path.join(scratch(), "held.pb.gz")
    done = subprocess.run([VESTAL, "record", "--preload", "--type", "heap,cpu", "-o", path, "--",
                           build("allocator"), "64"], capture_output=True, text=True, cwd=scratch(),
                          timeout=200, check=False)
    assert done.returncode == 0 and "saved as" in done.stderr, done.stderr
    assert '"heap"' in done.stdout and "alloc_tiny" in done.stdout, done.stdout
    rows, names = top(path, "--type", "inuse_space")
    assert 0.5 < names["keep_grown"]["cum"] / (64 << 20) < 1.5, names["keep_grown"]
    assert names["main"]["cum"] > 0.9 * rows["total"], names["main"]


@test
def record_keeps_the_programs_status_and_merges_its_processes():
    need_preload()
    path = os.path.join(scratch(), "several.pb.gz")
    done = subprocess.run([VESTAL, "record", "--preload", "-F", "250", "-o", path, "--", "sh", "-c",
                           f"{build('shares')} 0.3; {build('shares')} 0.3; exit 7"],
                          capture_output=True, text=True, cwd=scratch(), timeout=200, check=False)
    assert done.returncode == 7, (done.returncode, done.stderr)
    assert abs(top(path)[1]["descend"]["cum"] / 0.6e9 - 1) < 0.1, done.stdout


@test
def record_says_what_is_wrong_with_preload():
    for options, words in ((["-a"], "takes a program"), (["-F", "2000", "--", "true"], "1 to 1000"),
                           (["--type", "offcpu", "--", "true"], "offcpu"),
                           (["--", "/no/such/program"], "No such file")):
        _, said = vestal("record", "--preload", "-f", *options, status=None)
        assert words in said, (options, said)


@test
def a_program_that_is_linked_with_the_library_shares_it():
    done, _ = profiled([build_inside("inside"), "0.3"], "both", status=1)
    assert "profiled already" in done.stderr, done.stderr


@test
def a_wrong_variable_is_said_and_the_program_runs():
    done, _ = profiled(["echo", "on"], "wrong", VESTAL_TYPES="everything")
    assert done.stdout == "on\n" and "everything" in done.stderr, done


main()
