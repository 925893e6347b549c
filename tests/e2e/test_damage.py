#!/usr/bin/env python3
"""A server on a damaged directory: it starts, reports the damage and serves the intact data; `vestal
check` finds the damage, and --repair makes all intact data readable.
"""
import json
import os
import sqlite3
import tarfile

from support.kept_store import BEGIN, CPU, DAY, Kept, TENANTS
from support.tap import ROOT, main, scratch, test, vestal
from support.wait import until

FIXTURE = os.path.join(ROOT, "tests/fixtures/store-2")
with open(os.path.join(FIXTURE, "answers.json"), encoding="utf-8") as _file:
    TOKENS = json.load(_file)["tokens"]


def current(name):
    """A directory of today's format."""
    folder = os.path.join(scratch(), name)
    os.makedirs(folder)
    with tarfile.open(os.path.join(FIXTURE, "data.tar.xz")) as archive:
        archive.extractall(folder)
    data = os.path.join(folder, "data")
    with Kept(data, TOKENS) as server:
        until(lambda: b"vestal_store_fresh_chunks 0\n" in server.ask("/metrics")[1])
    return data


def asked(path, day, later=0, **more):
    text = "&".join(f"{key}={value}" for key, value in more.items())
    return (f"/api/v1/{path}?query=shop&type={CPU}&from={(BEGIN + day * DAY + later) * 1000}"
            f"&until={(BEGIN + (day + 1) * DAY) * 1000}&{text}")


def edit(data, file, sql):
    with sqlite3.connect(os.path.join(data, file)) as db:
        db.execute(sql)
    db.close()


@test
def damaged_parts_are_named_and_intact_parts_are_served():
    data = current("named")
    vestal("check", data)
    edit(data, "anonymous/2026-03-11.db", "DELETE FROM blocks WHERE id = (SELECT min(id) FROM blocks)")
    _, complaints = vestal("check", data, status=65)
    assert "2026-03-11.db" in complaints and "blocks" in complaints, complaints
    with Kept(data, TOKENS) as server:
        damaged = [path for path in ("top", "series", "tree")
                   if server.ask(asked(path, 1))[0] == 500]
        for path in damaged:
            status, body = server.ask(asked(path, 1))
            assert status == 500 and json.loads(body)["code"] == "damaged", (path, status, body)
            assert "2026-03-11.db" in json.loads(body)["message"], body
            status, body = server.ask(asked(path, 1, partial="true"))
            answer = json.loads(body)
            assert status == 200 and answer["damaged_parts"] >= 1, (path, status, body)
            assert "2026-03-11.db" in answer["damaged"][0], answer["damaged"]
        services = ("shop", "counted", "heap", "late")
        assert damaged or any(server.ask(asked("top", 1).replace("shop", s))[0] == 500 for s in services), damaged
        # A profile of the damaged day reaches into the first minutes of the next.
        for day in (0, 2):
            assert server.ask(asked("top", day, later=10800))[0] == 200, day
        assert server.ask(asked("top", 0), tenant=TENANTS[1])[0] == 200
        body = {"profileTypeID": CPU, "labelSelector": '{service_name="shop"}', "start": (BEGIN + DAY) * 1000,
                "end": (BEGIN + 2 * DAY) * 1000}
        if damaged:
            status, reply = server.ask("/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(body).encode(),
                                       {"Content-Type": "application/json"})
            assert status == 500 and json.loads(reply)["code"] == "data_loss", (status, reply)
    _, out = vestal("check", "--repair", data)
    assert "lost data of" in out and "repaired" in out, out
    detached = os.listdir(os.path.join(data, "anonymous/detached"))
    assert "2026-03-11.db.1" in detached and "manifest.jsonl" in detached, detached
    with open(os.path.join(data, "anonymous/detached/manifest.jsonl"), encoding="utf-8") as manifest:
        lines = [json.loads(line) for line in manifest]
    assert any(line["file"] == "2026-03-11.db" and line["tenant"] == "anonymous" for line in lines), lines
    vestal("check", data)
    _, out = vestal("check", "--repair", data)
    assert "nothing to repair" in out, out
    with Kept(data, TOKENS) as server:
        for day in range(3):
            status, body = server.ask(asked("top", day))
            assert status == 200, (day, status, body)


@test
def a_backup_names_the_file_that_it_lacks_and_has_the_rest():
    data = current("backup")
    lost = os.path.join(data, "anonymous/2026-03-11.db")
    with open(lost, "r+b") as file:
        file.write(bytes(4096))
    token, _ = vestal("token", "create", "--data", data, "--name", "operator", "--admin")
    token = token.strip().split()[-1]
    copy = os.path.join(scratch(), "copy")
    with Kept(data, {**TOKENS, "operator": token}) as server:
        status, body = server.ask("/api/v1/backup", b"", tenant="operator")
        assert status == 500 and json.loads(body)["code"] == "damaged", (status, body)
        _, complaints = vestal("backup", copy, "--server", server.url, "--token", token, status=65)
    assert "2026-03-11.db" in complaints and "not whole: 1 damaged file" in complaints, complaints
    names = sorted(name for name in os.listdir(os.path.join(copy, "anonymous")) if name.endswith(".db"))
    kept = sorted(name for name in os.listdir(os.path.join(data, "anonymous")) if name.endswith(".db"))
    assert names == [name for name in kept if name != "2026-03-11.db"], (names, kept)
    _, complaints = vestal("check", copy, status=65)
    assert "2026-03-11.db: it is missing" in complaints, complaints
    with Kept(copy, TOKENS) as server:
        for day in (0, 2):
            assert server.ask(asked("top", day, later=10800))[0] == 200, day


@test
def a_log_that_lost_its_end_is_known_after_a_kill():
    data = current("log")
    with Kept(data, TOKENS) as server:
        for n in range(5):
            body = f"main;work {n + 1}\n".encode()
            at = BEGIN + 2 * DAY + 70_000 + n
            status, reply = server.ask(f"/api/v1/profiles?service=shop&format=folded&from={at}", body)
            assert status == 200, reply
        server.process.kill()
        server.process.wait()
        folder = os.path.join(data, "anonymous")
        logs = [name for name in os.listdir(folder) if name.endswith("-wal") and
                os.path.getsize(os.path.join(folder, name)) > 1000]
        assert logs, os.listdir(folder)
        for name in logs:
            os.truncate(os.path.join(folder, name), 0)
        server.reader.join()
        server.process.returncode = 0
    _, complaints = vestal("check", data, status=65)
    assert "transactions are missing" in complaints, complaints
    vestal("check", "--repair", data)
    vestal("check", data)


@test
def a_message_about_damage_does_not_show_where_the_data_lies():
    data = current("private")
    edit(data, f"{TENANTS[1]}/2026-03-10.db", "DELETE FROM chunks")
    edit(data, f"{TENANTS[1]}/2026-03-10.db", "DELETE FROM blocks")
    with Kept(data, TOKENS) as server:
        token, _ = vestal("token", "create", "--data", data, "--name", "reader", "--tenant", TENANTS[1])
        server.tokens = {**TOKENS, "reader": token.strip().split()[-1]}
        for more in ({}, {"partial": "true"}):
            status, body = server.ask(asked("top", 0, **more), tenant="reader")
            assert status == (200 if more else 500), (status, body)
            assert b"2026-03-10.db is damaged" in body and data.encode() not in body, body


@test
def a_file_of_a_newer_format_is_refused_and_left_alone():
    data = current("newer")
    path = os.path.join(data, "anonymous/2026-03-11.db")
    edit(data, "anonymous/2026-03-11.db", "PRAGMA user_version = 99")
    with open(path, "rb") as file:
        before = file.read()
    sentence = "has format version 99, this vestal reads up to 3: use the newer vestal that wrote it"
    with Kept(data, TOKENS) as server:
        status, body = server.ask(asked("top", 1))
        assert status == 500 and sentence in json.loads(body)["message"], (status, body)
        assert server.ask(asked("top", 0))[0] == 200
    _, complaints = vestal("check", data, status=65)
    assert sentence in complaints, complaints
    _, complaints = vestal("check", "--repair", data, status=65)
    assert sentence in complaints, complaints
    with open(path, "rb") as file:
        assert file.read() == before


main()
