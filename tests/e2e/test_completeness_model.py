#!/usr/bin/env python3
"""Random reports of completeness of several services: every way to ask adds them up as a plain program does.

A mismatch names its seed; COMPLETENESS_SEEDS=7 runs that one, COMPLETENESS_SEEDS=1-50 many."""
import json
import os
import random
import time

from support.numbers import S
from support.pprof_writer import Table
from support.server import Server
from support.tap import main, scratch, test, vestal

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
OFF_CPU = "off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds"
PERIOD, WINDOW = 10_000_000, 15 * S
CAUSES = ("ring full", "queue full", "refused by the server")
WHOLE = ("kept", "truncated", "unnamed", "rejected", "watched")


def seeds():
    """Which ones to try."""
    low, _, high = (os.environ.get("COMPLETENESS_SEEDS") or "1-4").partition("-")
    return range(int(low), int(high or low) + 1)


class Report:
    """What a sender says of a window of a service: {(measure, kind, cause): (count, time)}."""

    def __init__(self, service, pod, start, rows):
        self.service, self.pod, self.start, self.rows = service, pod, start, rows


def random_rows(r):
    rows = {}
    for measure in ("cpu", "off_cpu"):
        kept = r.randrange(1, 2000)
        rows[measure, "kept", ""] = (kept, kept * PERIOD)
        for kind in ("truncated", "unnamed"):
            part = r.randrange(0, kept + 1)
            rows[measure, kind, ""] = (part, part * PERIOD)
        for cause in r.sample(CAUSES, r.randrange(0, 4)):
            lost = r.randrange(1, kept + 1)
            rows[measure, "lost", cause] = (lost, lost * PERIOD)
            if cause == "refused by the server":
                # Of a request that the server took in part, and counted as kept.
                rows[measure, "rejected", ""] = rows[measure, "lost", cause]
        if r.random() < 0.3:
            rows[measure, "off", "cpu budget"] = (0, r.randrange(1, WINDOW))
        if r.random() < 0.3:
            rows[measure, "lowered", "memory budget"] = (0, r.randrange(1, WINDOW))
    rows["all", "watched", ""] = (0, WINDOW)
    return {key: value for key, value in rows.items() if value != (0, 0)}


# ---------------------------------------------------------------- uploads

def profile(texts, stack_of, report, column, rows):
    """One sample type of a report, or of data."""
    name, unit, period = column
    return {"sampleType": {"typeStrindex": texts.id(name), "unitStrindex": texts.id(unit)},
            "periodType": {"typeStrindex": texts.id(period[0]), "unitStrindex": texts.id(period[1])}, "period": str(period[2]),
            "timeUnixNano": str(report.start), "durationNano": str(WINDOW),
            "samples": [{"stackIndex": stack_of(names), "values": [str(value)]} for names, value in rows if value]}


def request(reports):
    """A request with the data of the reports, a second of CPU and off-CPU time each, and what they say."""
    texts, functions, stacks = Table(), Table(1), Table(1)
    texts.id("")

    def stack_of(names):
        return stacks.id(tuple(functions.id(n) for n in names))

    resources = []
    for report in reports:
        told = [(("%s: %s" % (kind, cause) if cause else kind, measure), value) for (measure, kind, cause), value in report.rows.items()]
        profiles = [profile(texts, stack_of, report, (name, "nanoseconds", (name, "nanoseconds", PERIOD)), [(("work", "main"), S)]) for name in ("cpu", "off_cpu")]
        if report.rows:
            period = ("completeness", "count", 1)
            profiles.append(profile(texts, stack_of, report, ("completeness_samples", "count", period), [(names, v[0]) for names, v in told]))
            profiles.append(profile(texts, stack_of, report, ("completeness_time", "nanoseconds", period), [(names, v[1]) for names, v in told]))
        resources.append({"resource": {"attributes": [{"key": k, "value": {"stringValue": v}} for k, v in (("service.name", report.service), ("pod", report.pod))]},
                          "scopeProfiles": [{"profiles": profiles}]})
    table = {"functionTable": [{}] + [{"nameStrindex": texts.id(n)} for n in functions.ids],
             "locationTable": [{}] + [{"lines": [{"functionIndex": n}]} for n in functions.ids.values()],
             "stackTable": [{"locationIndices": []}] + [{"locationIndices": list(s)} for s in stacks.ids], "mappingTable": [{}], "linkTable": [{}], "attributeTable": [{}]}
    return json.dumps({"resourceProfiles": resources, "dictionary": dict(table, stringTable=list(texts.ids))}).encode()


# ---------------------------------------------------------------- what is true

def add(a, b):
    return (a[0] + b[0], a[1] + b[1])


class Truth:
    """The sum of what some reports say of a measure."""

    def __init__(self, reports, measure):
        self.parts, self.causes = {}, {}
        self.reported = any(report.rows for report in reports)
        for report in reports:
            for (of, kind, cause), value in report.rows.items():
                if of not in (measure, "all"):
                    continue
                self.parts[kind] = add(self.parts.get(kind, (0, 0)), value)
                if cause:
                    self.causes[kind, cause] = add(self.causes.get((kind, cause), (0, 0)), value)

    def check(self, where, got):
        assert got["reported"] == self.reported, (where, got)
        if not self.reported:
            return
        part = lambda kind: self.parts.get(kind, (0, 0))
        kept = tuple(a - b for a, b in zip(part("kept"), part("rejected")))
        lost, watched = part("lost"), part("watched")[1]
        assert tuple(got["kept"].values()) == kept, (where, got["kept"], kept)
        assert tuple(got["lost"].values()) == lost, (where, got["lost"], lost)
        self.same(where, got, "kept_share", kept[1] / (kept[1] + lost[1]))
        for name, kind in (("causes", "lost"), ("off", "off"), ("lowered", "lowered")):
            told = {c["cause"]: (c["count"], c["time_ns"]) for c in got[name]}
            assert told == {cause: v for (k, cause), v in self.causes.items() if k == kind}, (where, name, told)
        for kind in ("off", "lowered"):
            self.same(where, got, f"{kind}_share", part(kind)[1] / watched)
        assert ("% of samples kept" in got["text"]) == (kept[1] < 0.999 * (kept[1] + lost[1])), (where, got)

    @staticmethod
    def same(where, got, name, wanted):
        assert abs(got[name] - wanted) < 1e-9, (where, name, got[name], wanted)


# ---------------------------------------------------------------- every way to ask

def ask(server, query, kind, measure, reports, window):
    """A selection by every way that carries completeness."""
    selected = [r for r in reports if window["from"] <= r.start < window["until"]]
    truth = Truth([r for r in selected if query(r)], measure)
    where = {"query": query.text, "type": kind, **window}
    for path, more in (("top", {}), ("tree", {}), ("series", {"step": "60s"}), ("heatmap", {"column": "60s", "row": "100ms"}), ("function", {"name": "work"})):
        truth.check((path, where), server.get(f"/api/v1/{path}", **where, **more)["completeness"])
    sides = {"baseline": query.text, "comparison": query.text, "type": kind, "baseline_from": window["from"], "baseline_until": window["until"],
             "comparison_from": window["from"], "comparison_until": window["until"]}
    for path in ("diff", "change"):
        for side in server.get(f"/api/v1/{path}", **sides)["completeness"].values():
            truth.check((path, where), side)
    for service in server.get("/api/v1/overview", **where)["services"]:
        for one in service["types"]:
            if one["type"] == kind:
                Truth([r for r in selected if query(r) and r.service == service["service"]], measure).check(("overview", service["service"], where), one["completeness"])
    command = ["query", "--json", "--server", server.url, "--type", kind, "--from", str(window["from"]), "--until", str(window["until"]), query.text]
    truth.check(("vestal query", where), json.loads(vestal(*command)[0])["completeness"])


class Query:
    """A selector, and which reports it takes."""

    def __init__(self, text, takes):
        self.text, self.takes = text, takes

    def __call__(self, report):
        return self.takes(report)


def run(seed):
    r = random.Random(seed)
    # Some hours have roll-ups; requests bring windows of several services.
    span = r.choice((600, 7200, 50 * 3600))
    end = int(time.time()) // 3600 * 3600 * S
    begin, every = end - span * S, max(WINDOW, span * S // 40 // WINDOW * WINDOW)
    silent = r.choice((None, "s1"))
    reports = [Report(service, pod, start, {} if service == silent else random_rows(r))
               for start in range(begin, end, every) for service in ("s0", "s1", "s2") for pod in ("a", "b") if r.random() < 0.8]
    queries = [Query("{}", lambda _: True), Query('{service_name="s0"}', lambda p: p.service == "s0"), Query('{service_name=~"s0|s1"}', lambda p: p.service != "s2"),
               Query('{service_name="s2",pod="a"}', lambda p: p.service == "s2" and p.pod == "a"), Query('{pod!="a"}', lambda p: p.pod == "b")]
    for restart in (False, True):
        with Server(folder=f"{scratch()}/completeness-{seed}") as server:
            for i in range(0, 0 if restart else len(reports), 3):
                status, reply = server.ask("/v1development/profiles", request(reports[i:i + 3]), {"Content-Type": "application/json"})
                assert status == 200 and b"rejected" not in reply, (status, reply)
            for query in queries:
                for kind, measure in ((CPU, "cpu"), (OFF_CPU, "off_cpu")):
                    ask(server, query, kind, measure, reports, {"from": begin, "until": end})
                ask(server, query, CPU, "cpu", reports, {"from": begin + span // 3 * S // every * every, "until": end - every})


@test
def reports_of_several_services_add_up_everywhere():
    wrong = []
    for seed in seeds():
        try:
            run(seed)
        except AssertionError as mismatch:
            wrong.append(f"seed {seed}: {mismatch}")
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    main()
