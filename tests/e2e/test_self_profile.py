#!/usr/bin/env python3
"""--self-profile: the server finds its own functions in its own store."""
import json
import os
import shutil
import time
import urllib.request

from support.server import Server
from support.tap import main, scratch, test, vestal

WORDS = "recv read_request decode intern encode commit write sync reply merge".split()


def folded(rows):
    lines = []
    for i in range(rows):
        stack = ";".join(f"{WORDS[(i * 7 + d * d) % 10]}_{(i + d) % 97}" for d in range(30))
        lines.append(f"{stack} {i % 50 + 1}")
    return "\n".join(lines).encode()


def work(server, seconds):
    """Uploads until the server has used that much CPU time."""
    body = folded(2000)
    for _ in range(10000):
        status, reply = server.ask("/ingest?name=load&format=folded", body)
        assert status == 200, reply
        if metric(server, "vestal_cpu_seconds_total") > seconds:
            return
    raise AssertionError("the server uses no CPU time")


def metric(server, name):
    with urllib.request.urlopen(server.url + "/metrics", timeout=60) as reply:
        for line in reply.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    return None


def functions(server):
    out, _ = vestal("query", "vestal", "--type", "cpu", "--json", "-n", "10000",
                    env={"VESTAL_SERVER": server.url})
    return json.loads(out)


@test
def the_server_finds_its_own_functions():
    with Server("--self-profile") as server:
        work(server, 1.5)
        for _ in range(120):
            if "vestal" in server.get("/api/v1/services")["services"]:
                break
            time.sleep(0.25)
        found = functions(server)
        names = {row["name"] for row in found["rows"]}
        assert {"handle_ingest", "connection_run"} & names, sorted(names)
        assert metric(server, "vestal_self_profile_samples_total") > 0
        assert metric(server, "vestal_self_profile_failed_total") == 0
        # Nothing is counted twice: the profile has no more than the process used.
        assert found["total"] <= metric(server, "vestal_cpu_seconds_total") * 1e9 + 5e8, found["total"]


@test
def what_was_sampled_last_is_stored_at_the_end():
    folder = os.path.join(scratch(), "self")
    shutil.rmtree(folder, ignore_errors=True)
    with Server("--self-profile", folder=folder) as server:
        work(server, 0.7)
    with Server(folder=folder) as server:
        assert functions(server)["total"] > 0
        assert metric(server, "vestal_self_profile_samples_total") is None


main()
