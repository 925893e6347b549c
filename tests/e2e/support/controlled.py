"""A program with the control of libvestal, and requests to it."""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess

from support.inside import PRELOAD
from support.recording import build
from support.tap import Skip, scratch
from support.wait import until

WAIT = 60


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Controlled:
    """steady.c, or another command, with libvestal-preload.so; to be used with `with`."""

    def __init__(self, command=None, listen=True, **env):
        if not os.path.exists(PRELOAD):
            raise Skip("no libvestal-preload.so beside the program")
        self.port = free_port()
        env = dict({"VESTAL_TYPES": "cpu,alloc,heap", "VESTAL_ALLOC_INTERVAL": "64KB",
                    "VESTAL_OUTPUT": os.path.join(scratch(), "steady-%p-%t.pb.gz")}, **env)
        if listen:
            env.setdefault("VESTAL_LISTEN", f"127.0.0.1:{self.port}")
        self.process = subprocess.Popen(command or [build("steady")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                        env=dict(os.environ, **dict({"LD_PRELOAD": PRELOAD}, **env)))
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        # Its children too: one that lives would keep what it writes to open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.communicate()

    def end(self):
        """Lets it end by itself: what it said."""
        out, err = self.process.communicate(timeout=WAIT)
        assert self.process.returncode == 0, (self.process.returncode, err)
        return out, err

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def ask(self, path, method="GET", body=None, headers=None):
        """Status, type and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.getheader("Content-Type"), reply.read()
        finally:
            connection.close()

    def ready(self):
        """Waits until it answers."""
        def answers():
            try:
                return self.ask("/vestal/profiling")[0] == 200
            except OSError:
                assert self.process.poll() is None, self.process.communicate()
                return False
        until(answers, "an answer")
        return self

    def state(self, method="GET"):
        status, kind, body = self.ask("/vestal/profiling", method)
        assert (status, kind) == (200, "application/json"), (status, kind, body)
        return json.loads(body)

    def raw(self, data, limit=WAIT):
        """What is answered to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=limit) as connection:
            connection.sendall(data)
            answer = b""
            while True:
                try:
                    more = connection.recv(65536)
                except ConnectionResetError:
                    return answer
                if not more:
                    return answer
                answer += more
