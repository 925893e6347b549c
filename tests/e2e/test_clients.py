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


def values(service, profile_type, **more):
    """What functions used, with what they called: {name: value}; names as the programs call them."""
    found = {}
    for row in server.get("/api/v1/top", query=more.get("query", selector(service)),
                          type=profile_type, limit=100000)["rows"]:
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


def check_share(measured, stored, samples):
    """The share of heavy in both; the difference may be what chance does to so many samples."""
    truth = measured["heavy"] / (measured["heavy"] + measured["light"])
    share = stored["heavy"] / (stored["heavy"] + stored["light"])
    limit = 3 * math.sqrt(truth * (1 - truth) / samples) + 0.01
    assert samples >= 20, f"{samples} samples only"
    assert abs(share - truth) <= limit, f"{share:.3f} stored, {truth:.3f} measured, {samples} samples"


def samples_of(stored, period_ns=10_000_000):
    return (stored["heavy"] + stored["light"]) / period_ns


def check_render(service, profile_type, stored):
    """Pyroscope's own way to ask says the same as ours."""
    flame = server.get("/pyroscope/render", query=profile_type + selector(service),
                       **{"from": "now-1h", "until": "now"})["flamebearer"]
    found = {}
    for level in flame["levels"]:
        for i in range(0, len(level), 4):
            name = re.split(r"[.:_]", re.sub(r":\d+$", "", flame["names"][level[i + 3]]))[-1]
            found[name] = found.get(name, 0) + level[i + 1]
    assert flame["names"][0] == "total"
    for name in ("heavy", "light"):
        assert found[name] == stored[name], (name, found[name], stored[name])


@test
def go_sdk():
    measured = programs.result("go")
    stored = values("go", CPU)
    check_share(measured, stored, samples_of(stored))
    check_render("go", CPU, stored)
    assert values("go", CPU_SAMPLES)["heavy"] == stored["heavy"] / 1e7
    assert types("go") == {
        CPU, CPU_SAMPLES, "memory:alloc_objects:count:space:bytes",
        "memory:alloc_space:bytes:space:bytes", "memory:inuse_objects:count:space:bytes",
        "memory:inuse_space:bytes:space:bytes", "goroutines:goroutine:count:goroutine:count",
        "mutex:contentions:count:contentions:count", "mutex:delay:nanoseconds:contentions:count",
        "block:contentions:count:contentions:count", "block:delay:nanoseconds:contentions:count"}
    found = labels("go")
    assert found["region"] == {"north"} and found["pyroscope_spy"] == {"gospy"}, found
    assert found["process.runtime.name"] == {"go"}, found
    # The SDK sends differences: their sum is what was allocated, to the byte but for sampling.
    hoarded = values("go", "memory:alloc_space:bytes:space:bytes")["hoard"]
    assert abs(hoarded - measured["kept"]) < 0.02 * measured["kept"], hoarded
    assert 0 < values("go", "memory:inuse_space:bytes:space:bytes")["hoard"] <= hoarded
    assert values("go", "mutex:contentions:count:contentions:count")["Unlock"] > 10


@test
def python_sdk():
    measured = programs.result("python")
    stored = values("python", CPU)
    check_share(measured, stored, samples_of(stored))
    check_render("python", CPU, stored)
    found = labels("python")
    assert found["region"] == {"north"} and found["process.runtime.name"] == {"cpython"}, found
    assert types("python") >= {CPU, "memory:alloc_space:bytes:space:bytes",
                               "memory:inuse_space:bytes:space:bytes"}, types("python")
    assert values("python", "memory:inuse_space:bytes:space:bytes")["hoard"] > 1 << 20
    # Tags of a block of code are labels to select and to group by.
    tagged = values("python", CPU, query='{service_name="python",endpoint="/heavy"}')
    assert tagged["heavy"] > 0.9 * stored["heavy"] and tagged.get("light", 0) < 0.1 * stored["light"]
    assert set(server.get("/api/v1/labels/endpoint", query=selector("python"))["values"]) == \
        {"/heavy", "/light"}


@test
def nodejs_sdk():
    measured = programs.result("nodejs")
    stored, count = values("nodejs", WALL), values("nodejs", WALL_SAMPLES)
    check_share(measured, stored, count["heavy"] + count["light"])
    check_render("nodejs", WALL, stored)
    found = labels("nodejs")
    assert found["region"] == {"north"} and found["pyroscope_spy"] == {"nodespy"}, found
    # CPU time goes under the name that all CPU time has.
    assert types("nodejs") == {WALL, WALL_SAMPLES, "process_cpu:cpu:nanoseconds:wall:nanoseconds",
                               "memory:inuse_objects:count:inuse_space:bytes",
                               "memory:inuse_space:bytes:inuse_space:bytes"}, types("nodejs")
    assert values("nodejs", "memory:inuse_space:bytes:inuse_space:bytes")["hoard"] > 0


@test
def java_agent():
    measured = programs.result("java")
    stored = values("java", CPU)
    check_share(measured, stored, samples_of(stored))
    check_render("java", CPU, stored)
    found = labels("java")
    assert found["region"] == {"north"} and found["pyroscope_spy"] == {"javaspy"}, found
    # The names of the runtime have spaces and plus signs.
    assert any(" " in name for name in found["process.runtime.name"]), found
    allocated = "memory:alloc_in_new_tlab_bytes:bytes:space:bytes"
    outside = "memory:alloc_outside_tlab_bytes:bytes:space:bytes"
    assert {CPU} < types("java") and types("java") & {allocated, outside}, types("java")
    assert set(server.get("/api/v1/labels/endpoint", query=selector("java"))["values"]) == \
        {"/heavy", "/light"}


def check_rust(service):
    measured = programs.result(service)
    stored = values(service, CPU)
    check_share(measured, stored, samples_of(stored))
    check_render(service, CPU, stored)
    assert server.get("/api/v1/labels/region", query=selector(service))["values"] == ["north"]


@test
def rust_crate():
    check_rust("rust.current")


@test
def rust_crate_of_the_first_generation():
    check_rust("rust.old")


@test
def otlp_exporters_over_grpc():
    measured = programs.result("otlp")
    stored = values("otlp", CPU)
    check_share(measured, stored, samples_of(stored))
    check_render("otlp", CPU, stored)
    assert labels("otlp")["region"] == {"north"}
    spans = server.get("/api/v1/spans", service="otlp", limit=100000)["spans"]
    assert {span["operation"] for span in spans} == {"GET /heavy", "GET /light"}
    # What ran under a span is found by its id, and is all of that span's kind.
    heavy = [span["span_id"] for span in spans if span["operation"] == "GET /heavy"]
    answer = server.call("querier.v1.QuerierService/SelectMergeStacktraces", profileTypeID=CPU,
                         labelSelector=selector("otlp"), spanSelector=heavy, start=1,
                         end=4102444800000)["flamegraph"]
    assert "main.heavy" in answer["names"] and "main.light" not in answer["names"]


if __name__ == "__main__":
    with server:
        programs = clients.Clients(server, MAKERS)
        try:
            main()
        finally:
            programs.close()
