#!/usr/bin/env python3
"""vestal top against go tool pprof -top on profiles made to be difficult.

The profiles are random, from fixed seeds, and encoded here by hand: names shared by functions of
different files, inlined and unsymbolised frames, recursion, negative and zero values, labels,
drop_frames. Every row with a name must have the same flat and cum, in the same order.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

from support.tap import Skip, VESTAL, go_profiles, main, scratch, test


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def message(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def packed(field, numbers):
    return message(field, b"".join(varint(n) for n in numbers)) if numbers else b""


class Profile:
    """The tables of profile.proto, as little of them as a test needs."""

    def __init__(self):
        self.strings = [""]
        self.body = b""

    def text(self, s):
        if s not in self.strings:
            self.strings.append(s)
        return self.strings.index(s)

    def value_type(self, field, kind, unit):
        self.body += message(field, number(1, self.text(kind)) + number(2, self.text(unit)))

    def encode(self):
        return self.body + b"".join(message(6, s.encode()) for s in self.strings)


NAMES = ["main", "alpha", "beta", "gamma(int)", "delta", "runtime.mallocgc", "std::map::find",
         "(anonymous namespace)::helper(char)", "x::operator()(int)", "zeta", "日本"]
FILES = ["a.c", "b.c", "lib/c.go", ""]


def make(seed, drop=False, negative=False):
    r = random.Random(seed)
    p = Profile()
    p.value_type(1, "samples", "count")
    p.value_type(1, "cost", "count")
    for i, name in enumerate(["/bin/shop", "/lib/libz.so.1"]):
        p.body += message(3, number(1, i + 1) + number(2, 0x1000 * (i + 1)) +
                          number(3, 0x1000 * (i + 2)) + number(5, p.text(name)) + number(7, 1))
    functions = []
    for name in NAMES:
        for f in r.sample(FILES, r.randint(1, 2)):
            functions.append((name, f))
    for i, (name, f) in enumerate(functions):
        p.body += message(5, number(1, i + 1) + number(2, p.text(name)) +
                          number(3, p.text(name)) + number(4, p.text(f)) +
                          number(5, r.randint(0, 50)))
    locations = 40
    for i in range(locations):
        mapping = r.choice([0, 1, 1, 2])
        lines = b"".join(message(4, number(1, r.randint(1, len(functions))) +
                                 number(2, r.randint(0, 4)))
                         for _ in range(r.choice([0, 1, 1, 1, 2, 3])))
        p.body += message(4, number(1, i + 1) + number(2, mapping) +
                          number(3, 0x1000 * max(mapping, 1) + i * 8) + lines)
    for _ in range(r.randint(1, 120)):
        stack = [r.randint(1, locations) for _ in range(r.randint(0, 12))]
        low = -50 if negative else 0
        values = [r.randint(low, 50) * r.choice([0, 1, 1000003]), r.randint(low, 1 << 40)]
        labels = b""
        if r.random() < 0.5:
            labels += message(3, number(1, p.text("thread")) +
                              number(2, p.text(r.choice(["main", "worker-1", "worker-2"]))))
        p.body += message(2, packed(1, stack) + packed(2, values) + labels)
    if drop:
        p.body += number(7, p.text(r"runtime\..*|x::operator\(\)|gamma|delta"))
        p.body += number(8, p.text(r"delta"))
    return p.encode()


NUMBER = r"(-?[\d.]+)[a-zA-Z]*"
ROW = re.compile(rf"^\s*{NUMBER}\s+\S+%\s+\S+%\s+{NUMBER}\s+\S+%\s+(.*?)( \((partial-)?inline\))?$")


def pprof(files, arguments):
    out = subprocess.run(["go", "tool", "pprof", "-top", "-nodefraction=0", "-edgefraction=0",
                          "-symbolize=none", *arguments, *files],
                         capture_output=True, text=True, check=False)
    if out.returncode:
        raise RuntimeError(out.stderr)
    rows, begun = [], False
    for line in out.stdout.splitlines():
        if begun:
            match = ROW.match(line)
            if not match:
                raise RuntimeError("not understood: " + line)
            rows.append((match[3], int(float(match[1])), int(float(match[2]))))
        begun = begun or line.split() == ["flat", "flat%", "sum%", "cum", "cum%"]
    return [r for r in rows if not r[0].startswith("[") and r[0] != "<unknown>"]


def vestal(files, arguments, lines):
    out = subprocess.run([VESTAL, "top", "--json", "-q", "-n", "0", *arguments, *files],
                         capture_output=True, text=True, check=False)
    if out.returncode:
        raise RuntimeError(out.stderr)
    rows = []
    for row in json.loads(out.stdout)["rows"]:
        name = row["name"]
        if re.search(r"\+0x|^0x", name):
            continue
        if lines and row.get("line"):
            name += " %s:%d" % (row["file"], row["line"])
        elif lines and row["file"]:
            name += " " + row["file"]
        rows.append((name, row["flat"], row["cum"]))
    return rows


CASES = [
    ("as it is", [], []),
    ("second column", ["-sample_index=samples"], ["--type", "samples"]),
    ("by cum", ["-cum"], ["--cum"]),
    ("by line", ["-lines"], ["--lines"]),
    ("focus", ["-focus=alpha|b\\.c"], ["--focus", "alpha|b\\.c"]),
    ("focus on a module", ["-focus=libz"], ["--focus", "libz"]),
    ("ignore", ["-ignore=^beta$"], ["--ignore", "^beta$"]),
    ("focus and ignore", ["-focus=main", "-ignore=zeta"], ["--focus", "main", "--ignore", "zeta"]),
    ("hide", ["-hide=alpha|a\\.c"], ["--hide", "alpha|a\\.c"]),
    ("hide a module", ["-hide=shop"], ["--hide", "shop"]),
    # Not by module: pprof hides frames without lines then, where we show module+offset.
    ("show", ["-show=main|delta|a\\.c"], ["--show", "main|delta|a\\.c"]),
    ("show_from", ["-show_from=gamma|libz"], ["--show-from", "gamma|libz"]),
    ("hide and show_from by line", ["-hide=beta", "-show_from=main", "-lines"],
     ["--hide", "beta", "--show-from", "main", "--lines"]),
    ("tagfocus", ["-tagfocus=thread=worker"], ["--tag", "thread=~worker"]),
    ("all at once", ["-focus=main|zeta", "-ignore=delta", "-hide=alpha", "-show_from=main"],
     ["--focus", "main|zeta", "--ignore", "delta", "--hide", "alpha", "--show-from", "main"]),
]


def difference(files, go_args, our_args):
    """The first row that differs, or None."""
    want = pprof(files, go_args)
    got = vestal(files, our_args, "--lines" in our_args)
    assert want or not got, "pprof has no rows"
    for i in range(max(len(want), len(got))):
        theirs = want[i] if i < len(want) else None
        ours = got[i] if i < len(got) else None
        if theirs != ours:
            return f"row {i}: pprof {theirs}, vestal {ours}"
    return None


def compare_made(number, go_args, our_args):
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    for i in range(int(os.environ.get("ROUNDS", "1"))):
        seed = number * 1000 + i
        files = []
        for j in range(2 if number == 0 or seed % 5 == 4 else 1):
            files.append(os.path.join(scratch(), f"{seed}-{j}.pb"))
            with open(files[-1], "wb") as f:
                f.write(make(seed * 7 + j, seed % 3 == 1, seed % 2 == 1))
        wrong = difference(files, go_args, our_args)
        assert wrong is None, f"seed {seed} {wrong}"


def compare_real(files, column, unit, *more):
    paths = [os.path.join(go_profiles(), f) for f in files]
    more = list(more)
    wrong = difference(paths, [f"-sample_index={column}", f"-unit={unit}"] + more,
                       ["--type", column, "--sum-gauges"] + ["-" + m for m in more])
    assert wrong is None, wrong


def shares_of_a_difference():
    """What pprof subtracted and wrote: shares are of the base, and the rows are those of pprof."""
    base, now = (os.path.join(go_profiles(), f) for f in ("cpu.pb.gz", "cpu2.pb.gz"))
    path = os.path.join(scratch(), "difference.pb.gz")
    subprocess.run(["go", "tool", "pprof", "-proto", "-symbolize=none", "-output=" + path,
                    "-diff_base=" + base, now], check=True, capture_output=True)
    total = [json.loads(subprocess.run([VESTAL, "top", "--json", "-q", "--type", "samples", f],
                                       capture_output=True, check=True).stdout)["total"]
             for f in (base, path)]
    assert total[0] == total[1], total
    wrong = difference([path], ["-sample_index=samples"], ["--type", "samples"])
    assert wrong is None, wrong


def register(name, function):
    function.__name__ = name
    test(function)


for n, (case, theirs, ours) in enumerate(CASES):
    register("top_equals_pprof_" + case.replace(" ", "_"),
             lambda n=n, theirs=theirs, ours=ours: compare_made(n, theirs, ours))
for files, column, unit in [(["cpu.pb.gz"], "samples", "count"), (["cpu.pb.gz"], "cpu", "ns"),
                            (["cpu.pb.gz", "cpu2.pb.gz"], "cpu", "ns"),
                            (["heap.pb.gz"], "alloc_objects", "count"),
                            (["heap.pb.gz"], "alloc_space", "B"),
                            (["heap.pb.gz"], "inuse_space", "B"),
                            (["heap.pb.gz", "heap.pb.gz"], "inuse_space", "B"),
                            (["mutex.pb.gz"], "delay", "ns"),
                            (["block.pb.gz"], "contentions", "count"),
                            (["goroutine.pb.gz"], "goroutine", "count")]:
    name = "top_equals_pprof_on_gos_" + "_and_".join(f.split(".")[0] for f in files) + "_" + column
    register(name, lambda f=files, c=column, u=unit: compare_real(f, c, u))
    register(name + "_by_line", lambda f=files, c=column, u=unit: compare_real(f, c, u, "-lines"))

register("shares_of_a_difference_are_of_the_base_as_in_pprof", shares_of_a_difference)

if __name__ == "__main__":
    os.environ["PPROF_TMPDIR"] = scratch()
    main()
