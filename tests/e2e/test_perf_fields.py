#!/usr/bin/env python3
"""perf script text with every set of header fields, against what perf's own scripts see.

A program whose threads and functions have difficult names is recorded with three events. perf's Python
scripts print each sample as JSON: that is the truth. Then `perf script -F` prints it with all sets of
fields, with and without call graphs, and the rows that Vestal reads must be the same.
"""
import collections
import concurrent.futures
import itertools
import json
import os
import shutil
import subprocess

from support.tap import VESTAL, Skip, main, scratch, test

DUMP_ROWS = os.environ.get("DUMP_ROWS", os.path.join(os.path.dirname(VESTAL), "tests", "dump_rows"))

PROGRAM = r"""
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
volatile unsigned long sink;
static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
namespace {
struct Work {
	__attribute__((noinline)) unsigned long operator()(unsigned long x, void (*)(int)) const
	{
		for (int i = 0; i < 3000; i++)
			x = x * 31 + i;
		return x;
	}
};
}
template <class T> __attribute__((noinline)) unsigned long generic(T t, const std::string &)
{
	return t(sink, nullptr);
}
extern "C" __attribute__((noinline)) void add(void) { sink += generic(Work(), "x"); sink++; }
extern "C" __attribute__((noinline)) void decade(void)
{
	for (int i = 0; i < 10; i++)
		add();
	sink++;
}
static void *burn(void *name)
{
	prctl(PR_SET_NAME, (char *)name);
	while (cpu() < 0.04) {
		decade();
		void *p = mmap(0, 16384, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*(volatile char *)p = 1;
		munmap(p, 16384);
	}
	return 0;
}
int main()
{
	static const char *names[] = {"#x", "# y", "a b", "1234", "99 7", "x: 5 y:", "[k] w", "-",
				      "(z) 1/2", "[000]", "U", "1.000000: z", "cycles:"};
	for (auto name : names) {
		pthread_t t;
		pthread_create(&t, 0, burn, (void *)name);
		pthread_join(t, 0);
	}
}
"""

TRUTH = """
import json
def process_event(p):
    s = p["sample"]
    stack = [(f.get("sym") or {}).get("name", "") for f in p["callchain"]]
    print(json.dumps([p["comm"], s["pid"], s["tid"], s["time"], s["period"], p["ev_name"],
                      p.get("symbol") or "", stack]))
"""

EVENTS = "cpu-clock,task-clock,page-faults"
COLUMNS = {"cpu-clock": ("samples", "cpu"), "task-clock": ("task-clock_samples", "task-clock"),
           "page-faults": ("page-faults_samples", "page-faults")}


def run(*args, **more):
    return subprocess.run(args, cwd=scratch(), capture_output=True, timeout=300, check=False, **more)


def record(name, *options):
    """A recording and its samples."""
    path = os.path.join(scratch(), name)
    if not os.path.exists(path):
        if not shutil.which("perf"):
            raise Skip("no perf (Debian package linux-perf)")
        source, program = os.path.join(scratch(), "names.cc"), os.path.join(scratch(), "names")
        with open(source, "w", encoding="ascii") as f:
            f.write(PROGRAM)
        built = run("g++", "-g", "-O1", "-fno-omit-frame-pointer", source, "-o", program, "-lpthread")
        assert built.returncode == 0, built.stderr
        with open(os.path.join(scratch(), "truth.py"), "w", encoding="ascii") as f:
            f.write(TRUTH)
        done = run("perf", "record", "-q", "-o", path, "-F", "299", "-e", EVENTS, "--sample-cpu",
                   "-k", "mono", *options, program)
        if done.returncode or not os.path.exists(path):
            raise Skip("perf cannot record here: " + done.stderr.decode()[:80].replace("\n", " "))
    done = run("perf", "script", "-i", path, "-s", os.path.join(scratch(), "truth.py"))
    lines = done.stdout.decode("latin-1").splitlines()
    samples = [json.loads(line) for line in lines if line.startswith("[")]
    if not samples:
        raise Skip("this perf cannot run Python scripts")
    return path, samples


def read(text):
    path = os.path.join(scratch(), "fields-%s.txt" % (abs(hash(text)) % 10**12))
    with open(path, "wb") as f:
        f.write(text)
    done = subprocess.run([DUMP_ROWS, path, "perf-script"], capture_output=True, timeout=100, check=False)
    os.unlink(path)
    assert done.returncode == 0, done.stderr.decode()
    rows, head = [], None
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        item = json.loads(line)
        if isinstance(item, dict):
            head = item
        else:
            rows.append((head, item))
    return rows, done.stderr.decode()


def stack_key(names):
    return ";".join("?" if not n or n.startswith(("[unknown", "0x")) else n for n in names)


def expected(samples, fields, graph):
    """{(event columns, comm, pid, tid, stack): [samples, value]}"""
    rows = collections.Counter()
    for comm, pid, tid, _, period, event, symbol, stack in samples:
        names = stack if graph else [symbol]
        columns = ("samples", "events")
        if "event" in fields:
            columns = COLUMNS[event]
        if "period" not in fields:
            columns = (columns[1] if "event" in fields else "samples",)
            if "event" in fields and event.endswith("-clock"):
                columns = (event,)
        key = (columns, comm if "comm" in fields else "",
               str(pid) if "pid" in fields and "tid" in fields else "",
               str(tid) if "tid" in fields else str(pid) if "pid" in fields else "",
               stack_key(names) if "sym" in fields else "")
        rows[key + ("n",)] += 1
        if "period" in fields:
            rows[key + ("value",)] += period
    return rows


def found(text, fields):
    rows = collections.Counter()
    read_rows, notes = read(text)
    for head, (values, labels, _, stack) in read_rows:
        columns = tuple(t.split("/")[0] for t in head["types"])
        comm = labels.get("thread.name", "")
        key = (columns, comm, labels.get("process.pid", ""),
               labels.get("thread.id", ""),
               stack_key([f[0] for f in stack]) if "sym" in fields else "")
        rows[key + ("n",)] += values[0]
        if "period" in fields:
            rows[key + ("value",)] += values[-1]
    return rows, notes


def field_sets():
    """All sets of header fields; what a frame shows and the options go round."""
    frames = itertools.cycle([["ip", "sym", "dso"], ["ip", "sym"], ["ip", "sym", "symoff", "dso"],
                              ["ip", "dso"], ["ip"], ["ip", "sym", "symoff", "dso", "srcline"],
                              ["ip", "sym", "symoff"]])
    options = itertools.cycle([[], ["--ns"], ["--reltime"], ["--header"], ["--deltatime"],
                               ["--no-inline"]])
    for n in range(256):
        chosen = [f for bit, f in enumerate(["comm", "pid", "tid", "cpu", "misc", "time", "period",
                                             "event"]) if n & 1 << bit]
        yield chosen + next(frames), next(options)


def check(path, samples, graph, fields, options):
    args = ["perf", "script", "-i", path, "-F", ",".join(fields), *options]
    if not graph:
        args.append("-G")
    text = run(*args).stdout
    want = expected(samples, fields, graph)
    got, notes = found(text, fields)
    if want == got and "could not be read" not in notes:
        return ""
    return "-F %s %s%s: only in perf's: %s, only ours: %s; %s" % (
        ",".join(fields), " ".join(options), "" if graph else " -G",
        list((want - got).items())[:2], list((got - want).items())[:2], notes.strip())


def check_all(path, samples, graph):
    """Half of them, unless PERF_FIELDS=all: each run of perf takes its time."""
    sets = list(field_sets())
    if os.environ.get("PERF_FIELDS") != "all":
        sets = sets[graph::2]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = list(filter(None, pool.map(lambda s: check(path, samples, graph, *s), sets)))
    assert not wrong, "%d sets of fields:\n%s" % (len(wrong), "\n".join(wrong[:8]))


@test
def call_graphs_with_all_sets_of_fields_keep_their_samples():
    check_all(*record("graph.data", "-g"), True)


@test
def samples_on_lines_with_all_sets_of_fields_are_kept():
    check_all(*record("flat.data"), False)


@test
def hidden_call_graphs_are_lines():
    path, samples = record("graph.data", "-g")
    wrong = [check(path, samples, False, *s) for s in list(field_sets())[3::16]]
    assert not any(wrong), "\n".join(filter(None, wrong))


@test
def times_of_the_clock_and_differences_give_the_same_duration():
    path, samples = record("graph.data", "-g")
    span = max(s[3] for s in samples) - min(s[3] for s in samples)
    for options in (["--ns"], ["--ns", "--reltime"], ["--ns", "--deltatime"]):
        rows, _ = read(run("perf", "script", "-i", path, *options, "-F",
                           "comm,tid,time,ip,sym").stdout)
        assert rows[0][0]["duration"] == span, f"{options}: {rows[0][0]}, {span}"


@test
def fields_of_other_kinds_are_passed_over():
    path, samples = record("graph.data", "-g")
    for more in ("+misc", "+tod", "+addr", "+weight", "+cgroup", "+uregs", "+iregs", "+phys_addr",
                 "+data_src", "+insn", "+srccode", "+flags", "+callindent", "+bpf-output", "+metric",
                 "+ipc", "+code_page_size"):
        done = run("perf", "script", "-i", path, "-F", "comm,pid,tid,time,period,event,ip,sym", "-F",
                   more)
        if done.returncode or not done.stdout:
            continue
        fields = ["comm", "pid", "tid", "time", "period", "event", "ip", "sym"]
        got, notes = found(done.stdout, fields)
        want = expected(samples, fields, True)
        assert want == got, f"{more}: {list((want - got).items())[:2]} {notes}"


main()
