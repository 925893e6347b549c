#!/usr/bin/env python3
"""vestal agent and vestal up over real programs: what arrives at a server, and what is sent, as the
official decoder reads it. Needs root: without it everything is skipped.

    VESTAL=build/vestal tests/e2e/test_agent.py
"""
import gzip
import json
import os
import socket
import subprocess
import sys
import time

from support.agent import Agent, Collector
from support.otlp_judge import official, run
from support.recording import allowed, build, close, cpu_seconds
from support.server import Server
from support.tap import VESTAL, main, scratch, test, vestal
from support.wait import until

PATH = "/v1development/profiles"
# A thread whose name is no text, in a service whose name is none either.
NOT_TEXT = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, b"\\xff\\xfebad", 0, 0, 0)
while True:
    sum(range(1000))
"""
# Work for the kernel's own threads.
DISK = """
import os, sys
f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
while True:
    os.pwrite(f, bytes(1 << 20), 0)
    os.fsync(f)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Busy:
    """Programs that run as long as the `with` lasts."""

    def __init__(self, *programs):
        self.programs = programs

    def __enter__(self):
        self.running = [subprocess.Popen(command, cwd=scratch(), stdout=subprocess.DEVNULL,
                                         env={**os.environb, **env})
                        for command, env in self.programs]
        return self

    def wait(self, seconds):
        """Until the first two have used so much processor time."""
        until(lambda: all(cpu_seconds(process.pid) > seconds for process in self.running[:2]))

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait()


def shares(seconds="60", **env):
    return [build("shares"), seconds], {k.encode(): v.encode() for k, v in env.items()}


def top(server, selector, *options):
    rows = json.loads(vestal("query", "--json", "-n", "0", *options, selector,
                             env={"VESTAL_SERVER": server.url})[0])
    return rows["total"], {row["name"]: row for row in rows["rows"]}


def services(server):
    return vestal("services", env={"VESTAL_SERVER": server.url})[0]


SESSION = {}


def session():
    """One run of an agent that several tests look at: a server that has it, and the bytes."""
    allowed()
    if SESSION.get("failed"):
        raise AssertionError("the agent's run failed, see above")
    if "server" not in SESSION:
        SESSION["failed"] = True
        server = Server().__enter__()
        collector = Collector(server)
        SESSION.update(server=server, collector=collector)
        program = shares(OTEL_SERVICE_NAME="shop",
                         OTEL_RESOURCE_ATTRIBUTES="service.version=1.2.3,team=a%20b,host.name=mine")
        odd = ([sys.executable, "-c", NOT_TEXT], {b"OTEL_SERVICE_NAME": b"odd\xff\xfename"})
        disk = ([sys.executable, "-c", DISK, os.path.join(scratch(), "disk")], {})
        begin = time.time_ns()
        with Agent("--interval", "2", "-F", "199", "--type", "cpu,offcpu", server=collector.url) as agent:
            with Busy(program, odd, disk) as busy:
                busy.wait(1.5)
                agent.wait(lambda: len(collector.requests) >= 4)
        SESSION.update(begin=begin, end=time.time_ns(), said=agent.said(), failed=False)
    return SESSION


@test
def a_service_is_found_under_the_name_it_gives_itself():
    server = session()["server"]
    total, names = top(server, 'shop{service.version="1.2.3"}', "--type", "cpu")
    truth = {"work_most": 0.6, "work_some": 0.3, "work_little": 0.1}
    seen = sum(names[name]["cum"] for name in truth)
    # The program gives its functions 6, 3 and 1 parts of the work.
    for name, share in truth.items():
        assert close(names[name]["cum"] / seen, share, seen / 1e9 * 199, 0.02), (name, names[name], seen)
    # On a busy machine the first stacks come before what it takes to walk them; they are marked.
    whole = total - sum(names[mark]["cum"] for mark in ("[truncated]", "[unwind_failed]") if mark in names)
    assert whole > 0.3e9 and names["main"]["cum"] > 0.9 * whole, (total, whole, names["main"])


@test
def what_the_process_says_of_itself_becomes_labels():
    server = session()["server"]
    assert top(server, 'shop{team="a b"}')[0] > 0.3e9
    total, _ = top(server, 'shop{process.executable.name="shares-plain",thread.name="shares-plain"}')
    assert total > 0.3e9


@test
def waits_are_there_beside_the_cpu():
    total, names = top(session()["server"], "shop", "--type", "off_cpu")
    assert total > 0 and names, total


@test
def threads_of_the_kernel_are_one_service():
    _, names = top(session()["server"], "kernel", "--type", "cpu")
    assert "kthread" in names and "main" not in names, sorted(names)[:20]


@test
def names_that_are_no_text_do_not_spoil_an_export():
    state = session()
    assert "not delivered" not in state["said"], state["said"]
    assert "odd" in services(state["server"]), services(state["server"])
    total, _ = top(state["server"], '{service_name=~"odd.*"}', "--type", "cpu")
    assert total > 0.3e9, total


def messages():
    """What was sent, decoded by the official module."""
    for number, (path, headers, body) in enumerate(session()["collector"].requests):
        assert path == PATH and headers["Content-Type"] == "application/x-protobuf", headers
        name = os.path.join(scratch(), f"sent-{number}.otlp")
        with open(name, "wb") as file:
            file.write(gzip.decompress(body))
        yield json.loads(run(official(), "dump", name))


def check_dictionary(d):
    assert d["stringTable"][0] == "" and len(set(d["stringTable"])) == len(d["stringTable"])
    for table in ("mappingTable", "locationTable", "functionTable", "linkTable", "stackTable",
                  "attributeTable"):
        assert not any(v not in ("0", "") and v for v in d[table][0].values()), (table, d[table][0])
        assert len({json.dumps(e, sort_keys=True) for e in d[table]}) == len(d[table]), table
    used = {i for s in d["stackTable"] for i in s["locationIndices"]}
    assert used == set(range(1, len(d["locationTable"])))
    used = {l["functionIndex"] for e in d["locationTable"] for l in e["lines"]} - {0}
    assert used == set(range(1, len(d["functionTable"])))
    used = {e["mappingIndex"] for e in d["locationTable"]} - {0}
    assert used == set(range(1, len(d["mappingTable"])))


@test
def the_official_decoder_finds_zero_entries_first_and_no_orphans():
    count = 0
    for data in messages():
        d = data["dictionary"]
        check_dictionary(d)
        stacks = {sample["stackIndex"] for resource in data["resourceProfiles"]
                  for scope in resource["scopeProfiles"] for profile in scope["profiles"]
                  for sample in profile["samples"]}
        assert stacks - {0} == set(range(1, len(d["stackTable"]))), "a stack that nobody uses"
        count += 1
    assert count >= 3, count


@test
def resources_have_sorted_keys_each_once():
    for data in messages():
        for resource in data["resourceProfiles"]:
            keys = [a["key"] for a in resource["resource"]["attributes"]]
            assert keys == sorted(set(keys)), keys
            assert {"service.name", "host.name"} <= set(keys), keys


@test
def windows_follow_each_other_and_cover_the_run():
    state, spans = session(), set()
    for data in messages():
        for resource in data["resourceProfiles"]:
            for scope in resource["scopeProfiles"]:
                for profile in scope["profiles"]:
                    start, length = int(profile["timeUnixNano"]), int(profile["durationNano"])
                    spans.add((start, start + length))
                    assert profile["samples"] and length > 0
    spans = sorted(spans)
    assert spans[0][0] >= state["begin"] and max(end for _, end in spans) <= state["end"], (spans, state)
    # Each begins where one ends. One that had no sample for a while covers the windows between.
    borders = [spans[0][0]]
    for time in sorted(time for span in spans for time in span):
        if time - borders[-1] > 1e6:
            borders.append(time)
    for begin, end in zip(borders, borders[1:]):
        assert any(abs(a - begin) < 1e6 for a, _ in spans) and any(abs(b - end) < 1e6 for _, b in spans), \
            (begin, end, spans)
    assert len(borders) > 2, spans


@test
def the_last_window_is_sent_at_the_end():
    allowed()
    with Server() as server:
        with Agent("--interval", "600", server=server.url):
            with Busy(shares(OTEL_SERVICE_NAME="last")) as busy:
                busy.wait(1)
        total, _ = top(server, "last")
        assert total > 0.2e9, total


@test
def what_a_server_missed_arrives_when_it_is_there():
    allowed()
    port = free_port()
    with Agent("--interval", "1", server=f"http://127.0.0.1:{port}"):
        with Busy(shares(OTEL_SERVICE_NAME="early")) as busy:
            busy.wait(1)
        # Nobody runs it any more: what is found was kept.
        server = subprocess.Popen([VESTAL, "server", "--memory", "--listen", f"127.0.0.1:{port}",
                                   "--otlp-grpc", "none", "--otlp-http", "none"], cwd=scratch(),
                                  stderr=subprocess.DEVNULL)
        try:
            env = {"VESTAL_SERVER": f"http://127.0.0.1:{port}"}
            until(lambda: "early" in vestal("services", env=env, status=None)[0])
        finally:
            server.terminate()
            server.wait(60)


@test
def up_shows_services_soon_and_keeps_the_last_window():
    allowed()
    folder, address = os.path.join(scratch(), "up"), f"127.0.0.1:{free_port()}"
    env = {"VESTAL_SERVER": f"http://{address}"}
    options = ["--otlp-grpc", "none", "--otlp-http", "none", "--data", folder, "--listen", address]
    with Agent(*options, command=("up",)):
        with Busy(shares(OTEL_SERVICE_NAME="shown")):
            until(lambda: "shown" in vestal("services", env=env, status=None)[0])
        with Busy(shares(OTEL_SERVICE_NAME="stored")) as busy:
            busy.wait(1)
    with Server(folder=folder) as server:
        assert "stored" in services(server), services(server)


@test
def wrong_options_are_said():
    for options, words in ((["--interval", "0"], "1 to 3600"), (["-F", "9999"], "1 to 5000"),
                           (["--type", "x"], "not one of"), (["x"], "not understood"),
                           (["--server", "nowhere"], "is no server")):
        allowed()
        _, said = vestal("agent", *options, status=None)
        assert words in said, (options, said)


try:
    main()
finally:
    if "server" in SESSION:
        SESSION["collector"].close()
        SESSION["server"].__exit__(True, None, None)
