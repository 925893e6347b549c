#!/usr/bin/env python3
"""All interfaces return the same numbers for the same selection, equal to those of the generator.
Thirteen situations (support/situations.py, and restarted counters here) are queried by the API,
Pyroscope's calls and the command line and compared with the truth, to the last digit
(docs/numbers.md).
"""
import http.server
import json
import threading
import time

from support import numbers
from support.pprof_writer import block, number, varint, write_pprof
from support.server import Server
from support.situations import STACKS, fill, situations
from support.tap import main, scratch, test, vestal
from support.wait import until

QUANTITIES = ("total", "covered_ns", "rate", "average", "coverage")
PERCENT = 1e-9


class Asked:
    """A server with all situations in it, and the questions that every test asks."""

    server = None

    @classmethod
    def once(cls):
        if cls.server is None:
            cls.server = Server().__enter__()
            made = situations(time.time_ns())
            fill(cls.server.url, made)
            cls.truths = [s.truth() for s in made]
        return cls


def close(a, b):
    """Equal but for the last bits of a division."""
    return a == b or (a is not None and b is not None and abs(a - b) <= PERCENT * max(abs(a), abs(b)))


def expect(where, got, truth, names=QUANTITIES):
    for name in names:
        if truth[name] is not None or not truth.get("gauge"):
            assert close(got[name], truth[name]), f"{where}: {name} is {got[name]}, should be {truth[name]}"


def each():
    """Every situation with its truth and how to ask for the later side."""
    asked = Asked.once()
    for truth in asked.truths:
        side = dict(truth["after"], gauge=truth["gauge"])
        window = {"type": truth["type"], "from": side["from_ns"], "until": side["until_ns"]}
        yield asked.server, truth, side, window


def both_sides(truth):
    before, after = truth["before"], truth["after"]
    return {"baseline": before["query"], "comparison": after["query"], "type": truth["type"],
            "baseline_from": before["from_ns"], "baseline_until": before["until_ns"],
            "comparison_from": after["from_ns"], "comparison_until": after["until_ns"]}


def expect_change(where, got, truth):
    if truth["before"]["total"]:
        expect(where + " before", got["before"], dict(truth["before"], gauge=truth["gauge"]))
    expect(where + " after", got["after"], dict(truth["after"], gauge=truth["gauge"]))
    assert close(got["change"], truth["change"]) or abs(got["change"] - truth["change"]) < 1e-3, f"{where}: {got['change']}, should be {truth['change']}"
    assert close(got["share"], truth["share"]) or abs(got["share"] - truth["share"]) < 1e-9, f"{where}: {got['share']}, should be {truth['share']}"
    assert got["verdict"] == truth["verdict"], f"{where}: {got['verdict']}, should be {truth['verdict']}"


@test
def tables_and_trees_have_the_truth():
    for server, truth, side, window in each():
        name = truth["name"]
        top = server.get("/api/v1/top", query=side["query"], **window)
        expect(f"top {name}", top, side)
        rows = {row["name"]: row for row in top["rows"]}
        for function, values in side["functions"].items():
            got = rows[function]["flat"], rows[function]["cum"]
            assert got == (values["self"], values["total"]), f"{name}: {function} is {got}, should be {values}"
        tree = server.get("/api/v1/tree", query=side["query"], **window)
        assert tree["total"][0] == side["total"], name
        expect(f"tree {name}", tree, side, QUANTITIES[1:])


@test
def the_overview_and_changes_have_the_truth():
    for server, truth, side, window in each():
        name = truth["name"]
        services = server.get("/api/v1/overview", query=side["query"], **window)["services"]
        usage = services[0]["types"][0]
        expect(f"overview {name}", usage, side)
        # A change is what it is, however many points are shown.
        for points in (3, 12, 500):
            shown = server.get("/api/v1/overview", query=side["query"], points=points, **window)["services"][0]["types"][0]
            assert shown["change"] == usage["change"], f"{name} in {points} points: {shown['change']}, should be {usage['change']}"
            expect(f"overview {name} in {points} points", shown, side)
        # The overview compares with the time before of the same selection.
        if truth["before"]["query"] == side["query"]:
            expect_change(f"overview {name}", usage["change"], truth)
        expect_change(f"change {name}", server.get("/api/v1/change", **both_sides(truth)), truth)
        diff = server.get("/api/v1/diff", **both_sides(truth))
        expect_change(f"diff {name}", diff, truth)


@test
def the_overview_of_all_services_is_one_selection():
    asked = Asked.once()
    by_name = {t["name"]: t for t in asked.truths}
    steady, gaps = by_name["interval"], by_name["gaps"]
    window = {"from": steady["after"]["from_ns"], "until": steady["after"]["until_ns"]}
    both = '{service_name=~"numbers-(interval|gaps)"}'
    cpu = asked.server.get("/api/v1/overview", query=both, **window)["cpu"]
    total = steady["after"]["total"] + gaps["after"]["total"]
    top = asked.server.get("/api/v1/top", query=both, type=steady["type"], **window)
    assert cpu["total"] == top["total"] == total, (cpu, top["total"], total)
    assert {q: cpu[q] for q in QUANTITIES} == {q: top[q] for q in QUANTITIES}
    assert close(cpu["rate"], total / (cpu["covered_ns"] / 1e9))
    single = asked.server.get("/api/v1/overview", query=gaps["after"]["query"], limit=1, **window)["cpu"]
    expect("one service", single, gaps["after"])


@test
def gauges_hold_between_points():
    """Ranges without a profile in them: the level is that of the profile before."""
    for server, truth, side, window in each():
        if not truth["gauge"]:
            continue
        at = (truth["before"]["from_ns"] + 605 * 10**9, side["from_ns"] + 605 * 10**9)
        # The level changed once, shortly before the later side.
        for begin, level in zip(at, (side["total"] * 100 // 150, side["total"])):
            window.update({"from": begin, "until": begin + 15 * 10**9})
            top = server.get("/api/v1/top", query=side["query"], **window)
            assert top["total"] == level and top["rate"] == level, (top, level)
            [series] = server.get("/api/v1/series", query=side["query"], step="5s", **window)["series"]
            assert series["total"] == level and {v for v in series["values"] if v is not None} == {level}, series
            usage = server.get("/api/v1/overview", query=side["query"], **window)["services"][0]["types"][0]
            assert usage["total"] == level, usage


@test
def a_level_that_nobody_measured_is_not_zero():
    asked = Asked.once()
    truth = next(t for t in asked.truths if t["gauge"])
    begin = truth["before"]["from_ns"] - 7200 * 10**9
    ask = {"query": truth["before"]["query"], "type": truth["type"], "from": begin, "until": begin + 600 * 10**9}
    top = asked.server.get("/api/v1/top", **ask)
    assert {top[name] for name in ("total", "rate", "average")} == {None}, top
    function = asked.server.get("/api/v1/function", name="work", **ask)
    assert {function[name] for name in ("total", "self", "all", "rate", "self_rate", "all_rate")} == {None}, function
    tree = asked.server.get("/api/v1/tree", **ask)
    assert tree["rate"] is None and tree["average"] is None, tree


def uneven(server, service, start):
    """Profiles that come unevenly; only every third has a row of the thread "rare"."""
    at = start
    for i in range(120):
        length = (13 + i * 7 % 5) * 10**9 + i * 1_000_003
        rows = b"".join(block(2, block(1, varint(1)) + block(2, varint(value)) + label) for value, label in (
            (length // 2, b""), (length // 10, block(3, number(1, 4) + number(2, 5)) if i % 3 == 0 else b"")))
        texts = ("", "cpu", "nanoseconds", "main", "thread", "rare")
        body = (block(1, number(1, 1) + number(2, 2)) + rows + block(4, number(1, 1) + block(4, number(1, 1))) +
                block(5, number(1, 1) + number(2, 3)) + number(9, at) + number(10, length) +
                b"".join(block(6, text.encode()) for text in texts))
        pod = "a" if i % 40 else "b"
        status, reply = server.ask(f"/api/v1/profiles?service={service}&label=pod={pod}", body)
        assert status == 200, reply
        at += length if i % 17 else 4 * length
    return at


@test
def covered_time_is_that_of_the_selection_whatever_asks():
    """Also of labels that only some rows have: time without such a row was measured, too."""
    with Server() as server:
        start = (time.time_ns() // 10**9 - 6 * 3600) * 10**9
        end = uneven(server, "uneven", start)
        for query in ("uneven", 'uneven{thread="rare"}', 'uneven{thread!="rare"}', 'uneven{pod="a"}'):
            window = {"query": query, "type": "cpu", "from": start + 100 * 10**9, "until": end - 50 * 10**9}
            top = server.get("/api/v1/top", **window)
            for step in ("7s", "60s", "1h"):
                [series] = server.get("/api/v1/series", step=step, **window)["series"]
                expect(f"{query} in steps of {step}", series, top)
            [service] = server.get("/api/v1/overview", **window)["services"]
            expect(f"overview of {query}", service["types"][0], top)
            expect(f"function of {query}", server.get("/api/v1/function", name="main", **window), top, ("covered_ns", "coverage"))


@test
def points_and_cells_add_up_to_the_total():
    for server, truth, side, window in each():
        name = truth["name"]
        for step in ("7s", "20s", "60s", "300s"):
            [series] = server.get("/api/v1/series", query=side["query"], step=step, **window)["series"]
            expect(f"series {name} {step}", series, side)
            if not truth["gauge"]:
                assert sum(v or 0 for v in series["values"]) == side["total"], f"{name} in steps of {step}"
        if not truth["gauge"]:
            heat = server.get("/api/v1/heatmap", query=side["query"], column="60s", row="100ms", **window)
            assert sum(heat["cells"]) == side["total"], f"{name}: {sum(heat['cells'])}, should be {side['total']}"


@test
def groups_add_up_to_the_total():
    for server, truth, side, window in each():
        for limit in (0, 1, 2):
            series = server.get("/api/v1/series", query=side["query"], by="pod", limit=limit, step="20s", **window)["series"]
            assert close(sum(s["total"] for s in series), side["total"]), f"{truth['name']}: {[s['total'] for s in series]}, should be {side['total']}"
            assert limit == 0 or len(series) <= limit + 1


@test
def a_function_has_the_truth():
    for server, truth, side, window in each():
        if truth["gauge"]:
            continue
        got = server.get("/api/v1/function", name="work", query=side["query"], step="20s", **window)
        values = side["functions"]["work"]
        assert (got["self"], got["total"], got["all"]) == (values["self"], values["total"], side["total"]), truth["name"]
        assert close(got["all_rate"], side["rate"]) and close(got["rate"], side["rate"] * values["total"] / side["total"]), truth["name"]
        assert sum(v or 0 for v in got["series"]["total"]) == values["total"], truth["name"]


@test
def pyroscope_calls_have_the_truth():
    for server, truth, side, window in each():
        name = truth["name"]
        request = {"start": window["from"] // 10**6, "end": window["until"] // 10**6, "profileTypeID": truth["type"],
                   "labelSelector": selector(side["query"])}
        tree = server.call("querier.v1.QuerierService/SelectMergeStacktraces", **request)["flamegraph"]
        assert int(tree["total"]) == side["total"], f"{name}: {tree['total']}, should be {side['total']}"
        diff = server.call("querier.v1.QuerierService/Diff", left=dict(request, start=truth["before"]["from_ns"] // 10**6,
                           end=truth["before"]["until_ns"] // 10**6, labelSelector=selector(truth["before"]["query"])), right=request)["flamegraph"]
        assert int(diff.get("leftTicks", 0)) == truth["before"]["total"] and int(diff["rightTicks"]) == side["total"], f"{name}: {diff}"
        render = server.get("/pyroscope/render", query=truth["type"] + selector(side["query"]), **{"from": window["from"], "until": window["until"]})
        assert render["flamebearer"]["numTicks"] == side["total"], name
        if truth["gauge"]:
            continue
        for step in (15, 60):
            series = server.call("querier.v1.QuerierService/SelectSeries", **request, step=step)["series"]
            total = sum(point.get("value", 0) for s in series for point in s["points"])
            assert total == side["total"], f"{name}: {total}, should be {side['total']}"


def selector(query):
    """service{a="b"} as Pyroscope writes it."""
    service, _, rest = query.partition("{")
    return f'{{service_name="{service}"' + ("," + rest if rest else "}")


@test
def commands_have_the_truth():
    for server, truth, side, window in each():
        name = truth["name"]
        where = ["--server", server.url, "--type", truth["type"]]
        times = ["--from", str(window["from"]), "--until", str(window["until"])]
        got = json.loads(vestal("query", "--json", *where, *times, side["query"])[0])
        expect(f"query {name}", got, side)
        rows = {row["name"]: row for row in got["rows"]}
        for function, values in side["functions"].items():
            assert (rows[function]["flat"], rows[function]["cum"]) == (values["self"], values["total"]), f"{name}: {rows[function]}"
        [series] = json.loads(vestal("query", "--series", "--json", *where, *times, side["query"])[0])["series"]
        expect(f"query --series {name}", series, side)
        text = vestal("query", *where, *times, side["query"])[0]
        assert truth["gauge"] or f"Rate: {side['rate_text']}" in text, f"{name}: {text}"


@test
def diff_commands_have_the_truth():
    for server, truth, side, _ in each():
        before = truth["before"]
        if not before["total"]:
            continue
        command = ["diff", "--server", server.url, "--type", truth["type"], "--baseline", before["query"], "--comparison", side["query"],
                   "--baseline-from", str(before["from_ns"]), "--baseline-until", str(before["until_ns"]),
                   "--comparison-from", str(side["from_ns"]), "--comparison-until", str(side["until_ns"])]
        expect_change(f"vestal diff {truth['name']}", json.loads(vestal(*command, "--json")[0]), truth)
        text = vestal(*command)[0]
        assert f"Change: {truth['share_text']}" in text, f"{truth['name']}: {text}"
        assert truth["gauge"] or (before["rate_text"] in text and side["rate_text"] in text), f"{truth['name']}: {text}"


@test
def files_are_compared_as_selections_are():
    """Of files the samples tell, which is another test of the same change."""
    paths = []
    for name, cores in (("before", 0.45), ("after", 1.9)):
        values = {stack: (round(cores * 60 * parts) * 10**8,) for stack, parts in STACKS.items()}
        paths.append(f"{scratch()}/{name}.pb")
        with open(paths[-1], "wb") as file:
            file.write(write_pprof(values, [("cpu", "nanoseconds")], 1_700_000_000 * 10**9, 60 * 10**9))
    got = json.loads(vestal("diff", "--json", *paths)[0])
    assert got["verdict"] == "more" and got["test"] == "samples", got
    assert close(got["share"], got["after"]["total"] / got["before"]["total"] - 1), got
    assert got["before"]["coverage"] == 1 and close(got["after"]["rate"], got["after"]["total"] / 60), got
    again = json.loads(vestal("diff", "--json", paths[0], paths[0])[0])
    assert again["verdict"] == "noise" and again["share"] == 0, again


@test
def files_without_a_duration_have_no_rates_to_compare():
    paths = []
    for name, value in (("few", 163), ("many", 365)):
        paths.append(f"{scratch()}/{name}.pb")
        with open(paths[-1], "wb") as file:
            file.write(write_pprof({("main", "work"): (value,)}, [("samples", "count")], 0, 0))
    got = json.loads(vestal("diff", "--json", *paths)[0])
    assert got["verdict"] == "unknown" and got["change"] is None and got["before"]["rate"] is None, got
    assert "Change: unknown: the profiles have no duration\n" in vestal("diff", *paths)[0]


@test
def a_process_that_only_slept_is_there():
    """A service of empty profiles alone: it is listed, its time is covered, and it used nothing."""
    with Server() as server:
        end = time.time_ns() // 10**9 * 10**9 - 60 * 10**9
        for i in range(10):
            _, reply = server.ask("/api/v1/profiles?service=asleep", write_pprof({}, [("cpu", "nanoseconds")], end - (10 - i) * 60 * 10**9, 60 * 10**9))
            assert json.loads(reply)["samples"] == 0, reply
        where = {"from": end - 600 * 10**9, "until": end}
        assert [t["id"] for t in server.get("/api/v1/types", query="asleep", **where)["types"]] == ["process_cpu:cpu:nanoseconds:cpu:nanoseconds"]
        top = server.get("/api/v1/top", query="asleep", **where)
        assert (top["total"], top["rate"], top["covered_ns"], top["coverage"]) == (0, 0, 600 * 10**9, 1), top
        [series] = server.get("/api/v1/series", query="asleep", step="60s", **where)["series"]
        assert {v for v in series["values"] if v is not None} == {0} and series["covered_ns"] == 600 * 10**9, series
        [service] = server.get("/api/v1/overview", **where)["services"]
        assert service["types"][0]["rate"] == 0 and service["types"][0]["coverage"] == 1, service
        # One that is busy for a minute of ten, and one of whose levels the last is none.
        server.ask("/api/v1/profiles?service=asleep", write_pprof({("main",): (30 * 10**9,)}, [("cpu", "nanoseconds")], end - 300 * 10**9, 60 * 10**9))
        assert server.get("/api/v1/top", query="asleep", **where)["rate"] == 30 * 10**9 / 600
        for i in range(10):
            rows = {("main",): (1000,)} if i < 5 else {}
            server.ask("/api/v1/profiles?service=freed", write_pprof(rows, [("inuse_space", "bytes")], end - (10 - i) * 60 * 10**9, 0, ("space", "bytes", 1)))
        assert server.get("/api/v1/top", query="freed", **where)["total"] == 500


# ---------------------------------------------------------------- restarted counters

class Counter(http.server.BaseHTTPRequestHandler):
    """Allocations since the start of a program that starts anew after a while."""

    values = [100, 250, 400, 50, 120, 200]
    asked = 0

    def do_GET(self):  # pylint: disable=invalid-name
        cls = type(self)
        value = cls.values[min(cls.asked, len(cls.values) - 1)]
        cls.asked += 1
        if cls.asked > len(cls.values) + 2:
            # Nothing more is stored: what one call answers, the next one answers too.
            self.send_error(503)
            return
        body = write_pprof({("main", "alloc"): (value * 1000,)}, [("alloc_space", "bytes")], time.time_ns(), 0, ("space", "bytes", 524288))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@test
def restarted_counters_are_what_they_counted():
    Counter.asked = 0
    target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counter)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    config = f"{scratch()}/restart.yaml"
    with open(config, "w", encoding="utf-8") as file:
        file.write(SCRAPE % target.server_port)
    with Server("--config", config) as server:
        until(lambda: Counter.asked > len(Counter.values) + 3, "a look after the last of its values")
        top = server.get("/api/v1/top", query="restarted", type="alloc_space", **{"from": "-5m", "until": "now+1m"})
        assert top["total"] == restarted_truth(Counter.values) * 1000, top
        [series] = server.get("/api/v1/series", query="restarted", type="alloc_space", step="1s",
                              **{"from": top["from_ns"], "until": top["until_ns"]})["series"]
        assert sum(v or 0 for v in series["values"]) == top["total"], series
        assert close(series["rate"], top["rate"]) and series["covered_ns"] == top["covered_ns"], (series, top)
    target.shutdown()


def restarted_truth(values):
    """What was added from one look to the next. Across a restart nothing is known, and nothing covered."""
    return sum(b - a for a, b in zip(values, values[1:]) if b >= a)


SCRAPE = """
scrape_configs:
  - job_name: restarted
    interval: 1s
    targets: ["127.0.0.1:%d"]
    profiles:
      process_cpu: {enabled: false}
      goroutine: {enabled: false}
      block: {enabled: false}
      mutex: {enabled: false}
"""


# ---------------------------------------------------------------- all digits, long ranges, nothing at all

def everywhere(server, query, kind, begin, end):
    """{who was asked: total} of one selection."""
    window = {"query": query, "type": kind, "from": begin, "until": end}
    label = f'{{service_name="{query}"}}'
    request = {"start": begin // 10**6, "end": end // 10**6, "profileTypeID": kind, "labelSelector": label}
    where = ["--server", server.url, "--type", kind]
    times = ["--from", str(begin), "--until", str(end), query]
    both = ["--baseline", query, "--comparison", query, "--baseline-from", str(begin), "--baseline-until", str(end),
            "--comparison-from", str(begin), "--comparison-until", str(end)]
    sides = {"baseline": query, "comparison": query, "type": kind, "baseline_from": begin, "baseline_until": end, "comparison_from": begin, "comparison_until": end}
    diff, change = server.get("/api/v1/diff", **sides), server.get("/api/v1/change", **sides)
    series = server.get("/api/v1/series", step="1h", **window)["series"]
    services = server.get("/api/v1/overview", **window)["services"]
    types = [t for s in services for t in s["types"] if t["type"] == kind]
    shell = [json.loads(vestal(*c)[0]) for c in (["query", "--json", *where, *times], ["query", "--series", "--json", *where, *times])]
    # There is nothing to compare with nothing: the command says so.
    compared, said = vestal("diff", "--json", *where, *both, status=None)
    merged = server.call("querier.v1.QuerierService/SelectMergeProfile", profile_typeID=kind, label_selector=label, start=request["start"], end=request["end"])
    return {
        "top": server.get("/api/v1/top", **window)["total"],
        "function": server.get("/api/v1/function", name="main", **window)["all"],
        "series": series[0]["total"] if series else None,
        "overview": types[0]["total"] if types else None,
        "diff": diff["after"]["total"], "change": change["before"]["total"],
        "vestal query": shell[0]["total"],
        "vestal query --series": shell[1]["series"][0]["total"] if shell[1]["series"] else None,
        "vestal diff": json.loads(compared)["after"]["total"] if compared else None if "there is no profile" in said else said,
    }, {
        "tree": server.get("/api/v1/tree", **window)["total"][0],
        "Pyroscope's tree": int(server.call("querier.v1.QuerierService/SelectMergeStacktraces", **request).get("flamegraph", {}).get("total", 0)),
        "Pyroscope's profile": sum(int(s["value"][0]) for s in merged.get("sample", [])),
        "/render": server.get("/pyroscope/render", query=kind + label, **{"from": begin, "until": end})["flamebearer"]["numTicks"],
    }


def expect_everywhere(server, query, kind, span, total):
    numbers_of, trees = everywhere(server, query, kind, *span)
    wrong = {where: got for where, got in numbers_of.items() if got != total}
    wrong.update({where: got for where, got in trees.items() if got != (total or 0)})
    assert not wrong, f"{query} should be {total}, and is {wrong}"


@test
def sums_that_no_double_holds_are_exact_to_the_last_digit():
    with Server() as server:
        kind = "memory:alloc_space:bytes:space:bytes"
        end = (time.time_ns() // 10**9 - 60) * 10**9
        parts = (2**53 + 1, 2**55 + 3, 7)
        for i, value in enumerate(parts):
            body = write_pprof({("main", "work"): (value,), ("main", "idle"): (1,)}, [("alloc_space", "bytes")], end - (i + 1) * 60 * 10**9, 60 * 10**9, ("space", "bytes", 1))
            server.ask("/api/v1/profiles?service=large", body)
        total = sum(parts) + len(parts)
        span = (end - 200 * 10**9, end)
        expect_everywhere(server, "large", kind, span, total)
        window = {"query": "large", "type": kind, "from": span[0], "until": span[1]}
        [series] = server.get("/api/v1/series", step="60s", **window)["series"]
        assert sum(v or 0 for v in series["values"]) == total, series
        [main_only] = server.get("/api/v1/series", step="60s", function="work", **window)["series"]
        assert main_only["total"] == sum(parts), main_only
        groups = server.get("/api/v1/series", step="60s", by="service_name", limit=1, **window)["series"]
        assert sum(g["total"] for g in groups) == total, groups
        assert sum(server.get("/api/v1/heatmap", column="60s", row="100ms", **window)["cells"]) == total
        assert server.get("/api/v1/overview", **window)["services"][0]["types"][0]["points"].count(None) < 60
        work = {row["name"]: row for row in server.get("/api/v1/top", **window)["rows"]}["work"]
        assert work["flat"] == sum(parts), work
        tree = server.get("/api/v1/tree", max_nodes=2, **window)
        assert sum(tree["self"]) == tree["total"][0] == total, tree
        # Half of a profile is half of it, to the unit.
        cut = dict(window, **{"from": end - 90 * 10**9, "until": end})
        assert server.get("/api/v1/top", **cut)["total"] == server.get("/api/v1/series", step="30s", **cut)["series"][0]["total"]


@test
def levels_over_days_have_one_mean():
    """Longer than what single profiles answer for rows; levels that change, at unequal distances."""
    with Server(folder=f"{scratch()}/levels") as server:
        begin = (time.time_ns() // (3600 * 10**9) - 80) * 3600 * 10**9
        at, marks = begin, []
        for i in range(600):
            marks.append((at, (1000 + i * 7919 % 5000) * 1001))
            at += (300 + (i * 37 % 5) * 60) * 10**9
        for start, value in marks:
            server.ask("/api/v1/profiles?service=days", write_pprof({("main", "work"): (value // 3,), ("main",): (value - value // 3,)},
                       [("inuse_space", "bytes")], start, 0, ("space", "bytes", 1)))
        until(lambda: not server.get("/api/v1/status")["fresh_chunks"] or server.get("/api/v1/status")["compaction_lag_ns"] == 0, "compaction")
        for a, b in ((begin + 3600 * 10**9, begin + 55 * 3600 * 10**9), (begin + 1800 * 10**9, begin + 58 * 3600 * 10**9 + 12 * 10**6)):
            held = sum(value * max(0, min(y, b) - max(x, a)) for (x, value), (y, _) in zip(marks, marks[1:]))
            total = (2 * held + (b - a)) // (2 * (b - a))
            expect_everywhere(server, "days", HEAP_TYPE, (a, b), total)


HEAP_TYPE = "memory:inuse_space:bytes:space:bytes"


@test
def time_without_data_is_null_everywhere():
    asked = Asked.once()
    for truth in asked.truths[:1] + [t for t in asked.truths if t["gauge"]]:
        begin = truth["before"]["from_ns"] - 7200 * 10**9
        expect_everywhere(asked.server, truth["service"], truth["type"], (begin, begin + 600 * 10**9), None)
        text = vestal("query", "--server", asked.server.url, "--type", truth["type"], "--from", str(begin), "--until", str(begin + 600 * 10**9), truth["service"])[0]
        assert "No data" in text and " 0 " not in text, text
        text = vestal("query", "--series", "--server", asked.server.url, "--type", truth["type"], "--from", str(begin), "--until", str(begin + 600 * 10**9), truth["service"])[0]
        assert "No data" in text, text


@test
def covered_time_without_samples_is_zero():
    """A thread that has no sample in the range, of a service that was watched."""
    with Server() as server:
        start = (time.time_ns() // 10**9 - 6 * 3600) * 10**9
        end = uneven(server, "uneven", start)
        window = {"query": 'uneven{thread="other"}', "type": "cpu", "from": start, "until": end}
        top = server.get("/api/v1/top", **window)
        assert top["total"] == top["rate"] == 0 and top["covered_ns"] > 0, top
        [series] = server.get("/api/v1/series", step="60s", **window)["series"]
        expect("a thread that did not run", series, top)
        assert all((v is None) == (c == 0) for v, c in zip(series["values"], series["covered"])), series
        [service] = server.get("/api/v1/overview", **window)["services"]
        expect("overview of a thread that did not run", service["types"][0], top)


@test
def the_generator_is_made_of_the_definitions():
    assert numbers.share_of(27 * 10**9, 0, 60, 0, 30) + numbers.share_of(27 * 10**9, 0, 60, 30, 60) == 27 * 10**9
    assert sum(numbers.share_of(10, 0, 3, i, i + 1) for i in range(3)) == 10
    assert numbers.rate_text(0.45e9, "nanoseconds") == "0.45 cores"
    Asked.once().server.__exit__(None, None, None)


if __name__ == "__main__":
    main()
