#!/usr/bin/env python3
"""Labels that only some days have, services of gauges alone, midnights, the block that is still open, sums that
no double holds, ranges of a nanosecond, without data and in the future:

  - the same query has the same answer, to the last digit, once more (cached totals), after compaction and
    roll-ups, after a restart, and in memory;
  - groups and `other` add up to the total, and each is what a selection of it alone is;
  - the overview says of each service what /api/v1/top and /api/v1/change say, and lists all of them in order;
  - totals and covered time are those of the reference implementation (support/numbers_model.py).

A mismatch prints its seed; NUMBERS_SEEDS=7 runs that one, NUMBERS_SEEDS=1-50 many. NUMBERS_LONG is for
`make test-long`.
"""
import json
import os
import random
import time
import urllib.parse

from support.numbers import S
from support.numbers_model import DAY, Data, Profile, Row, Series
from support.pprof_writer import write_rows
from support.server import Server
from support.tap import main, scratch, test
from support.wait import until

LONG = os.environ.get("NUMBERS_LONG")
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
HEAP = "memory:inuse_space:bytes:space:bytes"
OBJECTS = "memory:inuse_objects:count:space:bytes"
ALLOC = "memory:alloc_space:bytes:space:bytes"
KINDS, GAUGES = (CPU, HEAP, OBJECTS, ALLOC), (HEAP, OBJECTS)
PERIODS = {kind: ("cpu", "nanoseconds", 10_000_000) if kind == CPU else ("space", "bytes", 524288) for kind in KINDS}
SERVICES = {"gauges": (HEAP, OBJECTS), "days": (CPU,), "mixed": (CPU, HEAP, ALLOC), "huge": (ALLOC,), "short": (CPU, ALLOC)}
STACKS = [("main", "work", "inner"), ("main", "work"), ("main", "idle"), ("main", "work", "work", "leaf"), ("other",)]
SELECTORS = ['{}', '{service_name="mixed"}', '{service_name="gauges"}', '{service_name="days"}', '{thread="x"}', '{zone="a"}', '{zone="",pod="p0"}',
             '{service_name="mixed",thread!="x"}', '{service_name="days",zone!=""}']
QUANTITIES = ("total", "covered_ns", "rate", "average", "coverage")


def seeds():
    """Which ones to try."""
    text = os.environ.get("NUMBERS_SEEDS") or ("1-20" if LONG else "1-3")
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


# ---------------------------------------------------------------- what is stored

class World:
    """Random series of a seed, some of which end now; in the model, and as uploads."""

    def __init__(self, seed):
        self.random = r = random.Random(seed)
        self.data, self.uploads = Data(), []
        self.end = (time.time_ns() // S - 5) * S
        self.begin = self.end - r.choice((0, 1, 2, 3, 4)) * DAY - r.randrange(1800, 6 * 3600) * S
        self.services = [s for s in SERVICES if s == "gauges" or r.random() < 0.8]
        for service in self.services:
            for kind in SERVICES[service]:
                for pod in range(r.choice((1, 1, 2, 3))):
                    self.add_series(service, kind, {"pod": f"p{pod}"})
        r.shuffle(self.uploads)

    def add_series(self, service, kind, labels):
        r, span = self.random, self.end - self.begin
        every = max(r.choice((10, 15, 60, 60, 300)) * S, span // 120 // S * S)
        length = 0 if kind in GAUGES else r.choice((every, every, every // 6, every * 3 // 2))
        if r.random() < 0.3:
            labels["zone"] = r.choice("ab")
        at, end = self.begin + r.randrange(0, every), self.end
        if service == "short":
            at += span * r.randrange(0, 80) // 100
            end = at + span // r.choice((5, 10, 50))
        labelled, part = {day for day in range(at // DAY, end // DAY + 1) if r.random() < 0.5}, r.choice((0.1, 0.5, 1))
        series = Series(service, labels, kind, kind in GAUGES)
        self.data.series.append(series)
        where = urllib.parse.urlencode([("service", service)] + [("label", f"{k}={v}") for k, v in labels.items()])
        while at < end:
            profile = Profile(at, length, [self.row(stack, service, at // DAY in labelled and r.random() < part)
                                           for stack in r.sample(STACKS, r.randrange(0 if r.random() < 0.15 else 1, 4))])
            series.profiles.append(profile)
            self.uploads.append((where, write_rows(profile.rows, kind.split(":")[1:3], at, length, PERIODS[kind], counts=kind == CPU)))
            # Distances are alike, or far apart: of nearly alike ones only the mean is kept.
            at += every * (r.choice((3, 9)) if r.random() < 0.03 else 1)

    def row(self, stack, service, labelled):
        r, labels = self.random, {}
        value = r.randrange(1, 2**53 if service == "huge" and r.random() < 0.7 else r.choice((3, 10**4, 10**9)))
        if labelled:
            labels["thread"] = r.choice("xyz")
            if r.random() < 0.3:
                labels["zone"] = r.choice("abc")
        return Row(stack, value, labels)

    def ranges(self):
        """[(from, until)]."""
        r, (begin, end) = self.random, (self.begin, self.end)
        for _ in range(3):
            a = r.randrange(begin - 3600 * S, end) // 10**6 * 10**6
            yield a, a + max(S, r.randrange(0, end - begin)) // 10**6 * 10**6
        for day in range(begin // DAY + 1, end // DAY + 1)[:2]:
            yield day * DAY - r.randrange(1, 7200) * S, day * DAY + r.randrange(1, 7200) * S
            yield day * DAY, (day + 1) * DAY
            yield day * DAY - 1, day * DAY + 1
        yield begin, end + S
        yield end - 600 * S, end + 60 * S
        # The block that is still open; a nanosecond; the future; the past; whole days.
        yield end // (600 * S) * 600 * S - S, end
        yield end - 3600 * S, end - 3600 * S + 1
        yield end + 3600 * S, end + 7200 * S
        yield begin - 10 * DAY, begin - 9 * DAY
        yield begin // DAY * DAY, (end // DAY + 1) * DAY


def fill(server, uploads):
    for where, body in uploads:
        status, reply = server.ask(f"/api/v1/profiles?{where}", body)
        assert status == 200, (where, reply)


def questions(world):
    """[(path, parameters)], the same at every time."""
    r, out = world.random, []
    for a, b in world.ranges():
        window = {"from": a, "until": b}
        out += [("/api/v1/overview", window), ("/api/v1/overview", {**window, "points": 12, "limit": 2})]
        for kind in r.sample(KINDS, 2):
            selector = r.choice(SELECTORS)
            one, step = {**window, "query": selector, "type": kind}, f"{max(1, (b - a) // S // r.choice((7, 60, 200)))}s"
            out += [("/api/v1/top", {**one, "limit": 1000}), ("/api/v1/tree", one), ("/api/v1/series", {**one, "step": step})]
            for by in ("pod", "thread", "zone", "service_name", "thread,pod"):
                out.append(("/api/v1/series", {**one, "step": step, "by": by, "limit": r.choice((0, 1, 2))}))
            if kind not in GAUGES:
                out.append(("/api/v1/heatmap", {**one, "column": f"{max((b - a) // 50 // 10**6, 10)}ms", "row": "100ms"}))
            out.append(("/api/v1/function", {**one, "name": r.choice(("main", "work", "leaf", "none")), "step": step}))
            sides = {"baseline": selector, "comparison": selector, "type": kind, "baseline_from": a - (b - a), "baseline_until": a,
                     "comparison_from": a, "comparison_until": b}
            out += [("/api/v1/diff", {**sides, "limit": 1000}), ("/api/v1/change", sides),
                    ("/pyroscope/render", {"query": kind + selector, **window})]
    return out


# ---------------------------------------------------------------- the same at every time

def ask_all(server, queries):
    """What a server answers, without what it read for it."""
    out = []
    for path, parameters in queries:
        status, body = server.ask(f"{path}?{urllib.parse.urlencode(parameters)}")
        answer = json.loads(body)
        answer.pop("read", None)
        out.append((status, answer))
    return out


def difference(a, b, where=""):
    """Where two answers differ, or None."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return next(filter(None, (difference(a[k], b[k], f"{where}.{k}") for k in a)), None)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        return next(filter(None, (difference(x, y, f"{where}[{i}]") for i, (x, y) in enumerate(zip(a, b)))), None)
    return None if a == b else f"{where}: {str(a)[:200]}, and then {str(b)[:200]}"


# ---------------------------------------------------------------- what must hold of answers

class Check:
    """Compares the answers of a server with each other and with the model."""

    def __init__(self, server, world):
        self.server, self.world, self.wrong = server, world, []

    def same(self, what, got, wanted):
        if got != wanted:
            self.wrong.append(f"{what}: {got}, should be {wanted}")

    def amounts(self, query, kind, window):
        top = self.server.get("/api/v1/top", limit=1, query=query, type=kind, **{k: window[k] for k in ("from", "until")})
        return {q: top[q] for q in QUANTITIES}

    def all(self, queries, answers):
        for (path, asked), (status, got) in zip(queries, answers):
            if status != 200:
                self.same(f"status of {path} {asked}", (status, got), 200)
            elif path == "/api/v1/top":
                self.top(asked, got)
            elif path == "/api/v1/series" and "by" in asked:
                self.groups(asked, got["series"])
            elif path == "/api/v1/heatmap":
                self.same(f"cells {asked}", sum(got["cells"]), self.amounts(asked["query"], asked["type"], asked)["total"] or 0)
            elif path == "/api/v1/overview":
                self.overview(asked, got)

    def top(self, asked, got):
        self.same(f"the sum of flat {asked}", sum(row["flat"] for row in got["rows"]), got["total"] or 0)
        if "!=" in asked["query"]:
            return
        matchers = [tuple(part.replace('"', "").split("=")) for part in asked["query"].strip("{}").split(",") if part]
        truth = self.world.data.answer(asked["type"], matchers, asked["from"], asked["until"])
        self.same(f"covered_ns of top {asked}", got["covered_ns"], truth.covered)
        if truth.total is None or got["total"] is None or abs(got["total"] - truth.total) > truth.loose:
            self.same(f"total of top {asked}", got["total"], truth.total)

    def groups(self, asked, groups):
        by, shown = asked["by"].split(","), []
        whole = self.amounts(asked["query"], asked["type"], asked)
        if asked["type"] not in GAUGES:
            self.same(f"the sum of groups {asked}", sum(g["total"] or 0 for g in groups), whole["total"] or 0)
        for group in groups:
            # A level of `other` is the sum of its groups': near a midnight at which a label of samples ends, these hold
            # until the next profile with the label, and a selection of all of them until the next profile.
            if group.get("other") and (len(by) > 1 or asked["type"] in GAUGES):
                continue
            own = [f'{by[0]}!="{v}"' for v in shown] if group.get("other") else [f'{b}="{group["labels"].get(b, "")}"' for b in by]
            shown.append(group["labels"].get(by[0], ""))
            query = "{" + ",".join([part for part in asked["query"].strip("{}").split(",") if part] + own) + "}"
            self.same(f"group {group['labels'] or 'other'} {asked}", {q: group[q] for q in QUANTITIES}, self.amounts(query, asked["type"], asked))
            if asked["type"] not in GAUGES:
                self.same(f"points of group {group['labels'] or 'other'} {asked}", sum(v or 0 for v in group["values"]), group["total"] or 0)

    def overview(self, asked, got):
        a, b = asked["from"], asked["until"]
        self.same(f"CPU time of the overview {asked}", {q: got["cpu"][q] for q in QUANTITIES}, self.amounts("{}", CPU, asked))
        order = []
        for service in got["services"]:
            selector = f'{{service_name="{service["service"]}"}}'
            for usage in service["types"]:
                kind, what = usage["type"], f"overview of {service['service']} {usage['type']} {asked}"
                self.same(what, {q: usage[q] for q in QUANTITIES}, self.amounts(selector, kind, asked))
                change = self.server.get("/api/v1/change", baseline=selector, comparison=selector, type=kind, baseline_from=a - (b - a), baseline_until=a,
                                         comparison_from=a, comparison_until=b)
                self.same(f"change in the {what}", usage["change"], {k: change[k] for k in usage["change"]})
                if kind not in GAUGES:
                    self.same(f"points in the {what}", sum(v or 0 for v in usage["points"]), usage["total"] or 0)
            sums = [sum(t["total"] or 0 for t in service["types"] if t["type"] in kinds) for kinds in ((CPU,), KINDS)]
            order.append((-sums[0], -sums[1], service["service"]))
        self.same(f"order of the overview {asked}", order, sorted(order))
        if "limit" not in asked:
            self.listed(asked, got)

    def listed(self, asked, got):
        """Every service that has data, and each of its types."""
        for service in self.world.services:
            for kind in SERVICES[service]:
                truth = self.world.data.answer(kind, [("service_name", service)], asked["from"], asked["until"])
                found = [t["total"] for s in got["services"] if s["service"] == service for t in s["types"] if t["type"] == kind]
                self.same(f"{service} {kind} in the overview {asked}", next(iter(found), None), truth.total)


# ---------------------------------------------------------------- seeds

def compacted(server, world):
    """Nothing is left to be merged but the last minutes."""
    status = server.get("/api/v1/status")
    due = sum(p.start < world.end - 1200 * S for s in world.data.series for p in s.profiles)
    return status["fresh_chunks"] <= len(world.uploads) - due and (status["rollups"] > 0 or world.end - world.begin < 3 * 3600 * S)


def run(seed, compact):
    """All mismatches of a seed."""
    world, wrong = World(seed), []
    queries = questions(world)
    overviews = [q for q in queries if q[0] == "/api/v1/overview"]
    folder = f"{scratch()}/days-{seed}"

    def compare(when, server):
        for query, before, now in zip(queries, first, ask_all(server, queries)):
            if difference(before, now):
                wrong.append(f"{when}: {query}: {difference(before, now)}")

    half = len(world.uploads) // 2
    with Server("--retention", "0", folder=folder) as server:
        # What is cached of half of the profiles must not be in the answers about all of them.
        fill(server, world.uploads[:half])
        ask_all(server, overviews * 2)
        fill(server, world.uploads[half:])
        first = ask_all(server, queries)
        check = Check(server, world)
        check.all(queries, first)
        wrong += check.wrong
        compare("once more", server)
        if compact:
            until(lambda: compacted(server, world), lambda: f"compaction: {server.get('/api/v1/status')}")
            compare("after compaction", server)
    with Server("--retention", "0", folder=folder) as server:
        compare("after a restart", server)
    with Server("--retention", "0") as server:
        fill(server, world.uploads)
        compare("in memory", server)
    return [f"seed {seed}: {one}" for one in wrong]


@test
def answers_do_not_depend_on_when_and_where_they_are_asked_for():
    wrong = []
    for i, seed in enumerate(seeds()):
        wrong += run(seed, LONG or i == 0)
    assert not wrong, f"{len(wrong)} mismatches:\n" + "\n".join(wrong[:40])


if __name__ == "__main__":
    main()
