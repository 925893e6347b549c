#!/usr/bin/env python3
"""/api/v1/view of several files, with any formats, types, units and times, in any order: every type is
present with all its values, and the files are listed by time.
"""
import collections
import json
import os
import random

from support import otlp_writer
from support.api_server import Server
from support.pprof_writer import write_pprof
from support.tap import main, test
from support.vft import vft

SEED = int(os.environ.get("SEED", "20261119"))
ROUNDS = int(os.environ.get("VIEW_ROUNDS", "60"))
NOW = 1_790_000_000 * 10**9
NAMES = ["main", "work", "inner", "idle", "read", "x y"]
TYPES = [("cpu", "nanoseconds", 1), ("samples", "count", 1), ("wall", "microseconds", 1000),
         ("alloc_space", "bytes", 1), ("alloc_objects", "count", 1), ("delay", "milliseconds", 10**6)]


def stacks_of(rng, columns):
    return {tuple(rng.choices(NAMES, k=rng.randrange(1, 5))):
            tuple(rng.randrange(1, 1000) for _ in range(columns)) for _ in range(rng.randrange(1, 6))}


def make_pprof(rng, time):
    types = rng.sample(TYPES, rng.randrange(1, 4))
    stacks = stacks_of(rng, len(types))
    return (write_pprof(stacks, [t[:2] for t in types], time, 10**10),
            [(kind, unit, {s: v[i] for s, v in stacks.items()}) for i, (kind, unit, _) in enumerate(types)])


def make_otlp(rng, time):
    types, resources = rng.sample([t for t in TYPES if t[0] != "samples"], rng.randrange(1, 4)), []
    found = []
    for kind, unit, _ in types:
        rows = {s: v[0] for s, v in stacks_of(rng, 1).items()}
        found.append((kind, unit, rows))
        p = otlp_writer.Profile(kind, unit, [(s[::-1], (), [v], []) for s, v in rows.items()], time,
                                10**10, 10_000_000)
        resources.append(([("service.name", "shop")], [("scope", [p])]))
    write = rng.choice([otlp_writer.write_json, otlp_writer.write_protobuf])
    return write(rng, resources, "1.10"), found


def make_folded(rng, time):
    rows = {s: v[0] for s, v in stacks_of(rng, 1).items()}
    return "".join(f"{';'.join(s)} {n}\n" for s, n in rows.items()).encode(), [("samples", "count", rows)]


def make_speedscope(rng, time):
    unit = rng.choice(["nanoseconds", "milliseconds", "bytes", "none"])
    rows = {s: v[0] for s, v in stacks_of(rng, 1).items()}
    shown = {"nanoseconds": ("wall", "nanoseconds"), "milliseconds": ("wall", "milliseconds"),
             "bytes": ("space", "bytes"), "none": ("samples", "count")}[unit]
    return json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": n} for n in NAMES]},
        "profiles": [{"type": "sampled", "name": "t", "unit": unit, "startValue": 0,
                      "endValue": sum(rows.values()), "samples": [[NAMES.index(n) for n in s] for s in rows],
                      "weights": list(rows.values())}]}).encode(), [(*shown, rows)]


MAKERS = [make_pprof, make_pprof, make_otlp, make_folded, make_speedscope]


def form(files):
    edge, out = "edge-of-the-parts", b""
    for name, data in files:
        out += (f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
                ).encode() + data + b"\r\n"
    return out + f"--{edge}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={edge}"}


FACTORS = {"nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6}


def own_values(rows, factor):
    own = collections.Counter()
    for stack, value in rows.items():
        own[stack[-1]] += value * factor
    return own


def check_round(server, rng, number):
    files, wanted, times = [], collections.defaultdict(collections.Counter), {}
    for n in range(rng.randrange(1, 6)):
        time = NOW + rng.randrange(3600) * 10**9
        make = rng.choice(MAKERS)
        data, found = make(rng, time)
        files.append((f"file{n}", data))
        # Neither text nor speedscope know a time: they come last, as they came.
        times[f"file{n}"] = time if make in (make_pprof, make_otlp) else None
        for kind, unit, rows in found:
            wanted[kind].update(own_values(rows, FACTORS.get(unit, 1)))
    body, headers = form(files)
    title = f"SEED={SEED} round {number}"
    meta, _, functions = vft(server, "/api/v1/view", "POST", body, headers)
    types = {t["name"]: (i, FACTORS.get(t["unit"], 1)) for i, t in enumerate(meta["types"])}
    assert len(types) == len(meta["types"]) and types.keys() == wanted.keys(), f"{title}: {meta['types']}"
    for kind, own in wanted.items():
        column, factor = types[kind]
        shown = {name: f["self"][column] * factor for name, f in functions.items() if f["self"][column]}
        assert shown == dict(own), f"{title}: {kind} {shown}, sent were {own}"
        total = meta["answer"]["amounts"][column]["total"] * factor
        assert total == sum(own.values()), f"{title}: the amount of {kind} is {total}, sent were {own}"
    order = sorted(times, key=lambda n: (times[n] is None, times[n] or 0))
    listed = [(f["name"], int(f.get("time_ns", 0))) for f in meta["answer"]["files"]]
    assert listed == [(n, times[n] or 0) for n in order], f"{title}: {listed}, by time {order}"


@test
def every_type_of_every_file_is_there_in_order_of_time():
    rng = random.Random(SEED)
    with Server() as server:
        for number in range(ROUNDS):
            check_round(server, rng, number)


if __name__ == "__main__":
    main()
