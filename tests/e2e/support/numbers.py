"""The definitions of docs/numbers.md once more, slow and plain, to compare the product's answers with."""
import math
import statistics

S = 10**9


def share_of(total, start, length, a, b):
    """The part of an interval's total that belongs to [a, b); times in ns."""
    if length == 0:
        return total if a <= start < b else 0
    a, b = max(a, start), min(b, start + length)
    if a >= b:
        return 0

    def before(t):
        return (2 * total * (t - start) + length) // (2 * length)

    return before(b) - before(a)


def union(spans):
    length, end = 0, -math.inf
    for a, b in sorted(spans):
        length += max(0, b - max(a, end))
        end = max(end, b)
    return length


def cut(spans, a, b):
    return [(max(x, a), min(y, b)) for x, y in spans if x < b and y > a]


def usual_gap(starts):
    gaps = [b - a for a, b in zip(starts, starts[1:])]
    return statistics.median_low(gaps) if gaps else 0


def presence(profiles):
    """From one profile of a series to the next, where that is at most twice as far as usual."""
    starts = sorted(p.start for p in profiles)
    gap = usual_gap(starts)
    spans = []
    for p in sorted(profiles, key=lambda p: p.start):
        following = [s for s in starts if s > p.start]
        if following and following[0] - p.start <= 2 * gap:
            spans.append((p.start, following[0]))
        else:
            spans.append((p.start, p.start + max(p.length, gap)))
    return spans


def covered_time(series, a, b):
    """P * (sum of covered) / (sum of present), for lists of the profiles of each series."""
    covered = present = 0
    everywhere = []
    for profiles in series:
        mine = cut([(p.start, p.start + p.length) for p in profiles], a, b)
        there = cut(presence(profiles), a, b)
        covered += union(mine)
        present += union(there)
        everywhere += there
    return round(union(everywhere) * covered / present) if present else 0


# ---------------------------------------------------------------- as text

def fixed(value, digits, trim=True):
    text = f"{math.floor(abs(value) * 10**digits + 0.5) / 10**digits:.{digits}f}"
    if trim and "." in text:
        text = text.rstrip("0").rstrip(".")
    return ("-" if value < 0 else "") + text


def figure(value):
    size = abs(value)
    if size >= 999.5:
        return f"{math.floor(value + 0.5):,}"
    return fixed(value, 0 if size >= 99.95 or size == 0 else 1 if size >= 9.995 else 2)


def scaled(value, steps):
    if value == 0:
        return "0"
    for size, unit in steps:
        if abs(value) >= size * 0.9995:
            break
    return f"{figure(value / size)} {unit}"


def amount_text(value, unit):
    if unit == "bytes":
        return scaled(value, [(2.0**(10 * i), u) for i, u in ((5, "PiB"), (4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB"), (0, "B"))])
    if abs(value) >= 120e9:
        return scaled(value, [(86400e9, "d"), (3600e9, "h"), (60e9, "min")])
    return scaled(value, [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")])


def rate_text(rate, unit, gauge=False):
    """Of CPU time and of bytes."""
    if rate is None:
        return "–"
    if gauge:
        return amount_text(rate, unit)
    if unit == "bytes":
        slow = 0 < rate < 2**20
        return amount_text(rate * 60 if slow else rate, unit) + ("/min" if slow else "/s")
    cores = rate / 1e9
    if 0 < cores < 0.01:
        return amount_text(rate, unit) + "/s"
    text = fixed(cores, 3) if 0 < cores < 0.0995 else figure(cores)
    return f"{text} {'core' if text == '1' else 'cores'}"


def share_text(share):
    if share is None:
        return ""
    percent = abs(share) * 100
    if percent < 0.05:
        return "0 %"
    return ("+" if share > 0 else "−") + (f"{math.floor(percent + 0.5):,}" if percent >= 9.95 else fixed(percent, 1, False)) + " %"
