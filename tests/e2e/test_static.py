#!/usr/bin/env python3
"""libvestal.a in programs that are linked statically: the same numbers as from the preloaded library.

    VESTAL=build/vestal tests/e2e/test_static.py
"""
import json
import math
import os
import re
import shutil
import subprocess

from support.inside import LIBRARIES, counts, files, output, run
from support.recording import SOURCES, close, top
from support.tap import ROOT, Skip, main, scratch, test

WAYS = {"static": ["-static"], "static_pie": ["-static-pie", "-fPIE"]}
_flags = []


def flags(*options):
    """What pkg-config says of the installed library."""
    if not os.path.exists(os.path.join(LIBRARIES, "libvestal.a")) or \
            os.path.realpath(LIBRARIES) != os.path.realpath(os.path.join(ROOT, "build")):
        raise Skip("no libvestal.a in build")
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config")
    prefix = os.path.join(scratch(), "prefix")
    if not _flags:
        subprocess.run([f"{ROOT}/tools/install-files", "", prefix], check=True, capture_output=True)
        _flags.append(prefix)
    env = dict(os.environ, PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")
    return subprocess.run(["pkg-config", "--cflags", *options, "vestal"], check=True, env=env,
                          capture_output=True, text=True).stdout.split()


def build(name, way="static", suffix="c", options=("--static", "--libs"), extra=()):
    out = os.path.join(scratch(), f"{name}-{way}-{len(options)}-archive")
    if not os.path.exists(out):
        compiler = "g++" if suffix == "cc" else "gcc"
        done = subprocess.run([compiler, "-O2", "-g", "-Wall", "-fno-optimize-sibling-calls", *WAYS[way],
                               "-o", out, f"{SOURCES}/{name}.{suffix}", *flags(*options), *extra],
                              check=False, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", done.stderr[-2000:]
    return out


def profiled(program, *arguments, name="static", **env):
    pattern = output(f"{name}-{os.path.basename(program)}")
    done = run([program, *arguments], VESTAL_START="on", VESTAL_OUTPUT=pattern, **env)
    found = files(pattern)
    assert len(found) == 1, (found, done.stderr)
    return done, found[0]


def each_way(check):
    for way in WAYS:
        def one(way=way):
            check(way)
        one.__name__ = f"{check.__name__}_{way}"
        test(one)


@each_way
def shares_of_the_processor_are_true(way):
    done, path = profiled(build("shares", way), "1.5", VESTAL_RATE="1000")
    truth = json.loads(done.stdout)
    rows, names = top(path)
    known, seen = sum(truth.values()), sum(names[name]["cum"] for name in truth)
    for name, spent in truth.items():
        assert close(names[name]["cum"] / seen, spent / known, 300), (name, truth, names[name])
    assert names["main"]["cum"] > 0.95 * rows["total"] and "descend" in names, names["main"]


@each_way
def bytes_by_site_are_true(way):
    interval = 64 << 10
    done, path = profiled(build("allocator", way), "64", VESTAL_TYPES="alloc,heap",
                          VESTAL_ALLOC_INTERVAL="64KB")
    truth = json.loads(done.stdout)
    sizes = {"alloc_tiny": {16: 1}, "alloc_small": {512: 1}, "alloc_large": {1 << 20: 1},
             "alloc_huge": {4 << 20: 1},
             "alloc_aligned": {4096: 1}, "keep_some": {1024: 1},
             "keep_grown": {4096: 1 / 3, 8192: 2 / 3}}
    for kind, sites in (("alloc_space", truth["alloc"]), ("inuse_space", truth["heap"])):
        names = top(path, "--type", kind)[1]
        for name, total in sites.items():
            variance = sum(share * total * size * (1 / (1 - math.exp(-size / interval)) - 1)
                           for size, share in sizes[name].items())
            got = names[name]["cum"]
            assert abs(got - total) <= 4 * math.sqrt(variance) + 0.001 * total, (kind, name, got, total)
        # The way through our own functions is nobody's business.
        assert not any("wrap" in name or name.startswith("slow_") for name in names), sorted(names)
    assert "alloc_tiny" not in names, sorted(names)


@test
def waits_for_locks_are_what_the_program_measured():
    done, path = profiled(build("waits", extra=("-lm",)), "3", "100000", VESTAL_TYPES="lock")
    truth = json.loads(done.stdout)
    delay, block = top(path, "--type", "delay")[1], top(path, "--type", "block_delay")[1]
    for names, rows in ((("wait_mutex", "wait_heap_mutex", "wait_read", "wait_write", "wait_spin"), delay),
                        (("wait_condition", "wait_semaphore"), block)):
        for name in names:
            ns, _, variance = truth[name]
            # Who spins has used up its turn: whoever is woken next runs before it looks at its own clock.
            slack = 0.1 if name == "wait_spin" else 0.02
            assert abs(rows[name]["cum"] - ns) <= slack * ns + 4 * math.sqrt(variance), (name, rows[name], ns)
    assert "wait_mutex" in top(path, "--type", "delay", "--tag", "lock.name=ledger_lock")[1]


@test
def operator_new_of_cxx_is_seen():
    if not shutil.which("g++"):
        raise Skip("no g++")
    done, path = profiled(build("thrower", suffix="cc"), "0.5", VESTAL_TYPES="cpu,alloc",
                          VESTAL_ALLOC_INTERVAL="1KB", VESTAL_RATE="1000")
    assert int(done.stdout) > 100, done.stdout
    names = top(path, "--type", "alloc_space")[1]
    assert any("__cxa_allocate_exception" in name for name in names), sorted(names)[:40]
    assert any("throw_below" in name for name in names), sorted(names)[:40]


@test
def a_program_begins_by_its_own_call_as_well():
    for options in (("--static", "--libs"), ("--libs",)):
        # Without the options for the linker there is CPU time alone.
        extra = () if len(options) == 2 else ("-lm", "-lpthread")
        pattern = output(f"call-{len(options)}")
        done = run([build("inside", options=options, extra=extra), "0.5", "3"], VESTAL_OUTPUT=pattern,
                   VESTAL_TYPES="cpu,alloc")
        truth = json.loads(done.stdout)
        rows = top(files(pattern)[0], "--type", "cpu")[0]
        assert rows["total"] >= 0.9 * sum(truth.values()), (rows["total"], truth)
        assert counts(done)["samples"] > 20, done.stderr
        shown = subprocess.run([os.path.join(LIBRARIES, "vestal"), "show", files(pattern)[0]],
                               capture_output=True, text=True, check=True).stdout
        assert ("alloc_space" in shown) == (len(options) == 2), shown


@test
def nothing_happens_unless_it_is_asked_for():
    pattern = output("silent")
    done = run([build("allocator"), "1"], VESTAL_OUTPUT=pattern, VESTAL_TYPES="alloc")
    assert json.loads(done.stdout)["alloc"] and not files(pattern)


@test
def children_of_fork_are_not_stuck():
    pattern = output("forks")
    done = run([build("forker"), "200"], timeout=300, VESTAL_START="on", VESTAL_OUTPUT=pattern,
               VESTAL_TYPES="cpu,alloc,heap", VESTAL_RATE="1000")
    assert json.loads(done.stdout) == {"well": 200, "stuck": 0, "failed": 0}, done.stdout


@test
def it_sends_to_addresses_in_numbers_and_not_by_https():
    done = run([build("shares"), "0.1"], VESTAL_START="on",
               OTEL_EXPORTER_OTLP_ENDPOINT="https://127.0.0.1:1")
    assert "linked statically" in done.stderr and "work_most" in done.stdout, done


@test
def no_name_of_ours_can_meet_one_of_the_program():
    flags()
    said = subprocess.run(["nm", "-g", "--defined-only", os.path.join(LIBRARIES, "libvestal.a")],
                          check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^\w+ \w (\S+)$", said, re.M)
    strange = [name for name in names if not re.match("vestal_|__wrap_|otel_thread_ctx_v1$", name)]
    assert len(names) > 40 and not strange, strange


main()
