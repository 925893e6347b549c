#!/usr/bin/env python3
"""What a tenant can do to others: every attack beside an innocent tenant, and all of them at once.

Prints a table. Fails for what is lost, wrong, refused to the innocent tenant, or above the memory budget
by more than 64 MiB; never for a time. ATTACKS_LONG=1 (make test-long) lets each go on for half a minute.
"""
import gzip
import os
import socket
import struct
import time

from support.attacks import JSON, LONG, Row, Target, crowd, judge, run
from support.tap import main, scratch, test

BUDGET = 256 << 20
rows = []


# ---------------------------------------------------------------- attacks: see support/attacks.py

def heavy_queries(target, stop):
    """Wide and deep answers over everything the attacker has, from many connections."""
    def ask(number):
        target.attacker("GET", f"/api/v1/{('top', 'tree')[number % 2]}", query="{}", type="samples", limit="100000",
                        max_nodes=str(1000000 - number), **{"from": "now-24h"})
    crowd(24, ask, stop)


def label_floods(target, stop):
    """Two bytes that ask for the names of all labels there are."""
    crowd(24, lambda number: target.attacker("POST", "/querier.v1.QuerierService/LabelNames", b"{}", JSON), stop)


def slow_uploads(target, stop):
    """Bodies that say 64 MiB and come with 2 kB a second."""
    head = b"POST /ingest?name=slow HTTP/1.1\r\nHost: h\r\nX-Scope-OrgID: attacker\r\nContent-Length: 67108864\r\n\r\n"
    sockets = []
    while not stop.is_set():
        while len(sockets) < 8:
            connection = target.connect()
            connection.sendall(head)
            sockets.append(connection)
        for connection in list(sockets):
            try:
                connection.sendall(b"x" * 200)
            except OSError:
                sockets.remove(connection)
                connection.close()
        stop.wait(0.1)
    for connection in sockets:
        connection.close()


def chunked_uploads(target, stop):
    """Bodies without a length that come as fast as they are taken."""
    head = b"POST /ingest?name=chunks HTTP/1.1\r\nHost: h\r\nX-Scope-OrgID: attacker\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"

    def send(number):
        with target.connect() as connection:
            try:
                connection.sendall(head)
                for _ in range(60):
                    connection.sendall(piece)
                    if stop.is_set():
                        return
                # Held as long as the server lets us.
                connection.settimeout(2)
                connection.recv(100)
            except OSError:
                time.sleep(0.01 * (number % 3))
    crowd(40, send, stop)


def deep_stacks(target, stop):
    """Trees that are one long branch with a value in every node: every prefix is a stack of its own."""
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    def tree(number, depth):
        out = b""
        for level in range(depth):
            name = f"{number}.{level}".encode()
            out += varint(len(name)) + name + varint(1) + varint(1 if level < depth - 1 else 0)
        return out

    def send(number):
        name = f"{number}-{time.monotonic_ns()}"
        target.attacker("POST", "/ingest", tree(name, 16000), {"Content-Type": "binary/octet-stream+tree"},
                        name="deep", format="tree", until=str(int(time.time())), **{"from": str(int(time.time()) - 10)})
        folded = ";".join(f"{name}.{level}" for level in range(400))
        target.attacker("POST", "/api/v1/profiles", gzip.compress(
            "".join(f"{folded};leaf{leaf} 1\n" for leaf in range(2000)).encode(), 1),
            {"Content-Encoding": "gzip"}, service="deep")
    crowd(8, send, stop)


def half_open(target, stop):
    """Connections that say nothing, or half of a head."""
    sockets = []
    while not stop.is_set():
        for number in range(200):
            try:
                connection = socket.create_connection((target.host, target.port), timeout=5)
                connection.setblocking(False)
                if number % 2:
                    connection.send(b"GET / HTTP/1.1\r\nHos")
                sockets.append(connection)
            except OSError:
                break
        while len(sockets) > 1500:
            sockets.pop(0).close()
        stop.wait(0.1)
    for connection in sockets:
        connection.close()


def busy_connections(target, stop):
    """Connections that ask now and then, so that none of them is idle for long."""
    request = (b"GET /api/v1/services HTTP/1.1\r\nHost: h\r\nX-Scope-OrgID: attacker\r\n\r\n")
    sockets = []
    while not stop.is_set():
        for _ in range(100):
            try:
                connection = socket.create_connection((target.host, target.port), timeout=5)
                connection.setblocking(False)
                sockets.append(connection)
            except OSError:
                break
        for connection in list(sockets):
            try:
                connection.send(request)
                while connection.recv(1 << 16):
                    pass
            except BlockingIOError:
                continue
            except OSError:
                pass
            sockets.remove(connection)
            connection.close()
        stop.wait(0.05)
    for connection in sockets:
        connection.close()


def asked_without_end(target, stop, *requests):
    """Requests on 300 connections, four at a time; their answers are read."""
    sockets = []
    while not stop.is_set():
        while len(sockets) < 300:
            connection = target.connect()
            connection.setblocking(False)
            sockets.append(connection)
        for number, connection in enumerate(list(sockets)):
            try:
                connection.send(requests[number % len(requests)] * 4)
                while connection.recv(1 << 20):
                    pass
            except BlockingIOError:
                continue
            except OSError:
                pass
            sockets.remove(connection)
            connection.close()
    for connection in sockets:
        connection.close()


def metrics_and_health_floods(target, stop):
    """Metrics and health checks, of which a reserve of threads answers."""
    asked_without_end(target, stop, *(
        b"GET %s HTTP/1.1\r\nHost: h\r\nX-Scope-OrgID: attacker\r\n\r\n" % path for path in (b"/metrics", b"/ready")))


def unread_answers(target, stop):
    """Large answers that nobody reads."""
    request = (b"GET /api/v1/top?query=%7B%7D&type=samples&from=now-24h&limit=100000 HTTP/1.1\r\nHost: h\r\n"
               b"X-Scope-OrgID: attacker\r\n\r\n")
    sockets = []
    while not stop.is_set():
        while len(sockets) < 60:
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(5)
            try:
                connection.connect((target.host, target.port))
                connection.sendall(request * 3)
            except OSError:
                connection.close()
                break
            sockets.append(connection)
        stop.wait(0.5)
        if len(sockets) == 60:
            sockets.pop(0).close()
    for connection in sockets:
        connection.close()


def many_services(target, stop):
    """A new service with every upload."""
    def send(number):
        target.attacker("POST", "/ingest", b"main;work 1\n", name=f"service-{number}-{time.monotonic_ns()}")
    crowd(8, send, stop)


def bombs(target, stop):
    """Bodies that unpack to a thousand times their size."""
    bomb = gzip.compress(b"a;b;c 1\n" * (8 << 20), 1)
    crowd(8, lambda number: target.attacker("POST", "/ingest", bomb, {"Content-Encoding": "gzip"}, name="bomb"), stop)


ATTACKS = (heavy_queries, label_floods, slow_uploads, chunked_uploads, deep_stacks, half_open, busy_connections,
           unread_answers, many_services, bombs, metrics_and_health_floods)
FEW_DESCRIPTORS = (half_open, busy_connections)


def fill(target):
    """What heavy queries go over: 60 uploads of 3,000 different stacks."""
    for upload in range(60 if LONG else 12):
        text = "".join(f"main;{'x' * 40}-{n % 97};step{n};{'y' * 40}{upload}-{n} {n + 1}\n" for n in range(3000))
        status, body = target.ask("attacker", "POST", "/api/v1/profiles", gzip.compress(text.encode(), 1),
                                  {"Content-Encoding": "gzip"}, service=f"large{upload % 4}")
        assert status == 200, body


def attacked(name, *attacks, descriptors=None):
    with Target(BUDGET, descriptors=descriptors) as target:
        fill(target)
        row = run(target, name, attacks)
    rows.append(row)
    print(f"# {Row.HEAD}\n# {row}", flush=True)
    judge(row, BUDGET)


def one_test_each():
    for attack in ATTACKS:
        def beside(attack=attack):
            attacked(attack.__name__, attack, descriptors=1024 if attack in FEW_DESCRIPTORS else None)
        beside.__name__ = f"{attack.__name__}_harm_nobody_else"
        test(beside)


one_test_each()


@test
def all_attacks_at_once_stay_within_the_memory_budget():
    attacked("all at once", *ATTACKS)
    print(f"# {Row.HEAD}")
    for row in rows:
        print(f"# {row}")


if __name__ == "__main__":
    main()
