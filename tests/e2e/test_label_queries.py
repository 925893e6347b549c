#!/usr/bin/env python3
"""LabelNames, LabelValues and Series of Pyroscope's querier under random selectors, against a list of the series
that were sent: every matcher of every selector counts, in each encoding that clients use (Connect's JSON and
protobuf, gRPC and gRPC-Web, both with JSON and protobuf).

    QUERIES=5000 SEED=7 tests/e2e/test_label_queries.py
"""
import base64
import json
import os
import random
import re
import struct
import subprocess
import time

from support.otlp_writer import block, number
from support.pprof_writer import write_pprof
from support.profile_files import message
from support.server import Server
from support.tap import main, scratch, test

SEED = int(os.environ.get("SEED", "20261119"))
QUERIES = int(os.environ.get("QUERIES", "240"))
QUERIER = "querier.v1.QuerierService/"
NOW = (time.time_ns() // 10**9 - 60) * 10**9
START, END = NOW // 10**6 - 3600_000, NOW // 10**6 + 3600_000
LABELS = {"env": ["prod", "dev", "stage"], "pod": ["a-1", "a-2", "b-1", "ü"], "region": ["eu", "us"]}
PROFILES = {"process_cpu": [("cpu", "nanoseconds"), ("samples", "count")],
            "memory": [("alloc_space", "bytes")], "wall": [("wall", "nanoseconds")]}
PERIOD = ("cpu", "nanoseconds")
PRIVATE = ["__name__", "__period_type__", "__period_unit__", "__profile_type__", "__service_name__",
           "__type__", "__unit__"]
# Encoding, and whether its message is JSON.
ENCODINGS = {"application/json": True, "application/proto": False, "application/grpc": False,
             "application/grpc+proto": False, "application/grpc+json": True, "application/grpc-web": False,
             "application/grpc-web+proto": False, "application/grpc-web+json": True}


def make_series(rng):
    """[(labels, name of the profile)], each once."""
    found = {}
    for _ in range(40):
        labels = {"service_name": rng.choice(["shop", "cart", "shop-web"])}
        labels |= {k: rng.choice(v) for k, v in LABELS.items() if rng.random() < 0.7}
        name = rng.choice(list(PROFILES))
        found[tuple(sorted(labels.items())), name] = (labels, name)
    return list(found.values())


def push(server, labels, name):
    raw = write_pprof({("main",): tuple(1 for _ in PROFILES[name])}, PROFILES[name], NOW, 10**10)
    pairs = [{"name": k, "value": v} for k, v in {**labels, "__name__": name}.items()]
    server.call("push.v1.PusherService/Push", series=[{
        "labels": pairs, "samples": [{"rawProfile": base64.b64encode(raw).decode()}]}])


def rows_of(series):
    """All labels of each series and type, with those that are parts of the type."""
    rows = []
    for labels, name in series:
        for kind, unit in PROFILES[name]:
            rows.append({**labels, "__name__": name, "__type__": kind, "__unit__": unit,
                         "__period_type__": PERIOD[0], "__period_unit__": PERIOD[1],
                         "__service_name__": labels["service_name"],
                         "__profile_type__": ":".join((name, kind, unit, *PERIOD))})
    return rows


def make_matcher(rng, rows):
    name = rng.choice([*LABELS, *LABELS, "service_name", "nope", "__profile_type__", "__name__", "__type__"])
    values = sorted({r.get(name, "") for r in rows} | {"none", ""})
    op = rng.choice(["=", "!=", "=~", "!~"])
    value = rng.choice(values)
    if "~" in op:
        parts = rng.sample(values, min(len(values), rng.randrange(1, 3)))
        value = rng.choice(["|".join(parts), ".+", ".*", rng.choice(values)[:2] + ".*", "[a-s].*"])
    return name, op, value


def fits(row, matcher):
    name, op, value = matcher
    has = row.get(name, "")
    same = re.fullmatch(value, has) is not None if "~" in op else has == value
    return same != op.startswith("!")


def selector_text(matchers):
    return "{" + ", ".join('%s%s"%s"' % m for m in matchers) + "}"


def framed(body):
    return struct.pack(">BI", 0, len(body)) + body


def unframed(data):
    """The first message of a stream, that is no trailer."""
    assert len(data) >= 5 and data[0] == 0, data[:80]
    return data[5:5 + struct.unpack(">I", data[1:5])[0]]


def call(server, method, encoding, body):
    """The reply's message."""
    grpc = "grpc" in encoding
    path = os.path.join(scratch(), "reply")
    command = ["curl", "-sS", "-o", path, "-w", "%{http_code}", "-H", "Content-Type: " + encoding,
               "--data-binary", "@-", f"http://{server.address}/{QUERIER}{method}"]
    if grpc and "web" not in encoding:
        command += ["--http2-prior-knowledge", "-H", "TE: trailers"]
    done = subprocess.run(command, input=framed(body) if grpc else body, capture_output=True, timeout=60,
                          check=False)
    with open(path, "rb") as file:
        data = file.read()
    assert done.stdout == b"200", f"{method} as {encoding}: {done.stdout} {done.stderr} {data}"
    return unframed(data) if grpc else data


def ask(server, method, encoding, selectors, name="", names=()):
    """LabelNames and LabelValues give a list, Series a list of labels."""
    if ENCODINGS[encoding]:
        request = {"matchers": selectors, "start": str(START), "end": END}
        request |= {"name": name} if name else {}
        request |= {"labelNames": list(names)} if names else {}
        reply = json.loads(call(server, method, encoding, json.dumps(request).encode()))
        if method != "Series":
            return reply.get("names", [])
        return [{p["name"]: p["value"] for p in s["labels"]} for s in reply.get("labelsSet", [])]
    matchers = lambda field: b"".join(block(field, s.encode()) for s in selectors)  # noqa: E731
    if method == "LabelValues":
        body = block(1, name.encode()) + matchers(2) + number(3, START) + number(4, END)
    elif method == "LabelNames":
        body = matchers(1) + number(2, START) + number(3, END)
    else:
        body = matchers(1) + b"".join(block(2, n.encode()) for n in names) + number(3, START) + number(4, END)
    reply = message(call(server, method, encoding, body))
    if method != "Series":
        return [n.decode() for n in reply[1]]
    pairs = [[message(p) for p in message(s)[1]] for s in reply[2]]
    return [{p[1][0].decode(): p[2][0].decode() for p in labels} for labels in pairs]


def expected(method, rows, name, names):
    if method == "LabelValues":
        return sorted({r[name] for r in rows if name in r})
    if method == "LabelNames":
        # Names that Prometheus would not take are for clients that ask for them; there are none here.
        return sorted({n for r in rows for n in r})
    return sorted({tuple(sorted((n, r[n]) for n in names if n in r)) for r in rows})


def check_query(server, rng, rows, number_):
    selectors = [[make_matcher(rng, rows) for _ in range(rng.randrange(1, 4))]
                 for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    method, encoding = rng.choice(["LabelNames", "LabelValues", "Series"]), rng.choice(list(ENCODINGS))
    name = rng.choice([*LABELS, "service_name", *PRIVATE, "nope"]) if method == "LabelValues" else ""
    names = rng.sample([*LABELS, "__profile_type__", "__name__"], 2) + ["service_name"] \
        if method == "Series" else ()
    found = ask(server, method, encoding, [selector_text(s) for s in selectors], name, names)
    if method == "Series":
        found = sorted(tuple(sorted(s.items())) for s in found)
    matched = [r for r in rows if all(fits(r, m) for s in selectors for m in s)]
    want = expected(method, matched, name, names)
    assert found == want, (f"SEED={SEED} query {number_}: {method} {name}{names} of {selectors} as {encoding} "
                           f"gave {found}, expected {want}")


@test
def every_matcher_counts_in_every_encoding():
    rng = random.Random(SEED)
    series = make_series(rng)
    rows = rows_of(series)
    with Server() as server:
        for labels, name in series:
            push(server, labels, name)
        for number_ in range(QUERIES):
            check_query(server, rng, rows, number_)


if __name__ == "__main__":
    main()
