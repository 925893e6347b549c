"""A vestal server for tests, and questions to it."""
import json
import os
import re
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

from support.tap import VESTAL, scratch


class Server:
    """`vestal server` with these arguments, as long as the `with` lasts; in memory or in a folder."""

    def __init__(self, *args, folder=None, env=None, descriptors=None):
        self.args = args
        # A server raises its soft limit to the hard one: both are set.
        self.limit = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"] if descriptors else []
        self.place = ["--data", folder] if folder else ["--memory"]
        self.env = dict(os.environ, **(env or {}))
        self.log = []

    def __enter__(self):
        command = [*self.limit, VESTAL, "server", *self.place, "--listen", "127.0.0.1:0", "--otlp-grpc",
                   "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", *self.args]
        self.process = subprocess.Popen(command, cwd=scratch(), env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.url = self.announced(r"server on (\S+),")
        self.address = self.url.partition("//")[2]
        self.otlp_grpc = self.announced(r"OTLP/gRPC on (\S+)")
        self.otlp_http = self.announced(r"OTLP/HTTP on (\S+)")
        # Nobody may wait for a full pipe.
        self.reader = threading.Thread(target=self.log.extend, args=(self.process.stderr,))
        self.reader.start()
        return self

    def announced(self, pattern):
        line = self.process.stderr.readline()
        # What the store has to say may come first.
        while line.startswith("time="):
            self.log.append(line)
            line = self.process.stderr.readline()
        match = re.search(pattern, line)
        assert match, f"the server said: {line}{self.process.stderr.read() if not line else ''}"
        return match[1]

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        status = self.process.wait(60)
        self.reader.join()
        assert kind or status == 0, f"the server ended with {status}: {''.join(self.log)}"

    def ask(self, path, body=None, headers=None):
        """The status and the bytes of the reply."""
        request = urllib.request.Request(self.url + path, body, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def get(self, path, **parameters):
        status, body = self.ask(f"{path}?{urllib.parse.urlencode(parameters)}")
        assert status == 200, f"{path}: {status} {body}"
        return json.loads(body)

    def call(self, method, **request):
        """A remote procedure call with Connect's JSON."""
        status, body = self.ask("/" + method, json.dumps(request).encode(),
                                {"Content-Type": "application/json"})
        assert status == 200, f"{method}: {status} {body}"
        return json.loads(body)
