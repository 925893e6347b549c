#!/usr/bin/env python3
"""Writes a C file that holds the files of a folder, compressed, for the build.

Usage: embed_tree.py FOLDER OUTPUT DEPFILE

The table is struct web_asset of src/server/web_files.h. A folder without index.html gives an empty
one: the build goes on, and the program serves its plain page.
"""
import gzip
import hashlib
import os
import sys

from embed import literal

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".wasm": "application/wasm",
    ".txt": "text/plain; charset=utf-8",
}


def text(value):
    return "".join(literal(value.encode()))


def find(folder):
    """Paths below the folder, in an order that does not change; nothing without a page."""
    if not os.path.isfile(os.path.join(folder, "index.html")):
        return []
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(place, name), folder)
            if os.path.splitext(name)[1] in TYPES:
                found.append(path)
            elif not name.endswith(".map"):
                sys.exit(f"{path}: what kind of file is this? embed_tree.py knows {' '.join(TYPES)}")
    return sorted(found)


def row(folder, path):
    with open(os.path.join(folder, path), "rb") as file:
        plain = file.read()
    packed = gzip.compress(plain, 9, mtime=0)
    if len(packed) >= len(plain):
        packed = None
    data = plain if packed is None else packed
    kind = TYPES[os.path.splitext(path)[1]]
    tag = hashlib.sha256(plain).hexdigest()[:16]
    return [f"\t{{{text('/' + path)}, {text(kind)}, {text(tag)}, (const unsigned char *)", *literal(data),
            f"\t, {len(data)}, {len(plain)}, {'false' if packed is None else 'true'}}},"]


def main():
    folder, target, depfile = sys.argv[1:]
    files = find(folder)
    lines = ['#include "server/web_files.h"', "", "const struct web_asset web_assets[] = {"]
    for path in files:
        lines += row(folder, path)
    lines += ["\t{0},", "};", f"const size_t web_asset_count = {len(files)};", ""]
    result = "\n".join(lines)
    with open(depfile, "w", encoding="utf-8") as file:
        seen = [os.path.join(folder, path) for path in files] or [os.path.join(folder, "index.html")]
        file.write(f"{target}: {' '.join(path.replace(' ', chr(92) + ' ') for path in seen)}\n")
    try:
        with open(target, encoding="utf-8") as file:
            if file.read() == result:
                return
    except FileNotFoundError:
        pass
    with open(target, "w", encoding="utf-8") as file:
        file.write(result)


if __name__ == "__main__":
    main()
