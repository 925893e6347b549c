#!/usr/bin/env python3
"""The server's APIs as docs/openapi.json and docs/api.md have them, and Pyroscope's statuses.

Every operation of the OpenAPI file is asked of a running server with the examples of its parameters;
every route of the source is in the file; every curl line of docs/api.md is run.
"""
import gzip
import json
import os
import re
import shutil
import subprocess
import time

from support.api_server import FOLDED, JSON, Server
from support.tap import ROOT, Skip, main, scratch, test

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
with open(os.path.join(ROOT, "docs/openapi.json"), encoding="utf-8") as _file:
    SPEC = json.load(_file)


# ---------------------------------------------------------------- OpenAPI

def resolve(node):
    while "$ref" in node:
        at = SPEC
        for part in node["$ref"][2:].split("/"):
            at = at[part]
        node = at
    return node


KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
         "object": dict, "null": type(None)}


def check(value, schema, where):
    """The part of JSON Schema that the file uses; all properties must be described."""
    schema = resolve(schema)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds:
        assert isinstance(value, tuple(t for k in kinds for t in
                                       (KINDS[k] if isinstance(KINDS[k], tuple) else (KINDS[k],)))), \
            f"{where} is {value!r}, not {kinds}"
        assert not isinstance(value, bool) or "boolean" in kinds, where
    if "const" in schema:
        assert value == schema["const"], f"{where} is {value!r}"
    if "enum" in schema:
        assert value in schema["enum"], f"{where} is {value!r}"
    if isinstance(value, dict):
        for name in schema.get("required", []):
            assert name in value, f"{where}.{name} is missing"
        for name, item in value.items():
            part = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            assert part is not None, f"{where}.{name} is not described"
            check(item, part, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for item in value:
            check(item, schema["items"], f"{where}[]")


def operations():
    for path, methods in SPEC["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def request_of(path, operation, values=None):
    """Path and parameters, from the examples of the file."""
    values, parameters = values or {}, {}
    for parameter in map(resolve, operation["parameters"]):
        value = values.get(parameter["name"], parameter.get("example"))
        if parameter["in"] == "path":
            path = path.replace("{%s}" % parameter["name"], value)
        elif value is not None:
            parameters[parameter["name"]] = str(value).lower() if isinstance(value, bool) else value
    return path, parameters


@test
def every_route_is_described_and_every_description_is_served():
    routes = set()
    for name in os.listdir(os.path.join(ROOT, "src/server")):
        with open(os.path.join(ROOT, "src/server", name), encoding="utf-8") as file:
            routes |= set(re.findall(r'\{"(\w+)", "(/api/v1/[^"]*)"', file.read()))
    assert len(routes) > 10, routes
    described = {(method, path) for path, method, _ in operations()}
    assert {(method, path.replace("*", "{name}")) for method, path in routes} == described


@test
def every_operation_answers_as_described():
    root = os.path.join(scratch(), "api-source")
    os.makedirs(os.path.join(root, "app"))
    with open(os.path.join(root, "app/main.c"), "w", encoding="utf-8") as file:
        file.write("int main(void);\n")
    with open("/bin/true", "rb") as file:
        program = file.read()
    with Server("--source-root", root, memory=False) as server:
        server.fill()
        build_id = json.loads(server.ask("POST", "/api/v1/symbols/upload", program)[2])["build_id"]
        backup = None
        for path, method, operation in operations():
            where, parameters = request_of(path, operation, {
                "id": backup, "build_id": build_id})
            body = FOLDED["abc"] if "requestBody" in operation else None
            if operation["operationId"] == "sendSymbols":
                body = program
            status, headers, reply = server.ask(method, where, body, **parameters)
            assert status == 200, f"{method} {where} {parameters}: {status} {reply}"
            if operation["operationId"] == "backup":
                backup = json.loads(reply)["id"]
            content = operation["responses"]["200"]["content"]
            assert headers["content-type"] in content, f"{where}: {headers['content-type']}"
            assert headers["x-content-type-options"] == "nosniff", where
            if headers["content-type"] == "application/json":
                check(json.loads(reply), content["application/json"]["schema"], where)
            if method == "GET":
                status, headers, reply = server.ask("HEAD", where, **parameters)
                assert status == 200 and not reply and int(headers["content-length"]) > 0, where


@test
def refusals_are_described_too():
    with Server() as server:
        server.fill()
        for path, method, operation in operations():
            where, parameters = request_of(path, operation)
            status, headers, reply = server.ask("PATCH", where, **parameters)
            assert status == 405 and headers["allow"].startswith(method), f"{where}: {status}"
            if "query" not in [resolve(p)["name"] for p in operation["parameters"]]:
                continue
            status, headers, reply = server.ask(method, where, **{**parameters, "query": "a{b"})
            assert status == 400 and str(status) in operation["responses"], f"{where}: {status}"
            schema = resolve(operation["responses"]["400"])["content"]["application/json"]["schema"]
            check(json.loads(reply), schema, where)


@test
def every_format_is_exported():
    types = {"otlp-json": "application/json", "speedscope": "application/json",
             "folded": "text/plain; charset=utf-8", "svg": "image/svg+xml",
             "html": "text/html; charset=utf-8"}
    with Server() as server:
        server.fill()
        export = SPEC["paths"]["/api/v1/export"]["get"]
        formats = [p for p in map(resolve, export["parameters"]) if p["name"] == "format"]
        for name in formats[0]["schema"]["enum"]:
            status, headers, body = server.ask("GET", "/api/v1/export", query="checkout", format=name)
            if name in ("html", "pgo", "autofdo") and status == 415:
                continue  # built without npm; not of a Go program; without addresses
            assert status == 200 and body, f"{name}: {status} {body}"
            assert headers["content-type"] == types.get(name, headers["content-type"]), headers
            assert ("content-security-policy" in headers) == (name in ("html", "svg")), name


# ---------------------------------------------------------------- docs/api.md

@test
def the_curl_lines_of_the_documentation_work():
    if not shutil.which("curl"):
        raise Skip("no curl")
    with open(os.path.join(ROOT, "docs/api.md"), encoding="utf-8") as file:
        lines = [line for block in re.findall(r"```\n(.*?)```", file.read(), re.S)
                 for line in re.sub(r"\\\n\s*", "", block).splitlines() if line.startswith("curl")]
    assert len(lines) > 10
    folder = os.path.join(scratch(), "curl")
    os.makedirs(folder)
    for name, commit in ("cpu.folded", "abc"), ("before.folded", "def"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(FOLDED[commit])
    shutil.copy("/bin/true", os.path.join(folder, "app"))
    with Server(memory=False) as server:
        server.fill()
        for line in lines:
            line = line.replace("http://127.0.0.1:4040", server.url)
            if "build_id=" in line:
                files = json.loads(server.ask("GET", "/api/v1/symbols")[2])["files"]
                line = re.sub("build_id=[0-9a-f]+", f"build_id={files[0]['build_id']}", line)
            done = subprocess.run(["bash", "-c", line.replace("curl ", "curl -sS --fail-with-body ", 1)],
                                  cwd=folder, capture_output=True, timeout=60, check=False)
            assert done.returncode == 0, f"{line}: {done.stdout} {done.stderr}"


# ---------------------------------------------------------------- what all answers share

@test
def answers_are_compressed_for_those_who_ask():
    with Server() as server:
        server.fill()
        ask = dict(query="checkout", step="1s")
        _, plain_headers, plain = server.ask("GET", "/api/v1/series", **ask)
        _, headers, packed = server.ask("GET", "/api/v1/series",
                                        headers={"Accept-Encoding": "gzip"}, **ask)
        assert "content-encoding" not in plain_headers
        assert headers["content-encoding"] == "gzip" and headers["vary"] == "accept-encoding"
        assert json.loads(gzip.decompress(packed)).keys() == json.loads(plain).keys()


@test
def other_origins_are_let_in_only_when_told():
    ask = {"Origin": "http://grafana.example", "Access-Control-Request-Method": "POST"}
    with Server() as server:
        status, headers, _ = server.ask("OPTIONS", "/api/v1/tree", headers=ask)
        assert status == 403 and "access-control-allow-origin" not in headers
        status, headers, _ = server.ask("GET", "/api/v1/services", headers=ask)
        assert status == 403 and "access-control-allow-origin" not in headers
        status, _, _ = server.ask("POST", "/api/v1/delete", headers=ask, query="{}")
        assert status == 403
        status, _, _ = server.ask("GET", "/api/v1/services", headers={"Host": "rebound.example"})
        assert status == 403
    with Server("--cors", "http://grafana.example") as server:
        status, headers, _ = server.ask("OPTIONS", "/api/v1/tree", headers=ask)
        assert status == 204
        assert headers["access-control-allow-origin"] == "http://grafana.example"
        status, headers, _ = server.ask("POST", "/querier.v1.QuerierService/ProfileTypes", "{}",
                                        {**JSON, **ask})
        assert status == 200
        assert headers["access-control-allow-origin"] == "http://grafana.example"


@test
def deletes_and_settings_leave_a_line_in_the_audit_log():
    with Server(memory=False) as server:
        server.fill()
        status, _, _ = server.ask("POST", "/api/v1/delete", query='gone{a="b"}', before="now")
        assert status == 200
        for call, body in (("Set", {"setting": {"name": "theme", "value": "secret"}}),
                           ("Delete", {"name": "theme"})):
            status, _, reply = server.ask("POST", "/settings.v1.SettingsService/" + call,
                                          json.dumps(body), JSON)
            assert status == 200, reply
    path = os.path.join(scratch(), "api-data/audit.log")
    assert os.stat(path).st_mode & 0o777 == 0o600
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    last = [line for line in lines if line["action"] == "delete"][-1]
    assert last["query"] == 'gone{a="b"}' and last["tenant"] == "anonymous", last
    assert last["peer"].startswith("127.0.0.1:") and last["time"].endswith("Z"), last
    changes = [(line["action"], line["setting"]) for line in lines if "setting" in line]
    assert changes == [("setting_set", "theme"), ("setting_delete", "theme")], lines
    assert "secret" not in json.dumps(lines)


@test
def a_page_is_at_the_root():
    with Server() as server:
        status, headers, body = server.ask("GET", "/")
        assert status == 200 and headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in headers["content-security-policy"]
        # The web UI, or without npm the page of /start (test_ui_api.py).
        assert b"Vestal" in body


# ---------------------------------------------------------------- Pyroscope's statuses

def expect(server, want, cases):
    for name, (method, path, body, headers, parameters) in cases.items():
        status, _, reply = server.ask(method, path, body, headers, **parameters)
        assert status == want, f"{path} {name}: {status}, expected {want}: {reply}"


@test
def render_has_pyroscopes_statuses():
    query = CPU + '{service_name="pyroscope"}'
    good = {"query": query, "from": "now-15m", "until": "now"}
    side = {"leftQuery": query, "leftFrom": "now-30m", "leftUntil": "now-15m",
            "rightQuery": query, "rightFrom": "now-15m", "rightUntil": "now"}
    other = 'memory:alloc_objects:count:space:bytes{service_name="x"}'

    def get(path, base, without=(), **change):
        keep = {k: v for k, v in {**base, **change}.items() if k not in without}
        return ("GET", path, None, None, keep)

    with Server() as server:
        server.fill()
        for path, base in (("/pyroscope/render", good), ("/render", good)):
            expect(server, 200, {
                "valid": get(path, base), "dot": get(path, base, format="dot"),
                "nodes": get(path, base, maxNodes="1024"),
                "nodes with hyphen": get(path, base, **{"max-nodes": "1024"}),
                "no nodes": get(path, base, maxNodes="0"),
                "nodes that are none": get(path, base, maxNodes="invalid"),
                "groups": get(path, base, groupBy=["service_name", "region"]),
                "sum": get(path, base, aggregation="sum"),
                "avg": get(path, base, aggregation="avg"),
                "unknown aggregation": get(path, base, aggregation="invalid")})
            expect(server, 400, {
                "zero": get(path, base, **{"from": "0", "until": "0"}),
                "from zero": get(path, base, **{"from": "0"}),
                "until zero": get(path, base, until="0"),
                "no query": get(path, base, ["query"]), "empty query": get(path, base, query=""),
                "bad query": get(path, base, query="bad_query"),
                "no type": get(path, base, query='{service_name="test"}'),
                "bad type": get(path, base, query='invalid_format{service_name="test"}'),
                "zero dot": get(path, base, **{"from": "0", "until": "0", "format": "dot"})})
            expect(server, 405, {m: (m, path, None, None, base)
                                 for m in ("POST", "PUT", "DELETE", "PATCH")})
        path = "/pyroscope/render-diff"
        expect(server, 200, {"valid": get(path, side)})
        bad = {f"{key} {value!r}": get(path, side, **{key: value})
               for key in ("leftQuery", "rightQuery")
               for value in ("", "bad_query", '{service_name="t"}', 'invalid_format{a="b"}', other)}
        bad.update({f"{key} zero": get(path, side, **{key: "0"})
                    for key in ("leftFrom", "leftUntil", "rightFrom", "rightUntil")})
        bad.update({f"no {key}": get(path, side, [key]) for key in side})
        expect(server, 400, bad)
        expect(server, 405, {m: (m, path, None, None, side)
                             for m in ("POST", "PUT", "DELETE", "PATCH")})


@test
def the_querier_has_pyroscopes_statuses():
    now = int(time.time() * 1000)
    span = {"start": now - 3600000, "end": now}
    values = {"profileTypeID": CPU, "labelSelector": "{}", **span}
    both = {"left": values, "right": values}
    good = {"ProfileTypes": span, "LabelValues": {"name": "service_name", **span},
            "LabelNames": span, "Series": {"matchers": ['{service_name="test"}'], **span},
            "SelectMergeStacktraces": values, "SelectMergeProfile": values,
            "SelectSeries": {"step": 15.0, **values}, "Diff": both,
            "SelectMergeSpanProfile": {"spanSelector": ["0123456789012345"], **values},
            "SelectHeatmap": {"step": 60, **values}, "GetProfileStats": {},
            "AnalyzeQuery": {"query": "{}", **span}}
    valued = ("SelectMergeStacktraces", "SelectMergeProfile", "SelectSeries",
              "SelectMergeSpanProfile", "SelectHeatmap")

    with Server() as server:
        server.fill()

        def want(status, method, request, headers=None, verb="POST"):
            got, _, reply = server.call(method, request, headers, verb)
            assert got == status, f"{verb} {method} {request}: {got}, expected {status}: {reply}"

        for method, request in good.items():
            want(200, method, request)
            want(400, method, '{"invalid json"')
            want(400, method, "")
            want(415, method, request, {"Content-Type": "text/plain"})
            for verb in ("GET", "PUT", "DELETE", "PATCH"):
                want(405, method, request, verb=verb)
            if "start" in request:
                want(400, method, {**request, "start": now, "end": now - 3600000})
                want(400, method, {**request, "start": "now-1h"})
            if "matchers" in request or method.startswith("Label"):
                want(400, method, {**request, "matchers": ["!bad_syntax!"]})
                want(200, method, {**request, "matchers": ['{namespace="default"}']})
        for method in valued:
            request = good[method]
            for change in ({"profileTypeID": ""}, {"profileTypeID": "invalid_format"},
                           {"labelSelector": ""}, {"labelSelector": "!bad_syntax!"},
                           {"start": 0, "end": 0}):
                want(400, method, {**request, **change})
            for name in ("profileTypeID", "labelSelector"):
                want(400, method, {k: v for k, v in request.items() if k != name})
            want(200, method, {**request, "maxNodes": 1024, "format": 2, "limit": 10,
                               "groupBy": ["service_name"]})
        for part in ("left", "right"):
            want(400, "Diff", {part: values})
            want(400, "Diff", {**both, part: {**values, "profileTypeID": "invalid_format"}})
            want(400, "Diff", {**both, part: {k: v for k, v in values.items()
                                              if k != "labelSelector"}})
        want(400, "SelectSeries", values)
        want(400, "SelectHeatmap", values)
        want(400, "LabelValues", span)
        want(200, "ProfileTypes", {"start": 0, "end": 0})
        want(200, "ProfileTypes", {"start": -2, "end": -1})
        want(400, "SelectSeries", {**good["SelectSeries"], "groupBy": ["a"] * 65})
        want(400, "SelectHeatmap", {**good["SelectHeatmap"], "start": -2**63, "end": 2**63 - 1})
        want(400, "SelectSeries", {**good["SelectSeries"], "step": 1e300})


if __name__ == "__main__":
    main()
