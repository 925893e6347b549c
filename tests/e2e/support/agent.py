"""`vestal agent` for tests: as long as a `with` lasts, with what it said, told and sent."""
import gzip
import http.server
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request

from support.recording import allowed
from support.tap import VESTAL, scratch, vestal
from support.wait import until


class Agent:
    """`vestal agent` with these options, begun by the `with`, ended by SIGTERM: it must end well.

    `server`: where it sends to; then what cannot be delivered goes to a fresh folder, so that nothing of
    an earlier run arrives in this one. `kill`: it is killed instead. Another `command` than agent (up)
    is not waited for.
    """

    def __init__(self, *options, server=None, command=("agent",), env=None, kill=False):
        to = ["--server", server] if server else []
        if server and "--queue" not in options:
            to += ["--queue", tempfile.mkdtemp(dir=scratch())]
        # Symbols are read at once, so that the first window has all names; tests of the budget set one.
        if tuple(command) == ("agent",) and not {"--cpu-budget", "--config", "-c"} & set(options):
            to += ["--cpu-budget", "0"]
        self.command = [VESTAL, *command, *to, *options]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
        self.env = {**clean, **(env or {})}
        self.kill = kill
        self.process = None
        self.log = tempfile.mkstemp(suffix=".log", dir=scratch())[1]

    def __enter__(self):
        allowed()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, cwd=scratch(), env=self.env, stderr=log,
                                            stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        if self.command[1] == "agent":
            self.wait_for("agent started")
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGKILL if self.kill else signal.SIGTERM)
        status = self.process.wait(60)
        assert kind or self.kill or status == 0, (status, self.said())

    def said(self):
        """All of its log so far; also after its end."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait(self, condition, seconds=90):
        """Until the condition holds, while the agent lives."""
        def look():
            value = condition()
            assert value or self.process.poll() is None, f"the agent ended: {self.said()}"
            return value
        return until(look, self.said, seconds)

    def wait_for(self, words, seconds=120):
        """The line that has these words."""
        return self.wait(lambda: next((l for l in self.said().splitlines() if words in l), None), seconds)

    def metrics(self):
        """What it tells Prometheus (with --metrics 127.0.0.1:0)."""
        address = re.search(r"address=\"?([^\s\"]+)", self.wait_for("msg=metrics"))[1]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as reply:
            text = reply.read().decode()
        return {name: float(value) for name, value in re.findall(r"^(vestal.*) (\S+)$", text, re.M)}

    def metrics_when(self, right, seconds=90):
        """Them, when they are right."""
        rows = {}

        def look():
            rows.clear()
            rows.update(self.metrics())
            return right(rows)
        try:
            self.wait(look, seconds)
        except AssertionError as error:
            raise AssertionError(rows) from error
        return rows


class Collector:
    """Takes what an agent sends, and hands it on to a server if there is one."""

    def __init__(self, server=None):
        outer = self
        self.requests = []  # (path, headers, body)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers), body))
                status, answer = 200, b""
                if server:
                    status, answer = server.ask(self.path, body, {
                        name: self.headers[name] for name in ("Content-Type", "Content-Encoding")})
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def bodies(self):
        """Unpacked, in the order they came."""
        return [gzip.decompress(body) for _, _, body in list(self.requests)]

    def profiles(self):
        """What arrived, as `vestal show` tells it."""
        for body in self.bodies():
            path = tempfile.mkstemp(suffix=".otlp", dir=scratch())[1]
            with open(path, "wb") as file:
                file.write(body)
            for file in json.loads(vestal("show", "--json", path)[0])["files"]:
                yield from file["profiles"]

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Program:
    """A program that runs as long as the `with` lasts."""

    def __init__(self, *command, env=None):
        self.command, self.env = command, {**os.environ, **(env or {})}

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, env=self.env,
                                        cwd=scratch())
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
