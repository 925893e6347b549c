#!/usr/bin/env python3
"""Writes corpus/http2 and corpus/rpc: frames and calls by hand."""
import gzip
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, WITH_PRIORITY, ACK = 1, 4, 8, 0x20, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """A literal without indexing, neither of them Huffman coded."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def head(path=b"/a?b=c", method=b"GET", more=b""):
    return (field(b":method", method) + field(b":scheme", b"http") + field(b":authority", b"x") +
            field(b":path", path) + more)


def save(folder, name, data):
    os.makedirs(os.path.join(HERE, "corpus", folder), exist_ok=True)
    with open(os.path.join(HERE, "corpus", folder, name), "wb") as file:
        file.write(data)


def http2():
    settings = frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 100)) + frame(SETTINGS, ACK, 0)
    post = head(b"/echo", b"POST", field(b"x-echo", b"1"))
    whole = END_STREAM | END_HEADERS
    seeds = {
        "get": (0, 0, frame(HEADERS, whole, 1, head())),
        "indexed": (0, 0, frame(HEADERS, whole, 1, b"\x82\x84\x86\x41\x01x")),
        "post": (0, 0, frame(HEADERS, END_HEADERS, 1, post) + frame(DATA, 0, 1, b"abc") +
                 frame(DATA, END_STREAM | PADDED, 1, b"\2def\0\0")),
        "pieces": (3, 2, frame(HEADERS, 0, 1, post[:10]) +
                   frame(CONTINUATION, END_HEADERS, 1, post[10:]) + frame(DATA, END_STREAM, 1, b"x")),
        "request_trailers": (0, 8, frame(HEADERS, END_HEADERS, 1, post) + frame(DATA, 0, 1, b"x") +
                             frame(HEADERS, whole, 1, field(b"x-end", b"1"))),
        "reset": (0, 1, frame(HEADERS, whole, 1, head()) + frame(RST, 0, 1, struct.pack(">I", 8)) +
                  frame(HEADERS, whole, 3, head())),
        "stop": (20, 5, frame(HEADERS, whole, 1, head()) + frame(HEADERS, whole, 3, head()) +
                 frame(PING, ACK, 0, bytes(8))),
        "refuse": (0, 0, frame(HEADERS, END_HEADERS, 1, head(b"/refuse", b"POST")) +
                   frame(DATA, 0, 1, bytes(100)) + frame(DATA, END_STREAM, 1, bytes(100))),
        "large_body": (0, 0, frame(HEADERS, END_HEADERS, 1, post) + frame(DATA, 0, 1, bytes(5000))),
        "promised": (0, 0, frame(HEADERS, END_HEADERS, 1, head(b"/", b"POST", field(b"content-length",
                     b"99999")))),
        "large_head": (0, 0, frame(HEADERS, whole, 1, head(more=field(b"a" * 100, b"b" * 120) * 12))),
        "expect": (0, 0, frame(HEADERS, END_HEADERS, 1, head(b"/", b"PUT", field(b"expect",
                   b"100-continue"))) + frame(DATA, END_STREAM, 1, b"x")),
        "windows": (0, 0, frame(WINDOW, 0, 0, struct.pack(">I", 1000)) +
                    frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0)) +
                    frame(HEADERS, END_HEADERS, 1, post) + frame(DATA, END_STREAM, 1, b"held back") +
                    frame(WINDOW, 0, 1, struct.pack(">I", 4)) + frame(WINDOW, 0, 1, struct.pack(">I", 9))),
        "ping_goaway": (0, 16, frame(PING, 0, 0, b"12345678") + frame(GOAWAY, 0, 0, bytes(8))),
        "priority": (0, 0, frame(PRIORITY, 0, 5, bytes(5)) +
                     frame(HEADERS, whole | WITH_PRIORITY, 1, bytes(5) + head())),
        "push": (0, 0, frame(PUSH, END_HEADERS, 1, struct.pack(">I", 2) + head())),
        "bad_names": (0, 0, frame(HEADERS, whole, 1, head(more=field(b"X-Upper", b"1")))),
        "zero_window": (0, 0, frame(WINDOW, 0, 0, bytes(4))),
        "unknown": (0, 0, frame(0x42, 0xff, 1, b"?")),
    }
    for name, (step, mode, data) in seeds.items():
        save("http2", name, bytes([step, mode]) + settings + data)


def rpc():
    def grpc(message, flags=0):
        return bytes([flags]) + struct.pack(">I", len(message)) + message
    packed = gzip.compress(b"hello hello hello", mtime=0)
    long = b"abcdefgh" * 400
    seeds = {
        "grpc": b"content-type: application/grpc\n\n" + grpc(b"hello"),
        "grpc_gzip": b"content-type: application/grpc+proto\ngrpc-encoding: gzip\ngrpc-timeout: 9H\n\n" +
                     grpc(packed, 1),
        "grpc_flag": b"content-type: application/grpc\n\n" + grpc(b"hello", 2),
        "grpc_short": b"content-type: application/grpc\n\n" + grpc(b"hello")[:7],
        "grpc_two": b"content-type: application/grpc\n\n" + grpc(b"a") + grpc(b"b"),
        "grpc_reply_gzip": b"content-type: application/grpc\ngrpc-accept-encoding: gzip\n\n" + grpc(long),
        "web": b"content-type: application/grpc-web+proto\ngrpc-accept-encoding: gzip\n\n" + grpc(long),
        "connect": b"content-type: application/proto\nconnect-protocol-version: 1\n"
                   b"connect-timeout-ms: 99999\naccept-encoding: br;q=1, gzip;q=0.5\n\n" + long,
        "connect_gzip": b"content-type: application/json\ncontent-encoding: gzip\n\n" + packed,
        "connect_zstd": b"content-type: application/json\ncontent-encoding: zstd\n\n(\xb5/\xfd\x04",
        "other": b"content-type: text/plain\n\nx",
        "nothing": b"content-type: application/grpc\n\n",
    }
    for name, data in seeds.items():
        save("rpc", name, data)


http2()
rpc()
