#!/usr/bin/env python3
"""Real recordings, read by Vestal and by the JDK's own `jfr print`: every row must be the same.

A Java program with known threads (tests/workloads/java/Work.java) is recorded by each JDK of this
machine and by async-profiler. Then each event type is compared row by row: stack with lines, thread,
state, class, value, time.

    VESTAL=build/vestal tests/e2e/test_jfr.py
    tests/e2e/test_jfr.py --judge FILE...      # compare recordings you have
"""
import collections
import datetime
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(os.path.abspath(os.environ.get("VESTAL", "build/vestal")))
VESTAL = os.path.abspath(os.environ.get("VESTAL", "build/vestal"))
DUMP_ROWS = os.environ.get("DUMP_ROWS", os.path.join(BUILD, "tests", "dump_rows"))
ASYNC_PROFILER = "tools.profiler:async-profiler:4.4"
SECONDS = "3"

# event -> (name of our value column, field of the event that holds it or None for the interval)
EVENTS = {
    "jdk.ExecutionSample": ("cpu", None),
    "jdk.CPUTimeSample": ("cpu", "samplingPeriod"),
    "jdk.NativeMethodSample": ("native", None),
    "profiler.WallClockSample": ("wall", None),
    "jdk.ObjectAllocationSample": ("alloc_sample_bytes", "weight"),
    "jdk.ObjectAllocationInNewTLAB": ("alloc_in_new_tlab_bytes", "tlabSize"),
    "jdk.ObjectAllocationOutsideTLAB": ("alloc_outside_tlab_bytes", "allocationSize"),
    "profiler.LiveObject": ("live_space", "allocationSize"),
    "profiler.Malloc": ("malloc_bytes", "size"),
    "jdk.JavaMonitorEnter": ("delay", "duration"),
    "jdk.ThreadPark": ("block_delay", "duration"),
    "jdk.JavaExceptionThrow": ("exceptions", 1),
}
# Events that share their profile with one of those.
COMPANIONS = {"jdk.JavaExceptionThrow": ["jdk.JavaErrorThrow"]}
# What async-profiler takes by its amount: one event each so many bytes or ns, of those below the step.
STEPS = {
    "alloc": {"profiler.LiveObject": 100 << 10},
    "lock": {"jdk.JavaMonitorEnter": 100_000, "jdk.ThreadPark": 100_000},
    "nativemem": {"profiler.Malloc": 16 << 10},
    "all": {"jdk.JavaMonitorEnter": 1_000_000, "jdk.ThreadPark": 1_000_000},
}
CLASS_FIELDS = ("objectClass", "monitorClass", "parkedClass", "thrownClass")
PRIMITIVES = dict(B="byte", C="char", D="double", F="float", I="int", J="long", S="short",
                  Z="boolean")
tests = 0
failures = 0


def report(ok, name, why=""):
    global tests, failures
    tests += 1
    failures += not ok
    print("%sok %d - %s" % ("" if ok else "not ", tests, name), flush=True)
    if not ok and why:
        print("\n".join("# " + line for line in why.splitlines()), flush=True)


def skip(name, why):
    global tests
    tests += 1
    print("ok %d - %s # SKIP %s" % (tests, name, why), flush=True)


def class_name(raw):
    if not raw.startswith("["):
        return raw.replace("/", ".")
    dimensions = len(raw) - len(raw.lstrip("["))
    element = raw[dimensions:]
    if element.startswith("L"):
        element = element[1:-1].replace("/", ".")
    else:
        element = PRIMITIVES[element]
    return element + "[]" * dimensions


def frame_of(frame):
    method = frame["method"]
    if method is None:
        return ("[unknown Java method]", 0)
    cls = class_name(method["type"]["name"] or "") if method["type"] else ""
    native = method["descriptor"] in ("()L;", "(Lk;)L;")
    name = method["name"] if native or not cls else cls + "." + method["name"]
    return (name, max(frame["lineNumber"], 0))


def nanoseconds(duration):
    match = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?", duration)
    hours, minutes, seconds, rest = match.groups()
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return whole * 10**9 + int((rest or "").ljust(9, "0"))


def time_of(text):
    """An ISO time with up to nine decimals, as nanoseconds since 1970."""
    match = re.fullmatch(r"(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text)
    base, rest, zone = match.groups()
    at = datetime.datetime.fromisoformat(base + ("+00:00" if zone == "Z" else zone))
    return int(at.timestamp()) * 10**9 + int((rest or "").ljust(9, "0"))


def judge_row(event, values, amount_field, step):
    stack = tuple(frame_of(f) for f in (values["stackTrace"] or {}).get("frames", []))
    thread = values.get("sampledThread") or values.get("eventThread") or {}
    name = thread.get("javaName") or thread.get("osName") or ""
    thread_id = thread.get("javaThreadId") or 0
    if thread_id <= 0:
        thread_id = thread.get("osThreadId") or 0
    cls = ""
    for field in CLASS_FIELDS:
        if values.get(field):
            cls = class_name(values[field]["name"])
    amount = None
    if amount_field == 1:
        amount = 1
    elif amount_field:
        amount = values[amount_field]
        if isinstance(amount, str):
            amount = nanoseconds(amount)
    count = values.get("samples", 1) if event == "profiler.WallClockSample" else 1
    if step and amount and amount < step:
        count, amount = (step + amount // 2) // amount, step
    state = values.get("state") or ""
    return (stack, name, str(thread_id) if thread_id > 0 else "", state, cls, count, amount)


def judge_rows(jfr, path, event, amount_field, step):
    out = subprocess.run([jfr, "print", "--json", "--stack-depth", "10000", "--events", event, path],
                         stdout=subprocess.PIPE, check=True).stdout
    rows = collections.Counter()
    times = []
    for item in json.loads(out.decode("utf-8", "replace"))["recording"]["events"]:
        if item["type"] != event:
            continue
        rows[judge_row(event, item["values"], amount_field, step)] += 1
        times.append(time_of(item["values"]["startTime"]))
    return rows, sorted(times)


def our_profiles(path):
    done = subprocess.run([DUMP_ROWS, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    profiles = []
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        item = json.loads(line)
        if isinstance(item, dict):
            profiles.append((item, []))
        else:
            profiles[-1][1].append(item)
    return profiles


def our_rows(rows, with_amount):
    counted = collections.Counter()
    times = []
    for values, labels, time, stack in rows:
        counted[(tuple((f[0], f[1]) for f in stack), labels.get("thread.name", ""),
                 labels.get("thread.id", ""), labels.get("thread.state", ""),
                 labels.get("class", ""), values[0], values[-1] if with_amount else None)] += 1
        times.append(time)
    return counted, sorted(times)


def loosen(rows):
    """Amounts to a microsecond: the JDK computes ticks with floating point."""
    loose = collections.Counter()
    for row, n in rows.items():
        loose[row[:-1] + (None if row[-1] is None else (row[-1] + 500) // 1000,)] += n
    return loose


def difference(ours, theirs):
    lines = []
    for title, rows in (("only ours", ours - theirs), ("only the JDK's", theirs - ours)):
        for row, n in list(rows.items())[:3]:
            lines.append("%s, %d times: %s" % (title, n, (row[0][:6],) + row[1:]))
    return "\n".join(lines)


def event_counts(jfr, path):
    out = subprocess.run([jfr, "summary", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    counts = {}
    for line in out.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit() and "." in words[0]:
            counts[words[0]] = int(words[1])
    return counts


def compare(jfr, path, title, steps=None):
    try:
        profiles = our_profiles(path)
    except RuntimeError as e:
        report(False, "%s is read" % title, str(e))
        return []
    counts = event_counts(jfr, path)
    for event, (column, field) in EVENTS.items():
        if not counts.get(event):
            continue
        # A recording with both has jdk.CPUTimeSample as cpu.
        if event == "jdk.ExecutionSample" and counts.get("jdk.CPUTimeSample"):
            column = "execution"
        # async-profiler before 4 used it for wall time too.
        if event == "jdk.ExecutionSample" and not find_profile(profiles, column)[1]:
            column = "wall"
        rows = [r for p, r in profiles if p["types"][-1].split("/")[0] == column]
        if not rows:
            report(False, "%s: %s has rows" % (title, event))
            continue
        events = [event] + [e for e in COMPANIONS.get(event, []) if counts.get(e)]
        total = sum(counts[e] for e in events)
        try:
            judged = [judge_rows(jfr, path, e, field, (steps or {}).get(e)) for e in events]
            theirs = sum((r for r, _ in judged), collections.Counter())
            their_times = sorted(t for _, times in judged for t in times)
        except (subprocess.CalledProcessError, ValueError):
            skip("%s: %s" % (title, event), "jfr print itself fails on it")
            continue
        ours, our_times = our_rows(rows[0], field is not None)
        ticks = field in ("duration", "samplingPeriod")
        a, b = (loosen(ours), loosen(theirs)) if ticks else (ours, theirs)
        apart = max((abs(x - y) for x, y in zip(our_times, their_times)), default=0)
        report(a == b and len(rows[0]) == total and apart <= 1000,
               "%s: the %d rows of %s are those of jfr print" % (title, total, event),
               "%d rows, times at most %d ns apart\n%s" % (len(rows[0]), apart, difference(a, b)))
    return profiles


def jdks():
    found = {}
    for home in sorted(glob.glob("/usr/lib/jvm/*")):
        jfr, java = os.path.join(home, "bin", "jfr"), os.path.join(home, "bin", "java")
        if not os.access(jfr, os.X_OK) or not os.access(java, os.X_OK):
            continue
        text = subprocess.run([java, "-version"], stderr=subprocess.PIPE).stderr.decode()
        match = re.search(r'version "(\d+)', text)
        if match:
            found.setdefault(int(match.group(1)), os.path.join(home, "bin"))
    return found


def run_java(java, options, classes, seconds=SECONDS):
    return subprocess.run([java, "-Xmx256m"] + options + ["-cp", classes, "Work", seconds],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)


def find_profile(profiles, column):
    for profile, rows in profiles:
        if profile["types"][-1].split("/")[0] == column:
            return profile, rows
    return None, []


def check_contents(profiles, title):
    """What the program is known to do, independent of any judge."""
    profile, rows = find_profile(profiles, "cpu")
    burner = [r for r in rows if r[1].get("thread.name") == "burner"]
    report(any(any(f[0] == "Work.burnInner" for f in r[3]) for r in burner),
           "%s: the thread burner is seen in Work.burnInner" % title)
    _, rows = find_profile(profiles, "delay")
    report(any(r[1].get("class") == "java.lang.Object" and
               r[1].get("thread.name", "").startswith("contender") for r in rows),
           "%s: the contenders wait for a java.lang.Object" % title)


def check_program(path, title):
    """What a person sees: the table of functions, and the way to Go's pprof."""
    if not os.access(VESTAL, os.X_OK):
        skip("%s: vestal top" % title, "there is no " + VESTAL)
        return
    done = subprocess.run([VESTAL, "top", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    report(done.returncode == 0 and b"Type: cpu" in done.stdout and b"Work.burn" in done.stdout,
           "%s: vestal top shows Work.burnInner" % title, (done.stdout + done.stderr).decode())
    # Without --type only the events shown are read, with it all of them.
    chosen = subprocess.run([VESTAL, "top", "--type", "cpu", path], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    report(chosen.stdout == done.stdout, "%s: vestal top shows what --type cpu shows" % title,
           (chosen.stdout + chosen.stderr).decode())
    packed = path + ".pb.gz"
    done = subprocess.run([VESTAL, "convert", path, "-o", packed], stderr=subprocess.PIPE)
    report(done.returncode == 0, "%s: vestal convert makes a pprof" % title, done.stderr.decode())
    if not shutil.which("go"):
        skip("%s: go tool pprof" % title, "go is not installed")
        return
    done = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=cpu", packed],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    report(b"Work.burn" in done.stdout, "%s: go tool pprof reads it" % title, done.stderr.decode())


def test_jdk(version, home, classes, work):
    title = "JDK %d" % version
    path = os.path.join(work, "jdk%d.jfr" % version)
    options = "settings=profile,filename=%s" % path
    if version >= 16:
        for event in ("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB",
                      "JavaExceptionThrow"):
            options = "jdk.%s#enabled=true," % event + options
    done = run_java(os.path.join(home, "java"), ["-XX:StartFlightRecording=" + options], classes)
    if not os.path.exists(path):
        report(False, "%s records" % title, done.stdout.decode())
        return
    profiles = compare(os.path.join(home, "jfr"), path, title)
    check_contents(profiles, title)
    check_program(path, title)
    profile, _ = find_profile(profiles, "cpu")
    report(profile and profile["period"] == 10000000,
           "%s: the period is the 10 ms of settings=profile" % title)
    if version < 25:
        return
    path = os.path.join(work, "cputime.jfr")
    run_java(os.path.join(home, "java"),
             ["-XX:StartFlightRecording=jdk.CPUTimeSample#enabled=true,jdk.CPUTimeSample#throttle="
              "10ms,filename=" + path], classes)
    compare(os.path.join(home, "jfr"), path, "JDK %d with CPU time" % version)


def test_several_chunks(version, home, classes, work):
    """One recording the JVM rotated by size, and two recordings one behind the other."""
    paths = [os.path.join(work, name) for name in ("rotated.jfr", "single.jfr")]
    for path, seconds in zip(paths, ("4", "1")):
        run_java(os.path.join(home, "java"),
                 ["-XX:FlightRecorderOptions=maxchunksize=1M",
                  "-XX:StartFlightRecording=jdk.ObjectAllocationInNewTLAB#enabled=true,"
                  "jdk.ObjectAllocationOutsideTLAB#enabled=true,settings=profile,filename=" + path],
                 classes, seconds)
    data = [open(path, "rb").read() for path in paths]
    report(data[0].count(b"FLR\0\0\2") >= 2, "the rotated recording has several chunks")
    compare(os.path.join(home, "jfr"), paths[0], "JDK %d, rotated" % version)
    # jfr print is no judge of these: it keeps the constants of the first process for the second.
    both = os.path.join(work, "both.jfr")
    with open(both, "wb") as out:
        out.write(data[0] + data[1])
    merged = collections.Counter()
    for path in paths:
        merged += all_rows(our_profiles(path))
    report(all_rows(our_profiles(both)) == merged,
           "recordings one behind the other have the rows of both")
    packed = both + ".gz"
    with gzip.open(packed, "wb", 1) as out:
        out.write(data[0] + data[1])
    report(our_profiles(packed) == our_profiles(both), "a gzip-ed recording is read the same")
    test_cut(both, data[0] + data[1], work)


def all_rows(profiles):
    return collections.Counter((tuple(p["types"]), json.dumps(row))
                               for p, rows in profiles for row in rows)


def test_cut(path, data, work):
    """The last chunk cut anywhere: what came before it is read, nothing crashes."""
    last = data.rindex(b"FLR\0\0\2")
    whole = sum(len(rows) for _, rows in our_profiles(path))
    good = True
    for share in (0.001, 0.1, 0.37, 0.5, 0.9, 0.999):
        cut = os.path.join(work, "cut.jfr")
        with open(cut, "wb") as out:
            out.write(data[:last + int((len(data) - last) * share)])
        done = subprocess.run([DUMP_ROWS, cut], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        rows = sum(1 for line in done.stdout.splitlines() if line.startswith(b"["))
        good &= done.returncode == 0 and 0 < rows <= whole and b"note:" in done.stderr
    report(good, "a recording cut in its last chunk is read as far as it goes, with a note")


def get_async_profiler(work):
    """The agent's library out of the jar on Maven Central: its path, or why not."""
    if not shutil.which("mvn"):
        return None, "mvn is not installed"
    done = subprocess.run(["mvn", "-q", "-B", "dependency:copy", "-Dartifact=" + ASYNC_PROFILER,
                           "-DoutputDirectory=" + work], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300)
    jars = glob.glob(os.path.join(work, "async-profiler-*.jar"))
    if done.returncode or not jars:
        return None, "async-profiler could not be fetched"
    name = "linux-arm64" if os.uname().machine == "aarch64" else "linux-x64"
    with zipfile.ZipFile(jars[0]) as jar:
        return jar.extract(name + "/libasyncProfiler.so", work), ""


MODES = {
    "cpu": ("event=ctimer,interval=5ms", ["cpu"]),
    "wall": ("event=wall,interval=20ms", ["wall"]),
    "alloc": ("event=alloc,alloc=100k,live", ["alloc_in_new_tlab_bytes", "live_space"]),
    "lock": ("event=lock,lock=100us", ["delay"]),
    "nativemem": ("nativemem=16k", ["malloc_bytes"]),
    "all": ("event=cpu,alloc=200k,lock=1ms,wall=50ms,cstack=dwarf", ["cpu", "wall", "delay"]),
}


def test_async_profiler(home, classes, work):
    library, why = get_async_profiler(work)
    for mode, (options, columns) in MODES.items():
        title = "async-profiler %s" % mode
        if not library:
            skip(title, why)
            continue
        path = os.path.join(work, "ap-%s.jfr" % mode)
        done = run_java(os.path.join(home, "java"),
                        ["-agentpath:%s=start,jfr,file=%s,%s" % (library, path, options)], classes)
        if not os.path.exists(path):
            skip(title, "no recording: " + done.stdout.decode().strip().replace("\n", " ")[:100])
            continue
        profiles = compare(os.path.join(home, "jfr"), path, title, STEPS.get(mode))
        report(all(find_profile(profiles, c)[1] for c in columns),
               "%s: has rows of %s" % (title, ", ".join(columns)))
        if mode == "cpu":
            check_async_cpu(profiles, title)


def check_async_cpu(profiles, title):
    profile, rows = find_profile(profiles, "cpu")
    report(profile["period"] == 5000000, "%s: the period is the 5 ms asked for" % title)
    kinds = {f[2] for r in rows for f in r[3]}
    report("jvm" in kinds and "native" in kinds and kinds <= {"jvm", "native", "kernel"},
           "%s: frames are of Java, of native code, of the kernel" % title, str(kinds))
    report(any(f[3] == "libjvm.so" for r in rows for f in r[3]),
           "%s: native frames know their library" % title)


def main():
    found = jdks()
    if sys.argv[1:2] == ["--judge"]:
        for path in sys.argv[2:]:
            compare(os.path.join(found[max(found)], "jfr"), path, os.path.basename(path))
        print("1..%d" % tests)
        return failures != 0
    if not found or not shutil.which("javac"):
        print("1..0 # SKIP no JDK with the jfr tool in /usr/lib/jvm")
        return 0
    work = tempfile.mkdtemp(prefix="vestal-jfr-")
    try:
        classes = os.path.join(work, "classes")
        subprocess.run(["javac", "-encoding", "UTF-8", "-d", classes, "--release", "11",
                        os.path.join(HERE, "..", "workloads", "java", "Work.java")], check=True)
        for version, home in found.items():
            test_jdk(version, home, classes, work)
        newest = max(found)
        test_several_chunks(newest, found[newest], classes, work)
        test_async_profiler(found[newest], classes, work)
    finally:
        shutil.rmtree(work)
    print("1..%d" % tests)
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
