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
import tempfile

VESTAL = os.environ.get("VESTAL", "build/vestal")


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


ROW = re.compile(r"^\s*(-?[\d.]+)\s+\S+%?\s+\S+%\s+(-?[\d.]+)\s+\S+%\s+(.*?)( \((partial-)?inline\))?$")


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


def compare(folder, seed, go_args, our_args, drop, negative, merged):
    files = []
    for i in range(2 if merged else 1):
        files.append(os.path.join(folder, "%d-%d.pb" % (seed, i)))
        with open(files[-1], "wb") as f:
            f.write(make(seed * 7 + i, drop, negative))
    want = pprof(files, go_args)
    got = vestal(files, our_args, "--lines" in our_args)
    if want == got:
        return None
    for i, pair in enumerate(zip(want + [None] * len(got), got + [None] * len(want))):
        if pair[0] != pair[1]:
            return "seed %d row %d: pprof %s, vestal %s" % (seed, i, pair[0], pair[1])
    return "?"


def main():
    if not shutil.which("go"):
        print("1..0 # SKIP go is not installed")
        return 0
    failures = 0
    folder = tempfile.mkdtemp(prefix="vestal-top-")
    os.environ["PPROF_TMPDIR"] = folder
    rounds = int(os.environ.get("ROUNDS", "1"))
    try:
        for n, (name, go_args, our_args) in enumerate(CASES):
            wrong = None
            for i in range(rounds):
                seed = n * 1000 + i
                wrong = wrong or compare(folder, seed, go_args, our_args, seed % 3 == 1,
                                         seed % 2 == 1, n == 0 or seed % 5 == 4)
            failures += wrong is not None
            print("%sok %d - top equals pprof: %s" % ("not " if wrong else "", n + 1, name))
            if wrong:
                print("# " + wrong)
        print("1..%d" % len(CASES))
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
