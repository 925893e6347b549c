#!/usr/bin/env python3
"""What the agent sends, and what becomes of it while nobody takes it: HTTP and gRPC out, retries, the
queue on disk, redaction.

    VESTAL=build/vestal tests/e2e/test_agent_export.py
"""
import glob
import gzip
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from support.agent import Agent
from support.server import Server
from support.tap import ROOT, VESTAL, Skip, main, scratch, test, vestal
from support.wait import until

HEAD = 32  # of an entry of the queue


class Receiver(http.server.ThreadingHTTPServer):
    """Takes requests on a port, and answers (status, headers) in turn; the last one for ever."""

    def __init__(self, *answers, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.answers = list(answers) or [(200, {})]
        self.got = []
        self.came = threading.Condition()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def wait(self, count):
        with self.came:
            assert self.came.wait_for(lambda: len(self.got) >= count, 90), \
                f"{len(self.got)} of {count} requests came"
            return list(self.got)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.came:
            status, headers = server.answers[0]
            if len(server.answers) > 1:
                server.answers.pop(0)
            server.got.append((self.path, self.headers, body))
            server.came.notify_all()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        reply = b"no good, says the server\n" if status == 400 else b""
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def quick(*options, **more):
    """An agent with windows of a second."""
    return Agent("--interval", "1", *options, **more)


def folder(name):
    return os.path.join(scratch(), name)


def entries(queue):
    return sorted(glob.glob(os.path.join(queue, "*.entry")))


def content(path):
    with open(path, "rb") as file:
        return file.read()[HEAD:]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@test
def windows_arrive_packed_and_with_one_type():
    with Receiver() as r:
        with quick("--server", r.url, "--token", "t0", "--queue", "none"):
            got = r.wait(2)
    for path, headers, body in got:
        assert path == "/v1development/profiles", path
        assert headers.get_all("Content-Type") == ["application/x-protobuf"], headers
        assert headers["Content-Encoding"] == "gzip"
        assert headers["Authorization"] == "Bearer t0"
        told = dict(part.split("=") for part in headers["Vestal-Agent"].split(";"))
        assert told["host"] == socket.gethostname() and int(told["memory"]) >= 0, told
        assert set(told) == {"host", "version", "rate", "cpu", "memory", "samples", "dropped"}, told
        assert len(gzip.decompress(body)) > len(body)


@test
def a_busy_server_gets_the_same_request_again():
    with Receiver((503, {"Retry-After": "1"}), (429, {}), (200, {})) as r:
        with quick("--server", r.url, "--queue", "none") as agent:
            got = r.wait(4)
    assert got[0][2] == got[1][2] == got[2][2], "the first one is tried until it is taken"
    assert got[3][2] != got[0][2]
    assert "not delivered, will be tried again" in agent.said(), agent.said()
    assert "delivered again" in agent.said(), agent.said()


@test
def what_is_refused_is_dropped_and_said():
    with Receiver((400, {}), (200, {})) as r:
        with quick("--server", r.url, "--queue", folder("refused"), "--log-level", "debug") as agent:
            got = r.wait(4)
    assert len({body for _, _, body in got}) == len(got), "nothing is sent twice"
    assert "they are dropped" in agent.said() and "no good, says the server" in agent.said(), agent.said()
    assert "dropped=1" in agent.said(), agent.said()
    assert not entries(folder("refused"))


@test
def what_waits_survives_kill_and_is_sent_in_order():
    port, queue = free_port(), folder("down")
    with quick("--server", f"http://127.0.0.1:{port}", "--queue", queue, kill=True) as agent:
        until(lambda: len(entries(queue)) >= 3)
    waiting = [content(path) for path in entries(queue)]
    assert len(waiting) >= 3
    with quick("--server", f"http://127.0.0.1:{port}", "--queue", queue):
        with Receiver(port=port) as r:
            got = r.wait(len(waiting) + 1)
            until(lambda: not entries(queue))
    assert [body for _, _, body in got][:len(waiting)] == waiting, "oldest first, each once"
    assert agent.said().count("not delivered") == 1, "it is said once: " + agent.said()


@test
def the_queue_keeps_to_its_size_and_the_newest():
    queue = folder("small")
    with quick("--server", f"http://127.0.0.1:{free_port()}", "--queue", queue, "--queue-size",
               "1MB", "-F", "997", kill=True):
        first = until(lambda: entries(queue))[0]
        size = os.path.getsize(first)
    with quick("--server", f"http://127.0.0.1:{free_port()}", "--queue", queue, "--queue-size",
               str(size * 2), "-F", "997"):
        until(lambda: not os.path.exists(first))
    assert sum(os.path.getsize(path) for path in entries(queue)) <= size * 2
    assert os.stat(queue).st_mode & 0o777 == 0o700
    assert all(os.stat(path).st_mode & 0o777 == 0o600 for path in entries(queue))


@test
def the_last_window_is_kept_when_nobody_is_there():
    queue = folder("last")
    with quick("--server", f"http://127.0.0.1:{free_port()}", "--queue", queue, "--interval", "60"):
        # A machine on which nothing runs has nothing to send.
        end = time.process_time() + 1
        while time.process_time() < end:
            pass
        before = len(entries(queue))
    assert len(entries(queue)) > before, before


def services(server):
    out, _ = vestal("services", "--server", server.url)
    return out.split()


@test
def a_vestal_server_takes_grpc_with_and_without_packing():
    for env in ({}, {"OTEL_EXPORTER_OTLP_COMPRESSION": "none"}):
        with Server() as server, quick("--server", "grpc://" + server.otlp_grpc, "--queue", "none",
                                       env=env) as agent:
            until(lambda: services(server))
            seen = server.get("/api/v1/agents")["agents"]
        assert [a["host"] for a in seen] == [socket.gethostname()], seen
        assert "not delivered" not in agent.said(), agent.said()


@test
def the_environment_names_the_server():
    with Server() as server, quick("--queue", "none", env={
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + server.otlp_grpc,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            "OTEL_SERVICE_NAME": "not-of-others"}) as agent:
        names = until(lambda: services(server))
    assert "not delivered" not in agent.said(), agent.said()
    assert all(name in ("not-of-others", "vestal") or "not-of" not in name for name in names)


def peer():
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    path = folder("otlprecv")
    env = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off", GOTOOLCHAIN="local")
    done = subprocess.run(["go", "build", "-o", path, "."], env=env, check=False, timeout=600,
                          cwd=os.path.join(ROOT, "tests/peers/otlprecv"), capture_output=True,
                          text=True)
    if done.returncode:
        raise Skip("Go modules cannot be had: " + done.stderr.strip().splitlines()[-1])
    return path


@test
def the_official_receiver_understands_us_and_we_understand_it():
    program = peer()
    with subprocess.Popen([program, "retry", "bad", "full", "partial", "ok"],
                          stdout=subprocess.PIPE, text=True) as receiver:
        try:
            address = receiver.stdout.readline().strip()
            with quick("--server", "grpc://" + address, "--token", "t1", "--queue", "none",
                       "--log-level", "debug") as agent:
                got = [json.loads(receiver.stdout.readline()) for _ in range(5)]
        finally:
            receiver.kill()
    assert [one["Answer"] for one in got] == ["retry", "bad", "full", "partial", "ok"], got
    assert got[0]["Digest"] == got[1]["Digest"], "what was put off comes again"
    assert len({one["Digest"] for one in got[1:]}) == 4, "what was refused or taken does not"
    assert all(one["Samples"] and one["Token"] == ["Bearer t1"] for one in got), got
    for text in ("busy for a moment", "not good enough: 100%", "too large for me",
                 "one is too old", "rejected_profiles=1"):
        assert text in agent.said(), f"{text}: {agent.said()}"


WORDS = (b"check_password_now", b"Secret_of_mine", b"free_of_charge")
PROGRAM = """
static volatile unsigned long n;
__attribute__((noinline)) void check_password_now(void) { for (int i = 0; i < 1000; i++) n++; }
__attribute__((noinline)) void Secret_of_mine(void) { for (int i = 0; i < 1000; i++) n++; }
__attribute__((noinline)) void free_of_charge(void) { for (int i = 0; i < 1000; i++) n++; }
int main(void) { for (;;) { check_password_now(); Secret_of_mine(); free_of_charge(); } }
"""


def sent_by_workload(*args):
    """What leaves the machine while a program with telling names runs."""
    place = os.path.join(scratch(), "deep", "er")
    os.makedirs(place, exist_ok=True)
    source, program = os.path.join(place, "words.c"), os.path.join(place, "words")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run(["cc", "-g", "-O1", "-o", program, source], check=True)
    with subprocess.Popen([program], env={"OTEL_RESOURCE_ATTRIBUTES": "api.token=abc123xyz",
                                            "OTEL_SERVICE_NAME": "token-issuer"}) as work:
        try:
            with Receiver() as r:
                with quick("--server", r.url, "--queue", "none", *args):
                    r.wait(4)
                return b"".join(gzip.decompress(body) for _, _, body in r.got), place.encode()
        finally:
            work.kill()


@test
def names_that_tell_too_much_do_not_leave():
    sent, place = sent_by_workload()
    assert WORDS[2] in sent and b"[REDACTED]" in sent and place in sent
    for word in (*WORDS[:2], b"abc123xyz"):
        assert word not in sent, word
    # A service is found by its name, whatever that matches.
    assert b"token-issuer" in sent


@test
def what_is_private_can_be_chosen():
    sent, place = sent_by_workload("--redact", "of_charge", "--strip-paths")
    assert WORDS[0] in sent and WORDS[2] not in sent and place not in sent
    sent, place = sent_by_workload("--no-redact")
    assert all(word in sent for word in WORDS) and place in sent
    _, text = vestal("agent", "--redact", "(", status=64)
    assert "--redact" in text, text


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@test
def a_file_says_it_all_and_is_read_again_on_sighup():
    file, queue = folder("agent.yaml"), folder("configured")
    with Receiver() as first, Receiver() as second:
        write(file, f"""
server: {first.url}
headers: {{X-Scope: one}}
queue: {{directory: {queue}}}
profiling:
  cpu: {{enabled: true, sample_rate: 100}}
  memory: {{enabled: true, sample_rate: 512KB}}
  conditional: {{slow_request_threshold: 1s, cpu_threshold_percent: 80, profile_errors: true}}
""")
        with quick("--config", file) as agent:
            _, headers, _ = first.wait(1)[0]
            assert headers["X-Scope"] == "one", headers
            write(file, "serve: http://nowhere\n")
            agent.process.send_signal(signal.SIGHUP)
            first.wait(len(first.got) + 3)
            write(file, f"server: {second.url}\nqueue: {{directory: {queue}}}\nrate: 49\n")
            agent.process.send_signal(signal.SIGHUP)
            second.wait(2)
    assert 'unknown key "serve"' in agent.said() and "not reloaded" in agent.said(), agent.said()
    assert agent.said().count("key=profiling.memory") == 1, agent.said()
    assert agent.said().count("key=profiling.conditional") == 1, agent.said()
    assert "rate_hz=100" in agent.said() and "rate_hz=49" in agent.said(), agent.said()


@test
def the_command_line_wins_over_the_file_and_unknown_keys_end_it():
    file = folder("other.yaml")
    write(file, "server: http://127.0.0.1:9\nrate: 49\nqueue: {directory: none}\n")
    with Receiver() as r:
        with quick("--config", file, "--server", r.url, "-F", "51") as agent:
            r.wait(1)
    assert "rate_hz=51" in agent.said(), agent.said()
    write(file, "profiling: {cpu: {sample_rat: 1}}\n")
    _, text = vestal("agent", "--config", file, status=None)
    assert 'unknown key "profiling.cpu.sample_rat"' in text, text


@test
def a_bad_server_or_queue_is_said():
    if os.geteuid() != 0:
        raise Skip("needs root")
    _, text = vestal("agent", "--server", "host:4317", status=None)
    assert "is no server" in text, text
    file = folder("file")
    with open(file, "w", encoding="utf-8"):
        pass
    _, text = vestal("agent", "--queue", file, status=None)
    assert "is no directory" in text or "cannot be created" in text, text


main()
