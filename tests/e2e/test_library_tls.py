#!/usr/bin/env python3
"""libvestal sends over TLS, by the OpenSSL of the machine, and never hurts a program by it.

    VESTAL=build/vestal tests/e2e/test_library_tls.py
"""
import gzip
import os
import shutil
import socket
import ssl
import subprocess
import threading

from support.inside import PRELOAD, build_inside, counts, run
from support.recording import build
from support.tap import Skip, main, scratch, test


def certificates():
    """A CA, a server's certificate for 127.0.0.1 and localhost, a client's; the folder."""
    folder = os.path.join(scratch(), "certificates")
    if not shutil.which("openssl"):
        raise Skip("no openssl")
    if os.path.isdir(folder):
        return folder
    os.mkdir(folder)

    def openssl(*command):
        subprocess.run(["openssl", *command], check=True, capture_output=True, cwd=folder)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test ca",
            "-keyout", "ca.key", "-out", "ca.pem")
    with open(os.path.join(folder, "names"), "w", encoding="utf-8") as file:
        file.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout",
                f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem")
    return folder


class Receiver:
    """Takes requests over TLS and answers 200; keeps them."""

    def __init__(self, client=False, silent=False):
        self.folder, self.requests, self.silent = certificates(), [], silent
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{self.folder}/server.pem", f"{self.folder}/server.key")
        if client:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(f"{self.folder}/ca.pem")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.held = []

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.listener.close()

    def _serve(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            if self.silent:
                self.held.append(plain)
                continue
            try:
                self._answer(self.context.wrap_socket(plain, server_side=True))
            except OSError:
                plain.close()

    def _answer(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = int([line for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:")][0].split(b":")[1])
        while len(body) < length:
            body += connection.recv(65536)
        self.requests.append((head, body))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.close()


def inside(receiver, host="127.0.0.1", seconds="0.8", **env):
    env.setdefault("OTEL_EXPORTER_OTLP_CERTIFICATE", f"{receiver.folder}/ca.pem")
    return counts(run([build_inside("inside"), seconds], VESTAL_INTERVAL_MS="300",
                      OTEL_EXPORTER_OTLP_ENDPOINT=f"https://{host}:{receiver.port}", **env))


@test
def profiles_arrive_over_tls_by_number_and_by_name():
    for host in ("127.0.0.1", "localhost"):
        with Receiver() as receiver:
            taken = inside(receiver, host)
            assert taken["exports"] >= 1 and taken["failed"] == 0, taken
            assert len(receiver.requests) == taken["exports"], receiver.requests
            head, body = receiver.requests[0]
            assert head.startswith(b"POST /v1development/profiles HTTP/1.1"), head
            assert b"work_plain" in gzip.decompress(body)


@test
def a_server_that_nobody_vouches_for_gets_nothing():
    with Receiver() as receiver:
        for env in ({"OTEL_EXPORTER_OTLP_CERTIFICATE": ""},
                    {"OTEL_EXPORTER_OTLP_CERTIFICATE": f"{receiver.folder}/client.pem"},
                    {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/no/such/file"}):
            taken = inside(receiver, **env)
            assert taken["exports"] == 0 and taken["failed"] >= 1, (env, taken)
        # The right certificate, another name.
        taken = inside(receiver, "127.0.0.2")
        assert taken["exports"] == 0 and taken["failed"] >= 1, taken
        assert not receiver.requests


@test
def a_client_certificate_is_shown_where_one_is_asked_for():
    with Receiver(client=True) as receiver:
        assert inside(receiver)["exports"] == 0
        taken = inside(receiver,
                       OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=f"{receiver.folder}/client.pem",
                       OTEL_EXPORTER_OTLP_CLIENT_KEY=f"{receiver.folder}/client.key")
        assert taken["exports"] >= 1, taken


@test
def a_server_that_never_shakes_hands_does_not_keep_the_program():
    with Receiver(silent=True) as receiver:
        taken = inside(receiver, OTEL_EXPORTER_OTLP_TIMEOUT="300")
        assert taken["exports"] == 0 and taken["failed"] >= 1, taken


@test
def a_server_without_tls_gets_nothing_and_the_program_ends():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def close_all():
            try:
                while True:
                    connection, _ = listener.accept()
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    connection.close()
            except OSError:
                pass
        threading.Thread(target=close_all, daemon=True).start()
        done = run([build_inside("inside"), "0.6"], VESTAL_INTERVAL_MS="200",
                   OTEL_EXPORTER_OTLP_ENDPOINT=f"https://127.0.0.1:{listener.getsockname()[1]}")
        assert counts(done)["exports"] == 0, done.stderr


def preloaded(receiver, command, **env):
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")
    plain = run(command)
    done = run(command, preload=True, VESTAL_INTERVAL_MS="100", VESTAL_RATE="250",
               OTEL_EXPORTER_OTLP_CERTIFICATE=f"{receiver.folder}/ca.pem",
               OTEL_EXPORTER_OTLP_ENDPOINT=f"https://127.0.0.1:{receiver.port}", **env)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr), done


WORK = "end = time.monotonic() + 1\nwhile time.monotonic() < end: sum(range(1000))\n"


@test
def programs_that_use_openssl_themselves_run_as_before():
    with Receiver() as receiver:
        code = ("import hashlib, ssl, time, os\n"
                f"c = ssl.create_default_context()\n{WORK}"
                "print(hashlib.sha256(b'x').hexdigest())\n"
                # Children use it while the parent's thread does.
                "for i in range(20):\n"
                "    p = os.fork()\n"
                "    if not p:\n"
                "        ssl.create_default_context(); ssl.RAND_bytes(9); os._exit(0)\n"
                "    assert os.waitpid(p, 0)[1] == 0\n"
                "print('end')\n")
        preloaded(receiver, ["python3", "-c", code])
        assert receiver.requests
        preloaded(receiver, ["curl", "-sS", "--cacert", f"{receiver.folder}/ca.pem", "-o",
                             "/dev/null", "-X", "POST", "-d", "x",
                             f"https://127.0.0.1:{receiver.port}/"])


@test
def a_program_with_another_openssl_in_it_is_left_alone():
    if not shutil.which("node"):
        raise Skip("no node")
    with Receiver() as receiver:
        preloaded(receiver, ["node", "-e", "const c=require('crypto');let e=Date.now()+800,h='';"
                             "while(Date.now()<e)h=c.createHash('sha256').update('x').digest('hex');"
                             "console.log(h)"])


@test
def nothing_of_openssl_is_loaded_without_tls():
    done = run([build("shares"), "0.3"], preload=True, LD_DEBUG="files",
               OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert "libc.so" in done.stderr and "libssl" not in done.stderr


main()
