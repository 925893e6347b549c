#!/usr/bin/env python3
"""Limits of disk space with several tenants on a real server: who has too much loses the oldest of what
is his own, and nobody else loses anything.
"""
import json
import os
import time

from support.server import Server
from support.tap import main, scratch, test, vestal

DAY = 86400


class Shared(Server):
    def __init__(self, name, *args):
        self.folder = os.path.join(scratch(), name)
        super().__init__("--trust-tenant-header", "--retention", "0", *args, folder=self.folder)

    def upload(self, tenant, days_ago, stacks):
        when = int(time.time()) - days_ago * DAY
        text = "\n".join(f"main;{tenant}_{days_ago}_{i}{'x' * 200} 1" for i in range(stacks))
        status, body = self.ask(f"/ingest?name=shop&format=folded&from={when}&until={when + 10}",
                                text.encode(), {"X-Scope-OrgID": tenant})
        assert status == 200, (status, body)

    def days(self, tenant):
        return sorted(f for f in os.listdir(f"{self.folder}/{tenant}")
                      if f.endswith(".db") and f != "catalog.db")

    def tenant(self, name):
        return [t for t in self.get("/api/v1/retention")["tenants"] if t["tenant"] == name][0]


def wait(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it does not happen")


@test
def a_flood_takes_nothing_from_tenants_below_their_share():
    with Shared("flood", "--max-size", "2MB") as server:
        for day in (9, 5, 0):
            server.upload("small", day, 20)
        small = server.days("small")
        assert len(small) == 3
        for day in range(12, -1, -1):
            server.upload("flood", day, 300)
        wait(lambda: server.tenant("flood")["deleted"]["size"]["times"] > 0)
        wait(lambda: server.tenant("flood")["disk_bytes"] <= 2 << 20)
        assert server.days("small") == small
        # The oldest went, and the newest is there.
        left = server.days("flood")
        assert left and left[-1].startswith(time.strftime("%Y-%m-%d", time.gmtime())), left
        gone = [line for line in server.log if "reason=size" in line]
        assert gone and all("tenant=flood" in line and "bytes=" in line and "count=1" in line
                            for line in gone), gone
        with open(f"{server.folder}/audit.log", encoding="utf-8") as file:
            audited = [line for line in map(json.loads, file) if line["action"] == "deleted"]
        assert len(audited) == len(gone) and {line["reason"] for line in audited} == {"size"}, audited
        metrics = server.ask("/metrics")[1].decode()
        assert 'vestal_store_deleted_bytes_total{tenant="flood",reason="size"}' in metrics
        assert 'vestal_store_max_bytes{tenant="small"}' in metrics


@test
def every_tenant_may_have_a_limit_of_its_own():
    config = os.path.join(scratch(), "limits.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("tenant_max_size: 700KB\ntenant_max_sizes:\n  large: 1GB\n  other: 0\n")
    with Shared("limits", "--config", config) as server:
        for tenant in ("large", "other", "plain"):
            for day in range(5, -1, -1):
                server.upload(tenant, day, 300)
        wait(lambda: server.tenant("plain")["deleted"]["quota"]["times"] > 0)
        wait(lambda: server.tenant("plain")["disk_bytes"] <= 700 << 10)
        assert len(server.days("large")) == len(server.days("other")) == 6
        assert server.tenant("large")["max_size"] == 1 << 30
        assert server.tenant("other")["max_size"] == 0
        assert server.tenant("plain")["max_size"] == 700 << 10
        status, body = server.ask("/api/v1/status", headers={"X-Scope-OrgID": "plain"})
        assert status == 200 and json.loads(body)["tenant_max_size"] == 700 << 10, body


@test
def a_flood_above_the_limit_is_refused_and_other_tenants_are_not():
    with Shared("burst", "--tenant-max-size", "2MB") as server:
        statuses, body = [], b""
        for number in range(400):
            text = "\n".join(f"main;{os.urandom(100).hex()} 1" for _ in range(300))
            status, body = server.ask("/ingest?name=shop&format=folded", text.encode(), {"X-Scope-OrgID": "flood"})
            statuses.append(status)
            if status == 429:
                break
        assert statuses[-1] == 429 and set(statuses[:-1]) == {200}, (number, statuses[-3:], body)
        said = json.loads(body)["message"]
        assert "this tenant has" in said and "--tenant-max-size" in said, said
        # A quarter more than the limit, 4 MiB, and what was under way.
        assert server.tenant("flood")["disk_bytes"] < 12 << 20, server.tenant("flood")
        server.upload("small", 0, 20)


@test
def a_limit_that_is_none_is_refused_with_its_place():
    config = os.path.join(scratch(), "wrong.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("tenant_max_sizes:\n  acme: many\n")
    _, err = vestal("server", "--config", config, status=None)
    assert "tenant_max_sizes of acme is no size such as 10GB" in err, err
    _, err = vestal("server", "--tenant-size", "acme", status=None)
    assert "--tenant-size acme is not NAME=SIZE" in err, err


main()
