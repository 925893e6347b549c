#!/usr/bin/env python3
"""The official clients against a running server: each profiles a program of tests/clients, whose
functions have shares that the program measures itself; then its data is found again by query."""
import math
import re

from support import clients
from support.server import Server
from support.tap import main, test

MAKERS = {
    "rust.current": lambda: clients.rust("current"),
    "go": lambda: clients.go("go"),
    "python": clients.python,
    "nodejs": clients.nodejs,
    "java": clients.java,
    "otlp": lambda: clients.go("otlp"),
    "rust.old": lambda: clients.rust("old"),
}
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
CPU_SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
WALL = "wall:wall:nanoseconds:wall:nanoseconds"
WALL_SAMPLES = "wall:samples:count:wall:nanoseconds"

server = Server()
programs = None  # of clients.Clients, once the server runs


def selector(service):
    return f'{{service_name="{service}"}}'


def whole_range():
    """All that was sent: a client may date the end of a profile some milliseconds ahead."""
    return {"from": "now-1h", "until": "now+1m"}


def values(service, profile_type, **more):
    """What functions used, with what they called: {name: value}; names as the programs call them."""
    found = {}
    for row in server.get("/api/v1/top", query=more.get("query", selector(service)),
                          type=profile_type, limit=100000, **whole_range())["rows"]:
        # main.heavy, Busy.heavy, busy_heavy, /…/busy.js:heavy:9
        name = re.sub(r":\d+$", "", row["name"])
        name = re.split(r"[.:_]", name)[-1]
        found[name] = found.get(name, 0) + row["cum"]
    return found


def types(service):
    answer = server.call("querier.v1.QuerierService/Series", matchers=[selector(service)],
                         labelNames=["__profile_type__"])
    return {pair["value"] for labels in answer["labelsSet"] for pair in labels["labels"]}


def labels(service):
    """All labels of the service's series: {name: values}."""
    found = {}
    for one in server.call("querier.v1.QuerierService/Series",
                           matchers=[selector(service)])["labelsSet"]:
        for pair in one["labels"]:
            found.setdefault(pair["name"], set()).add(pair["value"])
    return found


class Unlucky(AssertionError):
    """A share that chance may have moved too far: once in a few hundred runs it does."""


def run_checks(name, check):
    """Calls check(service, measured); chance does not strike twice."""
    measured = programs.result(name)
    try:
        check(name, measured)
    except Unlucky as reason:
        print(f"# {name} once more: {reason}")
        check(name + ".again", programs.again(name))


def check_share(measured, stored, samples):
    """The share of heavy in both; the difference may be what chance does to so many samples."""
    truth = measured["heavy"] / (measured["heavy"] + measured["light"])
    share = stored["heavy"] / (stored["heavy"] + stored["light"])
    limit = 3 * math.sqrt(truth * (1 - truth) / samples) + 0.01
    assert samples >= 20, f"{samples} samples only"
    if abs(share - truth) > limit:
        raise Unlucky(f"{share:.3f} stored, {truth:.3f} measured, {samples:.0f} samples")


def samples_of(stored, period_ns=10_000_000):
    return (stored["heavy"] + stored["light"]) / period_ns


def check_render(service, profile_type, stored):
    """Pyroscope's own way to ask says the same as ours."""
    flame = server.get("/pyroscope/render", query=profile_type + selector(service),
                       **whole_range())["flamebearer"]
    found = {}
    for level in flame["levels"]:
        for i in range(0, len(level), 4):
            name = re.split(r"[.:_]", re.sub(r":\d+$", "", flame["names"][level[i + 3]]))[-1]
            found[name] = found.get(name, 0) + level[i + 1]
    assert flame["names"][0] == "total"
    for name in ("heavy", "light"):
        assert found[name] == stored[name], (name, found[name], stored[name])


def check_go(service, measured):
    stored = values(service, CPU)
    check_share(measured, stored, samples_of(stored))
    check_render(service, CPU, stored)
    assert values(service, CPU_SAMPLES)["heavy"] == stored["heavy"] / 1e7
    assert types(service) == {
        CPU, CPU_SAMPLES, "memory:alloc_objects:count:space:bytes",
        "memory:alloc_space:bytes:space:bytes", "memory:inuse_objects:count:space:bytes",
        "memory:inuse_space:bytes:space:bytes", "goroutines:goroutine:count:goroutine:count",
        "mutex:contentions:count:contentions:count", "mutex:delay:nanoseconds:contentions:count",
        "block:contentions:count:contentions:count", "block:delay:nanoseconds:contentions:count"}
    found = labels(service)
    assert found["region"] == {"north"} and found["pyroscope_spy"] == {"gospy"}, found
    assert found["process.runtime.name"] == {"go"}, found
    # The SDK sends differences: their sum is what was allocated, to the byte but for sampling.
    hoarded = values(service, "memory:alloc_space:bytes:space:bytes")["hoard"]
    assert abs(hoarded - measured["kept"]) < 0.02 * measured["kept"], hoarded
    assert 0 < values(service, "memory:inuse_space:bytes:space:bytes")["hoard"] <= hoarded
    assert values(service, "mutex:contentions:count:contentions:count")["Unlock"] > 10


@test
def go_sdk():
    run_checks("go", check_go)


def check_python(service, measured):
    stored = values(service, CPU)
    check_share(measured, stored, samples_of(stored))
    check_render(service, CPU, stored)
    found = labels(service)
    assert found["region"] == {"north"} and found["process.runtime.name"] == {"cpython"}, found
    assert types(service) >= {CPU, "memory:alloc_space:bytes:space:bytes",
                              "memory:inuse_space:bytes:space:bytes"}, types(service)
    assert values(service, "memory:inuse_space:bytes:space:bytes")["hoard"] > 1 << 20
    # Tags of a block of code are labels to select and to group by.
    tagged = values(service, CPU, query=selector(service)[:-1] + ',endpoint="/heavy"}')
    assert tagged["heavy"] > 0.9 * stored["heavy"] and tagged.get("light", 0) < 0.1 * stored["light"]
    assert set(server.get("/api/v1/labels/endpoint", query=selector(service))["values"]) == \
        {"/heavy", "/light"}


@test
def python_sdk():
    run_checks("python", check_python)


def check_nodejs(service, measured):
    stored, count = values(service, WALL), values(service, WALL_SAMPLES)
    check_share(measured, stored, count["heavy"] + count["light"])
    check_render(service, WALL, stored)
    found = labels(service)
    assert found["region"] == {"north"} and found["pyroscope_spy"] == {"nodespy"}, found
    # CPU time goes under the name that all CPU time has.
    assert types(service) == {WALL, WALL_SAMPLES, "process_cpu:cpu:nanoseconds:wall:nanoseconds",
                              "memory:inuse_objects:count:inuse_space:bytes",
                              "memory:inuse_space:bytes:inuse_space:bytes"}, types(service)
    assert values(service, "memory:inuse_space:bytes:inuse_space:bytes")["hoard"] > 0


@test
def nodejs_sdk():
    run_checks("nodejs", check_nodejs)


def check_java(service, measured):
    stored = values(service, CPU)
    check_share(measured, stored, samples_of(stored))
    check_render(service, CPU, stored)
    found = labels(service)
    assert found["region"] == {"north"} and found["pyroscope_spy"] == {"javaspy"}, found
    # The names of the runtime have spaces and plus signs.
    assert any(" " in name for name in found["process.runtime.name"]), found
    allocated = "memory:alloc_in_new_tlab_bytes:bytes:space:bytes"
    outside = "memory:alloc_outside_tlab_bytes:bytes:space:bytes"
    assert {CPU} < types(service) and types(service) & {allocated, outside}, types(service)
    assert set(server.get("/api/v1/labels/endpoint", query=selector(service))["values"]) == \
        {"/heavy", "/light"}


@test
def java_agent():
    run_checks("java", check_java)


def check_rust(service, measured):
    stored = values(service, CPU)
    check_share(measured, stored, samples_of(stored))
    check_render(service, CPU, stored)
    assert server.get("/api/v1/labels/region", query=selector(service))["values"] == ["north"]


@test
def rust_crate():
    run_checks("rust.current", check_rust)


@test
def rust_crate_of_the_first_generation():
    run_checks("rust.old", check_rust)


def check_otlp(service, measured):
    stored = values(service, CPU)
    check_share(measured, stored, samples_of(stored))
    check_render(service, CPU, stored)
    assert labels(service)["region"] == {"north"}
    spans = server.get("/api/v1/spans", service=service, limit=1000)["spans"]
    assert {span["operation"] for span in spans} == {"GET /heavy", "GET /light"}
    # What ran under a span is found by its id, and is all of that span's kind.
    heavy = [span["span_id"] for span in spans if span["operation"] == "GET /heavy"]
    answer = server.call("querier.v1.QuerierService/SelectMergeStacktraces", profileTypeID=CPU,
                         labelSelector=selector(service), spanSelector=heavy, start=1,
                         end=4102444800000)["flamegraph"]
    assert "main.heavy" in answer["names"] and "main.light" not in answer["names"]


@test
def otlp_exporters_over_grpc():
    run_checks("otlp", check_otlp)


if __name__ == "__main__":
    with server:
        programs = clients.Clients(server, MAKERS)
        try:
            main()
        finally:
            programs.close()
