#!/usr/bin/env python3
"""Names of addresses against those who are known for them.

Programs are compiled here, C, C++, Rust and Go, with and without debug information, and asked at
every function's beginning and at places inside. Judges: llvm-symbolizer (frames, inlined ones too,
and lines), addr2line, nm, c++filt, go tool addr2line. What names them is tests/e2e/symbolize.c.
"""
import os
import random
import re
import shutil
import subprocess
import tempfile

from support.tap import Skip, VESTAL, main, scratch, test

SYMBOLIZE = os.environ.get("SYMBOLIZE", os.path.join(os.path.dirname(VESTAL), "tests/symbolize"))

PROGRAM_C = r"""
#include <stdio.h>
#include <string.h>
static int twice(int x) { return 2 * x + (x >> 3); }
static inline int mix(int x)
{
	int a = twice(x);
	return a ^ twice(x + 1);
}
__attribute__((noinline)) int foo(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
		sum += mix(i);
	return sum;
}
__attribute__((noinline)) static void local(const char *text)
{
	if (text)
		puts(text);
}
int same_as_foo(int) __attribute__((alias("foo")));
int _foo(int) __attribute__((alias("foo")));
__asm__(".text\n.globl label\nlabel:\n\tnop\n\tnop\n\tret\n");
int main(int count, char **names)
{
	for (int i = 0; i < count; i++)
		local(names[i]);
	return foo(count) + (int)strlen(names[0]);
}
"""

PROGRAM_CC = r"""
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace app {
namespace {
template <typename T> struct Box {
	T value;
	__attribute__((noinline)) T get(const T &more) { return value + more; }
};
}
static inline int square(int x) { return x * x + (x >> 3); }
int work(const std::vector<int> &v)
{
	int sum = 0;
	for (int x : v)
		sum += square(x);
	return sum;
}
__attribute__((used, noinline)) bool operator<(const Box<int> &a, const Box<int> &b) { return a.value < b.value; }
}
int main(int count, char **names)
{
	std::vector<int> v;
	for (int i = 0; i < count * 100; i++)
		v.push_back(i * 7 % 31);
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	std::map<std::string, std::vector<int>> m;
	m[names[0]] = v;
	app::Box<std::string> b{"x"};
	std::printf("%d %s\n", app::work(v), b.get(names[0]).c_str());
	return m.size() == 7;
}
"""

PROGRAM_RS = r"""
use std::collections::HashMap;
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
impl Shape for Square { #[inline(never)] fn area(&self) -> f64 { self.0 * self.0 } }
#[inline(always)] fn twice(x: u64) -> u64 { x.wrapping_mul(2) + 1 }
#[inline(never)] fn sum(v: &[u64]) -> u64 { v.iter().map(|&x| twice(x)).sum() }
#[inline(never)] fn generic<T: Clone>(x: &T) -> Vec<T> { vec![x.clone(), x.clone()] }
fn main() {
    let v: Vec<u64> = (0..std::env::args().count() as u64 * 100).collect();
    let mut m = HashMap::new();
    m.insert("a".to_string(), std::hint::black_box(sum as fn(&[u64]) -> u64)(&v));
    let shape: Box<dyn Shape> = std::hint::black_box(Box::new(Square(2.0)));
    println!("{:?} {} {}", m, shape.area(), generic(&"x".to_string()).len());
}
"""

PROGRAM_GO = r"""
package main

import (
	"fmt"
	"os"
	"strings"
)

var counts [8]int

func tiny(x int) int { counts[x&7]++; return counts[x&3] }
func mid(x int) int  { return tiny(x) + tiny(x+1) }

//go:noinline
func outer(x int) int {
	s := 0
	for i := 0; i < x; i++ {
		s += mid(i)
	}
	return s
}

type T struct{ n int }

//go:noinline
func (t *T) Inc() { t.n += outer(t.n) }

func main() {
	t := &T{len(os.Args)}
	t.Inc()
	fmt.Println(strings.Repeat("x", t.n%5))
}
"""


def run(*command, text=None, cwd=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stderr[-1500:]}"
    return done.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not here")


def build(folder, name, source, *compiler):
    path = os.path.join(folder, source)
    texts = {"p.c": PROGRAM_C, "p.cc": PROGRAM_CC, "p.rs": PROGRAM_RS, "p.go": PROGRAM_GO}
    with open(path, "w", encoding="utf-8") as file:
        file.write(texts[source])
    out = os.path.join(folder, name)
    run(*compiler, *([] if source == "p.go" else [path]), "-o", out,
        *([path] if source == "p.go" else []), cwd=folder)
    return out


def functions(path):
    """(address, size, name) of every function nm knows."""
    out = run("nm", "-S", "-C", "--defined-only", path)
    found = re.findall(r"^([0-9a-f]+) (?:([0-9a-f]+) [tTwW]|[tT]) (.*)$", out, re.M)
    return [(int(start, 16), int(size or "1", 16), name) for start, size, name in found]


def addresses(path, limit=3000, always=r"^(main|foo|local|label|p::|main\..*|.*p::Square.*)"):
    """Beginnings of functions and places inside them, the same at every run; all of some."""
    chance = random.Random(7)
    found, kept = set(), set()
    for start, size, name in functions(path):
        found.update([start, *(start + chance.randrange(size) for _ in range(4))])
        if re.match(always, name):
            kept.update(range(start, start + min(size, 400)))
    return sorted(kept | set(chance.sample(sorted(found), min(limit, len(found)))))


class Frame:
    def __init__(self, line):
        self.function, self.linkage, place, inlined, start = line.split("\t")
        self.file, self.line, self.column = place.rsplit(":", 2)
        self.inlined = inlined == "inlined"
        self.start = int(start)

    def __repr__(self):
        return f"{self.function} {self.file}:{self.line}"


def symbolize(path, asked, *options):
    if not os.path.exists(SYMBOLIZE):
        raise Skip("symbolize is not built")
    out = run(SYMBOLIZE, *options, path, text="".join(f"{a:x}\n" for a in asked))
    groups = [group.split("\n") for group in out.split("\n\n")[:-1]]
    assert [int(group[0], 16) for group in groups] == list(asked)
    return [[Frame(line) for line in group[1:] if line] for group in groups]


def judge(path, asked):
    """llvm-symbolizer's frames: [(function, base name of the file, line)]."""
    need("llvm-symbolizer")
    out = run("llvm-symbolizer", "--inlines", "--obj=" + path, "--output-style=LLVM",
              text="".join(f"0x{a:x}\n" for a in asked))
    groups = []
    for group in out.rstrip("\n").split("\n\n"):
        lines = group.split("\n")
        groups.append([(lines[i], *lines[i + 1].rsplit(":", 2)[:2])
                       for i in range(0, len(lines) - 1, 2)])
    return groups


def plain(name):
    """Without what the two demanglers spell differently, and without names of parts (.cold)."""
    name = re.sub(r"\{lambda\(([^{}]*)\)#\d+\}|'lambda\d*'\(([^()]*)\)", "lambda", name)
    name = re.sub(r"\s*[\[(](clone )?\.[^\])]*[\])]", "", name)
    name = re.sub(r"\.(cold|part|isra|constprop)(\.\d+)*", "", name)
    name = re.sub(r"::h[0-9a-f]{16}$|^void ", "", name)
    return re.sub(r"\s+", "", name)


def aliases(path):
    """Where a demangled name is, for names that stand for the same code."""
    out = run("nm", "-C", "--defined-only", path).splitlines()
    return {plain(line.split(None, 2)[2]): line.split()[0] for line in out}


def agree(path, *options, lines=True, names=True):
    """All frames are the judge's; returns ours."""
    asked, place = addresses(path), aliases(path)
    ours, theirs, wrong = symbolize(path, asked, *options), judge(path, asked), []
    for address, mine, other in zip(asked, ours, theirs):
        same = len(mine) == len(other)
        for frame, (function, file, line) in zip(mine, other):
            a, b = plain(frame.function), plain(function)
            same &= not names or function.startswith("_Z") or a == b or place.get(a, a) == place.get(b, b)
            # Without lines the judge names the file of the symbol table.
            same &= not lines or line == "0" or (os.path.basename(frame.file), frame.line) == (
                os.path.basename(file), line)
        if not same:
            wrong.append((hex(address), mine, other))
    assert asked
    assert not wrong, f"{len(wrong)} of {len(asked)} differ: {wrong[:3]}"
    return ours


@test
def c_frames_inlines_and_lines_are_llvm_symbolizers():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        for compiler in ("gcc", "clang"):
            need(compiler)
            for version in ("-gdwarf-4", "-gdwarf-5"):
                for level in ("-O0", "-O2"):
                    agree(build(folder, "p", "p.c", compiler, "-fuse-ld=bfd", version, level))


@test
def compressed_and_64_bit_dwarf_are_read():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        need("gcc")
        agree(build(folder, "p", "p.c", "gcc", "-g", "-O2", "-gz=zlib"))
        agree(build(folder, "p", "p.c", "gcc", "-g", "-O2", "-gdwarf64"))
        agree(build(folder, "p", "p.c", "gcc", "-g", "-O2", "-ffunction-sections", "-gz=zlib-gnu"))


@test
def large_sections_are_the_same_packed_and_not_packed():
    """This program's own, in dozens of units: more than is kept unpacked at a time."""
    need("objcopy")
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        plain_file, packed = f"{folder}/plain", f"{folder}/packed"
        run("objcopy", "--decompress-debug-sections", VESTAL, plain_file)
        run("objcopy", "--compress-debug-sections=zlib", VESTAL, packed)
        sections = run("readelf", "-SW", packed)
        assert re.search(r"\.debug_info .* C ", sections), sections
        asked = addresses(plain_file, 1500)
        # In order, and the other way round.
        for order in (asked, asked[::-1]):
            ours, theirs = symbolize(packed, order), symbolize(plain_file, order)
            assert [[vars(frame) for frame in frames] for frames in ours] == [
                [vars(frame) for frame in frames] for frames in theirs]


@test
def cpp_templates_are_llvm_symbolizers():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        for compiler in ("g++", "clang++"):
            need(compiler)
            # g++ gives no linkage names to inlined functions of unnamed namespaces
            ours = agree(build(folder, "p", "p.cc", compiler, "-g", "-O2"),
                         names=compiler == "clang++")
            assert any(frame.inlined for frames in ours for frame in frames)
        agree(build(folder, "p", "p.cc", "g++", "-g", "-O0"))


@test
def type_units_link_time_optimization_and_bare_line_tables_are_read():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        for options in (["-g", "-fdebug-types-section"], ["-gdwarf-4", "-fdebug-types-section"],
                        ["-g", "-flto"], ["-g1"],
                        ["-g", "-ffunction-sections", "-Wl,--gc-sections"]):
            agree(build(folder, "p", "p.cc", "g++", "-O2", *options), names=False)
        need("clang++")
        agree(build(folder, "p", "p.cc", "clang++", "-O2", "-gline-tables-only"))


@test
def rust_frames_are_llvm_symbolizers():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        need("rustc")
        path = build(folder, "p", "p.rs", "rustc", "-g", "-O", "-Ccodegen-units=1")
        ours = agree(path, names=False)
        names = {frame.function for frames in ours for frame in frames}
        assert "p::sum" in names and any("<p::Square as p::Shape>::area" in n for n in names), sorted(
            name for name in names if re.match("<?p::", name))
        path = build(folder, "v0", "p.rs", "rustc", "-g", "-O", "-Csymbol-mangling-version=v0")
        asked = addresses(path)
        names = {f.function for frames in symbolize(path, asked, "-s") for f in frames}
        assert "p::sum" in names or "v0::sum" in names, sorted(names)[:20]


@test
def without_debug_information_names_are_nms():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.c", "gcc", "-O2")
        agree(path, lines=False)
        frames = {f[0].function for f in symbolize(path, addresses(path)) if f}
        assert {"main", "foo", "local", "label"} <= frames, frames
        assert not {"_foo", "same_as_foo"} & frames, "the shorter of several names is taken"


@test
def stripped_programs_have_their_dynamic_symbols_and_stubs():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.c", "gcc", "-O2", "-rdynamic", "-s", "-fcf-protection")
        stubs = {int(m[1], 16): m[2] for m in re.finditer(
            r"^0*([0-9a-f]+) <(\w+@plt)>:", run("objdump", "-d", path), re.M)}
        assert stubs
        for address, frames in zip(stubs, symbolize(path, list(stubs))):
            assert [f.function for f in frames] == [stubs[address]], (frames, stubs)
        foo = int(next(line.split()[0] for line in run("nm", "-D", path).splitlines()
                       if line.endswith(" foo")), 16)
        assert [f.function for f in symbolize(path, [foo + 1])[0]] == ["foo"]
        assert symbolize(path, [0, 1, 0xffffffffffffffff]) == [[], [], []]


@test
def separate_debug_files_are_found_and_checked():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        whole = build(folder, "p", "p.c", "gcc", "-g", "-O2", "-Wl,--build-id=none")
        asked = addresses(whole)
        want = [[(f.function, f.line) for f in frames] for frames in symbolize(whole, asked)]
        run("objcopy", "--only-keep-debug", whole, whole + ".debug")
        bare = os.path.join(folder, "bare")
        run("objcopy", "--strip-all", "--add-gnu-debuglink=" + whole + ".debug", whole, bare)

        def got(*options):
            return [[(f.function, f.line) for f in frames]
                    for frames in symbolize(bare, asked, *options)]
        assert got() == want
        os.mkdir(os.path.join(folder, ".debug"))
        moved = os.path.join(folder, ".debug", "p.debug")
        os.rename(whole + ".debug", moved)
        assert got() == want
        with open(moved, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        assert got() != want, "a debug file with another checksum was taken"


@test
def debug_files_are_found_by_build_id():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        whole = build(folder, "p", "p.c", "gcc", "-g", "-O2", "-Wl,--build-id")
        asked = addresses(whole)
        want = [[(f.function, f.line) for f in frames] for frames in symbolize(whole, asked)]
        build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", whole))[1]
        directory = os.path.join(folder, "dbg/.build-id", build_id[:2])
        os.makedirs(directory)
        run("objcopy", "--only-keep-debug", whole, f"{directory}/{build_id[2:]}.debug")
        bare = os.path.join(folder, "bare")
        run("objcopy", "--strip-all", whole, bare)
        got = [[(f.function, f.line) for f in frames]
               for frames in symbolize(bare, asked, "-d", os.path.join(folder, "dbg"))]
        assert got == want
        got = [[(f.function, f.line) for f in frames]
               for frames in symbolize(bare, asked, "-R", folder, "-d", "/dbg")]
        assert got == want


@test
def debug_files_are_fetched_when_there_is_no_other():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        whole = build(folder, "p", "p.c", "gcc", "-g", "-O2", "-Wl,--build-id")
        other = build(folder, "o", "p.c", "gcc", "-g", "-O1", "-Wl,--build-id")
        asked = addresses(whole)
        want = [[repr(f) for f in frames] for frames in symbolize(whole, asked)]
        bare, cache = os.path.join(folder, "bare"), os.path.join(folder, "cache")
        run("objcopy", "--strip-all", whole, bare)
        os.mkdir(cache)

        def got(*options):
            return [[repr(f) for f in frames] for frames in symbolize(bare, asked, *options)]
        nothing = got()
        assert got("-f", whole, "-c", cache) == want
        assert got("-f", "/nowhere", "-c", cache) == want, "what was fetched is in the cache"
        assert got("-f", other) == nothing, "a file with another build id was taken"


@test
def what_several_programs_share_is_read_from_their_common_file():
    need("dwz")
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        whole = build(folder, "p", "p.cc", "g++", "-g", "-O2")
        asked = addresses(whole)
        want = [[repr(f) for f in frames] for frames in symbolize(whole, asked)]
        build(folder, "o", "p.cc", "g++", "-g", "-O1")
        run("dwz", "-m", "common", "-r", "p", "o", cwd=folder)
        got = [[repr(f) for f in frames] for frames in symbolize(whole, asked)]
        assert ".gnu_debugaltlink" in run("readelf", "-SW", whole) and got == want
        os.remove(os.path.join(folder, "common"))
        got = symbolize(whole, asked)
        assert all(got) and [[repr(f) for f in frames] for frames in got] != want


@test
def mini_debuginfo_is_unpacked():
    need("xz")
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        whole = build(folder, "p", "p.c", "gcc", "-O2")
        local = next(int(line.split()[0], 16) for line in run("nm", whole).splitlines()
                     if line.endswith(" t local"))
        mini, bare = os.path.join(folder, "mini"), os.path.join(folder, "bare")
        run("objcopy", "--only-keep-debug", whole, mini)
        run("xz", mini)
        run("objcopy", "--strip-all", whole, bare)
        assert symbolize(bare, [local]) == [[]]
        run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", bare)
        assert [f.function for f in symbolize(bare, [local])[0]] == ["local"]


@test
def static_pie_programs_are_named():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.c", "gcc", "-g", "-O2", "-static-pie")
        asked = [a for start, size, _ in functions(path) for a in (start, start + size // 2)]
        named = sum(bool(frames) for frames in symbolize(path, sorted(set(asked))))
        assert named == len(set(asked)), f"{named} of {len(set(asked))}"


def go_judge(path, asked):
    out = run("go", "tool", "addr2line", path, text="".join(f"0x{a:x}\n" for a in asked)).split("\n")
    return [(out[2 * i], out[2 * i + 1]) for i in range(len(asked))]


@test
def go_programs_are_named_as_go_names_them_stripped_or_not():
    need("go")
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.go", "go", "build")
        stripped = build(folder, "s", "p.go", "go", "build", "-ldflags=-s -w")
        asked = addresses(path)
        # The judge counts a place by its physical function, and its line by the innermost one.
        theirs, ours, bare = go_judge(path, asked), symbolize(path, asked), symbolize(stripped, asked)
        wrong = [(hex(a), f, j) for a, f, j in zip(asked, ours, theirs)
                 if j[0] != "?" and j[1] != ":-1" and (f[-1].function, f"{f[0].file}:{f[0].line}") != j]
        assert not wrong, (len(wrong), wrong[:3])
        assert [[repr(f) for f in frames] for frames in ours if frames and frames[0].line != "0"] == [
            [repr(f) for f in frames] for frames, full in zip(bare, ours)
            if full and full[0].line != "0"]
        chains = {tuple(f.function for f in frames) for frames in bare}
        assert ("main.tiny", "main.mid", "main.outer") in chains


@test
def go_pie_programs_keep_their_inlined_calls():
    need("go")
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.go", "go", "build", "-buildmode=pie")
        asked = addresses(path)
        stripped = build(folder, "s", "p.go", "go", "build", "-buildmode=pie", "-ldflags=-s -w")
        chains = {tuple(f.function for f in frames) for frames in symbolize(path, asked)}
        assert ("main.tiny", "main.mid", "main.outer") in chains
        start = next(int(line.split()[0], 16) for line in run("go", "tool", "nm", path).splitlines()
                     if line.endswith(" main.outer"))
        inside = range(start, start + 60)
        assert [[repr(f) for f in frames] for frames in symbolize(path, inside)] == [
            [repr(f) for f in frames] for frames in symbolize(stripped, inside)]


@test
def full_names_are_cppfilts():
    need("c++filt")
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.cc", "g++", "-O1")
        asked = addresses(path)
        for frames in symbolize(path, asked):
            for frame in frames:
                want = run("c++filt", "-i", frame.linkage).strip()
                assert frame.function == want, (frame.function, want)
        names = {f.function for frames in symbolize(path, asked, "-s") for f in frames}
        assert {"app::work", "app::operator<", "std::__adjust_heap"} & names == {
            "app::work", "app::operator<", "std::__adjust_heap"}, names
        assert not any("<" in name and "operator" not in name for name in names), names


@test
def cached_answers_are_the_same_and_outlive_the_debug_information():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.cc", "g++", "-g", "-O2", "-Wl,--build-id")
        asked = addresses(path)
        cache = os.path.join(folder, "cache")
        os.mkdir(cache)
        want = [[repr(f) for f in frames] for frames in symbolize(path, asked)]

        def got(asked):
            return [[repr(f) for f in frames] for frames in symbolize(path, asked, "-c", cache)]
        assert got(asked[::2]) == want[::2]
        assert got(asked[1::2]) == want[1::2]
        size = os.path.getsize(os.path.join(cache, os.listdir(cache)[0]))
        assert got(asked) == want
        assert os.path.getsize(os.path.join(cache, os.listdir(cache)[0])) == size
        for at in range(0, size, max(1, size // 40)):
            name = os.path.join(cache, os.listdir(cache)[0])
            with open(name, "r+b") as file:
                data = bytearray(file.read())
                data[at % len(data)] ^= 0x55
                file.seek(0)
                file.write(data)
            assert got(asked[:50]) == want[:50], f"byte {at} is wrong and was believed"


@test
def damaged_programs_give_fewer_names_and_no_crash():
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = build(folder, "p", "p.cc", "g++", "-g", "-O2")
        asked = addresses(path, 300)
        with open(path, "rb") as file:
            whole = file.read()
        chance = random.Random(3)
        bad = os.path.join(folder, "bad")
        for turn in range(60):
            data = bytearray(whole)
            for _ in range(chance.choice([1, 10, 1000])):
                data[chance.randrange(64, len(data))] = chance.randrange(256)
            if turn % 3 == 0:
                del data[chance.randrange(len(data)):]
            with open(bad, "wb") as file:
                file.write(data)
            done = subprocess.run([SYMBOLIZE, "-q", bad], text=True, capture_output=True,
                                  input="".join(f"{a:x}\n" for a in asked), check=False)
            assert done.returncode in (0, 1) and "Sanitizer" not in done.stderr, done.stderr[-2000:]


main()
