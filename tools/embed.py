#!/usr/bin/env python3
"""Writes a C file that holds the bytes of another file, for the build.

Usage: embed.py INPUT OUTPUT DEPFILE NAME

A missing input gives an empty array: the build goes on, the program says what it lacks.
"""
import sys


def literal(data):
    """A C string literal compiles many times faster than a list of numbers."""
    plain = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in '"\\?'}
    for begin in range(0, len(data), 4096):
        piece = data[begin:begin + 4096]
        yield '"' + "".join(plain.get(byte) or f"\\{byte:03o}" for byte in piece) + '"'


def main():
    source, target, depfile, name = sys.argv[1:]
    try:
        with open(source, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        data = b""
    text = "\n".join([
        "#include <stddef.h>",
        f"extern const unsigned char {name}[];",
        f"extern const size_t {name}_size;",
        f"const unsigned char {name}[] =",
        *(literal(data) if data else ['""']),
        ";",
        f"const size_t {name}_size = {len(data)};",
        "",
    ])
    with open(depfile, "w") as file:
        file.write(f"{target}: {source}\n")
    try:
        with open(target) as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(target, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
