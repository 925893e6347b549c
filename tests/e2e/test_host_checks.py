#!/usr/bin/env python3
"""Web pages reach nothing: the name a server is asked under and the page that asks are looked at for
every route, over HTTP/1.1 and HTTP/2, of the server, the agent's /metrics and a program's pages.

    VESTAL=build/vestal tests/e2e/test_host_checks.py
"""
import os
import re
import shutil
import socket
import subprocess

from support.server import Server
from support.tap import ROOT, Skip, main, scratch, test

STRANGERS = ({"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:4040"}, {"Origin": "http://evil.example"},
             {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
             {"Origin": "http://localhost:3000"})


def routes():
    """(method, path) of everything in the tables of src/server; a call of an RPC is a POST."""
    found = set()
    folder = os.path.join(ROOT, "src/server")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        for methods, path in re.findall(r'\{"((?:GET|POST|PUT|DELETE)[A-Z ]*)",\s*"(/[^"]*)"', text):
            found |= {(method, path.replace("*", "x")) for method in methods.split()}
        found |= {("POST", "/" + path) for path in re.findall(r'"/((?:querier|push|settings)[\w.]+/\w+)"', text)}
    assert len(found) > 45, found
    return sorted(found)


def raw(address, method, path, headers):
    """The status of a request written by hand: no library adds or corrects a header."""
    host, port = address.rsplit(":", 1)
    fields = {"Host": address, **headers}
    text = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())
    if method == "POST":
        text += "Content-Length: 2\r\n"
    with socket.create_connection((host, int(port)), 60) as s:
        s.sendall((text + "Connection: close\r\n\r\n" + ("{}" if method == "POST" else "")).encode())
        return int(s.makefile("rb").readline().split()[1])


@test
def no_route_answers_a_stranger():
    with Server() as server:
        for method, path in routes():
            for headers in STRANGERS:
                status = raw(server.address, method, path, headers)
                # A remote call without a type of its own is told that first.
                assert status in (403, 415), (method, path, headers, status)
            assert raw(server.address, method, path, {}) != 403, (method, path)
        # Nothing was received of all that.
        assert server.get("/api/v1/status")["profiles"] == 0


@test
def http2_is_no_way_around():
    if not shutil.which("curl"):
        raise Skip("no curl")

    def status(server, *args):
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{http_version}",
                               "--http2-prior-knowledge", *args, server.url + "/api/v1/services"],
                              capture_output=True, text=True, timeout=60, check=False)
        return done.stdout

    with Server() as server:
        assert status(server) == "200 2", status(server)
        for headers in STRANGERS:
            for name, value in headers.items():
                assert status(server, "-H", f"{name}: {value}") == "403 2", headers
        # gRPC has a status of its own, in headers that curl shows.
        for header in ("Host: evil.example", "Origin: http://evil.example"):
            done = subprocess.run(
                ["curl", "-s", "-D", "-", "-o", "/dev/null", "--http2-prior-knowledge", "-H", header, "-H",
                 "content-type: application/grpc", "-H", "te: trailers", "--data-binary", "@/dev/null",
                 server.url + "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"],
                capture_output=True, text=True, timeout=60, check=False)
            assert re.search(r"grpc-status: 7\b|HTTP/2 403", done.stdout, re.I), done.stdout


@test
def names_that_are_allowed_work_and_no_others():
    name = socket.gethostname()
    with Server("--allowed-host", "profiles.example", "--allowed-host", "other.example") as server:
        for host, want in (("profiles.example", 200), ("PROFILES.example:443", 200), ("other.example.", 200),
                           ("localhost:1", 200), ("[::1]:4040", 200), ("10.1.2.3", 200), ("evil.example", 403),
                           ("profiles.example.evil.example", 403), (name, 200), ("profiles", 403)):
            status = raw(server.address, "GET", "/api/v1/services", {"Host": host})
            assert status == want, (host, status)
        # Behind a proxy that asks by another name, the page has the real one.
        for origin, want in (("https://profiles.example", 200), ("https://evil.example", 403)):
            assert raw(server.address, "GET", "/api/v1/services", {"Origin": origin}) == want, origin
    with Server("--insecure") as server:
        assert raw(server.address, "GET", "/api/v1/services", {"Host": "vestal:4040"}) == 200
        assert raw(server.address, "GET", "/api/v1/services", {"Host": "evil.example"}) == 403
    with Server("--allowed-host", "*") as server:
        assert raw(server.address, "GET", "/api/v1/services", {"Host": "any.example"}) == 200


@test
def a_unix_socket_has_no_name_but_pages_are_refused_there_too():
    path = os.path.join(scratch(), "s.sock")
    with Server("--otlp-http", f"unix:{path}"):
        def status(*args):
            return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path, *args,
                                   "http://any.example/api/v1/services"], capture_output=True, text=True, timeout=60,
                                  check=False).stdout
        if not shutil.which("curl"):
            raise Skip("no curl")
        assert status() == "200"
        assert status("-H", "Origin: http://evil.example") == "403"


main()
