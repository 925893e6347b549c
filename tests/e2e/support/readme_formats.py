#!/usr/bin/env python3
"""The table of formats of README.md, from what the program says of itself.

Usage: support/readme_formats.py VESTAL README      puts the current table into README
"""
import re
import subprocess
import sys

HEAD = "| format | read | write | names | |\n|---|---|---|---|---|\n"


def table(vestal):
    out = subprocess.run([vestal, "help", "formats"], capture_output=True, text=True,
                         check=True).stdout
    rows = []
    for line in out.splitlines()[2:]:
        name, read, write, suffixes, title = re.split(r" {2,}", line.strip(), maxsplit=4)
        names = " ".join("." + suffix for suffix in suffixes.split())
        rows.append(f"| `{name}` | {read.replace('no', '')} | {write.replace('no', '')} | {names} "
                    f"| {title} |")
    return HEAD + "\n".join(rows) + "\n"


def in_readme(text):
    """The table as it stands, with its place."""
    return re.search(re.escape(HEAD) + r"(\|.*\n)+", text)


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        content = file.read()
    found = in_readme(content)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(content[:found.start()] + table(sys.argv[1]) + content[found.end():])
