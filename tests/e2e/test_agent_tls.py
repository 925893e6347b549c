#!/usr/bin/env python3
"""The agent and a real server: OTLP over HTTP and gRPC with TLS and client certificates, and a server
that is away for a while. Needs root and openssl: without them everything is skipped.

    VESTAL=build/vestal tests/e2e/test_agent_tls.py
"""
import glob
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading

from support.agent import Agent, Program
from support.recording import allowed, build
from support.server import Server
from support.tap import VESTAL, Skip, main, scratch, test, vestal

FILES = {}


def certificates():
    """An authority, a server's and a client's certificate by it, and another authority's client."""
    allowed()
    if not shutil.which("openssl"):
        raise Skip("no openssl")
    if FILES:
        return FILES
    folder = tempfile.mkdtemp(dir=scratch())

    def run(*command):
        subprocess.run(["openssl", *command], check=True, capture_output=True, cwd=folder)

    for name in ("ca", "other-ca"):
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2")
    with open(f"{folder}/names", "w", encoding="utf-8") as file:
        file.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name, by in (("server", "ca"), ("agent", "ca"), ("stranger", "other-ca")):
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key",
            "-CAcreateserial", "-out", f"{name}.pem", "-days", "2", "-extfile", "names")
    for path in glob.glob(f"{folder}/*.pem") + glob.glob(f"{folder}/*.key"):
        FILES[os.path.basename(path)] = path
    return FILES


def sender(*options, queue="none"):
    return Agent("--interval", "1", "--queue", queue, "-n", "shares-plain", *options)


def busy():
    return Program(build("shares"), "300")


def tls_server(files, *more):
    """TLS on all addresses: the test asks with a client's certificate too."""
    return Server("--tls-cert", files["server.pem"], "--tls-key", files["server.key"],
                  "--tls-client-ca", files["ca.pem"], *more)


def ask(files, server, path):
    done = subprocess.run(["curl", "-sS", "--cacert", files["ca.pem"], "--cert", files["agent.pem"],
                           "--key", files["agent.key"], f"https://{server.address}{path}"],
                          capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def secured(url_of):
    files = certificates()
    if not shutil.which("curl"):
        raise Skip("no curl")
    with tls_server(files, "--tls-require-client") as server, busy():
        mine = ("--ca-file", files["ca.pem"], "--cert", files["agent.pem"], "--key",
                files["agent.key"])
        with sender("--server", url_of(server), *mine) as agent:
            agent.wait(lambda: "shares-plain" in ask(files, server, "/api/v1/services"))
        # A certificate of somebody else's, none at all, and a server that cannot prove itself.
        for wrong in (("--ca-file", files["ca.pem"], "--cert", files["stranger.pem"], "--key",
                       files["stranger.key"]), ("--ca-file", files["ca.pem"]),
                      ("--ca-file", files["other-ca.pem"], *mine[2:])):
            queue = tempfile.mkdtemp(dir=scratch())
            with sender("--server", url_of(server), *wrong, queue=queue) as agent:
                # Nothing is lost: it waits for better times.
                agent.wait(lambda: glob.glob(f"{queue}/*.entry"))


@test
def http_with_certificates_on_both_sides_arrives_and_others_do_not():
    secured(lambda server: f"https://{server.otlp_http}")


@test
def grpc_with_certificates_on_both_sides_arrives_and_others_do_not():
    secured(lambda server: f"grpcs://{server.otlp_grpc}")


class Between(http.server.ThreadingHTTPServer):
    """Hands requests on to a server and keeps what that took."""

    def __init__(self, target, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.target, self.taken = target, []
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, answer = self.server.target.ask(self.path, body, {
            "Content-Type": self.headers["Content-Type"],
            "Content-Encoding": self.headers["Content-Encoding"]})
        if status == 200:
            self.server.taken.append(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def window_start(body):
    path = os.path.join(scratch(), "window.otlp.gz")
    with open(path, "wb") as file:
        file.write(body)
    return json.loads(vestal("show", "--json", path)[0])["files"][0]["profiles"][0]["time_ns"]


@test
def a_server_that_was_away_gets_everything_once_and_in_order():
    allowed()
    queue = tempfile.mkdtemp(dir=scratch())
    with busy(), Server() as server:
        first = Between(server)
        with sender("--server", f"http://127.0.0.1:{first.port}", queue=queue) as agent:
            agent.wait(lambda: len(first.taken) >= 2)
            first.close()
            agent.wait(lambda: len(glob.glob(f"{queue}/*.entry")) >= 4)
            again = Between(server, first.port)
            agent.wait(lambda: not glob.glob(f"{queue}/*.entry") and len(again.taken) >= 5)
        again.close()
        assert "shares-plain" in json.dumps(server.get("/api/v1/services"))
    taken = first.taken + again.taken
    assert len(set(taken)) == len(taken)
    starts = [window_start(body) for body in taken]
    assert starts == sorted(starts) and len(set(starts)) == len(starts), starts


main()
