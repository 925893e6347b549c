#!/usr/bin/env python3
"""Wall clocks that jump under a real server: nothing is deleted for its age until an operator has
confirmed that the clock is right, or it comes back. tests/shim/clock_shim.c moves the clock.
"""
import json
import os
import shutil
import struct
import subprocess
import time
import urllib.parse

from support.server import Server
from support.tap import ROOT, main, scratch, test, vestal

DAY = 86400
WITNESS = {"X-Scope-OrgID": "witness"}


class Moved(Server):
    """A server whose calendar is `jump(seconds)` ahead of the machine's."""

    def __init__(self, name, *args, after=None):
        self.folder = os.path.join(scratch(), name)
        self.control = self.folder + ".jump"
        if not after:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.jump(0)
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        super().__init__("--trust-tenant-header", "--retention", "14d", "--tenant-size", "witness=400KB",
                         *args, folder=self.folder,
                         env={"LD_PRELOAD": shim(), "CLOCK_JUMP": self.control, "ASAN_OPTIONS": sanitizer})

    def jump(self, seconds):
        # In place: the server has the file mapped.
        with open(self.control, "r+b" if os.path.exists(self.control) else "wb") as file:
            file.write(struct.pack("=q", seconds))

    def upload(self, days_ago, headers=None, text="main;work 1", name="shop"):
        when = int(time.time()) - int(days_ago * DAY)
        status, body = self.ask(f"/ingest?name={name}&format=folded&from={when}&until={when + 10}",
                                text.encode(), headers)
        assert status == 200, (days_ago, status, body)

    def days(self):
        """Days of which something is stored."""
        return len([f for f in os.listdir(f"{self.folder}/anonymous")
                    if f.endswith(".db") and f != "catalog.db" and ".spans" not in f])

    def a_round_of_retention(self):
        """Until the store has looked for what is to be deleted: a tenant above its limit shows it, as early as
        during the uploads."""
        before = self.deleted("witness", "quota")
        for days_ago in (3, 2, 1, 0):
            self.upload(days_ago, WITNESS, "\n".join(f"main;f{i}_{days_ago}{'x' * 200} 1" for i in range(1000)))
        wait(lambda: self.deleted("witness", "quota") > before)

    def deleted(self, tenant, reason):
        answer = self.get("/api/v1/retention")
        return sum(t["deleted"][reason]["times"] for t in answer["tenants"] if t["tenant"] == tenant)

    def suspended(self):
        return self.get("/api/v1/status")["retention_suspended"]

    def audit(self, action):
        with open(f"{self.folder}/audit.log", encoding="utf-8") as file:
            return [line for line in map(json.loads, file) if line["action"] == action]


def shim():
    path = os.path.join(scratch(), "clock_shim.so")
    if not os.path.exists(path):
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, f"{ROOT}/tests/shim/clock_shim.c"], check=True)
    return path


def wait(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it does not happen")


def fill(server):
    for day in range(5):
        server.upload(day)
    assert server.days() == 5


@test
def a_jump_of_thirty_days_deletes_nothing_and_is_told_everywhere():
    with Moved("ahead") as server:
        fill(server)
        server.jump(30 * DAY)
        wait(server.suspended)
        status, body = server.ask("/ready")
        assert status == 200 and "retention is suspended: the wall clock is 30 days ahead" in body.decode(), body
        assert b"\nvestal_retention_suspended 1\n" in server.ask("/metrics")[1]
        out, _ = vestal("status", env={"VESTAL_SERVER": server.url})
        assert "vestal retention confirm" in out, out
        out, _ = vestal("retention", env={"VESTAL_SERVER": server.url})
        assert "30 days ahead" in out, out
        assert any("retention is suspended" in line for line in server.log), server.log
        # Senders with the right time, and those who have it from the same host.
        server.upload(0)
        server.upload(-30)
        server.a_round_of_retention()
        assert server.days() == 6, os.listdir(f"{server.folder}/anonymous")
    # A restart changes nothing, with the clock as wrong as before …
    with Moved("ahead", after=server) as server:
        server.a_round_of_retention()
        assert server.days() == 6
        assert server.suspended()
        # … and when it comes back, that is all.
        server.jump(0)
        wait(lambda: not server.suspended())
        server.a_round_of_retention()
        assert server.days() == 6
        assert not server.deleted("anonymous", "age")
        wait(lambda: any("retention continues" in line for line in server.log))


@test
def a_jump_while_no_server_runs_is_noticed():
    with Moved("meanwhile") as server:
        fill(server)
        control = server.control
    assert os.path.exists(control)
    server.jump(30 * DAY)
    with Moved("meanwhile", after=server) as server:
        wait(server.suspended)
        server.a_round_of_retention()
        assert server.days() == 5


@test
def an_operator_confirms_and_every_deletion_is_logged_and_audited():
    with Moved("confirmed") as server:
        fill(server)
        server.jump(30 * DAY)
        wait(server.suspended)
        out, _ = vestal("retention", "confirm", "--json", env={"VESTAL_SERVER": server.url})
        assert json.loads(out)["off_by_ns"] // 10**9 in range(30 * DAY - 60, 30 * DAY + 60), out
        assert not server.suspended()
        wait(lambda: server.days() == 0)
        wait(lambda: len(server.audit("deleted")) == 5)
        assert len(server.audit("confirm clock")) == 1
        for line in server.audit("deleted"):
            assert line["reason"] == "age" and line["tenant"] == "anonymous", line
            assert line["kind"] == "profiles" and line["count"] == "1" and int(line["bytes"]) > 0, line
        assert len({line["day"] for line in server.audit("deleted")}) == 5
        logged = [line for line in server.log if "reason=age" in line]
        assert len(logged) == 5 and all("tenant=anonymous" in line for line in logged), server.log
        # Back to the right time: that is a jump, too, and new data is taken.
        server.jump(0)
        wait(server.suspended)
        server.upload(0)
        assert b"behind" in server.ask("/ready")[1]


@test
def only_an_operator_may_confirm():
    folder = os.path.join(scratch(), "tokens")
    tokens = {}
    for tenant in ("anonymous", "acme"):
        out, _ = vestal("token", "create", "--data", folder, "--admin", "--tenant", tenant, "--name", tenant)
        tokens[tenant] = [word for word in out.split() if word.startswith("vst_")][0]
    with Server(folder=folder) as server:
        def confirm(tenant):
            return server.ask("/api/v1/retention/confirm", b"", {"Authorization": f"Bearer {tokens[tenant]}"})
        status, body = confirm("acme")
        assert status == 403 and b"that of all tenants" in body, body
        assert confirm("anonymous")[0] == 200
        status, body = server.ask("/api/v1/retention", headers={"Authorization": f"Bearer {tokens['acme']}"})
        answer = json.loads(body)
        assert [t["tenant"] for t in answer["tenants"]] == ["acme"] and "disk_free_bytes" not in answer, answer


@test
def a_clock_that_goes_back_refuses_nobody_and_forgets_no_agent():
    with Moved("back") as server:
        agent = {"vestal-agent": "host=h1;version=1;rate=19"}
        server.upload(0, agent)
        server.jump(-40 * DAY)
        wait(server.suspended)
        # The right time is 40 days ahead of this clock now.
        server.upload(0)
        server.upload(39.9)
        query = urllib.parse.urlencode({"query": "shop", "from": int(time.time()) - 60, "until": int(time.time()) + 60})
        assert server.ask(f"/api/v1/top?{query}")[0] == 200
        seen = server.get("/api/v1/agents")["agents"]
        assert [a["host"] for a in seen] == ["h1"], seen
        assert abs(seen[0]["last_seen_ms"] / 1000 - (time.time() - 40 * DAY)) < 3600, seen
        server.jump(40 * DAY)
        wait(lambda: b"ahead" in server.ask("/ready")[1])
        seen = server.get("/api/v1/agents")["agents"]
        assert [a["host"] for a in seen] == ["h1"], seen


main()
