#!/usr/bin/env python3
"""Seeds of the targets unwind and proc_maps: small libraries compiled here, Go's table by hand.
Usage: make_unwind_corpus.py  (writes below corpus/)"""
import os
import struct
import subprocess
import tempfile

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
PROGRAM = """
int other(void *);
int leaf(int x) { return x * 3; }
int plain(int x) { int a[20]; return other(a) + other(a + x); }
int sized(int x) { char *a = __builtin_alloca(x); return other(a) + other(a); }
int realigned(int x) { int a[x] __attribute__((aligned(64))); int b[8] __attribute__((aligned(64)));
\treturn other(a) + other(b); }
__attribute__((noreturn)) void last(void) { for (;;) other(0); }
"""
WAYS = {"plain": "-O2", "frame_pointers": "-O2 -fno-omit-frame-pointer", "unoptimised": "-O0 -fcf-protection",
        "debug_frame": "-O2 -g1 -fno-asynchronous-unwind-tables -fno-unwind-tables"}
MAPS = """55d0a0000000-55d0a0001000 r--p 00000000 fe:01 1234                       /usr/bin/x
55d0a0001000-55d0a0002000 r-xp 00001000 fe:01 1234                       /usr/bin/x
7f0000000000-7f0000001000 r-xp 00000000 00:05 77                         /memfd:a b (deleted)
7f0000002000-7f0000003000 rwxp 00000000 00:00 0
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""


def put(target, name, data):
    os.makedirs(f"{CORPUS}/{target}", exist_ok=True)
    with open(f"{CORPUS}/{target}/{name}", "wb") as file:
        file.write(data)


def compiled():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/p.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for name, flags in WAYS.items():
            out = f"{folder}/{name}"
            subprocess.run(["gcc", *flags.split(), "-shared", "-fPIC", "-nostdlib",
                            "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=512", f"{folder}/p.c",
                            "-o", out], check=True)
            if name != "debug_frame":
                subprocess.run(["strip", out], check=True)
            with open(out, "rb") as file:
                put("unwind", name, file.read())


def go(magic, wide):
    text, head = 0x401000, 64 if wide else 72
    functab = head + 32
    table = struct.pack("<IHBBQQ", magic, 0, 1, 8, 2, 0) + (b"" if wide else struct.pack("<Q", text))
    table += struct.pack("<QQQQQ", 0, 0, 0, head, functab)
    table += b"\x00\x02\x10\x30\xe8\x01\x2f\x08\x00".ljust(32, b"\0")
    functions = functab + (40 if wide else 20)
    for i in range(3):
        table += struct.pack("<Q" if wide else "<I", (text if wide else 0) + 256 * i)
        if i < 2:
            table += struct.pack("<Q" if wide else "<I", functions - functab + 48 * i)
    for i in range(2):
        record = bytearray(48)
        struct.pack_into("<I", record, 20 if wide else 16, 1)
        record[41] = i
        table += bytes(record)
    names = b"\0.gopclntab\0"
    sections = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    sections += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0x500000, 64, len(table), 0, 0, 0, 0)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64 + len(table), len(names), 0, 0, 0, 0)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, text, 0, 64 + len(table) + len(names), 0, 64, 56, 0, 64, 3, 2)
    return header + table + names + sections


compiled()
put("unwind", "go1_20", go(0xfffffff1, False))
put("unwind", "go1_18", go(0xfffffff0, False))
put("unwind", "go1_16", go(0xfffffffa, True))
put("proc_maps", "all_kinds", MAPS.encode())
