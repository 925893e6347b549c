"""A vestal server (built with ASan where there is one) and requests to it, with all of their replies."""
import http.client
import json
import os
import re
import subprocess
import threading
import urllib.parse

from support.tap import VESTAL, scratch

FOLDED = {"abc": b"main;work;inner 70\nmain;work 20\nmain;idle 10\n",
          "def": b"main;work;inner 30\nmain;work 20\nmain;idle 50\n"}
JSON = {"Content-Type": "application/json"}


class Server:
    """`vestal server` on a free port, with two profiles in it; ends with the block, and well."""

    def __init__(self, *arguments, memory=True):
        where = ["--memory"] if memory else ["--data", os.path.join(scratch(), "api-data")]
        self.command = [os.environ.get("VESTAL_ASAN", VESTAL), "server", *where, "--listen", "127.0.0.1:0", "--otlp-grpc", "none",
                        "--otlp-http", "none", "--log-level", "warn", *arguments]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, cwd=scratch(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        match = re.search(r"server on (http://([\d.]+):(\d+))", line)
        if not match:
            self.process.kill()
            raise AssertionError(line + self.process.stderr.read())
        self.url, self.host, self.port = match[1], match[2], int(match[3])
        self.said = []
        self.reader = threading.Thread(target=self.said.extend, args=(self.process.stderr,))
        self.reader.start()
        return self

    def __exit__(self, *error):
        self.process.terminate()
        status = self.process.wait(60)
        self.reader.join()
        text = "".join(self.said)
        # What ended it explains what its client saw.
        assert status == 0 and "ERROR" not in text, f"status {status}: {text[:4000]}"

    def ask(self, method, path, body=None, headers=None, **parameters):
        if parameters:
            path += "?" + urllib.parse.urlencode(parameters, doseq=True)
        client = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            client.request(method, path, body, headers or {})
            reply = client.getresponse()
            return reply.status, dict((k.lower(), v) for k, v in reply.getheaders()), reply.read()
        finally:
            client.close()

    def fill(self):
        for commit, text in FOLDED.items():
            status, _, body = self.ask("POST", "/api/v1/profiles", text, service="checkout",
                                       label=f"commit={commit}")
            assert status == 200, body
        return self

    def call(self, method, request, headers=None, verb="POST"):
        body = request if isinstance(request, (bytes, str)) else json.dumps(request)
        return self.ask(verb, f"/querier.v1.QuerierService/{method}", body, headers or JSON)
