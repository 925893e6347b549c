#!/usr/bin/env python3
"""libvestal leaves nothing behind: with LeakSanitizer in it, and in programs under valgrind.

    VESTAL=build/vestal LIBRARY_LIFE=build-asan/tests/library_life LEAKS_VALGRIND=1 tests/e2e/test_leaks.py
"""
import glob
import os
import shutil
import subprocess
import sys
import urllib.request
import xml.etree.ElementTree

from support.controlled import free_port
from support.inside import PRELOAD, output
from support.recording import SOURCES, build
from support.server import Server
from support.tap import ROOT, Skip, main, scratch, test

LIFE = os.environ.get("LIBRARY_LIFE", os.path.join(ROOT, "build-asan/tests/library_life"))
ALL = "cpu,wall,alloc,heap,lock,threads"
# What stands in front of every allocation of the program itself.
WRAPPERS = {"malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign",
            "valloc", "pvalloc", "slow_malloc", "slow_calloc", "slow_realloc"}


# ---------------------------------------------------------------- LeakSanitizer

def start_life(*arguments, **env):
    if not os.path.exists(LIFE):
        raise Skip(f"no {LIFE}")
    sanitizers = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=77", "VESTAL_RATE": "250"}
    return subprocess.Popen([LIFE, *arguments], env=dict(os.environ, **sanitizers, **env), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=scratch())


def end_life(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0 and "lived" in out and "Sanitizer" not in err, (process.returncode, err)


@test
def files_leave_nothing_behind():
    end_life(start_life("4", VESTAL_TYPES="cpu,wall,threads", VESTAL_OUTPUT=output("life-%t")))


@test
def requests_leave_nothing_behind():
    with Server() as server:
        end_life(start_life("3", VESTAL_TYPES="cpu,wall,threads", OTEL_SERVICE_NAME="life",
                            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{server.otlp_http}"))


@test
def requests_that_nobody_takes_leave_nothing_behind():
    end_life(start_life("3", OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}"))


@test
def spans_that_wait_for_their_end_leave_nothing_behind():
    end_life(start_life("3", VESTAL_SLOW="10ms", VESTAL_KEEP_FAILED="1", VESTAL_OUTPUT=output("slow")))


@test
def children_leave_nothing_behind():
    end_life(start_life("3", "fork", VESTAL_OUTPUT=output("children")))


@test
def questions_leave_nothing_behind():
    port = free_port()
    process = start_life("6", VESTAL_LISTEN=f"127.0.0.1:{port}", VESTAL_OUTPUT=output("asked"))
    answered = 0
    while process.poll() is None:
        for page in ("profile?seconds=1", "heap", "allocs", "mutex", "threads", "cmdline", ""):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/debug/pprof/{page}", timeout=60) as reply:
                    answered += len(reply.read()) > 0
            except OSError:  # between two lives, or at the end
                pass
    end_life(process)
    assert answered > 0


# ---------------------------------------------------------------- valgrind

def is_ours(error):
    """Whether the library has a part in what valgrind complains of."""
    for frame in error.iter("frame"):
        if "libvestal-preload" in (frame.findtext("obj") or "") and frame.findtext("fn") not in WRAPPERS:
            return True
    return False


def errors_in(path):
    """None in half a report: of a child that became another program."""
    with open(path, encoding="utf-8") as file:
        text = file.read().rstrip()
    return xml.etree.ElementTree.fromstring(text).findall("error") if text.endswith("</valgrindoutput>") else []


def deep_stack():
    library = os.path.join(scratch(), "deep_stack.so")
    if not os.path.exists(library):
        subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-o", library,
                        f"{ROOT}/tests/valgrind/deep_stack.c"], check=True)
    return library


def complaints(command, name):
    """What memcheck has to say of the library inside a program."""
    if not shutil.which("valgrind") or not shutil.which(command[0]) or not os.path.exists(PRELOAD):
        raise Skip(f"no valgrind, no {command[0]} or no libvestal-preload.so")
    reports = os.path.join(scratch(), f"{name}-%p.xml")
    # The last begins first.
    env = dict(os.environ, LD_PRELOAD=f"{PRELOAD} {deep_stack()}", VESTAL_TYPES=ALL, VESTAL_OUTPUT=output(name),
               VESTAL_ALLOC_INTERVAL="16KB", PYTHONMALLOC="malloc")
    process = subprocess.Popen(
        ["valgrind", "--quiet", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=40",
         # Words of a stack are looked at whether somebody has written them or not.
         "--undef-value-errors=no",
         # The library's own malloc stays in front of valgrind's.
         "--soname-synonyms=somalloc=nouserintercepts", f"--suppressions={ROOT}/tests/valgrind/known.supp",
         "--xml=yes", f"--xml-file={reports}", *command],
        env=env, cwd=scratch(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _, err = process.communicate(timeout=1000)
    assert process.returncode == 0, (process.returncode, err[-2000:])
    own = reports.replace("%p", str(process.pid))
    found = [one for one in errors_in(own) if is_ours(one)]
    # In a child of fork() what the parent's other threads were doing is lost, theirs as well as ours.
    for path in set(glob.glob(reports.replace("%p", "*"))) - {own}:
        found += [one for one in errors_in(path) if is_ours(one) and "Leak" not in one.findtext("kind")]
    return [xml.etree.ElementTree.tostring(one, encoding="unicode") for one in found]



def add_program_tests():
    def workload(name, *arguments):
        return lambda: [build(name, extra=("-lm",)), *arguments]
    programs = {
        "threads": workload("many_threads", "20"), "allocations": workload("allocator", "1"),
        "waits": workload("waits", "1"), "forks": workload("forker", "10"),
        "python3": lambda: [os.path.realpath(sys.executable), "-c", "import json, threading\n"
                            "t = [threading.Thread(target=json.dumps, args=(list(range(20000)),)) for _ in range(4)]\n"
                            "[x.start() for x in t]; [x.join() for x in t]"],
        "sqlite3": lambda: ["sqlite3", ":memory:", "create table t(x); with recursive c(x) as (select 1 union "
                            "all select x+1 from c limit 20000) insert into t select x from c;"],
        "bash": lambda: ["bash", "-c", "for i in 1 2 3; do x=$(echo $i | cat); done"],
    }
    for name, command in programs.items():
        def check(name=name, command=command):
            found = complaints(command(), name)
            assert not found, "\n".join(found)[:6000]
        check.__name__ = f"valgrind_finds_nothing_of_ours_in_{name}"
        test(check)


def valgrind_finds_nothing_of_ours_in_a_program_with_a_plug_in():
    plugin = os.path.join(scratch(), "plugin.so")
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", "-o", plugin, f"{SOURCES}/plugin.c"], check=True)
    found = complaints([build("opener"), plugin], "plugin")
    assert not found, "\n".join(found)[:6000]


# It takes its time: make test-long.
if os.environ.get("LEAKS_VALGRIND"):
    add_program_tests()
    test(valgrind_finds_nothing_of_ours_in_a_program_with_a_plug_in)
main()
