#!/usr/bin/env python3
"""A service that measures in microseconds or KiB is found, added up and compared like any other; and
what /ingest makes of a speedscope file is for the file's unit to say."""
import json
import os
import subprocess
import time

from support.server import Server
from support.tap import VESTAL, main, scratch, test

NOW = time.time_ns() - 60_000_000_000
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def otlp(service, kind, unit, period_unit, period, value):
    return json.dumps({
        "resourceProfiles": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
            "scopeProfiles": [{"profiles": [{
                "sampleType": {"typeStrindex": 1, "unitStrindex": 2},
                "periodType": {"typeStrindex": 1, "unitStrindex": 3}, "period": str(period),
                "timeUnixNano": str(NOW), "durationNano": "10000000000",
                "samples": [{"stackIndex": 1, "values": [str(value)]}]}]}]}],
        "dictionary": {"stringTable": ["", kind, unit, period_unit, "main"],
                       "functionTable": [{}, {"nameStrindex": 4}],
                       "locationTable": [{}, {"lines": [{"functionIndex": 1}]}],
                       "stackTable": [{}, {"locationIndices": [1]}]}}).encode()


def send(server, *what):
    status, reply = server.ask("/v1development/profiles", otlp(*what), {"Content-Type": "application/json"})
    assert status == 200, reply


def types(server, service):
    found = server.call("querier.v1.QuerierService/Series", matchers=[f'{{service_name="{service}"}}'],
                        labelNames=["__profile_type__"]).get("labelsSet", [])
    return sorted(s["labels"][0]["value"] for s in found)


def total(server, query, kind):
    start = NOW // 1_000_000 - 60_000
    return server.get("/api/v1/top", query=query, type=kind, **{"from": start}, until=start + 180_000)["total"]


@test
def every_unit_of_time_is_the_same_cpu():
    with Server() as server:
        for number, (unit, value) in enumerate({"nanoseconds": 2_000_000_000, "us": 2_000_000, "ms": 2000,
                                                "s": 2}.items()):
            send(server, f"shop{number}", "cpu", unit, "ms", 10, value)
            assert types(server, f"shop{number}") == [CPU], unit
            assert total(server, f'{{service_name="shop{number}"}}', "cpu") == 2_000_000_000, unit
        assert total(server, "{}", CPU) == 8_000_000_000


@test
def sizes_are_bytes():
    with Server() as server:
        send(server, "shop", "alloc_space", "KiBy", "KiBy", 512, 3)
        assert total(server, "shop", "alloc_space") == 3072


def speedscope(unit):
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                       "shared": {"frames": [{"name": "main"}]},
                       "profiles": [{"type": "sampled", "name": "t", "unit": unit, "startValue": 0,
                                     "endValue": 3000, "samples": [[0]], "weights": [3000]}]}).encode()


def ingest(server, name, unit):
    return server.ask(f"/ingest?name={name}&format=speedscope&from={NOW}&until={NOW + 10_000_000_000}",
                      speedscope(unit))


@test
def the_unit_of_a_file_decides_what_ingest_makes_of_it():
    with Server() as server:
        for unit, kind, value in (("bytes", "memory:samples:bytes::", 3000),
                                  ("microseconds", CPU, 3_000_000), ("none", CPU, 30_000_000_000)):
            assert ingest(server, f"shop-{unit}", unit)[0] == 200
            assert types(server, f"shop-{unit}") == [kind], unit
            assert total(server, f"shop-{unit}", kind) == value, unit
        status, reply = ingest(server, "shop.alloc_space", "seconds")
        assert status == 422 and b"ends in .alloc_space" in reply, reply


@test
def pushed_files_have_the_usual_type():
    with Server() as server:
        for unit, kind in (("bytes", "memory:space:bytes::"),
                           ("milliseconds", "wall:wall:nanoseconds:wall:nanoseconds")):
            path = os.path.join(scratch(), unit + ".json")
            with open(path, "wb") as file:
                file.write(speedscope(unit))
            done = subprocess.run([VESTAL, "push", "--server", server.url, "--service", "files-" + unit, path],
                                  capture_output=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            assert types(server, "files-" + unit) == [kind], unit


if __name__ == "__main__":
    main()
