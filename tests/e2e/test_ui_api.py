#!/usr/bin/env python3
"""What the web UI asks of a server: its own files, and the answers it draws."""
import gzip
import json
import os
import re
import subprocess
import time

from support.api_server import FOLDED, Server
from support.tap import Skip, VESTAL, main, scratch, test
from support.vft import PACKED, vft

VIEWS = ("/", "/services", "/explore", "/diff", "/heatmap", "/function", "/files", "/status")


TOKENS = {}


def tokens():
    """A file with a token for each right."""
    path = os.path.join(scratch(), "ui-tokens")
    for right in () if TOKENS else ("read", "write", "admin"):
        done = subprocess.run([VESTAL, "token", "create", "--file", path, "--" + right],
                              capture_output=True, text=True, check=True, timeout=60)
        TOKENS[right] = re.search(r"vst_\w+", done.stdout)[0]
    return path


def bearer(right):
    return {"Authorization": "Bearer " + TOKENS[right]}


# ---------------------------------------------------------------- files

@test
def the_plain_page_is_always_there():
    with Server() as server:
        status, headers, body = server.ask("GET", "/start")
        assert status == 200 and headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in headers["content-security-policy"]
        assert server.url.encode() in body


@test
def the_page_of_the_ui_and_all_it_loads_are_inside():
    with Server() as server:
        _, headers, page = server.ask("GET", "/")
        if headers["cache-control"] != "no-cache":
            raise Skip("this vestal was built without npm")
        for view in VIEWS:
            status, headers, body = server.ask("GET", view)
            assert (status, body) == (200, page), view
            status, _, body = server.ask("GET", view, headers={"If-None-Match": headers["etag"]})
            assert (status, body) == (304, b""), view
        files = set(re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.decode()))
        assert files, page
        for path in files:
            status, headers, packed = server.ask("GET", path, headers=PACKED)
            assert status == 200 and "immutable" in headers["cache-control"], path
            if headers.get("content-encoding"):
                _, plain_headers, plain = server.ask("GET", path)
                assert gzip.decompress(packed) == plain, path
                assert plain_headers["etag"] != headers["etag"], path
            status, head, nothing = server.ask("HEAD", path, headers=PACKED)
            assert status == 200 and not nothing, path
            assert head["content-length"] == headers["content-length"], path
        assert not re.search(rb"<script[^>]*>[^<]", page), "an inline script would not run"


@test
def what_is_not_there_is_said_in_json():
    with Server() as server:
        for path in ("/assets/nothing.js", "/assets/../etc/passwd", "/index.html"):
            status, headers, _ = server.ask("GET", path)
            assert status == 404 and headers["content-type"] == "application/json", path


# ---------------------------------------------------------------- VFT

@test
def a_tree_comes_with_the_exact_function_table():
    with Server() as server:
        server.fill()
        meta, tree, functions = vft(server, "/api/v1/tree", query="checkout", max_nodes=3)
        assert functions["inner"] == {"self": [100], "total": [100]}, functions
        assert functions["main"] == {"self": [0], "total": [200]}, functions
        assert len(tree) <= 4 and sum(own[0] for _, _, own in tree) == 200, tree
        assert meta["nodes_pruned"] and meta["functions_total"] == 4 and meta["took_ms"] > 0, meta
        assert meta["answer"]["type"] == "process_cpu:samples:count::", meta
        assert meta["answer"]["read"]["rows"] == 6, meta
        _, tree, _ = vft(server, "/api/v1/tree", query="checkout", focus="idle", hide="main")
        assert [name for name, _, _ in tree] == ["all", "idle"], tree


@test
def a_diff_says_what_is_more_than_noise():
    with Server() as server:
        server.fill()
        meta, _, functions = vft(server, "/api/v1/diff", baseline='checkout{commit="abc"}',
                                 comparison='checkout{commit="def"}')
        assert meta["diff"] and meta["names"][0] == 'checkout{commit="abc"}', meta
        assert functions["inner"]["total"] == [70, 30] and functions["inner"]["verdict"] == 2, functions
        assert functions["idle"]["verdict"] == 1 and functions["main"]["verdict"] == 0, functions
        status, _, reply = server.ask("GET", "/api/v1/diff", baseline='checkout{commit="abc"}',
                                      comparison='checkout{commit="def"}')
        rows = {row["name"]: row["verdict"] for row in json.loads(reply)["rows"]}
        assert status == 200 and rows["inner"] == "less" and rows["idle"] == "more", rows


@test
def a_file_is_drawn_and_not_stored():
    with Server() as server:
        meta, _, functions = vft(server, "/api/v1/view", "POST", gzip.compress(FOLDED["abc"]), name="a.folded.gz")
        assert meta["title"] == "a.folded.gz" and functions["inner"]["self"] == [70], (meta, functions)
        assert meta["answer"]["format"] == "folded", meta
        _, _, reply = server.ask("GET", "/api/v1/services")
        assert json.loads(reply)["services"] == []
        server.fill()
        meta, _, functions = vft(server, "/api/v1/view", "POST", FOLDED["def"], baseline='checkout{commit="abc"}')
        assert functions["inner"]["total"] == [70, 30] and functions["inner"]["verdict"] == 2, functions
        status, headers, reply = server.ask("POST", "/api/v1/view", b"\0\1\2", format="vft")
        assert status == 415 and headers["content-type"] == "application/json", reply


# ---------------------------------------------------------------- services, functions, sources

def get(server, path, **parameters):
    status, _, reply = server.ask("GET", path, **parameters)
    assert status == 200, reply
    return json.loads(reply)


def send(server, text, service, at, **labels):
    """A profile of a second that began at a time."""
    status, _, reply = server.ask("POST", "/api/v1/profiles", text, service=service, **{"from": at, "until": at + 1},
                                  label=[f"{name}={value}" for name, value in labels.items()])
    assert status == 200, reply


@test
def services_are_ranked_and_changes_told():
    now = int(time.time()) // 60 * 60
    with Server() as server:
        for minute in range(120):
            busy = 10 if minute < 60 else 30
            at = now - 7200 + minute * 60
            send(server, b"main;work %d\n" % busy, "busy", at, commit="abc" if minute < 90 else "def")
            send(server, b"main;work %d\n" % (5 + minute % 3), "calm", at)
        answer = get(server, "/api/v1/overview", **{"from": now - 3600, "until": now, "points": 60})
        assert [s["service"] for s in answer["services"]] == ["busy", "calm"], answer
        busy, calm = (s["types"][0] for s in answer["services"])
        # A second in each minute was profiled.
        assert busy["total"] == 1800 and busy["rate"] == 30 and busy["average"] == 0.5, busy
        assert busy["coverage"] == 1 / 60 and busy["covered"] == [10**9] * 60 and busy["points"] == [30] * 60, busy
        assert busy["change"]["verdict"] == "more" and abs(busy["change"]["share"] - 2) < 1e-6, busy
        assert busy["change"]["before"]["rate"] == 10 and busy["change"]["after"]["rate"] == 30, busy
        assert calm["change"]["verdict"] == "noise", calm
        assert answer["step_ms"] == 60000 and answer["start_ms"] == (now - 3600) * 1000, answer
        changes = get(server, "/api/v1/changes", **{"from": now - 3600, "until": now})["changes"]
        assert [(c["value"], c["service"], c["first"]) for c in changes] == [("def", "busy", False)], changes
        assert abs(changes[0]["time_ms"] - (now - 1800) * 1000) <= 60000, changes


@test
def what_is_new_has_nothing_to_compare_with():
    now = int(time.time()) // 60 * 60
    with Server() as server:
        for minute in range(60):
            send(server, b"main;work 10\n", "new", now - 3600 + minute * 60)
            send(server, b"main;work 10\n", "gone", now - 7200 + minute * 60)
        services = {s["service"]: s["types"][0] for s in get(server, "/api/v1/overview", **{"from": now - 3600, "until": now})["services"]}
        change = services["new"]["change"]
        assert change["verdict"] == "no_earlier_data" and change["share"] is None and change["p_value"] is None, change
        assert services["gone"]["change"]["verdict"] == "no_later_data" and services["gone"]["rate"] is None, services


@test
def a_function_is_told_by_time_and_label():
    now = int(time.time())
    with Server() as server:
        send(server, FOLDED["abc"], "checkout", now - 600, commit="abc")
        send(server, FOLDED["def"], "checkout", now - 300, commit="def")
        answer = get(server, "/api/v1/function", name="work", query="checkout", step="5m")
        assert (answer["self"], answer["total"], answer["all"]) == (40, 140, 200), answer
        assert (answer["rate"], answer["self_rate"], answer["all_rate"]) == (70, 20, 100), answer
        assert sum(v or 0 for v in answer["series"]["total"]) == 140, answer
        assert sum(v or 0 for v in answer["series"]["self"]) == 40, answer
        assert answer["by"]["commit"] == [{"value": "abc", "self": 20, "total": 90},
                                          {"value": "def", "self": 20, "total": 50}], answer
        assert answer["by"]["service_name"] == [{"value": "checkout", "self": 40, "total": 140}], answer
        assert get(server, "/api/v1/function", name="nothing", query="checkout")["total"] == 0
        answer = get(server, "/api/v1/function", name="work", query="checkout", focus="inner", tag="commit=abc")
        assert answer["total"] == 70 and answer["by"]["commit"] == [{"value": "abc", "self": 0, "total": 70}], answer
        status, _, _ = server.ask("GET", "/api/v1/function", query="checkout")
        assert status == 400


@test
def spans_through_a_function_are_told():
    trace, span, now = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", time.time_ns()
    sent = {"dictionary": {
        "mappingTable": [{}, {"filenameStrindex": 5}], "linkTable": [{}, {"traceId": trace, "spanId": span}],
        "stringTable": ["", "cpu", "nanoseconds", "main", "pay", "/usr/lib/libpay.so.3"], "attributeTable": [{}],
        "functionTable": [{}, {"nameStrindex": 3}, {"nameStrindex": 4}],
        "locationTable": [{}, {"lines": [{"functionIndex": 1}]}, {"mappingIndex": 1, "lines": [{"functionIndex": 2}]}],
        "stackTable": [{}, {"locationIndices": [2, 1]}, {"locationIndices": [1]}]},
        "resourceProfiles": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                              "scopeProfiles": [{"profiles": [{
                                  "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "timeUnixNano": str(now),
                                  "durationNano": "1000000000", "periodType": {"typeStrindex": 1, "unitStrindex": 2},
                                  "period": "10000000", "samples": [
                                      {"stackIndex": 1, "linkIndex": 1, "values": ["30000000"]},
                                      {"stackIndex": 2, "values": ["50000000"]}]}]}]}]}
    with Server() as server:
        status, _, reply = server.ask("POST", "/v1development/profiles", json.dumps(sent),
                                      {"Content-Type": "application/json"})
        assert status == 200, reply
        spans = get(server, "/api/v1/function", name="pay", query="shop", until="now+1m")["spans"]
        assert [(s["trace_id"], s["span_id"], s["value"]) for s in spans] == [(trace, span, 30000000)], spans
        assert get(server, "/api/v1/function", name="nothing", query="shop", until="now+1m")["spans"] == []
        # Modules are called the same in tables and trees.
        rows = get(server, "/api/v1/top", query="shop", until="now+1m")["rows"]
        assert {row["name"]: row["module"] for row in rows} == {"pay": "libpay.so.3", "main": ""}, rows
        _, _, reply = server.ask("GET", "/api/v1/tree", query="shop", until="now+1m", format="vft")
        assert b"libpay.so.3" in reply and b"/usr/lib/libpay" not in reply, reply


@test
def nothing_outside_of_a_source_root_is_shown():
    root = os.path.join(scratch(), "sources")
    for name, text in (("src/app/main.c", b"int main;\n"), ("src/.git/config", b"secret"), ("outside.c", b"secret"),
                       ("src/app/data.bin", b"a\0b"), ("src/app/large.c", b"x" * (5 << 20))):
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "wb") as file:
            file.write(text)
    os.symlink("../outside.c", os.path.join(root, "src/link.c"))
    os.symlink("app/main.c", os.path.join(root, "src/inside.c"))
    os.mkfifo(os.path.join(root, "src/pipe.c"))
    with Server("--source-root", os.path.join(root, "src")) as server:
        for path in ("/build/of/somebody/app/main.c", "app/main.c", "./app/main.c", "../../app/main.c", "inside.c",
                     "github.com/x/app/main.c"):
            status, headers, body = server.ask("GET", "/api/v1/source", file=path)
            assert (status, body) == (200, b"int main;\n"), (path, body)
            assert headers["content-type"] == "text/plain; charset=utf-8", path
        for path, want in ((".git/config", 400), ("app/../../outside.c", 400), ("link.c", 404), ("outside.c", 404),
                           (os.path.join(root, "outside.c"), 404), ("/etc/passwd", 404), ("app", 404), ("app/", 400),
                           ("", 400), ("pipe.c", 404), ("a" * 5000, 400), ("app/main.c\0", 400), ("app/data.bin", 415),
                           ("app/large.c", 413), ("%2e%2e/outside.c", 404)):
            status, headers, body = server.ask("GET", "/api/v1/source", file=path)
            assert status == want and b"secret" not in body, (path, status, body)
            assert headers["content-type"] == "application/json", path
    with Server() as server:
        status, _, body = server.ask("GET", "/api/v1/source", file="app/main.c")
        assert status == 404 and b"--source-root" in body, body


@test
def agents_are_seen_by_what_they_send():
    with Server("--trust-tenant-header") as server:
        for tenant, header in (("a", "host=web-1;version=0.1.0;rate=19;cpu=0.004;memory=3e7;samples=12.5;dropped=2"),
                               ("b", "host=web-2;rate=nan;cpu=-1;x"), ("b", "no host"), ("b", "host=" + "x" * 500)):
            status, _, _ = server.ask("POST", "/api/v1/profiles?service=x", b"a;b 1\n",
                                      {"vestal-agent": header, "X-Scope-OrgID": tenant})
            assert status == 200
        _, _, reply = server.ask("GET", "/api/v1/agents", headers={"X-Scope-OrgID": "a"})
        agent, = json.loads(reply)["agents"]
        assert abs(agent.pop("last_seen_ms") - time.time() * 1000) < 60000
        assert agent == {"host": "web-1", "version": "0.1.0", "rate_hz": 19, "cpu_share": 0.004, "rss_bytes": 3e7,
                         "samples_per_s": 12.5, "dropped": 2}, agent
        _, _, reply = server.ask("GET", "/api/v1/agents", headers={"X-Scope-OrgID": "b"})
        assert [(a["host"], a["rate_hz"], a["cpu_share"]) for a in json.loads(reply)["agents"]] == [("web-2", 0, 0)]


@test
def reading_needs_its_right():
    with Server("--tokens", tokens()) as server:
        for method, path in (("GET", "/api/v1/tree?format=vft"), ("POST", "/api/v1/view?format=vft"),
                             ("GET", "/api/v1/overview"), ("GET", "/api/v1/changes"), ("GET", "/api/v1/agents"),
                             ("GET", "/api/v1/function?name=a"), ("GET", "/api/v1/source?file=a.c")):
            status, _, _ = server.ask(method, path, FOLDED["abc"] if method == "POST" else None)
            assert status == 401, path
            status, _, _ = server.ask(method, path, None, bearer("write"))
            assert status == 403, path
        status, _, reply = server.ask("POST", "/api/v1/view?format=vft", FOLDED["abc"], bearer("read"))
        assert status == 200, reply
        # The page itself tells nobody anything.
        status, _, _ = server.ask("GET", "/")
        assert status == 200


@test
def tokens_are_listed_for_the_right_admin_without_their_secrets():
    path = os.path.join(scratch(), "listed-tokens")
    made = {}
    for tenant, right in (("anonymous", "read"), ("anonymous", "admin"), ("shop", "read"), ("shop", "admin")):
        done = subprocess.run([VESTAL, "token", "create", "--file", path, "--" + right, "--tenant", tenant,
                               "--name", f"{right} of {tenant}"], capture_output=True, text=True, check=True, timeout=60)
        made[tenant, right] = re.search(r"vst_\w+", done.stdout)[0]
    with Server("--tokens", path) as server:
        def ask(route, key):
            return server.ask("GET", route, headers={"Authorization": "Bearer " + made[key]})
        assert ask("/api/v1/tokens", ("shop", "read"))[0] == 403
        for key, names in ((("shop", "admin"), {"read of shop", "admin of shop"}),
                           (("anonymous", "admin"), {f"{r} of {t}" for t, r in made})):
            status, _, reply = ask("/api/v1/tokens", key)
            answer = json.loads(reply)
            assert status == 200 and answer["needed"] is True
            assert {t["name"] for t in answer["tokens"]} == names, answer
            own, = (t for t in answer["tokens"] if t["id"] == answer["own"])
            assert own["name"] == "admin of " + key[0] and own["rights"] == ["read", "write", "admin"], own
            assert b"vst_" not in reply
        for key, rights in ((("shop", "read"), ["read"]), (("shop", "admin"), ["read", "write", "admin"])):
            assert json.loads(ask("/api/v1/status", key)[2])["rights"] == rights
    with Server() as server:
        answer = json.loads(server.ask("GET", "/api/v1/tokens")[2])
        assert (answer["needed"], answer["own"], answer["tokens"]) == (False, "", [])


if __name__ == "__main__":
    main()
