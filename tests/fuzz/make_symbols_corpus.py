#!/usr/bin/env python3
"""Seeds of the targets elf, dwarf, pclntab, perf_map, jitdump and demangle: small programs compiled
here, and tables made by hand. Usage: make_symbols_corpus.py  (writes below corpus/)"""
import os
import struct
import subprocess
import tempfile

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
SECTIONS = "info abbrev line str line_str ranges rnglists addr str_offsets".split()
PROGRAM = """
int puts(const char *);
static inline __attribute__((always_inline)) int twice(int x) { return puts("x") + x; }
static inline __attribute__((always_inline)) int mix(int x) { int a = twice(x); return a ^ twice(a); }
int foo(int x) { int s = 0; for (int i = 0; i < x; i++) s += mix(i); return s; }
__attribute__((cold)) void rare(void) { __builtin_abort(); }
int bar(int x) { if (x == 77) rare(); return foo(x) + mix(x); }
"""


def put(target, name, data):
    os.makedirs(f"{CORPUS}/{target}", exist_ok=True)
    with open(f"{CORPUS}/{target}/{name}", "wb") as file:
        file.write(data)


def compiled():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/p.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for name, command in {
                "gcc5": "gcc -g -O2 -gdwarf-5", "gcc4": "gcc -g -O2 -gdwarf-4",
                "gcc3": "gcc -g -O2 -gdwarf-3 -gstrict-dwarf", "clang5": "clang -g -O2 -gdwarf-5",
                "clang4": "clang -g -O1 -gdwarf-4", "gcc64": "gcc -g -O1 -gdwarf64",
                "gz": "gcc -g -O2 -gz=zlib", "bare": "gcc -O2"}.items():
            out = f"{folder}/{name}"
            subprocess.run([*command.split(), "-shared", "-fPIC", "-nostdlib", "-Wl,--build-id=none",
                            "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=512",
                            f"{folder}/p.c", "-o", out], check=True)
            with open(out, "rb") as file:
                put("elf", name, file.read())
            if name in ("gz", "bare"):
                continue
            parts = []
            for section in SECTIONS:
                subprocess.run(["objcopy", "-O", "binary", "--only-section=.debug_" + section,
                                "--set-section-flags", f".debug_{section}=alloc", out,
                                f"{folder}/part"], check=True, stderr=subprocess.DEVNULL)
                with open(f"{folder}/part", "rb") as file:
                    parts.append(file.read())
            put("dwarf", name, struct.pack("<9H", *map(len, parts)) + b"".join(parts))


def uleb(value):
    out = bytearray()
    while True:
        out.append(value & 0x7f | (0x80 if value > 0x7f else 0))
        value >>= 7
        if not value:
            return bytes(out)


def program(*steps):
    """(value, distance) pairs as Go writes them."""
    out, last = b"", -1
    for value, distance in steps:
        change = value - last
        out += uleb(change << 1 if change >= 0 else (~change << 1) | 1) + uleb(distance)
        last = value
    return out + b"\0"


def go_table(magic):
    names = b"\0main.main\0main.tiny\0"
    units = struct.pack("<2I", 0, 8)
    files = b"/a/m.go\0/a/n.go\0"
    programs = b"\0"
    at = []
    for steps in (((0, 100), (1, 50)), ((10, 20), (12, 130)), ((-1, 40), (0, 30), (-1, 80))):
        at.append(len(programs))
        programs += program(*steps)
    lines = struct.pack("<i", 9) if magic == 0xfffffff1 else b""
    function = struct.pack("<IiiIIIIII", 0, 1, 0, 0, 0, at[0], at[1], 3, 0) + lines + bytes(
        [0, 0, 0, 4]) + struct.pack("<3I", 0, 0, at[2]) + struct.pack("<4I", 0, 0, 0, 0)
    functions = struct.pack("<5I", 0, 20, 150, 20, 150) + function
    offsets, body = [], b""
    for part in (names, units, files, programs, functions):
        offsets.append(72 + len(body))
        body += part + b"\0" * (-len(part) % 8)
    calls = 72 + len(body)
    body += struct.pack("<iiii", 0, 11, 5, 3) + struct.pack("<i", 0)
    head = struct.pack("<IBBBB8Q", magic, 0, 0, 1, 8, 1, 2, 0, *offsets)
    return struct.pack("<II", 0x400000, 0x1000 + calls) + head + body


def jitdump():
    out = struct.pack("<6I2Q", 0x4a695444, 1, 40, 62, 0, 1, 0, 0)
    lines = struct.pack("<2Q", 0x7000, 2) + struct.pack("<QII", 0x7000, 10, 0) + b"f.jl\0" + \
        struct.pack("<QII", 0x7010, 12, 0) + b"\xff\0"
    out += struct.pack("<IIQ", 2, 16 + len(lines), 1) + lines
    for address, name in ((0x7000, b"julia_f\0"), (0x8000, b"g\0")):
        load = struct.pack("<II4Q", 1, 1, address, address, 32, 1) + name + bytes(32)
        out += struct.pack("<IIQ", 0, 16 + len(load), 1) + load
    move = struct.pack("<II5Q", 1, 1, 0x9000, 0x7000, 0x9000, 32, 1)
    return out + struct.pack("<IIQ", 1, 16 + len(move), 1) + move + struct.pack("<IIQ", 3, 16, 1)


def main():
    compiled()
    for magic in (0xfffffff0, 0xfffffff1):
        put("pclntab", f"{magic:x}", go_table(magic))
    put("jitdump", "small", jitdump())
    put("perf_map", "node", b"2c5a0 5c LazyCompile:~f /a/b.js:1:2\n2c5a0 10 again\n0x10 0x20 x y\n"
        b"1000 100 outer\n1010 10 inner\n1008 20 both\nzz 1 bad\nffffffffffffffff 5 wraps\n")
    for number, name in enumerate((
            "_ZN3app4workERKSt6vectorIiSaIiEE", "_ZZ4mainENKUliiE_clEii", "_RNvC7mycrate3foo",
            "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "_RINvC7mycrate3foolE",
            "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "_Z3foov.cold",
            "_RNvMs_NtNtC3std2io5stdioNtB4_6Stdout4lock", "app::f<int>(int)::{lambda(int)#1}",
            "<T as core::fmt::Debug>::fmt", "a::operator<<<int>(b<c>)", "_Z1fDpT_IJiEE")):
        put("demangle", str(number), name.encode())


main()
