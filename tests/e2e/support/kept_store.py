"""A data directory with everything that a server keeps, written by whatever version runs this, and what it
answers: tests/fixtures/store-2 and store-3 were made by

    PYTHONPATH=tests/e2e VESTAL=build/vestal python3 -m support.kept_store tests/fixtures/store-2

before files had seals and a journal of commits. tests/e2e/test_kept_store.py opens them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.parse

from support.server import Server
from support.tap import vestal

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
TENANTS = ("anonymous", "team-a")
DAY = 86_400
BEGIN = 1_773_100_800  # 2026-03-10T00:00:00Z
SECOND = 1_000_000_000
PERIOD = 10_000_000
STRINGS = ["", "samples", "count", "cpu", "nanoseconds", "main", "work", "idle", "inuse_space", "bytes", "space",
           "completeness_samples", "completeness_time", "completeness", "kept", "lost: ring full", "thread.name",
           "worker", "main thread"]
DICTIONARY = {
    "stringTable": STRINGS,
    "functionTable": [{}, *({"nameStrindex": STRINGS.index(name)}
                            for name in ("main", "work", "idle", "cpu", "kept", "lost: ring full"))],
    "locationTable": [{}, *({"lines": [{"functionIndex": i}]} for i in range(1, 7))],
    "stackTable": [{}, {"locationIndices": [2, 1]}, {"locationIndices": [3, 1]}, {"locationIndices": [5, 4]},
                   {"locationIndices": [6, 4]}],
    "mappingTable": [{}],
    "linkTable": [{}, {"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7"}],
    "attributeTable": [{}, {"keyStrindex": 16, "value": {"stringValue": "worker"}},
                       {"keyStrindex": 16, "value": {"stringValue": "main thread"}}]}
KINDS = {"samples": (1, 2, 3, 4, PERIOD), "cpu": (3, 4, 3, 4, PERIOD), "inuse": (8, 9, 10, 9, 524_288),
         "kept count": (11, 2, 13, 2, 1), "kept time": (12, 4, 13, 2, 1)}
# Services, with the profiles that they send and how: "counted" sends counts alone, which gives derived CPU time.
SERVICES = {"shop": ("samples", "cpu"), "counted": ("samples",), "heap": ("inuse",)}


def profile(kind, at, rows, duration=10):
    kind_, unit, period, period_unit, number = KINDS[kind]
    return {"sampleType": {"typeStrindex": kind_, "unitStrindex": unit},
            "periodType": {"typeStrindex": period, "unitStrindex": period_unit}, "period": str(number),
            "timeUnixNano": str(at * SECOND), "durationNano": str(duration * SECOND), "samples": rows}


def rows(first, second, scale=1):
    return [{"stackIndex": 1, "values": [str(first * scale)], "attributeIndices": [1], "linkIndex": 1},
            {"stackIndex": 2, "values": [str(second * scale)], "attributeIndices": [2]}]


def message(service, profiles, host="one"):
    attributes = {"service.name": service, "host.name": host}
    return {"resourceProfiles": [{
        "resource": {"attributes": [{"key": key, "value": {"stringValue": value}}
                                    for key, value in attributes.items()]},
        "scopeProfiles": [{"scope": {"name": "test"}, "profiles": profiles}]}], "dictionary": DICTIONARY}


def of_service(service, at, n, duration=10):
    found = []
    for kind in SERVICES[service]:
        scale = {"samples": 1, "cpu": PERIOD, "inuse": 4096}[kind]
        found.append(profile(kind, at, rows(3 + n % 7, 1 + n % 3, scale), duration))
    if service == "shop":
        found += [profile("kept count", at, [{"stackIndex": 3, "values": [str(4 + n)]},
                                             {"stackIndex": 4, "values": ["2"]}], duration),
                  profile("kept time", at, [{"stackIndex": 3, "values": [str((4 + n) * PERIOD)]},
                                            {"stackIndex": 4, "values": [str(2 * PERIOD)]}], duration)]
    return found


def span(at, name, trace="4bf92f3577b34da6a3ce929d0e0e4736", id_="00f067aa0ba902b7"):
    return {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                               "scopeSpans": [{"spans": [{
                                   "traceId": trace, "spanId": id_, "name": name, "kind": 2,
                                   "startTimeUnixNano": str(at * SECOND), "endTimeUnixNano": str((at + 2) * SECOND),
                                   "attributes": [{"key": "route", "value": {"stringValue": "/cart"}}]}]}]}]}


class Kept(Server):
    """A server on such a directory; `tokens` by tenant."""

    def __init__(self, folder, tokens):
        super().__init__("--retention", "0", "--span-retention", "0", "--max-age", "10000d", folder=folder)
        self.tokens = tokens

    def ask(self, path, body=None, headers=None, tenant="anonymous"):
        return super().ask(path, body, {"Authorization": f"Bearer {self.tokens[tenant]}", **(headers or {})})

    def send(self, body, path="/v1development/profiles", tenant="anonymous"):
        status, reply = self.ask(path, json.dumps(body).encode(), {"Content-Type": "application/json"}, tenant)
        assert status == 200, (path, status, reply)


def questions():
    """(tenant, path, body) of everything that is recorded."""
    whole = {"from": (BEGIN - DAY) * 1000, "until": (BEGIN + 4 * DAY) * 1000}
    ranges = {"whole": whole, "hour": {"from": (BEGIN + 3600) * 1000, "until": (BEGIN + 7200) * 1000},
              "cut": {"from": (BEGIN + 1803) * 1000, "until": (BEGIN + DAY + 4505) * 1000}}
    types = [CPU, "process_cpu:samples:count:cpu:nanoseconds", "memory:inuse_space:bytes:space:bytes",
             "completeness:completeness_samples:count:completeness:count"]

    def get(path, **parameters):
        return path + "?" + urllib.parse.urlencode(parameters)
    for tenant in TENANTS:
        for range_ in ranges.values():
            yield tenant, get("/api/v1/overview", **range_), None
            for service in SERVICES:
                for type_ in types:
                    query = {"query": f'{{service_name="{service}"}}', "type": type_, **range_}
                    yield tenant, get("/api/v1/top", **query), None
                    yield tenant, get("/api/v1/series", step="1h", group_by="thread.name", **query), None
            yield tenant, get("/api/v1/spans", **range_), None
        yield tenant, get("/api/v1/tree", query='{service_name="shop"}', type=CPU, **whole), None
        yield tenant, get("/api/v1/top", query='{host_name="two"}', type=CPU, **whole), None
        yield tenant, get("/api/v1/types", all="true", **whole), None
        yield tenant, get("/api/v1/services", **whole), None
        yield tenant, get("/api/v1/labels", **whole), None
        yield tenant, get("/api/v1/labels/thread.name", **whole), None
        yield tenant, "/settings.v1.SettingsService/Get", {}
        yield tenant, "/api/v1/symbols", None
        yield tenant, "/querier.v1.QuerierService/SelectSeries", {
            "profileTypeID": CPU, "labelSelector": '{service_name="shop"}', "start": whole["from"],
            "end": whole["until"], "groupBy": ["thread.name"], "step": 3600}
    yield "anonymous", "/api/v1/tokens", None


def answers(server):
    for tenant, path, body in questions():
        status, reply = server.ask(path, json.dumps(body).encode() if body is not None else None,
                                   {"Content-Type": "application/json"} if body is not None else None, tenant)
        try:
            reply = json.loads(reply)
        except ValueError:
            reply = reply.decode()
        yield {"tenant": tenant, "path": path, "body": body, "status": status, "answer": same_tomorrow(reply)}


def same_tomorrow(answer):
    """Without what depends on the moment or on the way it was found."""
    if isinstance(answer, dict):
        return {key: same_tomorrow(value) for key, value in answer.items()
                if key != "read"}
    if isinstance(answer, list):
        return [same_tomorrow(value) for value in answer]
    return answer


def quiet(server, tenant):
    status, reply = server.ask("/metrics", tenant=tenant)
    assert status == 200, reply
    found = dict(re.findall(r"^vestal_store_(fresh_chunks|rollups) (\d+)", reply.decode(), re.M))
    return int(found["fresh_chunks"]) == 0 and int(found["rollups"]) > 10


def write(folder):
    os.makedirs(folder)
    tokens = {tenant: vestal("token", "create", "--data", folder, "--admin", "--name", "fixture", "--tenant",
                             tenant)[0].strip().split()[-1] for tenant in TENANTS}
    with Kept(folder, tokens) as server:
        for day in range(3):
            for n in range(30):
                at = BEGIN + day * DAY + n * 1210 + 55
                for service in SERVICES:
                    server.send(message(service, of_service(service, at, n), "one" if n % 2 else "two"))
            # Longer than usual, over the end of an hour and of the day.
            server.send(message("shop", of_service("shop", BEGIN + day * DAY + 3000, 2, 1800)))
            server.send(message("shop", of_service("shop", BEGIN + (day + 1) * DAY - 600, 3, 1500)))
            server.send(message("gone", [profile("cpu", BEGIN + day * DAY + 100, rows(1, 1, PERIOD))]))
        for n in range(5):
            server.send(message("shop", of_service("shop", BEGIN + 4000 + n * 60, n)), tenant="team-a")
        for day in range(2):
            server.send(span(BEGIN + day * DAY + 60, "GET /cart"), "/v1/traces")
            server.send(span(BEGIN + day * DAY + 90, "POST /cart", id_="00f067aa0ba902b8"), "/v1/traces")
        for name, value in (("theme", "dark"), ("saved", '{"query":"{}"}')):
            server.send({"setting": {"name": name, "value": value, "modifiedAt": "0"}},
                        "/settings.v1.SettingsService/Set")
        with tempfile_program() as program:
            status, reply = server.ask("/api/v1/symbols/upload", program)
            assert status == 200, reply
        while not quiet(server, "anonymous"):
            time.sleep(0.5)
        query = urllib.parse.urlencode({"query": '{service_name="gone"}', "from": 1, "until": (BEGIN + 9 * DAY) * 1000})
        status, reply = server.ask("/api/v1/delete?" + query, b"")
        assert status == 200, reply
        query = urllib.parse.urlencode({"query": '{service_name="shop",host_name="two"}', "type": CPU,
                                        "from": (BEGIN + 2 * DAY) * 1000, "until": (BEGIN + 2 * DAY + 7200) * 1000})
        status, reply = server.ask("/api/v1/delete?" + query, b"")
        assert status == 200, reply
        time.sleep(11)
    with Kept(folder, tokens) as server:
        time.sleep(2)
        # In no block, and in the log alone.
        for n in range(6):
            server.send(message("shop", of_service("shop", BEGIN + 2 * DAY + 40_000 + n * 400, n)))
            server.send(message("late", [profile("cpu", BEGIN + DAY + 50_000 + n * 9, rows(2, 5, PERIOD))]))
        server.send(span(BEGIN + DAY + 120, "GET /late"), "/v1/traces")
        recorded = list(answers(server))
        server.process.kill()
        shutil.copytree(folder, folder + ".killed")
        server.process.wait()
        raise Killed(tokens, recorded)


class Killed(Exception):
    """The end of the last server: as a power cut leaves it, without what it does when it is told to stop."""


class tempfile_program:  # pylint: disable=invalid-name
    def __enter__(self):
        source = 'int work(int n) { return n * 3; } int main(void) { return work(1); }'
        subprocess.run(["gcc", "-x", "c", "-g", "-O0", "-Wl,--build-id=0x" + "5e" * 20, "-o", "/tmp/kept-store-program",
                        "-"], input=source.encode(), check=True)
        with open("/tmp/kept-store-program", "rb") as file:
            return file.read()

    def __exit__(self, *error):
        os.unlink("/tmp/kept-store-program")


def record(destination):
    folder = os.path.join(destination, "data")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        write(folder)
    except Killed as end:
        tokens, recorded = end.args
    shutil.rmtree(folder)
    os.rename(folder + ".killed", folder)
    with open(os.path.join(destination, "answers.json"), "w", encoding="utf-8") as file:
        json.dump({"tokens": tokens, "answers": recorded}, file, indent=0, sort_keys=True)
        file.write("\n")
    with tarfile.open(os.path.join(destination, "data.tar.xz"), "w:xz") as archive:
        archive.add(folder, "data", filter=lambda info: None if info.name.endswith(("-shm", "LOCK")) else info)
    shutil.rmtree(folder)


if __name__ == "__main__":
    record(os.path.abspath(sys.argv[1]))
