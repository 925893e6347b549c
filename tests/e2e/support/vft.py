"""Answers in format=vft, taken apart (docs/formats)."""
import gzip
import json
import struct

PACKED = {"Accept-Encoding": "gzip, deflate, br"}


def decode(data):
    """The meta, the tree and the function table of docs/formats/vft.md."""
    assert data[:4] == b"VFT1", data[:40]
    (length,), at = struct.unpack_from("<I", data, 4), 8
    meta = json.loads(data[8:8 + length])

    def take(kind, count):
        nonlocal at
        at = (at + 7) // 8 * 8
        values = struct.unpack_from(f"<{count}{kind}", data, at)
        at += struct.calcsize(f"<{count}{kind}")
        return values

    at += length
    nodes, frames, strings, rows, columns, text_bytes, verdicts, zero = take("I", 8)
    assert zero == 0
    parent, frame, own = take("I", nodes), take("I", nodes), take("d", nodes * columns)
    names = take("I", frames)
    for _ in range(4):
        take("I", frames)
    table, flat, cum = take("I", rows), take("d", rows * columns), take("d", rows * columns)
    offsets = take("I", strings + 1)
    at = (at + 7) // 8 * 8
    text, at = data[at:at + text_bytes], at + text_bytes
    told = [take("I", rows), take("d", rows), take("d", rows), take("d", rows)] if verdicts else None
    assert at == len(data), (at, len(data))
    names = [text[offsets[n]:offsets[n + 1]].decode() for n in names]
    functions = {}
    for i, f in enumerate(table):
        functions[names[f]] = {"self": [flat[c * rows + i] for c in range(columns)],
                               "total": [cum[c * rows + i] for c in range(columns)]}
        if told:
            functions[names[f]].update(verdict=told[0][i], p=told[1][i], change=told[2][i])
    tree = [(names[frame[i]], parent[i], [own[c * nodes + i] for c in range(columns)]) for i in range(nodes)]
    return meta, tree, functions


def vft(server, path, method="GET", body=None, headers=None, **parameters):
    """What a server of support/api_server.py answers."""
    status, told, reply = server.ask(method, path, body, dict(PACKED, **(headers or {})), format="vft",
                                       **parameters)
    assert status == 200 and told["content-type"] == "application/vnd.vestal.vft", (status, reply)
    return decode(gzip.decompress(reply) if told.get("content-encoding") else reply)
