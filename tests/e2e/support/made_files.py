"""Profile files with known content: make(rng) returns a name, the bytes, and the content in the form
of support/profile_files.py: [(type, unit, {stack from the root: value})].
"""
import collections
import json

from support import otlp_writer
from support.pprof_writer import write_pprof

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
TIME = 1_790_000_000 * 10**9
NAMES = ["main", "work", "operator()(int) const", "std::map<int, long>::find", "idle loop", "lambda$1",
         "#7", "12", "[unknown]", "änder", "a:b", "(deleted)", "x y", "-"]
TYPES = [("cpu", "nanoseconds"), ("samples", "count"), ("wall", "microseconds"), ("delay", "milliseconds"),
         ("alloc_space", "bytes"), ("alloc_objects", "count"), ("seconds", "seconds")]


def make_rows(rng, most=1 << 20):
    rows = collections.Counter()
    for _ in range(rng.randrange(1, 12)):
        stack = tuple(rng.choices(NAMES, k=rng.randrange(1, 9)))
        rows[stack] += rng.choice([rng.randrange(1, 10), rng.randrange(1, most)])
    return rows


def make_pprof(rng):
    types = rng.sample(TYPES, rng.randrange(1, 5))
    columns = [make_rows(rng) for _ in types]
    stacks = {s: tuple(c[s] for c in columns) for s in dict.fromkeys(s for c in columns for s in c)}
    return write_pprof(stacks, types, TIME, 10**10), [(*t, c) for t, c in zip(types, columns)]


def make_otlp(rng):
    types = rng.sample([t for t in TYPES if t[0] != "samples"], rng.randrange(1, 4))
    found, profiles = [], []
    for kind, unit in types:
        rows = make_rows(rng)
        found.append((kind, unit, rows))
        profiles.append(otlp_writer.Profile(
            kind, unit, [(s[::-1], rng.choice([(), (("zone", "a"),)]), [v], []) for s, v in rows.items()],
            TIME, 10**10, 1000))
    scopes = [("s%d" % i, [p]) for i, p in enumerate(profiles)]
    layout = rng.choice(otlp_writer.LAYOUTS)
    write = rng.choice([otlp_writer.write_json, otlp_writer.write_protobuf])
    return write(rng, [([("service.name", "x")], scopes)], layout), found


def make_folded(rng):
    rows = make_rows(rng)
    lines = [f"{';'.join(s)} {part}" for s, n in rows.items() for part in ([n] if n < 3 else [1, n - 1])]
    rng.shuffle(lines)
    return ("x 0\n" + "\n".join(lines) + "\n").encode(), [("samples", "count", rows)]


# Weights in quarters: sums of them are exact, and whole numbers of the next unit below are made of them.
def sampled(rng, unit, quarters):
    rows = make_rows(rng, 4000)
    weights = [v * (4 if not quarters else rng.choice([1, 2, 3, 4])) / 4 for v in rows.values()]
    out = {"type": "sampled", "name": "p", "unit": unit, "startValue": 0, "endValue": sum(weights),
           "samples": [[NAMES.index(n) for n in s] for s in rows], "weights": weights}
    return out, dict(zip(rows, weights))


def evented(rng, unit, quarters):
    """Frames are opened and closed at random; the time between two events is the stack's."""
    events, stack, at, rows = [], [], 0, collections.Counter()
    for _ in range(rng.randrange(2, 60)):
        step = rng.randrange(0, 50) / (4 if quarters else 1)
        if stack:
            rows[tuple(stack)] += step
            at += step
        if stack and rng.random() < 0.45:
            events.append({"type": "C", "frame": NAMES.index(stack.pop()), "at": at})
        else:
            stack.append(rng.choice(NAMES))
            events.append({"type": "O", "frame": NAMES.index(stack[-1]), "at": at})
    while stack:
        events.append({"type": "C", "frame": NAMES.index(stack.pop()), "at": at})
    return {"type": "evented", "name": "p", "unit": unit, "startValue": 0, "endValue": at,
            "events": events}, rows


def make_speedscope(rng):
    unit = rng.choice(["none", "bytes", "nanoseconds", "microseconds", "milliseconds", "seconds"])
    quarters = unit in ("microseconds", "milliseconds", "seconds") and rng.random() < 0.5
    total, profiles = collections.Counter(), []
    for _ in range(rng.randrange(1, 4)):
        one, rows = rng.choice([sampled, evented])(rng, unit, quarters)
        profiles.append(one)
        total.update(rows)
    # In nanoseconds, where times are whole.
    factor = {"microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9}.get(unit, 1)
    rows = collections.Counter({s: int(v * factor) for s, v in total.items()})
    shown = unit if unit in ("bytes", "none") else "nanoseconds"
    return json.dumps({"$schema": SCHEMA, "shared": {"frames": [{"name": n} for n in NAMES]},
                       "profiles": profiles}).encode(), [("", shown, rows)]


MAKERS = {"pprof.pb": make_pprof, "otlp": make_otlp, "folded.txt": make_folded,
          "speedscope.json": make_speedscope}


def make(rng):
    name = rng.choice(list(MAKERS))
    return (name, *MAKERS[name](rng))
