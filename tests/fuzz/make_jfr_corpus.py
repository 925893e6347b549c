#!/usr/bin/env python3
"""Writes the seeds of fuzz_jfr: recordings put together by hand, so that they stay small.

    tests/fuzz/make_jfr_corpus.py tests/fuzz/corpus/jfr
"""
import os
import struct
import sys

PRIMITIVES = ["boolean", "byte", "char", "short", "int", "long", "float", "double",
              "java.lang.String"]
# name -> fields; a field is (name, type, "p" pooled / "a" array, unit)
TYPES = {
    "java.lang.Class": [("name", "jdk.types.Symbol", "p", "")],
    "jdk.types.Symbol": [("string", "java.lang.String", "", "")],
    "jdk.types.Method": [("type", "java.lang.Class", "p", ""), ("name", "jdk.types.Symbol", "p", ""),
                         ("descriptor", "jdk.types.Symbol", "p", ""), ("hidden", "boolean", "", "")],
    "jdk.types.StackFrame": [("method", "jdk.types.Method", "p", ""), ("lineNumber", "int", "", ""),
                             ("type", "jdk.types.FrameType", "p", "")],
    "jdk.types.StackTrace": [("truncated", "boolean", "", ""),
                             ("frames", "jdk.types.StackFrame", "a", "")],
    "java.lang.Thread": [("osName", "java.lang.String", "", ""), ("osThreadId", "long", "", ""),
                         ("javaName", "java.lang.String", "", ""), ("javaThreadId", "long", "", "")],
    "jdk.types.ThreadState": [("name", "java.lang.String", "", "")],
    "jdk.types.FrameType": [("description", "java.lang.String", "", "")],
    "jdk.jfr.Timespan": [("value", "java.lang.String", "", "")],
    "jdk.ActiveSetting": [("startTime", "long", "", "TICKS"), ("id", "long", "", ""),
                          ("name", "java.lang.String", "", ""), ("value", "java.lang.String", "", "")],
    "jdk.ActiveRecording": [("startTime", "long", "", "TICKS")],
}
SAMPLE = [("startTime", "long", "", "TICKS"), ("sampledThread", "java.lang.Thread", "p", ""),
          ("stackTrace", "jdk.types.StackTrace", "p", ""),
          ("state", "jdk.types.ThreadState", "p", "")]
TIMED = [("startTime", "long", "", "TICKS"), ("duration", "long", "", "TICKS"),
         ("eventThread", "java.lang.Thread", "p", ""),
         ("stackTrace", "jdk.types.StackTrace", "p", "")]
EVENTS = {
    "jdk.ExecutionSample": SAMPLE,
    "jdk.NativeMethodSample": SAMPLE,
    "profiler.WallClockSample": SAMPLE + [("samples", "int", "", "")],
    "jdk.CPUTimeSample": TIMED + [("failed", "boolean", "", ""),
                                  ("samplingPeriod", "long", "", "NANOSECONDS")],
    "jdk.ObjectAllocationSample": TIMED + [("objectClass", "java.lang.Class", "p", ""),
                                           ("weight", "long", "", "")],
    "jdk.ObjectAllocationInNewTLAB": TIMED + [("objectClass", "java.lang.Class", "p", ""),
                                              ("tlabSize", "long", "", "")],
    "profiler.LiveObject": TIMED + [("objectClass", "java.lang.Class", "p", ""),
                                    ("allocationSize", "long", "", "")],
    "profiler.Malloc": TIMED + [("address", "long", "", ""), ("size", "long", "", "")],
    "jdk.JavaMonitorEnter": TIMED + [("monitorClass", "java.lang.Class", "p", "")],
    "jdk.ThreadPark": TIMED + [("parkedClass", "java.lang.Class", "p", "")],
    "jdk.JavaExceptionThrow": TIMED + [("thrownClass", "java.lang.Class", "p", "")],
    "test.Span": TIMED,
}
SPAN = [("spanId", "long", "", ""), ("spanName", "java.lang.String", "", ""),
        ("traceIdHi", "long", "", ""), ("traceIdLo", "long", "", ""), ("contextId", "long", "", "")]


class Chunk:
    def __init__(self, compressed=True, types=None):
        self.compressed = compressed
        self.types = dict(TYPES)
        self.types.update(types or {})
        self.ids = {n: i + 10 for i, n in enumerate(PRIMITIVES + list(self.types))}
        self.body = b""
        self.pool_at = self.metadata_at = 0

    def number(self, value, size):
        if not self.compressed:
            return (value & (1 << 8 * size) - 1).to_bytes(size, "big")
        value &= (1 << 8 * max(size, 4)) - 1
        out = b""
        while value >= 0x80 and len(out) < 8:
            out += bytes([value & 0x7f | 0x80])
            value >>= 7
        return out + bytes([value])

    def int(self, value):
        return self.number(value, 4)

    def long(self, value):
        return self.number(value, 8)

    def string(self, text):
        if text is None:
            return b"\0"
        if isinstance(text, tuple):  # (encoding, text): as it says
            if text[0] == 4:
                units = struct.unpack("<%dH" % (len(text[1].encode("utf-16-le")) // 2),
                                      text[1].encode("utf-16-le"))
                return b"\4" + self.int(len(units)) + b"".join(self.number(u, 2) for u in units)
            if text[0] == 2:
                return b"\2" + self.long(text[1])
            return bytes([text[0]]) + self.int(len(text[1])) + text[1].encode("latin-1")
        return b"\3" + self.int(len(text.encode())) + text.encode() if text else b"\1"

    def event(self, type_id, payload):
        payload = self.long(type_id) + payload
        size = len(payload) + 4
        if self.compressed:
            head = bytes([size & 0x7f | 0x80, size >> 7 & 0x7f | 0x80, size >> 14 & 0x7f | 0x80,
                          size >> 21 & 0x7f])
        else:
            head = size.to_bytes(4, "big")
        at = 68 + len(self.body)
        self.body += head + payload
        return at

    def value(self, kind, value):
        if kind == "java.lang.String":
            return self.string(value)
        if kind in ("boolean", "byte"):
            return bytes([value & 0xff])
        if kind == "float":
            return struct.pack(">f", value)
        if kind == "double":
            return struct.pack(">d", value)
        if kind in ("char", "short"):
            return self.number(value, 2)
        if kind == "int":
            return self.int(value)
        if kind == "long":
            return self.long(value)
        return b"".join(self.field(f, v) for f, v in zip(self.types[kind], value))

    def field(self, field, value):
        _, kind, how, _ = field
        if "a" in how:
            return self.int(len(value)) + b"".join(self.value(kind, v) for v in value)
        return self.long(value) if "p" in how else self.value(kind, value)

    def add(self, name, *values):
        self.event(self.ids[name], b"".join(self.field(f, v) for f, v in zip(self.types[name], values)))

    def checkpoint(self, pools, delta=0):
        out = self.long(1000) + self.long(0) + self.long(delta) + b"\0" + self.int(len(pools))
        for name, entries in pools.items():
            out += self.long(self.ids[name]) + self.int(len(entries))
            for key, value in entries.items():
                out += self.long(key) + self.value(name, value)
        self.pool_at = self.event(1, out)

    def metadata(self):
        texts = []

        def index(text):
            if text not in texts:
                texts.append(text)
            return self.int(texts.index(text))

        def element(name, attributes, children=()):
            out = index(name) + self.int(len(attributes))
            for key, value in attributes.items():
                out += index(key) + index(str(value))
            return out + self.int(len(children)) + b"".join(children)

        def describe(field):
            name, kind, how, unit = field
            attributes = {"name": name, "class": self.ids[kind]}
            if "p" in how:
                attributes["constantPool"] = "true"
            if "a" in how:
                attributes["dimension"] = 1
            notes = [element("annotation", {"class": self.ids["jdk.jfr.Timespan"], "value": unit})]
            return element("field", attributes, notes if unit else [])

        classes = [element("class", {"id": i, "name": n},
                           [describe(f) for f in self.types.get(n, [])])
                   for n, i in self.ids.items()]
        tree = element("root", {}, [element("metadata", {}, classes), element("region", {})])
        self.metadata_at = self.event(0, self.long(1000) + self.long(0) + self.long(1) +
                                      self.int(len(texts)) +
                                      b"".join(self.string(t) for t in texts) + tree)

    def bytes(self, finished=True):
        size = 68 + len(self.body) if finished else 0
        pool, metadata = (self.pool_at, self.metadata_at) if finished else (0, 0)
        return struct.pack(">4sHHQQQQQQQI", b"FLR\0", 2, 1, size, pool, metadata,
                           1700000000000000000, 2000000000, 1000, 1000000,
                           self.compressed) + self.body


POOLS = {
    "jdk.types.Symbol": {1: ["a/B"], 2: ["run"], 3: ["()V"], 4: ["[[I"], 5: ["libc.so.6"],
                         6: ["()L;"], 7: [(4, "é😀")], 8: [(5, "caf\xe9")]},
    "java.lang.Class": {1: [1], 2: [4], 3: [5]},
    "jdk.types.Method": {1: [1, 2, 3, 0], 2: [3, 7, 6, 0], 3: [2, 8, 3, 1]},
    "jdk.types.FrameType": {1: ["Interpreted"], 2: ["Native"], 3: ["Kernel"]},
    "jdk.types.StackTrace": {1: [0, [[1, 42, 1], [2, 0, 2], [2, -1, 3]]], 2: [1, [[3, 7, 1]]],
                             3: [0, []]},
    "java.lang.String": {9: "pooled"},
    "java.lang.Thread": {1: ["os", 77, "main", 1], 2: ["GC", 78, None, 0], 3: ["x", 1, (2, 9), -1]},
    "jdk.types.ThreadState": {1: ["STATE_RUNNABLE"]},
}
TAIL = {"samples": 3, "failed": 1, "samplingPeriod": 10000000, "weight": 1 << 40, "tlabSize": 4096,
        "allocationSize": 16, "address": -1, "size": 100, "objectClass": 2, "monitorClass": 1,
        "parkedClass": 3, "thrownClass": 1, "startTime": 2000, "duration": 500, "sampledThread": 1,
        "eventThread": 2, "stackTrace": 1, "state": 1, "spanId": 0x1234, "spanName": "GET /",
        "traceIdHi": 1, "traceIdLo": 2, "contextId": 7}


def chunk(names, compressed=True, settings=(), extra=()):
    types = {n: EVENTS[n] + list(extra) for n in names}
    c = Chunk(compressed, types)
    for of, name, value in settings:
        c.add("jdk.ActiveSetting", 1000, c.ids[of], name, value)
    for n in names:
        for stack in (1, 2):
            TAIL["stackTrace"] = stack
            c.add(n, *[TAIL[f[0]] for f in types[n]])
    c.checkpoint(POOLS)
    c.metadata()
    return c


def main(folder):
    jdk = [("jdk.ExecutionSample", "period", "10 ms")]
    ap = [("jdk.ActiveRecording", "event", "wall"), ("jdk.ExecutionSample", "interval", "0")]
    first = ["jdk.ExecutionSample"]
    linked = chunk(first, settings=jdk)
    early = Chunk(types={first[0]: SAMPLE})
    early.checkpoint({k: POOLS[k] for k in list(POOLS)[:4]})
    before = early.pool_at
    early.add(first[0], 2000, 1, 1, 1)
    early.checkpoint({k: POOLS[k] for k in list(POOLS)[4:]}, before - 68 - len(early.body))
    early.metadata()
    seeds = {
        "execution": chunk(first, settings=jdk).bytes(),
        "plain-integers": chunk(first, False, jdk).bytes(),
        "wall": chunk(["profiler.WallClockSample"] + first, settings=ap).bytes(),
        "cpu-time": chunk(["jdk.CPUTimeSample"] + first, settings=jdk).bytes(),
        "alloc": chunk(["jdk.ObjectAllocationSample", "jdk.ObjectAllocationInNewTLAB"]).bytes(),
        "live-malloc": chunk(["profiler.LiveObject", "profiler.Malloc"]).bytes(),
        "waits": chunk(["jdk.JavaMonitorEnter", "jdk.ThreadPark", "jdk.JavaExceptionThrow"]).bytes(),
        "span": chunk(first, settings=jdk, extra=SPAN).bytes(),
        "unfinished": linked.bytes(finished=False),
        "two-chunks": chunk(first).bytes() + chunk(["jdk.ThreadPark"]).bytes(),
        "checkpoints": early.bytes(),
        "header": linked.bytes()[:68],
    }
    os.makedirs(folder, exist_ok=True)
    for name, data in seeds.items():
        with open(os.path.join(folder, name + ".jfr"), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
