#!/usr/bin/env python3
"""Legacy profiles of real writers through vestal and through go tool pprof: all must agree."""
import os
import re
import shutil
import subprocess

from support.tap import ROOT, Skip, main, scratch, test, vestal

HEAP = """#include <cstdlib>
#include <string>
#include <vector>
volatile unsigned long sink;
__attribute__((noinline)) void burn(int n) { for (int i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void *grab(size_t n) { return malloc(n); }
std::vector<void *> kept;
int main()
{
	for (int i = 0; i < 2000; i++)
		kept.push_back(grab(100 + i));
	for (int i = 0; i < 1000; i++)
		free(kept[i]);
	for (int i = 0; i < 3000; i++)
		burn(100000);
	for (int i = 0; i < 300; i++)
		sink += (new std::string(5000, 'x'))->size();
	return 0;
}
"""


def raw(path):
    """What `go tool pprof -raw` says: header lines, and samples with addresses and modules."""
    done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-raw", path], cwd=scratch(),
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"go tool pprof -raw {path}: {done.stderr}"
    part, header, samples, locations, mappings = None, [], [], {}, {}
    for line in done.stdout.splitlines():
        if line in ("Samples:", "Locations", "Mappings"):
            part = line
            continue
        found = re.match(r"^\s+([-\d ]+): ?([\d ]*)$", line)
        if part == "Samples:" and found:
            samples.append([found[1].split(), found[2].split(), []])
        elif part == "Samples:" and samples:
            samples[-1][2].append(line.strip())
        elif part == "Locations":
            found = re.match(r"^\s*(\d+): (0x[0-9a-f]+) (?:M=(\d+))?", line)
            if found:
                locations[found[1]] = (found[2], found[3])
        elif part == "Mappings":
            found = re.match(r"^(\d+): (\S+) ?(\S*)", line)
            if found:
                mappings[found[1]] = (found[2], found[3])
        elif not part and not re.match(r"^(Main binary|Comments|Doc)", line):
            header.append(line)
        elif part == "Samples:":
            header.append(line)
    rows = []
    for values, ids, labels in samples:
        stack = [(locations[i][0], mappings.get(locations[i][1])) for i in ids]
        # Go pads stacks with zeros, which pprof takes for frames and vestal does not.
        while stack and stack[-1][0] == "0xffffffffffffffff":
            stack.pop()
        # A label of 0 cannot be told from none in profile.proto; names of workers are ours alone.
        labels = [l for l in labels if l != "bytes:[0]" and not l.startswith("worker:")]
        rows.append((values, stack, labels))
    return header, rows


def compare(path):
    """The file as pprof reads it, and as vestal reads and writes it."""
    ours = os.path.join(scratch(), "ours.pb.gz")
    vestal("convert", "--from", "legacy-pprof", path, "-f", "-o", ours)
    want, got = raw(path), raw(ours)
    assert got[0] == want[0], f"{path}: header {got[0]}, pprof says {want[0]}"
    assert len(got[1]) == len(want[1]), f"{path}: {len(got[1])} samples, pprof has {len(want[1])}"
    for mine, theirs in zip(sorted(got[1], key=key), sorted(want[1], key=key)):
        assert mine[0] == theirs[0] and mine[2] == theirs[2], f"{path}: {mine}, pprof says {theirs}"
        # pprof drops what drop_frames names, and only our file has names: the rest must be equal.
        tail = theirs[1][len(theirs[1]) - len(mine[1]):]
        assert mine[1] == tail, f"{path}: {mine}, pprof says {theirs}"
        assert mine[1] or not theirs[1] or "heap" in path, f"{path}: no frames left of {theirs}"
    return got[1]


def key(row):
    """By values and by the root side of the stack, which nothing is dropped from."""
    return [int(v) for v in row[0]], row[2], row[1][::-1]


_go = None


def go_texts():
    global _go  # pylint: disable=global-statement
    if _go is None:
        if not shutil.which("go"):
            raise Skip("no Go toolchain")
        folder = os.path.join(scratch(), "golegacy")
        os.makedirs(folder)
        env = dict(os.environ, GOWORK="off", GOTOOLCHAIN="local")
        program = os.path.join(scratch(), "golegacy.bin")
        subprocess.run(["go", "build", "-o", program, "."], check=True, env=env,
                       capture_output=True, cwd=os.path.join(ROOT, "tests/peers/golegacy"))
        subprocess.run([program, folder], check=True, timeout=120)
        _go = folder
    return _go


@test
def go_count_and_contention_text_equals_pprof():
    for name in ["goroutine", "threadcreate", "mutex", "block"]:
        assert compare(os.path.join(go_texts(), name + ".txt")), name


@test
def go_heap_text_equals_pprof():
    for name in ["heap", "allocs"]:
        assert compare(os.path.join(go_texts(), name + ".txt")), name


@test
def go_heap_text_names_the_function_that_allocates():
    out, _ = vestal("top", os.path.join(go_texts(), "heap.txt"))
    rows = [l.split() for l in out.splitlines() if re.match(r"^\s+[\d.]+[kM]?B? ", l)]
    assert rows and rows[0][-1] == "main.hold", out


@test
def go_labels_in_comments_are_labels():
    out, _ = vestal("show", os.path.join(go_texts(), "goroutine.txt"))
    assert "worker: 3 values" in out and 'three "3"' in out, out


_cpp = None


def gperftools():
    """A folder with cpu.prof and heap.0001.heap … of a C++ program."""
    global _cpp  # pylint: disable=global-statement
    if _cpp is None:
        if not shutil.which("g++") or not shutil.which("go"):
            raise Skip("no g++ or no Go toolchain to compare with")
        folder = os.path.join(scratch(), "gperftools")
        os.makedirs(folder)
        with open(os.path.join(folder, "heap.cc"), "w", encoding="ascii") as f:
            f.write(HEAP)
        built = subprocess.run(["g++", "-g", "-O1", "heap.cc", "-o", "program", "-Wl,--no-as-needed",
                                "-lprofiler", "-ltcmalloc"], cwd=folder, capture_output=True,
                               check=False)
        if built.returncode:
            raise Skip("no gperftools (Debian package libgoogle-perftools-dev)")
        env = dict(os.environ, CPUPROFILE="cpu.prof")
        subprocess.run(["./program"], cwd=folder, env=env, check=True, capture_output=True)
        env = dict(os.environ, HEAPPROFILE="heap", HEAP_PROFILE_ALLOCATION_INTERVAL="500000")
        subprocess.run(["./program"], cwd=folder, env=env, check=True, capture_output=True)
        _cpp = folder
    return _cpp


@test
def gperftools_cpu_profile_equals_pprof():
    rows = compare(os.path.join(gperftools(), "cpu.prof"))
    assert any(frame[1] and frame[1][1].endswith("/program") for row in rows for frame in row[1])


@test
def gperftools_heap_profiles_equal_pprof():
    files = sorted(f for f in os.listdir(gperftools()) if f.endswith(".heap"))
    assert files
    for name in files:
        assert compare(os.path.join(gperftools(), name)), name


main()
