#!/usr/bin/env python3
"""What the web UI asks of a server: its own files, and the answers it draws."""
import gzip
import json
import os
import re
import struct
import subprocess

from support.api_server import FOLDED, Server
from support.tap import Skip, VESTAL, main, scratch, test

VIEWS = ("/", "/services", "/explore", "/diff", "/heatmap", "/function", "/files", "/status")
PACKED = {"Accept-Encoding": "gzip, deflate, br"}


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

def decode(data):
    """The meta, the tree and the function table of docs/formats/vft.md."""
    assert data[:4] == b"VFT1", data[:40]
    (length,), at = struct.unpack_from("<I", data, 4), 8
    meta = json.loads(data[8:8 + length])

    def take(kind, count):
        nonlocal at
        at = (at + 7) // 8 * 8
        values = struct.unpack_from(f"<{count}{kind}", data, at)
        at += struct.calcsize(f"<{count}{kind}")
        return values

    at += length
    nodes, frames, strings, rows, columns, text_bytes, verdicts, zero = take("I", 8)
    assert zero == 0
    parent, frame, own = take("I", nodes), take("I", nodes), take("d", nodes * columns)
    names = take("I", frames)
    for _ in range(4):
        take("I", frames)
    table, flat, cum = take("I", rows), take("d", rows * columns), take("d", rows * columns)
    offsets = take("I", strings + 1)
    at = (at + 7) // 8 * 8
    text, at = data[at:at + text_bytes], at + text_bytes
    told = [take("I", rows), take("d", rows), take("d", rows), take("d", rows)] if verdicts else None
    assert at == len(data), (at, len(data))
    names = [text[offsets[n]:offsets[n + 1]].decode() for n in names]
    functions = {}
    for i, f in enumerate(table):
        functions[names[f]] = {"self": [flat[c * rows + i] for c in range(columns)],
                               "total": [cum[c * rows + i] for c in range(columns)]}
        if told:
            functions[names[f]].update(verdict=told[0][i], p=told[1][i], change=told[2][i])
    tree = [(names[frame[i]], parent[i], [own[c * nodes + i] for c in range(columns)]) for i in range(nodes)]
    return meta, tree, functions


def vft(server, path, method="GET", body=None, **parameters):
    status, headers, reply = server.ask(method, path, body, PACKED, format="vft", **parameters)
    assert status == 200 and headers["content-type"] == "application/vnd.vestal.vft", (status, reply)
    return decode(gzip.decompress(reply) if headers.get("content-encoding") else reply)


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


@test
def reading_needs_its_right():
    with Server("--tokens", tokens()) as server:
        for method, path in (("GET", "/api/v1/tree?format=vft"), ("POST", "/api/v1/view?format=vft")):
            status, _, _ = server.ask(method, path, FOLDED["abc"] if method == "POST" else None)
            assert status == 401, path
            status, _, _ = server.ask(method, path, None, bearer("write"))
            assert status == 403, path
        status, _, reply = server.ask("POST", "/api/v1/view?format=vft", FOLDED["abc"], bearer("read"))
        assert status == 200, reply
        # The page itself tells nobody anything.
        status, _, _ = server.ask("GET", "/")
        assert status == 200


if __name__ == "__main__":
    main()
