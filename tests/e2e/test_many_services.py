#!/usr/bin/env python3
"""One tenant has a great many services, the others have one each. What the store says about all of
them comes from its index, and nobody else waits for a loop over them: counted in steps, not in time.

MANY_SERVICES says how many (2,000 unless told; `tools/run-tests --long` asks for 60,000).
"""
import http.client
import json
import os
import threading
import time
import urllib.parse

from support.server import Server
from support.tap import main, scratch, test

COUNT = int(os.environ.get("MANY_SERVICES", "2000"))
SENDERS = 16
# The longest loop that anybody runs while all others wait. There are more services than that.
STEPS = 1000
NOISY, QUIET = {"X-Scope-OrgID": "noisy"}, {"X-Scope-OrgID": "quiet"}


class Sender:
    """A connection that stays."""

    def __init__(self, server):
        self.client = http.client.HTTPConnection(server.address, timeout=300)

    def ask(self, method, path, body=None, headers=None, **parameters):
        self.client.request(method, f"{path}?{urllib.parse.urlencode(parameters)}", body, headers or {})
        reply = self.client.getresponse()
        return reply.status, reply.read()

    def get(self, path, headers, **parameters):
        status, body = self.ask("GET", path, None, headers, **parameters)
        assert status == 200, f"{path}: {status} {body[:300]}"
        return json.loads(body)

    def send(self, service, value, until, headers):
        status, body = self.ask("POST", "/ingest", f"main;work {value}\n".encode(), headers, name=service,
                                units="samples", sampleRate=100, **{"from": until - 10, "until": until})
        assert status == 200, f"{status} {body[:300]}"


def all_of(count, work):
    """work(sender number, i) for all i, by several threads; what went wrong is told."""
    wrong = []

    def run(number):
        try:
            for i in range(number, count, SENDERS):
                work(number, i)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def metric(sender, name):
    status, body = sender.ask("GET", "/metrics")
    assert status == 200, body
    values = [line.split()[-1] for line in body.decode().splitlines() if line.startswith(f"vestal_{name} ")]
    assert len(values) == 1, f"{name}: {values}"
    return float(values[0])


@test
def a_tenant_with_many_services_leaves_the_others_alone():
    now = int(time.time()) - 60
    with Server("--trust-tenant-header", folder=os.path.join(scratch(), "many")) as server:
        senders = [Sender(server) for _ in range(SENDERS)]
        mine = Sender(server)
        mine.send("shop", 77, now, QUIET)
        all_of(COUNT, lambda number, i: senders[number].send(f"service-{i:06}", 1 + i % 100, now, NOISY))

        names = mine.get("/api/v1/labels/service_name/values", NOISY)["values"]
        assert names == [f"service-{i:06}" for i in range(COUNT)], len(names)
        assert mine.get("/api/v1/services", NOISY)["services"] == names
        labels = mine.get("/api/v1/labels", NOISY)["names"]
        assert "service_name" in labels, labels
        some = mine.get("/api/v1/labels/service_name/values", NOISY, query='{service_name=~"service-00001."}')
        assert some["values"] == [f"service-{i:06}" for i in range(10, 20)], some

        page = mine.get("/api/v1/overview", NOISY, **{"from": "now-1h", "until": "now"}, limit=50)
        assert page["more"] and len(page["services"]) == 50, page["more"]
        cpu = [s["types"][0]["total"] for s in page["services"]]
        # The largest first, all of the same value in order of names.
        assert cpu == sorted(cpu, reverse=True) and len(set(cpu)) == 1 + (50 - 1) // (COUNT // 100), cpu[:5]
        assert page["services"][0]["service"] == "service-000099", page["services"][0]["service"]
        total = sum(1 + i % 100 for i in range(COUNT))
        assert page["cpu"]["total"] == total * 10**7, page["cpu"]

        # What a question about everything needs is more than the other tenant's memory, not its turn.
        asked = [{"start": 0, "end": int(time.time() * 1000) + 10**6}, {}]
        for request in asked:
            status, body = mine.ask("POST", "/querier.v1.QuerierService/LabelNames", json.dumps(request).encode(),
                                    dict(NOISY, **{"Content-Type": "application/json"}))
            assert status == 200, body
        quiet = mine.get("/api/v1/overview", QUIET, **{"from": "now-1h", "until": "now"})
        assert [s["service"] for s in quiet["services"]] == ["shop"], quiet["services"]
        assert quiet["services"][0]["types"][0]["total"] == 77 * 10**7
        assert mine.get("/api/v1/services", QUIET)["services"] == ["shop"]
        assert metric(mine, "store_lock_steps") <= STEPS


@test
def a_restart_needs_no_dictionary_to_list_what_there_is():
    folder = os.path.join(scratch(), "again")
    now = int(time.time()) - 60
    for round_ in range(2):
        with Server("--trust-tenant-header", folder=folder) as server:
            sender = Sender(server)
            if not round_:
                for i in range(20):
                    sender.send(f"api-{i:02}", 1 + i, now, QUIET)
            assert len(sender.get("/api/v1/services", QUIET)["services"]) == 20
            assert "service_name" in sender.get("/api/v1/labels", QUIET)["names"]
            if round_:
                status, body = sender.ask("GET", "/metrics")
                dictionaries = [line for line in body.decode().splitlines()
                                if line.startswith('vestal_store_dictionary_bytes{tenant="quiet"}')]
                assert dictionaries and dictionaries[0].split()[-1] == "0", dictionaries


@test
def more_days_and_tenants_than_descriptors():
    now = int(time.time()) - 60
    with Server("--trust-tenant-header", folder=os.path.join(scratch(), "days"), descriptors=256) as server:
        sender = Sender(server)
        tenants = [f"tenant-{i}" for i in range(200)]
        for i, tenant in enumerate(tenants):
            sender.send("shop", 1 + i, now, {"X-Scope-OrgID": tenant})
        for day in range(1, 29):
            sender.send("shop", 1000, now - day * 86400, QUIET)
        for i, tenant in enumerate(tenants):
            page = sender.get("/api/v1/overview", {"X-Scope-OrgID": tenant}, **{"from": "now-1h", "until": "now"})
            assert page["cpu"]["total"] == (1 + i) * 10**7, (tenant, page["cpu"])
        page = sender.get("/api/v1/overview", QUIET, **{"from": "now-30d", "until": "now"})
        assert page["cpu"]["total"] == 28 * 1000 * 10**7, page["cpu"]
        assert metric(sender, "store_connections") <= 256 / 2 / 3 + 2


main()
