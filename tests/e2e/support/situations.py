"""Profiles whose numbers are known, in the situations in which numbers go wrong.

`situations(now)` makes them, `fill(url, list)` sends them, and each has what every page, API, call and
command must say of it. For programs in other languages:

    python3 tests/e2e/support/situations.py http://127.0.0.1:4040 > truth.json
"""
import json
import os
import sys
import time
import urllib.parse
import urllib.request

if __name__ == "__main__":
    # Not this folder: its numbers.py would stand in for the standard library's.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from support import numbers
from support.numbers import S
from support.pprof_writer import write_pprof

LENGTH = 1200 * S
CPU = ("cpu", "nanoseconds", "process_cpu:cpu:nanoseconds:cpu:nanoseconds")
HEAP = ("inuse_space", "bytes", "memory:inuse_space:bytes:space:bytes")
# Of ten parts.
STACKS = {("main", "work", "inner"): 6, ("main", "work"): 3, ("main", "idle"): 1}


class Profile:
    """What one upload brings: a value that is split over STACKS, of an interval."""

    def __init__(self, start, length, value):
        assert value % 10 == 0
        self.start, self.length, self.value = start, length, value


def steady(start, until, every, cores, length=None):
    """A profile each `every` seconds, of so many cores while it lasts."""
    length = every if length is None else length
    return [Profile(t, length * S, round(cores * length * 10**8) * 10) for t in range(start, until, every * S)]


class Situation:
    """A service; its series are [(labels, profiles)]."""

    def __init__(self, name, series, start, kind=CPU, query="", baseline="", verdict="noise", unit=None):
        self.name, self.series, self.kind, self.verdict = name, series, kind, verdict
        self.unit = unit or {}
        self.service = "numbers-" + name
        self.query, self.baseline = self.service + query, self.service + (baseline or query)
        self.before = (start, start + LENGTH)
        self.after = (start + LENGTH, start + 2 * LENGTH)

    def selected(self, query):
        labels = dict(part.replace('"', "").split("=") for part in query.partition("{")[2].rstrip("}").split(",") if part)
        return [profiles for has, profiles in self.series if labels.items() <= has.items()]

    def side(self, query, span):
        """What is true of a selection."""
        series = self.selected(query)
        total = gauge_mean(series, *span) if self.gauge else sum(
            numbers.share_of(p.value, p.start, p.length, *span) for profiles in series for p in profiles)
        covered = None if self.gauge else numbers.covered_time(series, *span)
        length = span[1] - span[0]
        rate = total if self.gauge else total / (covered / 1e9) if covered else None
        truth = {"query": query, "from_ns": span[0], "until_ns": span[1], "total": total, "covered_ns": covered, "rate": rate,
                 "average": total if self.gauge else total / (length / 1e9), "coverage": None if self.gauge else covered / length,
                 "functions": {"work": {"self": total * 3 // 10, "total": total * 9 // 10}, "idle": {"self": total // 10, "total": total // 10}}}
        truth["rate_text"] = numbers.rate_text(rate, self.kind[1], self.gauge)
        truth["total_text"] = numbers.amount_text(total, self.kind[1])
        for function in truth["functions"].values():
            function["rate"] = function["total"] if self.gauge else function["total"] / (covered / 1e9) if covered else None
            function["rate_text"] = numbers.rate_text(function["rate"], self.kind[1], self.gauge)
            function["total_text"] = numbers.amount_text(function["total"], self.kind[1])
        return truth

    @property
    def gauge(self):
        return self.kind is HEAP

    def truth(self):
        before, after = self.side(self.baseline, self.before), self.side(self.query, self.after)
        earlier = bool(before["total"])
        change = after["rate"] - before["rate"] if earlier else None
        share = change / before["rate"] if earlier else None
        return {"stored": self.stored(), "name": self.name, "service": self.service, "type": self.kind[2], "unit": self.kind[1], "gauge": self.gauge,
                "before": before, "after": after, "change": change, "share": share, "share_text": numbers.share_text(share), "verdict": self.verdict}

    def stored(self):
        """What the server keeps of it: a row for each stack that has a value."""
        profiles = [p for _, series in self.series for p in series]
        days = [{p.start // (86400 * S) for p in series} for _, series in self.series]
        # Series are counted by the day that has most.
        most = max(sum(day in has for has in days) for day in set().union(*days))
        return {"profiles": len(profiles), "samples": sum(len(STACKS) for p in profiles if p.value), "series": most,
                "oldest_ns": min(p.start for p in profiles), "newest_ns": max(p.start for p in profiles)}


def gauge_mean(series, a, b):
    """Each profile holds until the next; series are added. All of them last for the whole of [a, b)."""
    total = 0
    for profiles in series:
        at = sorted(profiles, key=lambda p: p.start)
        held = [(p.start, q.start, p.value) for p, q in zip(at, at[1:])]
        assert held and held[0][0] <= a and held[-1][1] >= b, "the series does not last"
        total += sum((min(y, b) - max(x, a)) * v for x, y, v in held if x < b and y > a) // (b - a)
    return total


def situations(now):
    """Twenty minutes and the twenty before, that ended half an hour before `now` (ns)."""
    start = (now // S // 60 * 60 - 1800 - 2400) * S
    middle, end = start + LENGTH, start + 2 * LENGTH
    minute = 60 * S

    def both(before, after, **how):
        return steady(start, middle, 60, before, **how) + steady(middle, end, 60, after, **how)

    def one(name, profiles, **more):
        return Situation(name, [({}, profiles)], start, **more)

    gap = [p for p in both(0.45, 1.9) if not middle + 5 * minute <= p.start < middle + 15 * minute]
    bursts = [Profile(start + i * minute, minute, (30 if i % 5 == 3 else 1) * 6 * 10**9) for i in range(40)]
    pods = [({"pod": f"web-{i}"}, [Profile(p.start + 10 * i * S, p.length, p.value)
                                   for p in steady(start - 5 * minute, middle, 60, 0.45, length=10) + steady(middle, end + 60 * S, 60, 1.9, length=10)])
            for i in range(6)]
    versions = [({"commit": "old"}, steady(start, middle, 15, 0.45)), ({"commit": "new"}, steady(middle + 10 * minute, middle + 16 * minute, 15, 0.45))]
    rolling = []
    for i in range(3):
        change = middle + (5 + 5 * i) * minute
        rolling += [({"pod": f"a-{i}", "commit": "old"}, steady(start, change, 15, 0.45)), ({"pod": f"b-{i}", "commit": "new"}, steady(change, end, 15, 0.45))]
    # A minute's profiles in the middle of minutes: both ends of both ranges cut one in halves.
    edges = steady(start - 90 * S, end + 90 * S, 60, 0.45)
    micro, nano = both(0.45, 0.45), both(0.3, 0.3)
    # The level changes 20 s before the later side begins, between two marks of every time line.
    levels = [Profile(start + (30 * i - 20) * S, 0, (100 if i < 40 else 150) * 30 * 2**15) for i in range(-1, 84)]
    return [
        one("gaps", gap, verdict="more"),
        one("bursts", bursts),
        one("sparse", both(0.45, 1.9, length=10), verdict="more"),
        Situation("shorter", versions, start, query='{commit="new"}', baseline='{commit="old"}'),
        Situation("rolling", rolling, start),
        one("interval", steady(start, middle, 15, 0.45) + steady(middle, end, 60, 0.45)),
        one("edges", edges),
        Situation("units", [({"pod": "micro"}, micro), ({"pod": "nano"}, nano)], start, unit={"micro": ("microseconds", 1000)}),
        Situation("pods", pods, start, verdict="more"),
        one("gauges", levels, kind=HEAP, verdict="more"),
        # Of ten uploads of a minute nine are empty: the process slept, and was watched.
        one("idle", [Profile(start + i * minute, minute, (10 if i < 20 else 30) * 6 * 10**9 if i % 10 == 4 else 0) for i in range(40)]),
        one("first", steady(middle, end, 60, 0.45), verdict="no_earlier_data"),
    ]


def uploads(situation):
    """(query of the request, bytes) of each profile, in the order of time."""
    kind = situation.kind
    for labels, profiles in situation.series:
        unit, divisor = situation.unit.get(labels.get("pod"), (kind[1], 1))
        period = ("space", "bytes", 524288) if situation.gauge else ("cpu", "nanoseconds", 10_000_000)
        where = urllib.parse.urlencode([("service", situation.service)] + [("label", f"{k}={v}") for k, v in labels.items()])
        for p in profiles:
            rows = {stack: (p.value * parts // 10 // divisor,) for stack, parts in STACKS.items() if p.value}
            yield where, write_pprof(rows, [(kind[0], unit)], p.start, p.length, period)


def fill(url, made):
    for situation in made:
        for where, body in uploads(situation):
            with urllib.request.urlopen(urllib.request.Request(f"{url}/api/v1/profiles?{where}", body), timeout=60) as reply:
                assert reply.status == 200


def main():
    made = situations(time.time_ns())
    fill(sys.argv[1], made)
    json.dump([s.truth() for s in made], sys.stdout)


if __name__ == "__main__":
    main()
