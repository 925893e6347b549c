#!/usr/bin/env python3
"""How /ingest converts the values of text, trees and speedscope files, for each format, unit, service
name and sample rate, against a table in this test. Counts are scaled by the sample rate only if the
name denotes a timer; a file with a unit is converted by that unit, and refused under a name that
contradicts it.
"""
import json
import time
import urllib.parse

from support.server import Server
from support.tap import main, test

NOW = (time.time_ns() // 10**9 - 60) * 10**9
# Stack and value of the file, whatever its format.
ROWS = {("main", "work", "inner"): 7, ("main", "work"): 5, ("main", "other"): 30, ("x",): 1}
TOTAL = sum(ROWS.values())

# The name's last part: what its numbers are, and the unit of times.
NAMES = {None: "timer", "cpu": "timer", "itimer": "timer", "wall": "timer", "seconds": 10**9,
         "milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1, "mutex_duration": 1,
         "block_duration": 1, "lock_duration": 1, "inuse_objects": "count", "alloc_objects": "count",
         "live": "count", "alloc_in_new_tlab_objects": "count", "alloc_outside_tlab_objects": "count",
         "goroutines": "count", "mutex_count": "count", "block_count": "count", "lock_count": "count",
         "exceptions": "count", "inuse_space": "bytes", "alloc_space": "bytes", "bytes": "bytes",
         "alloc_in_new_tlab_bytes": "bytes", "alloc_outside_tlab_bytes": "bytes"}
UNITS = {"none": None, "bytes": "bytes", "nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6,
         "seconds": 10**9}
RATES = (None, 100, 97, 1000, 0, 3_000_000_000)


def groups():
    return "".join("%s %d\n" % (";".join(stack), n) for stack, n in ROWS.items()).encode()


def lines():
    return "".join((";".join(stack) + "\n") * n for stack, n in ROWS.items()).encode()


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def tree():
    """Pyroscope's: name, own value and children of each node, from a root without a name."""
    def node(path):
        children = sorted({s[:len(path) + 1] for s in ROWS if s[:len(path)] == path and len(s) > len(path)})
        name = path[-1].encode() if path else b""
        return varint(len(name)) + name + varint(ROWS.get(path, 0)) + varint(len(children)) + \
            b"".join(node(c) for c in children)
    return node(())


def trie():
    """The same, where a name is any part of the text of a stack."""
    def node(prefix, keys):
        own = sum(n for key, n in keys if key == prefix)
        rest = [(key, n) for key, n in keys if key != prefix]
        firsts = sorted({key[len(prefix)] for key, _ in rest})
        out = b""
        for c in firsts:
            under = [(k, n) for k, n in rest if k[len(prefix)] == c]
            end = len(prefix) + 1
            while all(len(k) > end and k[end] == under[0][0][end] for k, _ in under):
                end += 1
            word = under[0][0][:end]
            out += varint(end - len(prefix)) + word[len(prefix):].encode() + node(word, under)
        return varint(own) + varint(len(firsts)) + out
    return varint(0) + node("", [(";".join(stack), n) for stack, n in ROWS.items()])


def speedscope(unit):
    frames = sorted({name for stack in ROWS for name in stack})
    return json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [{"type": "sampled", "name": "t", "unit": unit, "startValue": 0, "endValue": TOTAL,
                      "samples": [[frames.index(name) for name in stack] for stack in ROWS],
                      "weights": list(ROWS.values())}]}).encode()


FILES = [("groups", None, groups()), ("lines", None, lines()), ("tree", None, tree()),
         ("trie", None, trie())] + [("speedscope", unit, speedscope(unit)) for unit in UNITS]


def expected(name, unit, rate):
    """What a number of the file becomes as (factor, unit), or None: the name contradicts the file."""
    meant, held = NAMES[name], UNITS[unit] if unit else None
    # More than a sample each nanosecond is no rate.
    if rate and rate > 10**9:
        return None
    if held is None:
        if meant != "timer":
            return (1, meant) if isinstance(meant, str) else (meant, "nanoseconds")
        rate = 100 if rate is None else rate
        return (10**9 / rate, "nanoseconds") if rate else (1, "count")
    if held == "bytes":
        return (1, "bytes") if meant == "bytes" or name is None else None
    return (held, "nanoseconds") if meant == "timer" or isinstance(meant, int) else None


def send(server, service, form, body, rate):
    ask = {"name": service, "from": NOW // 10**9, "until": NOW // 10**9 + 10}
    if form != "groups":
        ask["format"] = form
    if rate is not None:
        ask["sampleRate"] = rate
    return server.ask("/ingest?" + urllib.parse.urlencode(ask), body)


def stored(server, service):
    """(type, total, {function: own value}) of the one type of a service."""
    found = server.call("querier.v1.QuerierService/Series", labelNames=["__profile_type__"],
                        matchers=['{service_name="%s"}' % service]).get("labelsSet", [])
    types = [s["labels"][0]["value"] for s in found]
    assert len(types) == 1, f"{service} has the types {types}"
    top = server.get("/api/v1/top", query='{service_name="%s"}' % service, type=types[0],
                     **{"from": NOW // 10**6}, until=NOW // 10**6 + 60_000)
    return types[0], top["total"], {row["name"]: row["flat"] for row in top["rows"]}


def check(server, number, name, form, unit, body, rate):
    app = "app%d" % number
    status, reply = send(server, app + (f".{name}" if name else ""), form, body, rate)
    want, title = expected(name, unit, rate), f"{form} of {unit} as .{name} at {rate} Hz"
    if want is None:
        assert status in (400, 422), f"{title}: {status} {reply}"
        return
    assert status == 200, f"{title}: {status} {reply}"
    factor, shown = want
    kind, total, flat = stored(server, app)
    assert kind.split(":")[2] == shown, f"{title} is stored as {kind}"
    # A rate that does not divide a second: each number is to the nearest nanosecond.
    assert abs(total - TOTAL * factor) <= len(ROWS) / 2, f"{title}: {total}, sent was {TOTAL} times {factor}"
    for stack, n in ROWS.items():
        assert abs(flat[stack[-1]] - n * factor) <= 0.5, f"{title}: {flat}"


@test
def every_format_under_every_name_at_every_rate():
    with Server() as server:
        cases = [(name, *file, rate) for name in NAMES for file in FILES for rate in RATES]
        for number, case in enumerate(cases):
            check(server, number, *case)


if __name__ == "__main__":
    main()
