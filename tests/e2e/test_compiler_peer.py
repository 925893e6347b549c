#!/usr/bin/env python3
"""PGO and AutoFDO profiles in the hands of the compilers they are written for."""
import gzip
import os
import re
import shutil
import subprocess

from support.server import Server
from support.tap import ROOT, Skip, main, scratch, test, vestal

PGO = os.path.join(ROOT, "tests/peers/pgo")


def go(*args, check=True):
    env = dict(os.environ, GOWORK="off", GOTOOLCHAIN="local")
    return subprocess.run(["go", *args], cwd=PGO, env=env, capture_output=True, text=True,
                          timeout=600, check=check)


def go_cpu_profile():
    path = os.path.join(scratch(), "pgo.pb.gz")
    if not os.path.exists(path):
        if not shutil.which("go"):
            raise Skip("no Go toolchain")
        program = os.path.join(scratch(), "pgo.bin")
        go("build", "-pgo=off", "-o", program, ".")
        subprocess.run([program, path], check=True, capture_output=True, timeout=120)
    return path


def default_pgo():
    path = os.path.join(scratch(), "default.pgo")
    vestal("convert", "-f", go_cpu_profile(), "-o", path)
    return path


@test
def go_reads_the_same_edges_from_our_profile():
    texts = []
    for path in [go_cpu_profile(), default_pgo()]:
        out = path + ".txt"
        done = go("tool", "preprofile", "-i", path, "-o", out, check=False)
        if done.returncode:
            raise Skip("go tool preprofile is not here")
        with open(out, encoding="utf-8") as f:
            texts.append(f.read())
    assert texts[0] == texts[1], texts
    assert "main.total" in texts[0], texts[0]


def decisions(profile):
    """What the compiler says it inlined."""
    out = os.path.join(scratch(), "pgo.out")
    done = go("build", "-pgo=" + profile, "-gcflags=pgo=-m=2", "-o", out, ".")
    return sorted(l for l in done.stderr.splitlines() if re.search(r"inlin|devirtual", l))


@test
def go_build_decides_the_same_with_our_profile():
    ours, theirs = decisions(default_pgo()), decisions(go_cpu_profile())
    assert ours == theirs, set(ours) ^ set(theirs)
    assert ours != decisions("off"), "the profile changed nothing"


def edges(path):
    """The calls that go finds in a profile, with their share of all."""
    done = go("tool", "preprofile", "-i", path, "-o", path + ".txt", check=False)
    if done.returncode:
        raise Skip("go tool preprofile is not here")
    with open(path + ".txt", encoding="utf-8") as f:
        lines = f.read().splitlines()[1:]
    found = {}
    for caller, callee, weight in zip(*[iter(lines)] * 3):
        line, value = weight.split()
        found[caller, callee, line] = int(value)
    total = sum(found.values())
    return {key: round(value / total, 9) for key, value in found.items()}


@test
def what_a_server_has_stored_is_as_good_as_the_file():
    path = os.path.join(scratch(), "stored.pgo")
    with Server() as server:
        env = {"VESTAL_SERVER": server.url}
        vestal("push", go_cpu_profile(), "--service", "shop", "--label", "commit=abc", env=env)
        vestal("push", go_cpu_profile(), "--service", "shop", "--label", "commit=def", env=env)
        vestal("convert", 'shop{commit="abc"}', "-o", path, env=env)
    assert edges(path) == edges(default_pgo())
    ours, theirs = decisions(path), decisions(go_cpu_profile())
    assert ours == theirs, set(ours) ^ set(theirs)


@test
def our_profile_is_smaller_and_has_no_mappings():
    assert os.path.getsize(default_pgo()) < os.path.getsize(go_cpu_profile())
    done = go("tool", "pprof", "-symbolize=none", "-raw", default_pgo())
    # pprof makes up an empty one where there is none.
    assert re.search(r"^Mappings\n1: 0x0/0x0/0x0 *$", done.stdout, re.M), done.stdout


@test
def a_profile_without_start_lines_is_refused():
    path = os.path.join(scratch(), "names.folded")
    with open(path, "w", encoding="ascii") as f:
        f.write("main;work 3\n")
    out = os.path.join(scratch(), "names.pgo")
    _, err = vestal("convert", path, "-o", out, status=None)
    assert "start line" in err and not os.path.exists(out), err


SOURCE = """int table[1024];
__attribute__((noinline)) int rare(int x)
{
	return x * 3;
}
static int twice(int x)
{
	return x + x;
}
__attribute__((noinline)) int hot(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		if (table[i & 1023] == 7)
			s += rare(i);
		else
			s += twice(i) ^ s;
	}
	return s;
}
int main(int argc, char **argv)
{
	(void)argv;
	return hot(argc * 1000);
}
"""


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(stacks, start_lines):
    """A pprof file by hand: {((function, line, function, line …), …): count}; inlined together."""
    strings, functions, locations, samples = ["", "samples", "count"], [], [], b""
    for name in start_lines:
        strings.append(name)
        functions.append(name)
    for stack, count in stacks.items():
        ids = []
        for place in stack:
            if place not in locations:
                locations.append(place)
            ids.append(locations.index(place) + 1)
        samples += field(2, b"".join(field(1, i) for i in ids) + field(2, count))
    out = field(1, field(1, 1) + field(2, 2)) + samples
    for number, place in enumerate(locations, 1):
        lines = b"".join(field(4, field(1, functions.index(place[i]) + 1) + field(2, place[i + 1]))
                         for i in range(0, len(place), 2))
        out += field(4, field(1, number) + field(3, 0x1000 + number) + lines)
    for number, name in enumerate(functions, 1):
        out += field(5, field(1, number) + field(2, strings.index(name)) +
                     field(5, start_lines[name]))
    return gzip.compress(out + b"".join(field(6, s.encode()) for s in strings))


def autofdo():
    path, out = os.path.join(scratch(), "c.pb.gz"), os.path.join(scratch(), "c.afdo")
    start = {"main": 21, "hot": 10, "twice": 6, "rare": 2}
    stacks = {
        (("hot", 13), ("main", 24)): 5000,
        (("twice", 8, "hot", 17), ("main", 24)): 9000,
        (("hot", 17), ("main", 24)): 700,
        (("rare", 4), ("hot", 15), ("main", 24)): 3,
    }
    with open(path, "wb") as f:
        f.write(pprof(stacks, start))
    vestal("convert", "-f", path, "-o", out)
    return out


@test
def the_autofdo_text_is_what_the_samples_say():
    with open(autofdo(), encoding="ascii") as f:
        text = f.read()
    assert text == ("hot:14700:14703\n 3: 5000\n 5: 0 rare:3\n 7: 700\n 7: twice:9000\n"
                    "  2: 9000\nrare:3:3\n 2: 3\nmain:0:0\n 3: 0 hot:14703\n"), text


def tool(*names):
    for name in names:
        if shutil.which(name):
            return name
    raise Skip("no " + names[0])


@test
def llvm_profdata_reads_it():
    done = subprocess.run([tool("llvm-profdata-14", "llvm-profdata"), "show", "--sample",
                           autofdo()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Function: hot: 14700, 14703" in done.stdout, done.stdout
    assert "inlined callee: twice: 9000" in done.stdout, done.stdout


@test
def llvm_profdata_reads_a_go_profile_too():
    path = os.path.join(scratch(), "go.afdo")
    vestal("convert", "-f", go_cpu_profile(), "-o", path)
    done = subprocess.run([tool("llvm-profdata-14", "llvm-profdata"), "show", "--sample", path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Function: main." in done.stdout, done.stderr


@test
def clang_takes_branch_weights_from_it():
    source = os.path.join(scratch(), "hot.c")
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    done = subprocess.run([tool("clang-14", "clang"), "-O2", "-gline-tables-only", "-S", "-emit-llvm",
                           "-fprofile-sample-use=" + autofdo(), "-o", "-", source],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r'"function_entry_count", i64 14704', done.stdout), "no entry count of hot"
    assert "branch_weights" in done.stdout, "no branch weights"


main()
