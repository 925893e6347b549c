#!/usr/bin/env python3
"""vestal agent and vestal up over real programs: what arrives at a server, and what is sent, as the
official decoder reads it. Needs root: without it everything is skipped.

    VESTAL=build/vestal tests/e2e/test_agent.py
"""
import gzip
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from support.otlp_judge import official, run
from support.recording import allowed, build, close
from support.server import Server
from support.tap import VESTAL, main, scratch, test, vestal

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


class Collector:
    """Keeps what an agent sends, and hands it on to a server."""

    def __init__(self, server):
        outer = self
        self.bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append((self.path, dict(self.headers), body))
                status, answer = server.ask(self.path, body, {
                    "Content-Type": self.headers["Content-Type"],
                    "Content-Encoding": self.headers["Content-Encoding"]})
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Agent:
    """`vestal agent` as long as the `with` lasts; ends with SIGTERM and must end well."""

    def __init__(self, url, *options, command=("agent",)):
        # What an earlier run could not deliver must not arrive in this one.
        to = ["--server", url, "--queue", tempfile.mkdtemp(dir=scratch())] if url else []
        self.command = [VESTAL, *command, *to, *options]

    def __enter__(self):
        self.log = tempfile.mkstemp(dir=scratch())[1]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, cwd=scratch(), stderr=log,
                                            stdout=subprocess.DEVNULL)
        if self.command[1] == "agent":
            wait_for(lambda: "agent started" in self.lines() or self.process.poll() is not None, 60)
        return self

    def lines(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.said = self.lines()
        assert kind or self.process.returncode == 0, (self.process.returncode, self.said)


class Busy:
    """Programs that run as long as the `with` lasts."""

    def __init__(self, *programs):
        self.programs = programs

    def __enter__(self):
        self.running = [subprocess.Popen(command, cwd=scratch(), stdout=subprocess.DEVNULL,
                                         env={**os.environb, **env})
                        for command, env in self.programs]
        return self

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


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.2)


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
        with Agent(collector.url, "--interval", "2", "-F", "199", "--type", "cpu,offcpu") as agent:
            with Busy(program, odd, disk):
                time.sleep(6)
        SESSION.update(begin=begin, end=time.time_ns(), said=agent.said, failed=False)
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
    assert total > 0.3e9 and names["main"]["cum"] > 0.9 * total, (total, names["main"])


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
    for number, (path, headers, body) in enumerate(session()["collector"].bodies):
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
    assert spans[0][0] >= state["begin"] and spans[-1][1] <= state["end"], (spans, state["begin"])
    for (_, end), (start, _) in zip(spans, spans[1:]):
        assert abs(start - end) < 1e6, spans


@test
def the_last_window_is_sent_at_the_end():
    allowed()
    with Server() as server:
        with Agent(server.url, "--interval", "600"):
            with Busy(shares(OTEL_SERVICE_NAME="last")):
                time.sleep(2)
        total, _ = top(server, "last")
        assert total > 0.2e9, total


@test
def what_a_server_missed_arrives_when_it_is_there():
    allowed()
    port = free_port()
    with Agent(f"http://127.0.0.1:{port}", "--interval", "1"):
        with Busy(shares(OTEL_SERVICE_NAME="early")):
            time.sleep(3)
        # Nobody runs it any more: what is found was kept.
        server = subprocess.Popen([VESTAL, "server", "--memory", "--listen", f"127.0.0.1:{port}",
                                   "--otlp-grpc", "none", "--otlp-http", "none"], cwd=scratch(),
                                  stderr=subprocess.DEVNULL)
        try:
            env = {"VESTAL_SERVER": f"http://127.0.0.1:{port}"}
            wait_for(lambda: "early" in vestal("services", env=env, status=None)[0], 30)
        finally:
            server.terminate()
            server.wait(60)


@test
def up_shows_services_within_fifteen_seconds_and_keeps_the_last_window():
    allowed()
    folder, address = os.path.join(scratch(), "up"), f"127.0.0.1:{free_port()}"
    env = {"VESTAL_SERVER": f"http://{address}"}
    options = ["--otlp-grpc", "none", "--otlp-http", "none", "--data", folder, "--listen", address]
    with Agent(None, *options, command=("up",)):
        with Busy(shares(OTEL_SERVICE_NAME="shown")):
            wait_for(lambda: "shown" in vestal("services", env=env, status=None)[0], 15)
        with Busy(shares(OTEL_SERVICE_NAME="stored")):
            time.sleep(2)
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
