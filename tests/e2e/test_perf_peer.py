#!/usr/bin/env python3
"""What perf records of a real program, through vestal and through perf's own report."""
import collections
import json
import os
import re
import shutil
import subprocess

from support.tap import Skip, main, scratch, test, vestal

PROGRAM = """#include <stdio.h>
#include <time.h>
volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long inner(unsigned long x)
{
	for (int i = 0; i < 100; i++)
		x = x * 31 + i;
	return x;
}
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += inner(sink + i); }
__attribute__((noinline)) void middle(int n) { leaf(n); sink++; }
int main(void)
{
	for (int i = 0; i < 2000; i++)
		middle(2000);
	return 0;
}
"""


def run(*args, **more):
    return subprocess.run(args, cwd=scratch(), capture_output=True, timeout=300, check=False, **more)


def program():
    """A program whose name has a blank, as comm may."""
    path = os.path.join(scratch(), "a prog")
    if not os.path.exists(path):
        if not shutil.which("perf"):
            raise Skip("no perf (Debian package linux-perf)")
        source = os.path.join(scratch(), "prog.c")
        with open(source, "w", encoding="ascii") as f:
            f.write(PROGRAM)
        built = run("gcc", "-g", "-O2", "-fno-omit-frame-pointer", source, "-o", path)
        assert built.returncode == 0, built.stderr
    return path


def record(name, *options):
    path = os.path.join(scratch(), name)
    if not os.path.exists(path):
        done = run("perf", "record", "-o", path, *options, program())
        if done.returncode or not os.path.exists(path):
            raise Skip("perf cannot record here: " + done.stderr.decode()[:80].replace("\n", " "))
    return path


def script(data, *options):
    """The text file that perf script makes of a recording."""
    done = run("perf", "script", "-i", data, *options)
    assert done.returncode == 0 and done.stdout, done.stderr
    path = os.path.join(scratch(), "script.txt")
    with open(path, "wb") as f:
        f.write(done.stdout)
    return path


def flat_samples(path, kind="samples"):
    """{function: samples at its own} from vestal."""
    out, _ = vestal("top", "-n", "0", "--json", "--type", kind, path)
    data = json.loads(out)
    return {r["name"]: r["flat"] for r in data["rows"] if r["flat"]}, data["total"]


def folded(path):
    out, _ = vestal("convert", path, "--to", "folded", "-o", "-")
    rows = collections.Counter()
    for line in out.splitlines():
        stack, _, value = line.rpartition(" ")
        rows[stack] += int(value)
    return rows


def report(data):
    """{symbol: samples} as perf report counts them."""
    done = run("perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none", "-n", "--sort",
               "sym", "--no-inline")
    rows = collections.Counter()
    for line in done.stdout.decode().splitlines():
        found = re.match(r"^\s*[\d.]+%\s+(\d+)\s+\[[.kugH]\] (\S+)", line)
        if found:
            rows[found[2]] += int(found[1])
    return rows


@test
def samples_per_function_equal_perf_report():
    data = record("fp.data", "-F", "199", "-e", "cpu-clock", "-g")
    want = report(data)
    got, total = flat_samples(script(data))
    assert want and total == sum(want.values()), f"total {total}, perf says {sum(want.values())}"
    named = {k: v for k, v in want.items() if not k.startswith("0x") and k != "[unknown]"}
    assert named == {k: got.get(k, 0) for k in named}, f"{got}, perf says {want}"


@test
def perf_data_is_read_as_its_script():
    data = record("fp.data", "-F", "199", "-e", "cpu-clock", "-g")
    want = folded(script(data))
    assert folded(data) == want
    with open(data, "rb") as f:
        out, _ = vestal("convert", "-", "--to", "folded", "-o", "-", stdin=f.read())
    assert sum(int(l.rpartition(" ")[2]) for l in out.splitlines()) == sum(want.values())


@test
def pipe_mode_perf_data_is_read():
    path = os.path.join(scratch(), "pipe.data")
    with open(path, "wb") as f:
        done = subprocess.run(["perf", "record", "-F", "199", "-e", "cpu-clock", "-g", "-o", "-",
                               program()], cwd=scratch(), stdout=f, stderr=subprocess.PIPE,
                              timeout=300, check=False)
    if done.returncode:
        raise Skip("perf cannot record to a pipe here")
    assert any("leaf" in stack for stack in folded(path)), folded(path)


@test
def dwarf_stacks_have_the_inlined_function_in_its_caller():
    data = record("dwarf.data", "-F", "99", "-e", "cpu-clock", "--call-graph", "dwarf,4096")
    rows = folded(script(data))
    assert any(s.endswith("main;middle;leaf;inner") for s in rows), rows
    out, _ = vestal("show", script(data))
    assert "a prog" in out, out


@test
def source_lines_are_kept():
    data = record("dwarf.data", "-F", "99", "-e", "cpu-clock", "--call-graph", "dwarf,4096")
    out, _ = vestal("top", "--lines", "-n", "0", "--json", script(data, "-F", "+srcline"))
    rows = json.loads(out)["rows"]
    assert any(r["name"] == "inner" and r["file"].endswith("prog.c") and r["line"] in (6, 7)
               for r in rows), rows


@test
def fewer_fields_give_the_same_stacks():
    data = record("fp.data", "-F", "199", "-e", "cpu-clock", "-g")
    with open(script(data), "rb") as f:
        samples = len(re.findall(rb"cpu-clock", f.read()))
    for fields in ["ip,sym", "comm,ip,sym", "comm,tid,ip,sym,dso", "comm,pid,tid,time,event,ip,sym",
                   "event,ip,sym,symoff,dso", "comm,tid,time,period,event,ip,sym,symoff,dso"]:
        path = script(data, "-F", fields)
        out, _ = vestal("convert", path, "--to", "folded", "-o", "-",
                        *(["--type", "samples"] if "period" in fields else []))
        total = sum(int(l.rpartition(" ")[2]) for l in out.splitlines())
        assert total == samples, f"-F {fields}: {total} samples of {samples}"
        assert "main;" in out, out


@test
def without_call_graphs_each_line_is_a_sample():
    data = record("flat.data", "-F", "199", "-e", "cpu-clock")
    got, total = flat_samples(script(data))
    assert total == sum(report(data).values()), (got, report(data))


@test
def each_event_is_a_profile_of_its_own():
    data = record("two.data", "-F", "199", "-g", "-e", "cpu-clock", "-e", "page-faults")
    out, _ = vestal("show", script(data))
    assert "cpu/nanoseconds" in out and "page-faults/count" in out, out


@test
def a_machine_without_perf_is_told_which_package_has_it():
    data = record("fp.data", "-F", "199", "-e", "cpu-clock", "-g")
    _, err = vestal("top", data, env={"PATH": "/nonexistent"}, status=None)
    assert "linux-perf" in err, err


main()
