"""A program that was stripped, what knows its names, and profiles of it made by hand."""
import gzip
import os
import re
import shutil
import subprocess

from support.tap import Skip, scratch

SOURCE = """\
#include <stdlib.h>

static volatile unsigned long sink;

static inline __attribute__((always_inline)) unsigned long inner(unsigned long x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 6364136223846793005ul + sink;
	return x;
}

__attribute__((noinline)) unsigned long outer(unsigned long x)
{
	sink += inner(x);
	return sink + 1;
}

__attribute__((noinline)) unsigned long other(unsigned long x)
{
	sink ^= x;
	return sink + 2;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	for (unsigned long i = 0; i < n; i++)
		sink += outer(i) + other(i);
	return 0;
}
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Program:
    """`whole` has everything, `stripped` nothing but its build id, `debug` what was taken away."""

    def __init__(self, name="nameless", flags=()):
        for tool in ("gcc", "strip", "objcopy", "readelf", "nm", "addr2line"):
            if not shutil.which(tool):
                raise Skip(f"no {tool}")
        folder = os.path.join(scratch(), name)
        os.makedirs(folder, exist_ok=True)
        self.source = os.path.join(folder, "app.c")
        self.whole, self.stripped = os.path.join(folder, "app.whole"), os.path.join(folder, "app")
        self.debug = os.path.join(folder, "app.debug")
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        subprocess.run(["gcc", "-g", "-O2", "-fno-optimize-sibling-calls", "-Wl,--build-id", *flags,
                        "-o", self.whole, self.source], check=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.whole, self.debug], check=True)
        subprocess.run(["strip", "-o", self.stripped, self.whole], check=True)
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", self.whole))[1]

    def address(self, function):
        for line in output("nm", self.whole).splitlines():
            if line.split()[-1] == function:
                return int(line.split()[0], 16)
        raise AssertionError(f"no {function}")

    def range_of(self, function):
        for line in output("nm", "-S", self.whole).splitlines():
            words = line.split()
            if words[-1] == function and len(words) == 4:
                return range(int(words[0], 16), int(words[0], 16) + int(words[1], 16))
        raise AssertionError(f"no {function}")

    def truth(self, address):
        """[(function, line)] as addr2line has it, innermost first."""
        lines = output("addr2line", "-ife", self.whole, hex(address)).splitlines()
        return [(name, int(re.search(r":(\d+|\?)", place)[1].replace("?", "0")))
                for name, place in zip(lines[::2], lines[1::2])]

    def code(self):
        """(offset, address, size in the file) of the segment that has the code."""
        for line in output("readelf", "-lW", self.whole).splitlines():
            words = line.split()
            if words and words[0] == "LOAD" and "E" in words[6:-1]:
                return int(words[1], 16), int(words[2], 16), int(words[4], 16)
        raise AssertionError("no code")


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(program, stacks, mapping, time_ns):
    """A CPU profile without names: stacks are (addresses, leaf first; nanoseconds)."""
    start, limit, offset = mapping
    texts = ["", "cpu", "nanoseconds", os.path.basename(program.stripped), program.build_id]
    addresses = sorted({a for stack, _ in stacks for a in stack})
    out = field(1, field(1, 1) + field(2, 2))
    for stack, value in stacks:
        out += field(2, field(1, b"".join(varint(addresses.index(a) + 1) for a in stack)) +
                     field(2, varint(value)))
    out += field(3, field(1, 1) + field(2, start) + field(3, limit) + field(4, offset) +
                 field(5, 3) + field(6, 4))
    for i, address in enumerate(addresses):
        out += field(4, field(1, i + 1) + field(2, 1) + field(3, address))
    for text in texts:
        out += field(6, text.encode())
    # It ended just now: what lies ahead would be in no range that ends now.
    out += field(9, time_ns - 10 ** 9) + field(10, 10 ** 9) + field(11, field(1, 1) + field(2, 2)) + field(12, 1)
    return gzip.compress(out)
