"""Profiles out of files, by readers of their own: what tests of conversions compare.

read(bytes, format) gives a list of (type, unit, {stack: value}); a stack is a tuple of names from the root,
and NAMELESS stands for a frame that has no name.
"""
import collections
import gzip
import json
import re
import struct

NAMELESS = "?"


def unpack(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields(data):
    """(number, value) of a protobuf message: numbers as they are, the rest as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<I", data, at)[0], at + 4
        elif kind == 2:
            size, at = varint(data, at)
            value, at = bytes(data[at:at + size]), at + size
            assert len(value) == size, "cut off"
        else:
            raise ValueError("wire type %d" % kind)
        yield key >> 3, value


def message(data):
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def numbers(values):
    """Repeated integers, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(signed(value))
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            out.append(signed(one))
    return out


def first(values, default=0):
    return values[-1] if values else default


def text(data):
    return data.decode("utf-8", "replace")


def name_of(string):
    string = string.strip()
    return NAMELESS if not string else string


def pprof(data):
    top = message(unpack(data))
    strings = [text(s) for s in top[6]] or [""]
    functions = {}
    for item in top[5]:
        f = message(item)
        names = [strings[first(f[n])] for n in (2, 3)]
        functions[first(f[1])] = name_of(names[0] or names[1])
    locations = {}
    for item in top[4]:
        f = message(item)
        lines = [functions.get(first(message(line)[1]), NAMELESS) for line in f[4]]
        locations[first(f[1])] = lines or [NAMELESS]
    types = [tuple(strings[first(message(t)[n])] for n in (1, 2)) for t in top[1]]
    out = [(name, unit, collections.Counter()) for name, unit in types]
    for item in top[2]:
        f = message(item)
        stack = [n for i in numbers(f[1]) for n in locations[i & (1 << 64) - 1]]
        for column, value in enumerate(numbers(f[2])):
            out[column][2][tuple(reversed(stack))] += value
    return out


def otlp_sum(values, times):
    return sum(values) if values else max(times, 1)


def with_cpu(resource):
    """Counts of samples taken each so many ns of CPU stand for it, where a resource does not have it."""
    out = [p[:3] for p in resource]
    if any(p[:2] == ("cpu", "nanoseconds") for p in resource):
        return out
    for kind, unit, rows, period_type, period in resource:
        if (kind, unit) == ("samples", "count") and period_type == ("cpu", "nanoseconds") and period:
            out.append(("cpu", "nanoseconds",
                        collections.Counter({s: v * period for s, v in rows.items()})))
    return out


def otlp(data):
    """OTLP as of 1.10 (tests/peers/profiles.proto), which Vestal writes."""
    top = message(unpack(data))
    d = message(first(top[2], b""))
    strings = [text(s) for s in d[5]]
    functions = [name_of(strings[first(f[1])] or strings[first(f[2])]) for f in map(message, d[3])]
    locations = [[functions[first(message(line)[1])] for line in message(item)[3]] or [NAMELESS]
                 for item in d[2]]
    stacks = [[n for i in numbers(message(item)[1]) for n in locations[i]] for item in d[7]]
    out = []
    for resource in top[1]:
        profiles = []
        for scope in message(resource)[2]:
            for item in message(scope)[2]:
                p = message(item)
                kind = message(first(p[1], b""))
                rows = collections.Counter()
                for sample in map(message, p[2]):
                    times = sum(1 if isinstance(t, int) else len(t) // 8 for t in sample[5])
                    rows[tuple(reversed(stacks[first(sample[1])]))] += otlp_sum(
                        numbers(sample[4]), times)
                period = message(first(p[5], b""))
                profiles.append((strings[first(kind[1])], strings[first(kind[2])], rows,
                                 (strings[first(period[1])], strings[first(period[2])]),
                                 signed(first(p[6]))))
        out += with_cpu(profiles)
    return out


def otlp_json(data):
    top = json.loads(unpack(data))
    d = top["dictionary"]
    strings = d.get("stringTable", [""])
    functions = [name_of(strings[f.get("nameStrindex", 0)] or strings[f.get("systemNameStrindex", 0)])
                 for f in d.get("functionTable", [])]
    locations = [[functions[line.get("functionIndex", 0)] for line in item.get("lines", [])] or
                 [NAMELESS] for item in d.get("locationTable", [])]
    stacks = [[n for i in item.get("locationIndices", []) for n in locations[i]]
              for item in d.get("stackTable", [])]
    out = []
    for resource in top.get("resourceProfiles", []):
        profiles = []
        for scope in resource.get("scopeProfiles", []):
            for p in scope.get("profiles", []):
                kind, rows = p.get("sampleType", {}), collections.Counter()
                for sample in p.get("samples", []):
                    rows[tuple(reversed(stacks[sample.get("stackIndex", 0)]))] += otlp_sum(
                        [int(v) for v in sample.get("values", [])],
                        len(sample.get("timestampsUnixNano", [])))
                period = p.get("periodType", {})
                profiles.append((strings[kind.get("typeStrindex", 0)],
                                 strings[kind.get("unitStrindex", 0)], rows,
                                 (strings[period.get("typeStrindex", 0)],
                                  strings[period.get("unitStrindex", 0)]), int(p.get("period", 0))))
        out += with_cpu(profiles)
    return out


def folded(data):
    rows = collections.Counter()
    for line in unpack(data).decode("utf-8", "replace").split("\n"):
        stack, _, value = line.rpartition(" ")
        if stack:
            assert re.fullmatch(r"\d+", value), "not a whole number: " + line
            rows[tuple(name_of(n) for n in stack.split(";"))] += int(value)
    return [("", "", rows)]


def speedscope(data):
    """Profiles of samples, which Vestal writes; weights as they are."""
    top = json.loads(unpack(data))
    names = [name_of(f["name"]) for f in top["shared"]["frames"]]
    out = []
    for p in top["profiles"]:
        assert p["type"] == "sampled", p["type"]
        rows = collections.Counter()
        for stack, weight in zip(p["samples"], p["weights"]):
            rows[tuple(names[i] for i in stack)] += weight
        assert len(p["samples"]) == len(p["weights"])
        out.append((p["name"], p["unit"], rows))
    return out


READERS = {"pprof": pprof, "otlp": otlp, "otlp-json": otlp_json, "folded": folded,
           "speedscope": speedscope, "pgo": pprof}


def read(data, form):
    return READERS[form](data)
