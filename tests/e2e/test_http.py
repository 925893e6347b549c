#!/usr/bin/env python3
"""The HTTP server against clients that others wrote: Python's http.client and curl.

The server is tests/e2e/http_echo.c, built with ASan. 10,000 idle connections are part of it: what
each costs is bounded, and the server still answers.
"""
import http.client
import os
import resource
import shutil
import socket
import subprocess
import threading

from support.tap import Skip, VESTAL, main, scratch, test

ECHO = os.environ.get("HTTP_ECHO", os.path.join(os.path.dirname(VESTAL), "tests/http_echo"))


class Server:
    """The echo server; ends with the block, and must end well."""

    def __init__(self, *arguments, descriptors=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        if not os.path.exists(ECHO):
            raise Skip("http_echo is not built")
        self.process = subprocess.Popen([ECHO, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=limit if descriptors else None)

    def __enter__(self):
        self.address = self.process.stdout.readline().decode().strip()
        self.host, _, port = self.address.rpartition(":")
        self.port = int(port) if port.isdigit() else 0
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        complaints = self.process.stderr.read().decode()
        status = self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()
        if not error[0]:
            assert status == 0 and not complaints, f"status {status}: {complaints}"

    def client(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=30)

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int([line for line in file if line.startswith("VmRSS")][0].split()[1])


def ask(client, method, path, body=None, headers=None, **more):
    client.request(method, path, body, headers or {}, **more)
    reply = client.getresponse()
    return reply.status, reply.read(), reply


def curl(*arguments, stdin=None):
    if not shutil.which("curl"):
        raise Skip("curl is not installed")
    run = subprocess.run(["curl", "-sS", "--max-time", "30", *arguments], input=stdin,
                         capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


@test
def python_client_keeps_its_connection():
    with Server("127.0.0.1:0", "2") as server:
        client = server.client()
        for size in (0, 1, 1000, 100_000, 3_000_000):
            body = os.urandom(size)
            status, answer, _ = ask(client, "POST", "/echo", body)
            assert status == 200 and answer == body, f"{size} bytes"
            port = client.sock.getsockname()[1]
            status, answer, _ = ask(client, "GET", "/hello")
            assert (status, answer) == (200, b"hello\n")
            assert client.sock.getsockname()[1] == port, "a new connection was made"
        client.close()


@test
def python_client_sends_chunks():
    with Server("127.0.0.1:0", "2") as server:
        client = server.client()
        pieces = [os.urandom(size) for size in (1, 10, 100_000, 7)]
        status, answer, _ = ask(client, "POST", "/echo", iter(pieces), encode_chunked=True,
                                headers={"Transfer-Encoding": "chunked"})
        assert status == 200 and answer == b"".join(pieces)
        client.close()


@test
def ranges_and_validators_of_assets():
    asset = bytes(ord("a") + i % 26 for i in range(100_000))
    rows = {"bytes=0-9": (206, asset[:10]), "bytes=10-19": (206, asset[10:20]),
            "bytes=99990-": (206, asset[99990:]), "bytes=-5": (206, asset[-5:]),
            "bytes=5-999999": (206, asset[5:]), "bytes=-999999": (206, asset),
            "bytes=0-0": (206, asset[:1]), "bytes=100000-": (416, None), "bytes=-0": (416, None),
            "bytes=9-5": (200, asset), "bytes=0-1,5-6": (200, asset), "lines=0-1": (200, asset),
            "bytes=-": (200, asset), "bytes=x-y": (200, asset), "": (200, asset)}
    with Server("127.0.0.1:0", "1") as server:
        client = server.client()
        for text, (wanted, body) in rows.items():
            status, answer, reply = ask(client, "GET", "/asset", headers={"Range": text})
            assert status == wanted and body in (None, answer), f"{text}: {status}"
            assert (status == 200) == (reply.getheader("Content-Range") is None), text
        status, answer, _ = ask(client, "GET", "/asset", headers={"If-None-Match": 'W/"x", "v1"'})
        assert (status, answer) == (304, b"")
        old = {"Range": "bytes=0-9", "If-Range": '"v0"'}
        assert ask(client, "GET", "/asset", headers=old)[0] == 200
        status, answer, reply = ask(client, "HEAD", "/asset", headers={"Range": "bytes=0-9"})
        assert (status, answer, reply.getheader("Content-Length")) == (200, b"", "100000")
        client.close()


@test
def curl_is_served_in_all_its_ways():
    body = os.urandom(200_000)
    path = os.path.join(scratch(), "body")
    with open(path, "wb") as file:
        file.write(body)
    with Server("127.0.0.1:0", "2") as server:
        url = f"http://{server.address}/"
        for options in ([], ["-0"], ["-H", "Expect: 100-continue"],
                        ["-H", "Transfer-Encoding: chunked"], ["--request-target", url + "echo"]):
            assert curl(*options, "--data-binary", f"@{path}", url + "echo") == body, options
        assert b"200 OK" in curl("-I", url + "hello")
        assert curl("-X", "OPTIONS", "--request-target", "*", url).startswith(b"there is nothing")
        codes = curl("-w", "%{http_code} ", "-o", os.devnull, "--data-binary", f"@{path}",
                     "-H", "Expect: 100-continue", url + "refuse")
        assert codes == b"403 ", codes
        many = curl(*[argument for _ in range(20) for argument in (url + "hello",)])
        assert many == b"hello\n" * 20


@test
def unix_socket_serves_curl():
    path = os.path.join(scratch(), "socket")
    with Server(f"unix:{path}") as server:
        assert server.address == f"unix:{path}"
        assert curl("--unix-socket", path, "http://anything/hello") == b"hello\n"
    assert not os.path.exists(path)


@test
def ten_thousand_idle_connections_cost_little():
    wanted = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted + 200:
        raise Skip(f"only {hard} descriptors are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 200, hard))
    sockets = []
    try:
        with Server("127.0.0.1:0", "2") as server:
            before = server.resident_kib()
            for i in range(wanted):
                sockets.append(socket.create_connection((server.host, server.port)))
                if i % 2:
                    sockets[-1].sendall(b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n")
            for one in sockets[1::2]:
                assert one.recv(4096).startswith(b"HTTP/1.1 200 ")
            client = server.client()
            assert ask(client, "GET", "/hello")[0] == 200
            client.close()
            each = (server.resident_kib() - before) * 1024 / wanted
            print(f"# {each:.0f} bytes of the server's memory for each, ASan's share included")
            assert each < 8192
    finally:
        for one in sockets:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@test
def a_thousand_slow_clients_keep_nobody_waiting():
    beginnings = (b"GET /he", b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 60000000\r\n\r\nx",
                  b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
                  b"GET /hello HTTP/1.1\r\nHost: h\r\nX: ")
    with Server("127.0.0.1:0", "2") as server:
        sockets = []
        for i in range(1000):
            sockets.append(socket.create_connection((server.host, server.port)))
            sockets[-1].sendall(beginnings[i % len(beginnings)])
        for _ in range(5):
            client = server.client()
            body = os.urandom(100_000)
            assert ask(client, "POST", "/echo", body)[:2] == (200, body)
            client.close()
        for one in sockets:
            one.close()


@test
def running_out_of_descriptors_is_survived():
    with Server("127.0.0.1:0", "2", descriptors=40) as server:
        sockets = [socket.create_connection((server.host, server.port)) for _ in range(80)]
        for one in sockets[:10]:
            one.sendall(b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n")
        for one in sockets[:10]:
            assert one.recv(4096).startswith(b"HTTP/1.1 200 ")
        for one in sockets[:60]:
            one.close()
        # Those that waited at the door are let in.
        for one in sockets[60:]:
            one.settimeout(30)
            one.sendall(b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n")
            assert one.recv(4096).startswith(b"HTTP/1.1 200 ")
            one.close()


@test
def a_stop_under_load_loses_no_reply():
    """Whoever was told that the connection stays open may find it closed; nobody gets half a reply."""
    broken, stop = [], threading.Event()

    def work(server):
        while not stop.is_set():
            client = server.client()
            try:
                while not stop.is_set():
                    body = os.urandom(30_000)
                    client.request("POST", "/echo", body)
                    reply = client.getresponse()
                    if reply.read() != body:
                        broken.append("a reply differs")
            except http.client.RemoteDisconnected:
                pass  # closed between two requests
            except http.client.IncompleteRead as error:
                broken.append(repr(error))
            except OSError:
                pass
            client.close()

    with Server("127.0.0.1:0", "2") as server:
        threads = [threading.Thread(target=work, args=(server,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        client = server.client()
        for _ in range(200):
            assert ask(client, "GET", "/hello")[0] == 200
        client.close()
        server.process.stdin.close()
        server.process.wait(60)
        stop.set()
        for thread in threads:
            thread.join()
    assert not broken, broken[:3]


main()
