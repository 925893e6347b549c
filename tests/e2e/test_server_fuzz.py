#!/usr/bin/env python3
"""The whole surface of a running server, built with ASan, under requests that went wrong on the way.

Seeds are tests/fuzz/corpus/requests, sent over HTTP/1.1 and HTTP/2, whole and mutated, in pieces,
several in a row, from clients that leave early. The server must answer good requests all the while,
hold nothing back at the end, and stop without a word from a sanitizer. SURFACE_REQUESTS says how many
requests, SURFACE_SEED repeats a run.
"""
import glob
import http.client
import os
import random
import re
import socket
import struct
import subprocess
import threading
import time

from support.tap import ROOT, VESTAL, main, scratch, test

SERVER = os.environ.get("VESTAL_ASAN", VESTAL)
REQUESTS = int(os.environ.get("SURFACE_REQUESTS", "3000"))
SEED = int(os.environ.get("SURFACE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
THREADS = 4
WORDS = [b"0", b"-1", b"1e300", b"9223372036854775807", b"18446744073709551616", b"now-200y", b"%00",
         b"{}", b"{a=~\"(a+)+$\"}", b"\xff\xfe", b"\r\n", b"\n", b" ", b"gzip", b"chunked", b"\0" * 9,
         b"../..", b"application/grpc", b"application/json", b"application/proto", b"[" * 40]


def seeds():
    """(method, target, headers, body) of every seed."""
    result = []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/corpus/requests/*"))):
        with open(path, "rb") as file:
            head, _, body = file.read().partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, target = first.partition(b" ")
        headers = [tuple(part.strip() for part in line.split(b":", 1)) for line in lines]
        result.append((method, target, [pair for pair in headers if len(pair) == 2], body))
    return result


def mutate(random_, data):
    """A few small wrongs, anywhere."""
    data = bytearray(data)
    for _ in range(random_.choice((1, 1, 2, 4, 8))):
        at = random_.randrange(len(data) + 1)
        kind = random_.randrange(5)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << random_.randrange(8)
        elif kind == 1:
            data[at:at] = random_.choice(WORDS)
        elif kind == 2:
            del data[at:at + random_.randrange(1, 9)]
        elif kind == 3:
            end = at + random_.randrange(1, 30)
            data[at:at] = data[at:end]
        else:
            data[at:at + random_.randrange(9)] = random_.choice(WORDS)
    return bytes(data)


# ---------------------------------------------------------------- HTTP/1.1

def http1(random_, request):
    method, target, headers, body = request
    text = b"%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n" % (method, target)
    text += b"".join(b"%s: %s\r\n" % pair for pair in headers)
    if random_.random() < 0.2:
        pieces = [body[i:i + 50] for i in range(0, len(body), 50)] + [b""]
        return text + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
            b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return text + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


# ---------------------------------------------------------------- HTTP/2

def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + \
        payload


def literal(name, value):
    """A header that HPACK does not compress."""
    def text(t):
        return bytes([len(t)]) + t if len(t) < 127 else \
            b"\x7f" + bytes([(len(t) - 127) & 127 | 128, (len(t) - 127) >> 7]) + t
    return b"\0" + text(name) + text(value)


def http2(random_, requests, spoil):
    out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
    for number, (method, target, headers, body) in enumerate(requests):
        stream = 2 * number + 1
        block = b"".join(literal(*pair) for pair in [
            (b":method", method), (b":scheme", b"http"), (b":path", target),
            (b":authority", b"127.0.0.1"), *headers])
        if spoil and random_.random() < 0.3:
            block = mutate(random_, block)
        out += frame(1, 4 if body else 5, stream, block)
        for i in range(0, len(body), 16000):
            out += frame(0, 1 if i + 16000 >= len(body) else 0, stream, body[i:i + 16000])
        if random_.random() < 0.1:
            out += frame(3, 0, stream, b"\0\0\0\x08")
    return out


# ---------------------------------------------------------------- sending

def send(random_, address, data):
    """In one piece or several; reads what comes, or leaves before that."""
    with socket.create_connection(address, timeout=20) as peer:
        try:
            while data:
                n = random_.choice((len(data), len(data), random_.randrange(1, 200)))
                peer.sendall(data[:n])
                data = data[n:]
            if random_.random() < 0.25:
                return
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(65536):
                pass
        except OSError:  # it may hang up on us
            pass


def one_round(random_, address, all_seeds):
    chosen = [random_.choice(all_seeds) for _ in range(random_.choice((1, 1, 1, 3)))]
    spoil = random_.random() < 0.9
    if spoil and random_.random() < 0.5:
        chosen = [(m, mutate(random_, t), h, mutate(random_, b)) for m, t, h, b in chosen]
    if random_.random() < 0.3:
        data = http2(random_, chosen, spoil)
    else:
        data = b"".join(http1(random_, request) for request in chosen)
    if spoil and random_.random() < 0.3:
        data = mutate(random_, data)
    send(random_, address, data)


def ask(address, method, path, body=None):
    client = http.client.HTTPConnection(*address, timeout=60)
    try:
        client.request(method, path, body)
        reply = client.getresponse()
        return reply.status, reply.read()
    finally:
        client.close()


@test
def a_server_survives_whatever_is_sent():
    print(f"# SURFACE_SEED={SEED} SURFACE_REQUESTS={REQUESTS}")
    process = subprocess.Popen(
        [SERVER, "server", "--memory", "--listen", "127.0.0.1:0", "--otlp-grpc", "none", "--otlp-http",
         "none", "--trust-tenant-header", "--log-level", "error"], cwd=scratch(),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"))
    match = re.search(r"http://([\d.]+):(\d+)", process.stderr.readline())
    address, said, failures = (match[1], int(match[2])), [], []
    reader = threading.Thread(target=said.extend, args=(process.stderr,))
    reader.start()

    def work(number):
        random_, all_seeds = random.Random(SEED + number), seeds()
        try:
            for i in range(REQUESTS // THREADS):
                one_round(random_, address, all_seeds)
                if i % 50 == 0:
                    status, body = ask(address, "POST", "/api/v1/profiles?service=good", b"a;b 1\n")
                    assert status == 200, (status, body)
                    status, body = ask(address, "GET", "/api/v1/top?query=good")
                    # Somebody may have deleted it.
                    assert status in (200, 404), (status, body)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(repr(error))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    metrics = b""
    for _ in range(300 if not failures else 0):
        # Requests whose clients left may still be under way, on a thread for questions too.
        _, metrics = ask(address, "GET", "/metrics")
        if b"\nvestal_in_flight_bytes 0\n" in metrics:
            break
        time.sleep(0.1)
    process.terminate()
    status = process.wait(120)
    reader.join()
    text = "".join(said)
    assert status == 0 and "ERROR" not in text and "runtime error" not in text, \
        f"status {status}: {text[:6000]}"
    assert not failures, failures
    assert b"\nvestal_in_flight_bytes 0\n" in metrics, "bytes are in flight that nobody sends"


if __name__ == "__main__":
    main()
