"""Writes OTLP profiles in the layouts of proto 1.8, 1.9 and 1.10, as protobuf and as JSON.

A request is a list of resources: (attributes, [scope, ...]); a scope is (name, [Profile, ...]). Entries of
the tables come in a random order, some of them twice, so that no two requests look the same.
"""
import json
import struct

LAYOUTS = ("1.8", "1.9", "1.10")


class Profile:
    """One Profile of one type. Rows are (stack, labels, values, times): names from the leaf, pairs."""

    def __init__(self, kind, unit, rows, time, duration, period):
        self.kind, self.unit, self.rows = kind, unit, rows
        self.time, self.duration, self.period = time, duration, period


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return block(field, b"".join(varint(v) for v in values)) if values else b""


def fixed(field, values):
    return block(field, b"".join(struct.pack("<Q", v) for v in values)) if values else b""


class Table:
    """Entries by content, the first of them empty; `places` tells where each is after shuffling."""

    def __init__(self, rng, empty):
        self.rng, self.entries, self.index = rng, [empty], {}

    def add(self, entry):
        # The same content may stand there twice: who reads it must not care.
        if entry not in self.index or self.rng.random() < 0.05:
            self.index[entry] = len(self.entries)
            self.entries.append(entry)
        return self.index[entry]


class Dictionary:
    """The tables of one request."""

    def __init__(self, rng):
        self.rng = rng
        self.strings, self.functions = Table(rng, ""), Table(rng, None)
        self.locations, self.stacks = Table(rng, None), Table(rng, ())
        self.attributes = Table(rng, None)
        for _ in range(rng.randrange(4)):
            self.strings.add("filler%d" % rng.randrange(100))

    def stack(self, names):
        return self.stacks.add(tuple(self.locations.add(self.functions.add(self.strings.add(n)))
                                     for n in names))

    def attribute(self, key, value):
        return self.attributes.add((self.strings.add(key), value))

    def protobuf(self):
        out = block(1, b"")
        for function in self.locations.entries:
            out += block(2, block(3, number(1, function)) if function else b"")
        for name in self.functions.entries:
            out += block(3, number(1, name) if name else b"")
        out += block(4, b"")
        for text in self.strings.entries:
            out += block(5, text.encode())
        for entry in self.attributes.entries:
            out += block(6, number(1, entry[0]) + block(2, block(1, entry[1].encode()))
                         if entry else b"")
        for locations in self.stacks.entries:
            out += block(7, packed(1, locations))
        return out

    def as_json(self):
        return {
            "mappingTable": [{}], "linkTable": [{}], "stringTable": self.strings.entries,
            "locationTable": [{"lines": [{"functionIndex": f}]} if f else {}
                              for f in self.locations.entries],
            "functionTable": [{"nameStrindex": n} if n else {} for n in self.functions.entries],
            "attributeTable": [{"keyStrindex": e[0], "value": {"stringValue": e[1]}} if e else {}
                               for e in self.attributes.entries],
            "stackTable": [{"locationIndices": list(s)} if s else {} for s in self.stacks.entries]}


def sample(d, row, layout):
    stack, labels, values, times = row
    attributes = [d.attribute(k, v) for k, v in labels]
    out = number(1, d.stack(stack))
    if layout == "1.10":
        out += packed(2, attributes) + packed(4, values)
    else:
        out += packed(2, values) + packed(3, attributes)
    return out + fixed(5, times)


def value_type(d, field, kind, unit):
    return block(field, number(1, d.strings.add(kind)) + number(2, d.strings.add(unit)))


def profile(d, p, layout):
    out = value_type(d, 1, p.kind, p.unit)
    for row in p.rows:
        out += block(2, sample(d, row, layout))
    out += varint(3 << 3 | 1) + struct.pack("<Q", p.time) + number(4, p.duration)
    out += value_type(d, 5, "cpu", "nanoseconds") + number(6, p.period)
    identity = d.rng.randbytes(16)
    return out + block(8 if layout == "1.8" else 7, identity)


def pair(key, value):
    return block(1, key.encode()) + block(2, block(1, value.encode()))


def write_protobuf(rng, resources, layout):
    d, out = Dictionary(rng), b""
    for attributes, scopes in resources:
        body = block(1, b"".join(block(1, pair(k, v)) for k, v in attributes))
        for name, profiles in scopes:
            body += block(2, block(1, block(1, name.encode())) +
                          b"".join(block(2, profile(d, p, layout)) for p in profiles))
        out += block(1, body)
    tables = block(2, d.protobuf())
    # The Collector writes the tables first.
    return tables + out if rng.random() < 0.5 else out + tables


def json_type(d, kind, unit):
    return {"typeStrindex": d.strings.add(kind), "unitStrindex": d.strings.add(unit)}


def json_profile(d, p, layout, texts):
    samples = []
    for stack, labels, values, times in p.rows:
        one = {"stackIndex": d.stack(stack)}
        for key, found in (("attributeIndices", [d.attribute(k, v) for k, v in labels]),
                           ("values", [texts(v) for v in values]),
                           ("timestampsUnixNano", [texts(t) for t in times])):
            if found:
                one[key] = found
        samples.append(one)
    return {"sampleType": json_type(d, p.kind, p.unit), "timeUnixNano": texts(p.time),
            "sample" if layout == "1.8" else "samples": samples, "durationNano": texts(p.duration),
            "periodType": json_type(d, "cpu", "nanoseconds"), "period": texts(p.period)}


def write_json(rng, resources, layout):
    """64-bit numbers as text or as numbers: both are allowed."""
    d = Dictionary(rng)
    texts = str if rng.random() < 0.5 else int
    top = [{"resource": {"attributes": [{"key": k, "value": {"stringValue": v}}
                                        for k, v in attributes]},
            "scopeProfiles": [{"scope": {"name": name},
                               "profiles": [json_profile(d, p, layout, texts) for p in profiles]}
                              for name, profiles in scopes]} for attributes, scopes in resources]
    return json.dumps({"resourceProfiles": top, "dictionary": d.as_json()}).encode()
