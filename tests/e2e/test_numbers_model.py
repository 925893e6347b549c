#!/usr/bin/env python3
"""Random profiles and random queries: all interfaces must agree to the last digit, with each other and
with a reference implementation of docs/numbers.md (support/numbers_model.py).

A mismatch prints its seed, its hour and the query; NUMBERS_SEEDS=7 runs that seed only,
NUMBERS_SEEDS=1-50 many; NUMBERS_HOUR=495784, an hour since 1970, sets the time of the profiles.
NUMBERS_LONG is for `make test-long`.
"""
import gzip
import json
import os
import random
import time
import urllib.parse
from fractions import Fraction

from support.numbers import S
from support.numbers_model import Data, Profile, Row, Series, day_of
from support.pprof_writer import Table, write_rows
from support.server import Server
from support.tap import main, scratch, test, vestal

LONG = os.environ.get("NUMBERS_LONG")
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
HEAP = "memory:inuse_space:bytes:space:bytes"
ALLOC = "memory:alloc_space:bytes:space:bytes"
PERIODS = {CPU: ("cpu", "nanoseconds", 10_000_000), HEAP: ("space", "bytes", 524288), ALLOC: ("space", "bytes", 524288)}
UNITS = {CPU: (("nanoseconds", 1), ("microseconds", 1000), ("milliseconds", 10**6)), HEAP: (("bytes", 1), ("kilobytes", 1024)), ALLOC: (("bytes", 1),)}
STACKS = [("main", "work", "inner"), ("main", "work"), ("main", "idle"), ("main", "work", "work", "leaf"), ("other",), ("main", "inner", "work")]


def seeds():
    """Which ones to try."""
    text = os.environ.get("NUMBERS_SEEDS") or ("1-40" if LONG else "1-4")
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


# ---------------------------------------------------------------- uploads

def otlp(kind, profile, counts):
    """One with times of its rows, or one that counts samples and measures no CPU time."""
    texts, functions, attributes = Table(), Table(1), Table(1)
    texts.id("")
    name, unit, period = kind.split(":")[1], kind.split(":")[2], PERIODS[kind]
    stacks, samples = [[]], []
    for row in profile.rows:
        stacks.append([functions.id(n) for n in reversed(row.stack)])
        samples.append({"stackIndex": len(stacks) - 1, "values": [str(row.value // period[2] if counts else row.value)],
                        "attributeIndices": [attributes.id(pair) for pair in row.labels.items()],
                        **({"timestampsUnixNano": [str(row.time)]} if row.time else {})})
    body = {"sampleType": {"typeStrindex": texts.id("samples" if counts else name), "unitStrindex": texts.id("count" if counts else unit)},
            "periodType": {"typeStrindex": texts.id(period[0]), "unitStrindex": texts.id(period[1])}, "period": str(period[2]),
            "timeUnixNano": str(profile.start), "durationNano": str(profile.length), "samples": samples}
    table = {"functionTable": [{}] + [{"nameStrindex": texts.id(n)} for n in functions.ids],
             "locationTable": [{}] + [{"lines": [{"functionIndex": n}]} for n in functions.ids.values()],
             "stackTable": [{"locationIndices": s} for s in stacks], "mappingTable": [{}], "linkTable": [{}],
             "attributeTable": [{}] + [{"keyStrindex": texts.id(k), "value": {"stringValue": v}} for k, v in attributes.ids]}
    return json.dumps({"resourceProfiles": [{"scopeProfiles": [{"profiles": [body]}]}], "dictionary": dict(table, stringTable=list(texts.ids))}).encode()


# ---------------------------------------------------------------- what is stored

class World:
    """Random series of a seed, in the model and in a server."""

    def __init__(self, seed):
        self.random = r = random.Random(seed)
        self.seed, self.data, self.uploads = seed, Data(), []
        # Long ranges have roll-ups.
        self.span = r.choice((900, 3600, 4 * 3600, 60 * 3600, 60 * 3600, 9 * 24 * 3600)) * S
        # Where days begin in the range depends on the hour.
        self.hour = int(os.environ.get("NUMBERS_HOUR") or time.time_ns() // (3600 * S) - 2)
        self.end = self.hour * 3600 * S + r.randrange(0, 3600 * S)
        self.begin = self.end - self.span
        self.services = [f"s{i}" for i in range(r.choice((1, 2, 3)))]
        self.huge = r.random() < 0.25
        for service in self.services:
            kinds = r.sample((CPU, HEAP, ALLOC), r.choice((1, 2, 3)))
            for kind in kinds:
                for pod in range(r.choice((1, 1, 2, 3))):
                    self.add_series(service, kind, f"p{pod}")
        r.shuffle(self.uploads)

    def add_series(self, service, kind, pod):
        r = self.random
        series = Series(service, {"pod": pod}, kind, kind == HEAP)
        self.data.series.append(series)
        unit, scale = r.choice(UNITS[kind])
        most = 150 if self.span > 86400 * S else 60
        every = max(r.choice((1, 7, 10, 15, 60)) * S, self.span // most // S * S)
        length = 0 if kind == HEAP else r.choice((every, every, every // 6, every * 3 // 2, every - 1_000_003))
        timed, counts = kind == CPU and r.random() < 0.3, kind == CPU and r.random() < 0.15
        threads, holes = r.random() < 0.5, r.choice((0, 0, 0.1, 0.5))
        # Levels that hold for very different times within an hour.
        short = every // 20 // S * S
        bursts = r.choice((0, 0.3)) if kind == HEAP and short else 0
        labels = lambda: {"thread": r.choice("xyz")} if threads and r.random() < 0.8 else {}
        if counts or timed:
            unit, scale = "nanoseconds", 1
        at = self.begin + r.randrange(-2 * every, every)
        while at < self.end + every:
            series.profiles.append(Profile(at, length, self.rows(kind, at, length, scale, timed, counts, labels)))
            self.send(series, series.profiles[-1], unit, scale, timed or counts, counts)
            if r.random() < 0.02 and kind != HEAP:
                # A client that was not told that it came.
                series.profiles.append(series.profiles[-1])
                self.uploads.append(self.uploads[-1])
            # Distances that are nearly alike count with their mean; these are alike, or far apart.
            if r.random() < bursts:
                at += short
            else:
                at += every * (r.choice((3, 9)) if r.random() < holes else 1)

    def rows(self, kind, at, length, scale, timed, counts, labels):
        r, rows = self.random, []
        for stack in r.sample(STACKS, r.randrange(0 if r.random() < 0.2 else 1, len(STACKS))):
            most = 2**52 if self.huge and r.random() < 0.3 else r.choice((10, 10**4, 10**9))
            value = r.randrange(1, most + 1) * (PERIODS[kind][2] if counts and most < 2**40 else 1)
            value = value // PERIODS[kind][2] * PERIODS[kind][2] if counts else value // scale * scale
            if value:
                moment = at + r.randrange(max(length, 1)) if timed and r.random() < 0.9 else 0
                rows.append(Row(stack, value, labels(), moment))
        return rows

    def send(self, series, profile, unit, scale, is_otlp, counts):
        where = [("service", series.service), ("label", f"pod={series.labels['pod']}")]
        if is_otlp:
            where.append(("format", "otlp-json"))
            body = otlp(series.kind, profile, counts)
        else:
            body = write_rows(profile.rows, (series.kind.split(":")[1], unit), profile.start, profile.length, PERIODS[series.kind], scale)
        self.uploads.append((urllib.parse.urlencode(where), body))

    def fill(self, server, part):
        for where, body in part:
            status, reply = server.ask(f"/api/v1/profiles?{where}", body)
            assert status == 200, (where, reply)

    def delete(self, server):
        """A part of a service: what starts before a moment, of one pod."""
        service, pod, before = self.random.choice(self.services), f"p{self.random.randrange(2)}", self.moment()
        status, reply = server.ask("/api/v1/delete?" + urllib.parse.urlencode({"query": f'{service}{{pod="{pod}"}}', "before": before}), b"")
        assert status == 200, reply
        for series in self.data.series:
            if series.service == service and series.labels["pod"] == pod:
                series.profiles = [p for p in series.profiles if p.start >= before]

    def stored(self):
        """What the status says of it. Series are counted by service, on the day that has most."""
        profiles = [p for series in self.data.series for p in series.profiles]
        days = {}
        for series in self.data.series:
            for p in series.profiles:
                days.setdefault(series.service, {}).setdefault(day_of(p), set()).add(series.labels["pod"])
        return {"profiles": len(profiles), "samples": sum(len(p.rows) for p in profiles), "services": len(days),
                "series": sum(max(len(pods) for pods in by_day.values()) for by_day in days.values()), "spans": 0,
                "oldest_ns": min((p.start for p in profiles), default=0) // 10**6 * 10**6, "newest_ns": max((p.start for p in profiles), default=0) // 10**6 * 10**6}

    def moment(self):
        return self.random.randrange(self.begin - self.span // 20, self.end) // 10**6 * 10**6


class Question:
    """A selection, and how it is written."""

    def __init__(self, world):
        r = self.random = world.random
        series = r.choice(world.data.series)
        self.kind, self.matchers = series.kind, []
        if r.random() < 0.85:
            self.matchers.append(("service_name", series.service))
        if r.random() < 0.3:
            self.matchers.append(("pod", series.labels["pod"]))
        if r.random() < 0.25:
            self.matchers.append(("thread", r.choice("xyz")))
        # What no series has, or no sample.
        if r.random() < 0.06:
            self.matchers.append((r.choice(("zone", "thread")), "nothing"))
        self.a = world.moment()
        self.b = self.a + max(1000, r.choice((world.span, world.span // 3, world.span // 50, 5 * S)) // 10**6 * r.randrange(200, 1000) // 1000) * 10**6
        if r.random() < 0.2:
            self.a, self.b = world.begin // 10**6 * 10**6, world.end // 10**6 * 10**6
        self.selector = "{" + ",".join(f'{n}="{v}"' for n, v in self.matchers) + "}"
        self.window = {"query": self.selector, "type": self.kind, "from": self.a, "until": self.b}
        span = (self.b - self.a) // S
        # Some wider than the range.
        self.step = r.choice([s for s in (1, 7, 15, 60, 300, 3600, 86400, 10**6) if s * 400 > span])

    @property
    def gauge(self):
        return self.kind == HEAP

    def __str__(self):
        return f"{self.selector} {self.kind} from={self.a} until={self.b} step={self.step}s"


# ---------------------------------------------------------------- every way to ask

class Mismatch(AssertionError):
    pass


QUANTITIES = ("total", "covered_ns", "rate", "average", "coverage")


def same(what, got, wanted):
    if got != wanted:
        raise Mismatch(f"{what}: {got}, should be {wanted}")


def near(what, got, wanted, off=0):
    """Equal, but for the last bits of a division; or for units that rows may differ by."""
    if got is None or wanted is None:
        return same(what, got, wanted)
    if abs(got - wanted) > off + 1e-9 * (0 if isinstance(got, int) and isinstance(wanted, int) else abs(wanted)):
        raise Mismatch(f"{what}: {got}, should be {float(wanted) if not isinstance(wanted, int) else wanted} ± {off}")
    return None


def own_values(graph):
    """By name what boxes of a Pyroscope flame graph have of their own: each level is [offset, total, self, name] again and again."""
    own = {}
    for level in graph.get("levels", []):
        values = [int(v) for v in level["values"]]
        for self_value, name in zip(values[2::4], values[3::4]):
            own[graph["names"][name]] = own.get(graph["names"][name], 0) + self_value
    return {n: v for n, v in own.items() if v}


def leaf_values(profile):
    """By name what samples of a pprof as JSON have at their leaf."""
    texts = profile.get("stringTable", [])
    functions = {f["id"]: texts[int(f.get("name", 0))] for f in profile.get("function", [])}
    leaves = {place["id"]: functions[place["line"][0]["functionId"]] for place in profile.get("location", [])}
    own = {}
    for sample in profile.get("sample", []):
        name = leaves[sample["locationId"][0]]
        own[name] = own.get(name, 0) + int(sample["value"][0])
    return {n: v for n, v in own.items() if v}


def amounts(got):
    return {q: got[q] for q in QUANTITIES}


class Doors:
    """Asks a question everywhere. The first answer is compared with the model, all others with it."""

    def __init__(self, server, world, question):
        self.server, self.world, self.q = server, world, question
        self.truth = world.data.answer(question.kind, question.matchers, question.a, question.b)
        # A function that rows of half a cut profile have cannot be known to the unit.
        self.off = self.truth.loose

    def all(self, commands):
        self.top()
        self.tree()
        self.series()
        self.overview()
        self.heatmap()
        self.function()
        self.pyroscope()
        self.comparisons()
        if commands:
            self.commands()

    def top(self):
        q, truth = self.q, self.truth
        self.answer = top = self.server.get("/api/v1/top", limit=1000, **q.window)
        near("total of top", top["total"], truth.total, self.off)
        same("covered_ns of top", top["covered_ns"], truth.covered)
        near("coverage of top", top["coverage"], truth.coverage)
        if not self.off:
            # Doubles; a gauge's is its total.
            near("rate of top", top["rate"], truth.rate and Fraction(truth.rate))
            near("average of top", top["average"], truth.average and Fraction(truth.average))
        rows = self.rows = {row["name"]: row for row in top["rows"]}
        loose = truth.row_loose
        for name in truth.cum:
            near(f"flat of {name}", rows.get(name, {"flat": 0})["flat"], truth.self.get(name, 0), loose)
            near(f"cum of {name}", rows.get(name, {"cum": 0})["cum"], truth.cum[name], loose)
        same("the sum of flat", sum(row["flat"] for row in top["rows"]), top["total"] or 0)

    def tree(self):
        tree = self.server.get("/api/v1/tree", **self.q.window)
        same("total of the tree", tree["total"][0], self.answer["total"] or 0)
        same("the sum of self", sum(tree["self"]), self.answer["total"] or 0)
        same("rates of the tree", {k: tree[k] for k in QUANTITIES[1:]}, {k: self.answer[k] for k in QUANTITIES[1:]})
        own = {}
        for name, value in zip(tree["name"], tree["self"]):
            own[name] = own.get(name, 0) + value
        same("self of the tree", {n: v for n, v in own.items() if v}, {n: r["flat"] for n, r in self.rows.items() if r["flat"]})

    def series(self):
        q = self.q
        series = self.server.get("/api/v1/series", step=f"{q.step}s", **q.window)["series"]
        if not series:
            same("a time line that is not there", self.answer["total"], None)
            return
        same("the time line", amounts(series[0]), amounts(self.answer))
        if q.gauge:
            # Means of points, each for the time it was measured.
            held = sum(Fraction(v) * c for v, c in zip(series[0]["values"], series[0]["covered"]) if c)
            covered = sum(series[0]["covered"])
            same("the covered time of points", covered, self.answer["covered_ns"])
            near("the mean of points", held / covered if covered else None, self.answer["total"], 1 + 1e-9 * (self.answer["total"] or 0))
        else:
            points = self.world.data.points(q.kind, q.matchers, q.a, q.b, q.step * S)
            same("the sum of points", sum(v or 0 for v in series[0]["values"]), self.answer["total"] or 0)
            for got, covered, (value, off) in zip(series[0]["values"], series[0]["covered"], points):
                near("a point", got or 0, value, off)
                assert got is not None or (not covered and not value), "a point without a value that was covered"
        for by, limit in (("pod", 0), ("pod", 1), ("thread", 1), ("thread", 2), ("service_name", 0)):
            groups = self.server.get("/api/v1/series", step=f"{q.step}s", by=by, limit=limit, **q.window)["series"]
            # Levels of groups that come and go are each of their own time.
            if not q.gauge:
                same(f"the sum of groups by {by}", sum(g["total"] or 0 for g in groups), self.answer["total"] or 0)
            elif by == "service_name" and len(groups) == 1:
                same("the only group", amounts(groups[0]), amounts(self.answer))
            if by == "pod" and limit < 2 or limit == 1:
                self.groups(by, groups)

    def groups(self, by, groups):
        """Each group is what a selection of it alone is; `other` is what a selection without the shown ones is."""
        shown = [g["labels"].get(by, "") for g in groups if not g.get("other")]
        for group in groups:
            own = [f'{by}!="{v}"' for v in shown] if group.get("other") else [f'{by}="{group["labels"].get(by, "")}"']
            alone = self.server.get("/api/v1/top", **dict(self.q.window, query="{" + ",".join([f'{n}="{v}"' for n, v in self.q.matchers] + own) + "}"))
            same(f"the group {group['labels'] or 'other'} by {by}", amounts(group), amounts(alone))

    def overview(self):
        q = self.q
        services = {s["service"]: s for s in self.server.get("/api/v1/overview", **q.window)["services"]}
        named = dict(q.matchers).get("service_name")
        for service in self.world.services if named is None else [named]:
            matchers = [m for m in q.matchers if m[0] != "service_name"] + [("service_name", service)]
            truth = self.world.data.answer(q.kind, matchers, q.a, q.b)
            types = [t for t in services.get(service, {"types": []})["types"] if t["type"] == q.kind]
            if not types:
                same(f"the overview without {service}", truth.total, None)
            elif named:
                same("the overview", amounts(types[0]), amounts(self.answer))
            else:
                near(f"{service} in the overview", types[0]["total"], truth.total, truth.loose)
                same(f"covered_ns of {service} in the overview", types[0]["covered_ns"], truth.covered)

    def heatmap(self):
        q = self.q
        if q.gauge:
            return
        column = max((q.b - q.a) // 100 // 10**6, 10)
        heat = self.server.get("/api/v1/heatmap", column=f"{column}ms", row="100ms", **q.window)
        same("the sum of cells", sum(heat["cells"]), self.answer["total"] or 0)

    def function(self):
        q = self.q
        name = q.random.choice(("main", "work", "inner", "leaf", "missing"))
        got = self.server.get("/api/v1/function", name=name, step=f"{q.step}s", **q.window)
        row = self.rows.get(name, {"flat": 0, "cum": 0})
        nothing = self.answer["total"] is None
        same(f"function {name}", (got["self"], got["total"], got["all"], got["covered_ns"], got["coverage"]),
             ((None, None, None) if nothing else (row["flat"], row["cum"], self.answer["total"])) + (self.answer["covered_ns"], self.answer["coverage"]))
        near("rate of all", got["all_rate"], self.answer["rate"])
        for label, values in got["by"].items():
            same(f"self and total of the function by {label}", (sum(v["self"] for v in values), sum(v["total"] for v in values)), (row["flat"], row["cum"]))
        if not q.gauge:
            same("points of the function", sum(v or 0 for v in got["series"]["total"]), row["cum"])
            same("own points of the function", sum(v or 0 for v in got["series"]["self"]), row["flat"])

    def pyroscope(self):
        q, total = self.q, self.answer["total"] or 0
        request = {"start": q.a // 10**6, "end": q.b // 10**6, "profileTypeID": q.kind, "labelSelector": q.selector}
        graph = self.server.call("querier.v1.QuerierService/SelectMergeStacktraces", **request).get("flamegraph", {})
        same("SelectMergeStacktraces", int(graph.get("total", 0)), total)
        flat = {n: r["flat"] for n, r in self.rows.items() if r["flat"]}
        same("rows of SelectMergeStacktraces", own_values(graph), flat)
        profile = self.server.call("querier.v1.QuerierService/SelectMergeProfile", profile_typeID=q.kind, label_selector=q.selector, start=request["start"], end=request["end"])
        same("SelectMergeProfile", sum(int(s["value"][0]) for s in profile.get("sample", [])), total)
        same("rows of SelectMergeProfile", leaf_values(profile), flat)
        render = self.server.get("/pyroscope/render", query=q.kind + q.selector, **{"from": q.a, "until": q.b})
        same("/render", render["flamebearer"]["numTicks"], total)
        if not q.gauge:
            series = self.server.call("querier.v1.QuerierService/SelectSeries", **request, step=q.step).get("series", [])
            # Its values are doubles.
            near("SelectSeries", float(sum(p.get("value", 0) for s in series for p in s["points"])), float(total))

    def comparisons(self):
        q = self.q
        length = q.b - q.a
        sides = {"baseline": q.selector, "comparison": q.selector, "type": q.kind, "baseline_from": q.a - length, "baseline_until": q.a,
                 "comparison_from": q.a, "comparison_until": q.b}
        before = self.before = self.server.get("/api/v1/top", limit=1000, **dict(q.window, **{"from": q.a - length, "until": q.a}))
        for where in ("/api/v1/diff", "/api/v1/change"):
            got = self.server.get(where, limit=1000, **sides)
            same(f"before of {where}", amounts(got["before"]), amounts(before))
            same(f"after of {where}", amounts(got["after"]), amounts(self.answer))
            self.change(where, got, before)
            if where == "/api/v1/diff":
                was, now = ({r["name"]: (r["flat"], r["cum"]) for r in side["rows"]} for side in (before, self.answer))
                for n, (side, rows) in enumerate((("before", was), ("after", now))):
                    same(f"rows of /api/v1/diff {side}", {r["name"]: (r["flat"][side], r["cum"][side]) for r in got["rows"] if r["cum"][side] or r["flat"][side]}, rows)
                    same(f"totals of /api/v1/diff {side}", got["totals"][n], (before, self.answer)[n]["total"] or 0)

    def change(self, where, got, before):
        old, new = before["rate"], self.answer["rate"]
        change = None if old is None or new is None else new - old
        near(f"change of {where}", got["change"], change, 1e-9 * max(abs(old or 0), abs(new or 0)))
        if old:
            near(f"share of {where}", got["share"], None if new is None else new / old - 1, 1e-9 * (1 + abs((new or 0) / old)))

    def commands(self):
        q = self.q
        where = ["--server", self.server.url, "--type", q.kind, "--from", str(q.a), "--until", str(q.b)]
        got = json.loads(vestal("query", "--json", "-n", "0", *where, q.selector)[0])
        same("vestal query", amounts(got), amounts(self.answer))
        same("rows of vestal query", {r["name"]: (r["flat"], r["cum"]) for r in got["rows"]}, {n: (r["flat"], r["cum"]) for n, r in self.rows.items()})
        text = vestal("query", *where, q.selector)[0]
        same("what vestal query says of nothing", "No data" in text, self.answer["total"] is None)
        series = json.loads(vestal("query", "--series", "--json", *where, q.selector)[0])["series"]
        same("vestal query --series", [amounts(s) for s in series], [amounts(self.answer)] if series else [])
        # There is nothing to compare with nothing.
        if self.answer["total"] is not None and self.before["total"] is not None:
            length = q.b - q.a
            diff = json.loads(vestal("diff", "--json", "--server", self.server.url, "--type", q.kind, "--baseline", q.selector, "--comparison", q.selector,
                                     "--baseline-from", str(q.a - length), "--baseline-until", str(q.a), "--comparison-from", str(q.a), "--comparison-until", str(q.b))[0])
            same("vestal diff", (amounts(diff["before"]), amounts(diff["after"])), (amounts(self.before), amounts(self.answer)))
        status, body = self.server.ask("/api/v1/export?" + urllib.parse.urlencode(dict(q.window, format="pprof")))
        assert status == 200, body
        path = f"{scratch()}/exported.pb.gz"
        with open(path, "wb") as file:
            file.write(body if body[:2] == b"\x1f\x8b" else gzip.compress(body))
        top = json.loads(vestal("top", "--json", "-n", "0", path)[0])
        same("vestal top of the export", top["total"] or 0, self.answer["total"] or 0)
        same("rows of the export", {r["name"]: (r["flat"], r["cum"]) for r in top["rows"]}, {n: (r["flat"], r["cum"]) for n, r in self.rows.items()})


# ---------------------------------------------------------------- seeds

def ask(server, world, count, commands, wrong):
    for i in range(count):
        question = Question(world)
        try:
            Doors(server, world, question).all(i < commands)
        except AssertionError as mismatch:
            wrong.append(f"seed {world.seed}, hour {world.hour}: {question}: {mismatch}")
            print(f"# {wrong[-1]}", flush=True)


def ask_status(server, world, wrong):
    got, wanted = server.get("/api/v1/status"), world.stored()
    if {k: got[k] for k in wanted} != wanted:
        wrong.append(f"seed {world.seed}, hour {world.hour}: status: { {k: (got[k], v) for k, v in wanted.items() if got[k] != v} }")


def run(seed, questions, commands):
    """Fills, asks, stops and starts again, deletes, sends late profiles, and asks again."""
    world, wrong = World(seed), []
    folder = f"{scratch()}/numbers-{seed}"
    late = len(world.uploads) // 10 if seed % 2 else 0
    with Server(folder=folder) as server:
        world.fill(server, world.uploads[late:])
        if not late:
            ask_status(server, world, wrong)
            ask(server, world, questions, 0, wrong)
    with Server(folder=folder) as server:
        world.fill(server, world.uploads[:late])
        ask_status(server, world, wrong)
        ask(server, world, questions, commands, wrong)
        world.delete(server)
        ask_status(server, world, wrong)
        ask(server, world, questions // 2, 0, wrong)
    return wrong


@test
def all_interfaces_agree_with_the_model():
    wrong = []
    for seed in seeds():
        wrong += run(seed, 40 if LONG else 12, 2 if LONG else 1)
    assert not wrong, f"{len(wrong)} mismatches:\n" + "\n".join(wrong[:40])


if __name__ == "__main__":
    main()
