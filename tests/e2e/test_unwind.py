#!/usr/bin/env python3
"""Unwinding tables of real libraries, row by row against `readelf --debug-dump=frames-interp`.

    VESTAL=build/vestal tests/e2e/test_unwind.py
    tests/e2e/test_unwind.py --judge FILE...
"""
import glob
import os
import re
import shutil
import subprocess
import sys

BUILD = os.path.dirname(os.path.abspath(os.environ.get("VESTAL", "build/vestal")))
DUMP = os.environ.get("DUMP_UNWIND", os.path.join(BUILD, "tests", "dump_unwind"))
REGISTERS = {f"r{n}": f"r{n}" for n in range(8, 16)}
REGISTERS.update(rax="r0", rdx="r1", rcx="r2", rbx="r3", rsi="r4", rdi="r5", rbp="r6", rsp="r7")


def judge_rows(path):
    """{address: (cfa, rbp)} of every row of every FDE, as readelf reads them; and the entry."""
    env = dict(os.environ, LC_ALL="C")
    text = subprocess.run(["readelf", "-W", "--debug-dump=frames-interp", path], env=env,
                          capture_output=True, text=True, errors="replace", check=False).stdout
    head = subprocess.run(["readelf", "-Wh", path], env=env, capture_output=True, text=True,
                          check=True).stdout
    entry = int(re.search(r"Entry point address:\s+(\S+)", head)[1], 16)
    rows, columns, fde = {}, [], None
    starts = set()
    for line in text.splitlines():
        match = re.match(r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ (FDE|CIE)(.*)", line)
        if match:
            fde = None
            if match[1] == "FDE":
                span = re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", match[2])
                fde = (int(span[1], 16), int(span[2], 16))
                # Of two entries for one address the table keeps the first by address.
                if fde[0] in starts or fde[0] == 0 or fde[0] <= entry < fde[1]:
                    fde = None
                else:
                    starts.add(fde[0])
            continue
        parts = line.split()
        if parts[:2] == ["LOC", "CFA"]:
            columns = parts
        elif fde and len(parts) == len(columns) and re.fullmatch(r"[0-9a-f]{16}", parts[0]):
            row = dict(zip(columns, parts))
            address = int(parts[0], 16)
            if fde[0] <= address < fde[1]:
                rows[address] = (row["CFA"], row.get("rbp", "u"), row["ra"])
    return rows


def expected(cfa, rbp, ra):
    """In dump_unwind's words; None where readelf does not say enough (expressions)."""
    if ra == "u":
        return "end u"
    if "exp" in (cfa, rbp) or ra != "c-8":
        return None
    match = re.fullmatch(r"(\w+?)([+-]\d+)", cfa)
    register, offset = match[1], int(match[2])
    saved = 0 if rbp in ("u", "s") else int(rbp[1:]) if rbp.startswith("c") else None
    if saved is None:
        return None
    short = (register in ("rsp", "rbp") and 0 <= offset <= 4088 and offset % 8 == 0 and
             -248 <= saved <= 0 and saved % 8 == 0)
    place = f"{register}+{offset}" if short else f"{REGISTERS[register]}{offset:+d}"
    return f"{place} {'u' if not saved else f'c{saved:+d}'}"


def compare(path):
    rows = judge_rows(path)
    addresses = sorted(rows)
    text = "".join(f"{address:x}\n" for address in addresses)
    out = subprocess.run([DUMP, path], input=text, capture_output=True, text=True, check=True).stdout
    wrong, compared = [], 0
    for address, line in zip(addresses, out.splitlines()):
        want = expected(*rows[address])
        got = line.split(" ", 1)[1]
        if want is None or got.startswith("signal"):
            continue
        compared += 1
        if got != want:
            wrong.append(f"{address:x}: {got}, readelf says {want}")
    return len(rows), compared, wrong


def files():
    """The loader, libc, libraries of other compilers, this very program."""
    names = ["/lib64/ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libstdc++.so.6",
             "libcrypto.so.3", "libpython3*.so.1.0"]
    for name in names:
        yield from sorted(glob.glob(name if name[0] == "/" else f"/usr/lib/x86_64-linux-gnu/{name}"))
    yield os.path.join(BUILD, "vestal")


def main():
    if sys.argv[1:2] == ["--judge"]:
        for path in sys.argv[2:]:
            total, compared, wrong = compare(path)
            print(path, total, "rows,", compared, "compared,", len(wrong), "differ", *wrong[:10],
                  sep="\n  ")
        return 0
    if not shutil.which("readelf"):
        print("1..0 # SKIP no readelf (binutils)")
        return 0
    failures = count = 0
    for path in files():
        count += 1
        total, compared, wrong = compare(path)
        good = compared > 0.98 * total and not wrong
        failures += not good
        print(f"{'' if good else 'not '}ok {count} - rows_of_{os.path.basename(path)}_are_readelfs")
        if not good:
            print(f"# {total} rows, {compared} compared, {len(wrong)} differ", *wrong[:10],
                  sep="\n# ")
    print(f"1..{count}")
    return 1 if failures else 0


sys.exit(main())
