#!/usr/bin/env python3
"""Counts of samples and their CPU time, sent by OTLP in every way that senders have: whatever asks
afterwards, the CPU time counts once. The same for files."""
import json
import os
import subprocess
import time
import urllib.request

from support.server import Server
from support.tap import VESTAL, main, scratch, test

PERIOD = 10_000_000
TOTAL = 4 * PERIOD
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
DICTIONARY = {
    "stringTable": ["", "samples", "count", "cpu", "nanoseconds", "main", "work", "idle"],
    "functionTable": [{}, {"nameStrindex": 5}, {"nameStrindex": 6}, {"nameStrindex": 7}],
    "locationTable": [{}, *({"lines": [{"functionIndex": i}]} for i in (1, 2, 3))],
    "stackTable": [{}, {"locationIndices": [2, 1]}, {"locationIndices": [3, 1]}],
    "mappingTable": [{}], "linkTable": [{}], "attributeTable": [{}]}
NOW = time.time_ns() - 60_000_000_000


def profile(kind, rows, duration=10_000_000_000, start=0):
    return {"sampleType": {"typeStrindex": 1, "unitStrindex": 2} if kind == "samples"
                          else {"typeStrindex": 3, "unitStrindex": 4},
            "periodType": {"typeStrindex": 3, "unitStrindex": 4}, "period": str(PERIOD),
            "timeUnixNano": str(NOW + start), "durationNano": str(duration),
            "samples": [{"stackIndex": stack, "values": [str(value)]} for stack, value in rows]}


COUNTS = profile("samples", [(1, 3), (2, 1)])
TIMES = profile("cpu", [(1, 3 * PERIOD), (2, PERIOD)])
REVERSED = profile("cpu", [(2, PERIOD), (1, 3 * PERIOD)])
SPLIT = profile("samples", [(1, 1), (2, 1), (1, 2)])
LONGER = profile("cpu", [(1, 3 * PERIOD), (2, PERIOD)], duration=10_000_000_001)


def message(*scopes, service="shop"):
    return {"resourceProfiles": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
        "scopeProfiles": [{"scope": {"name": f"scope{i}"}, "profiles": list(profiles)}
                          for i, profiles in enumerate(scopes)]}], "dictionary": DICTIONARY}


# How it may come: a list of requests.
WAYS = {
    "counts alone": [message([COUNTS])],
    "the same rows": [message([COUNTS, TIMES])],
    "rows in another order": [message([COUNTS, REVERSED])],
    "a stack in two rows": [message([SPLIT, TIMES])],
    "two scopes": [message([COUNTS], [TIMES])],
    "durations 1 ns apart": [message([COUNTS, LONGER])],
    "two requests": [message([COUNTS]), message([TIMES])],
    "two requests, the other way round": [message([TIMES]), message([COUNTS])],
    "two requests, 1 ns apart": [message([COUNTS]), message([LONGER])],
}


def post_otlp(server, body):
    return server.ask("/v1development/profiles", body, {"Content-Type": "application/json"})


def post_port(server, body):
    request = urllib.request.Request(f"http://{server.otlp_http}/v1development/profiles", body,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.status, reply.read()


def post_file(server, body):
    return server.ask("/api/v1/profiles?format=otlp-json", body)


def post_rpc(server, body):
    """The call of the gRPC service, as Connect's JSON."""
    return server.ask("/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", body,
                      {"Content-Type": "application/json"})


def answers(server, kind):
    """What every kind of question says the total is."""
    start = NOW // 1_000_000 - 600_000
    ask = {"query": '{service_name="shop"}', "type": kind, "from": start, "until": start + 1_200_000}
    yield "top", server.get("/api/v1/top", **ask)["total"]
    lines = [s["values"] for s in server.get("/api/v1/series", step="1m", **ask)["series"]]
    yield "series", sum(value for line in lines for value in line if value is not None)
    graph = server.call("querier.v1.QuerierService/SelectMergeStacktraces", profileTypeID=kind,
                        labelSelector='{service_name="shop"}', start=start, end=start + 1_200_000)
    yield "stacktraces", int(graph["flamegraph"]["total"])


def check_ways(post):
    for way, requests in WAYS.items():
        with Server() as server:
            for body in requests:
                status, reply = post(server, json.dumps(body).encode())
                assert status == 200, f"{way}: {status} {reply}"
            for kind, total in (CPU, TOTAL), (SAMPLES, 4):
                for question, found in answers(server, kind):
                    assert found == total, f"{way}: {question} says {found} of {kind}, expected {total}"
            types = server.call("querier.v1.QuerierService/ProfileTypes", start=0, end=0)["profileTypes"]
            assert sorted(t["ID"] for t in types) == [CPU, SAMPLES], f"{way}: {types}"


@test
def otlp_over_http():
    check_ways(post_otlp)


@test
def otlp_on_its_own_port():
    check_ways(post_port)


@test
def the_call_of_the_grpc_service():
    check_ways(post_rpc)


@test
def uploads_of_files():
    check_ways(post_file)


def vestal(*arguments):
    done = subprocess.run([VESTAL, *arguments], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout} {done.stderr}"
    return done.stdout


@test
def files_are_converted_and_shown_with_it_once():
    for number, (way, requests) in enumerate(WAYS.items()):
        path = os.path.join(scratch(), f"{number}.json")
        with open(path, "w", encoding="utf-8") as file:
            # As the Collector's file exporter writes what came in several requests.
            file.writelines(json.dumps(body) + "\n" for body in requests)
        top = json.loads(vestal("top", "--type", "cpu", "--json", path))
        assert top["total"] == TOTAL, f"{way}: {top}"
        for form in "pprof", "otlp", "folded":
            copy = os.path.join(scratch(), f"{number}.{form}")
            kind = ["--type", "cpu"] if form == "folded" else []
            vestal("convert", path, "--to", form, "-o", copy, *kind)
            again = json.loads(vestal("top", "--json", copy, *([] if kind else ["--type", "cpu"])))
            assert again["total"] == TOTAL, f"{way} as {form}: {again}"


@test
def several_files_count_it_once():
    for way, requests in WAYS.items():
        paths = []
        for number, body in enumerate(requests):
            paths.append(os.path.join(scratch(), f"part{number}.json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(body, file)
        top = json.loads(vestal("top", "--type", "cpu", "--json", *paths))
        assert top["total"] == TOTAL, f"{way}: {top}"


@test
def what_was_derived_is_counted():
    with Server() as server:
        post_otlp(server, json.dumps(message([COUNTS])).encode())
        _, metrics = server.ask("/metrics")
        assert b"vestal_derived_profiles_total 1\n" in metrics


if __name__ == "__main__":
    main()
