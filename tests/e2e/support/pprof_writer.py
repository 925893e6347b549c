"""A small writer of pprof: stacks (outermost first) with values in, bytes out."""


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


class Table:
    """Texts or other keys with the number of each."""

    def __init__(self, first=0):
        self.ids, self.first = {}, first

    def id(self, key):
        return self.ids.setdefault(key, len(self.ids) + self.first)


def write_pprof(stacks, types, time_ns, duration_ns, period=("cpu", "nanoseconds", 10_000_000)):
    """`stacks`: {("main", "work"): (value per type, …)}; `types`: [("cpu", "nanoseconds"), …]."""
    texts, functions = Table(), Table(1)
    texts.id("")
    out = b"".join(block(1, number(1, texts.id(name)) + number(2, texts.id(unit))) for name, unit in types)
    for stack, values in stacks.items():
        places = b"".join(varint(functions.id(name)) for name in reversed(stack))
        out += block(2, block(1, places) + block(2, b"".join(varint(v) for v in values)))
    for name, n in functions.ids.items():
        out += block(4, number(1, n) + block(4, number(1, n) + number(2, 1)))
        out += block(5, number(1, n) + number(2, texts.id(name)) + number(3, texts.id(name)))
    out += number(9, time_ns) + number(10, duration_ns)
    out += block(11, number(1, texts.id(period[0])) + number(2, texts.id(period[1]))) + number(12, period[2])
    return out + b"".join(block(6, text.encode()) for text in texts.ids)


def write_rows(rows, kind, time_ns, duration_ns, period, divisor=1, counts=False):
    """A profile of one type whose rows have labels: each row has a stack (outermost first), a value and labels.
    `counts`: and how many samples it stands for."""
    texts, functions = Table(), Table(1)
    texts.id("")
    out = b"".join(block(1, number(1, texts.id(name)) + number(2, texts.id(unit))) for name, unit in ([("samples", "count")] if counts else []) + [kind])
    for row in rows:
        places = b"".join(varint(functions.id(name)) for name in reversed(row.stack))
        labels = b"".join(block(3, number(1, texts.id(k)) + number(2, texts.id(v))) for k, v in row.labels.items())
        values = ([max(1, row.value // period[2])] if counts else []) + [row.value // divisor]
        out += block(2, block(1, places) + block(2, b"".join(varint(v) for v in values)) + labels)
    for name, n in functions.ids.items():
        out += block(4, number(1, n) + block(4, number(1, n) + number(2, 1)))
        out += block(5, number(1, n) + number(2, texts.id(name)) + number(3, texts.id(name)))
    out += number(9, time_ns) + number(10, duration_ns)
    out += block(11, number(1, texts.id(period[0])) + number(2, texts.id(period[1]))) + number(12, period[2])
    return out + b"".join(block(6, text.encode()) for text in texts.ids)
