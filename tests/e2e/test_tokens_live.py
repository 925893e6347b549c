#!/usr/bin/env python3
"""Tokens of a server that runs: what is created and revoked holds with the next request, and what
cannot be read opens nothing. What a tenant sees of the server and of others.

    VESTAL=build/vestal tests/e2e/test_tokens_live.py
"""
import json
import os
import re
import shutil

from support.server import Server
from support.tap import main, scratch, test, vestal


def fresh(name):
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def create(data, *args):
    return vestal("token", "create", "--data", data, *args)[0].strip()


def ids(data):
    return {line.split()[-1]: line.split()[0] for line in vestal("token", "list", "--data", data)[0].splitlines()[1:]}


def status(server, token=None, path="/api/v1/services", body=None):
    return server.ask(path, body, {"Authorization": f"Bearer {token}"} if token else {})[0]


def text(server, path, token):
    code, body = server.ask(path, headers={"Authorization": f"Bearer {token}"})
    assert code == 200, (path, code, body)
    return body.decode()


@test
def the_first_token_a_second_and_revocations_hold_at_once():
    data = fresh("live")
    with Server(folder=data) as server:
        assert status(server) == 200
        first = create(data, "--name", "first")
        assert status(server) == 401 and status(server, first) == 200
        second = create(data, "--name", "second")
        assert status(server, second) == 200 and status(server, first) == 200
        vestal("token", "revoke", ids(data)["first"], "--data", data)
        assert status(server, first) == 401 and status(server, second) == 200
        # Without any, nobody gets in: not everybody.
        vestal("token", "revoke", ids(data)["second"], "--data", data)
        assert status(server, second) == 401 and status(server) == 401
        assert status(server, create(data, "--name", "third")) == 200
    info = os.stat(f"{data}/tokens")
    assert info.st_uid == os.stat(data).st_uid and info.st_mode & 0o777 == 0o600


@test
def a_file_that_is_damaged_unreadable_or_gone_lets_nobody_in():
    data = fresh("damaged")
    with Server(folder=data) as server:
        token = create(data, "--name", "only")
        assert status(server, token) == 200
        path = f"{data}/tokens"
        with open(path, "rb") as file:
            good = file.read()

        def put(content):
            info = os.stat(data)
            with open(f"{path}.next", "wb") as file:
                file.write(content)
            os.chown(f"{path}.next", info.st_uid, info.st_gid)
            os.rename(f"{path}.next", path)

        for bad in (b"", b"no token\n", good + b"\xff\xff\n", good[:-40], os.urandom(300)):
            put(bad)
            assert status(server, token) == 401 and status(server) == 401, bad
        put(good)
        assert status(server, token) == 200
        os.unlink(path)
        assert status(server, token) == 401 and status(server) == 401
        os.mkdir(path)
        assert status(server, token) == 401 and status(server) == 401
        os.rmdir(path)
        os.symlink("/nowhere", path)
        assert status(server, token) == 401 and status(server) == 401
        os.unlink(path)
        put(good)
        assert status(server, token) == 200


def fill(server, token, service, samples):
    body = f"main;work {samples}\n".encode()
    code, answer = server.ask(f"/api/v1/profiles?service={service}", body, {"Authorization": f"Bearer {token}"})
    assert code == 200, answer


def metric(page, name):
    found = re.search(rf"^vestal_{name} (\S+)$", page, re.M)
    return found and float(found[1])


@test
def a_tenant_sees_its_own_numbers_and_an_operator_all():
    data = fresh("scoped")
    red, blue = (create(data, "--tenant", name, "--name", name) for name in ("crimson", "cobalt"))
    watcher = create(data, "--operator", "--name", "watcher")
    admin = create(data, "--admin", "--name", "admin")
    with Server(folder=data) as server:
        for _ in range(3):
            fill(server, red, "r", 10)
        fill(server, blue, "b", 10)
        assert status(server, red, "/api/v1/profiles", b"") >= 400
        for token, uploads in ((red, 3), (blue, 1), (watcher, 4), (admin, 4)):
            page = text(server, "/metrics", token)
            assert metric(page, "uploads_total") == uploads, page
            assert metric(page, "samples_total") is not None
            names = set(re.findall(r"^vestal_(\w+)", page, re.M))
            of_server = {"http_connections", "store_commits_total", "uptime_seconds", "cpu_seconds_total",
                         "questions_total", "in_flight_bytes", "ack_seconds_count"}
            if token in (watcher, admin):
                assert of_server <= names and 'tenant="crimson"' in page and 'tenant="cobalt"' in page, page
            else:
                other = "cobalt" if token == red else "crimson"
                assert not of_server & names and other not in page and data not in page, page
        # It opens nothing else.
        for path in ("/api/v1/services", "/api/v1/status", "/api/v1/top?query=r", "/api/v1/tokens", "/api/v1/agents"):
            assert status(server, watcher, path) == 403, path
        for path, body in (("/api/v1/profiles?service=x", b"main 1\n"), ("/api/v1/delete?query={}", b""),
                           ("/api/v1/backup", b"")):
            assert status(server, watcher, path, body) == 403, path


@test
def a_tenant_learns_nothing_of_others_or_of_the_machine():
    data = fresh("quiet")
    red = create(data, "--tenant", "red", "--name", "red")
    lead = create(data, "--tenant", "red", "--admin", "--name", "lead")
    blue = create(data, "--tenant", "blue", "--name", "blue-name")
    create(data, "--admin", "--name", "boss")
    with Server(folder=data) as server:
        fill(server, blue, "blue-service", 7)
        fill(server, red, "red-service", 7)
        for token in (red, lead):
            for path in ("/api/v1/status", "/api/v1/agents", "/api/v1/services", "/api/v1/overview", "/api/v1/labels",
                         "/api/v1/types", "/api/v1/status/buildinfo", "/metrics", "/api/v1/symbols", "/ready",
                         "/-/healthy"):
                body = text(server, path, token)
                assert "blue" not in body and data not in body and "boss" not in body, (path, body)
            answer = json.loads(text(server, "/api/v1/status", token))
            assert not {"blocks", "rollups", "fresh_chunks", "upkeep_last_failure"} & set(answer), answer
        tokens = text(server, "/api/v1/tokens", lead)
        assert "blue" not in tokens and "boss" not in tokens and "lead" in tokens, tokens
        assert status(server, lead, "/api/v1/backup", b"") == 403
        # What goes wrong is told without saying where the data lies.
        day = next(os.path.join(folder, name) for folder, _, names in os.walk(f"{data}/red") for name in names
                   if re.match(r"\d{4}-\d\d-\d\d\.db$", name))
    with open(day, "r+b") as file:
        file.write(b"\0" * 4096)
    with Server(folder=data) as server:
        for path in ("/api/v1/top?query=red-service", "/api/v1/services", "/api/v1/status"):
            _, body = server.ask(path, headers={"Authorization": f"Bearer {red}"})
            assert data.encode() not in body and b"/proc/self" not in body, (path, body)


main()
