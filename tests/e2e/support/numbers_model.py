"""docs/numbers.md as a simple, slow reference implementation: it takes profiles and returns the
numbers of any selection. It shares no code with the product.

`Data.answer` returns what every page, call and command must show for a selection. Where the
document leaves rounding open (which row gets which unit when a profile is cut), `loose` is the
allowed difference per row.
"""
from fractions import Fraction

from support.numbers import S, cut, share_of, union

# A value from before the range is looked for this far back, and holds for so many usual distances.
LOOKBACK, CARRIED = 3600 * S, 4
# A gauge that was seen once.
ONCE = 60 * S
# Profiles are kept by the day (UTC) they start in.
DAY = 86400 * S


class Row:
    def __init__(self, stack, value, labels=(), time=0):
        self.stack, self.value, self.labels, self.time = stack, value, dict(labels), time


class Profile:
    """Of a series, as it is stored: values in nanoseconds and bytes."""

    def __init__(self, start, length, rows):
        self.start, self.length, self.rows = start, length, rows

    @property
    def end(self):
        return self.start + self.length

    def touches(self, a, b):
        return self.start < b and (self.start >= a or self.end > a)


class Series:
    def __init__(self, service, labels, kind, gauge):
        self.service, self.kind, self.gauge = service, kind, gauge
        self.labels = dict(labels, service_name=service)
        self.profiles = []


def rounded(x):
    """Whole units, halves away from zero."""
    return None if x is None else int(x + Fraction(1, 2)) if x >= 0 else -int(-x + Fraction(1, 2))


def usual_gap(profiles):
    starts = sorted(p.start for p in profiles)
    gaps = sorted(b - a for a, b in zip(starts, starts[1:]))
    return gaps[(len(gaps) - 1) // 2] if gaps else 0


def presence(profiles, gauge, a, b):
    """When a series was there, as intervals inside of [a, b)."""
    usual = usual_gap(profiles) or (ONCE if gauge else 0)
    ordered = sorted(profiles, key=lambda p: (p.start, p.end))
    before = [p.start for p in ordered if p.start < a]
    spans, reach = [], 0
    if not ordered:
        return []
    if usual and a < ordered[0].start <= a + usual:
        spans.append((a, ordered[0].start))
    for i, p in enumerate(ordered):
        reach = max(reach, p.end)
        until = p.start + usual
        if gauge and before and p.start == before[-1]:
            until = min(p.start + CARRIED * usual, b)
        until = max(until, reach)
        if i + 1 < len(ordered):
            following = ordered[i + 1].start
            if following - p.start <= 2 * usual or until > following:
                until = following
        spans.append((p.start, until))
    return cut(spans, a, b)


class Selected:
    """What of a series is selected: its profiles that count, and which of their rows."""

    def __init__(self, series, matchers, a, b):
        self.series = series
        since = a - LOOKBACK if series.gauge else a
        self.profiles = [p for p in series.profiles if (since <= p.start < b if series.gauge else p.touches(a, b))]
        # A label of the series wins over one of a row.
        self.open = [m for m in matchers if m[0] not in series.labels]

    def takes(self, row):
        return all(row.labels.get(name, "") == value for name, value in self.open)

    def rows(self, profile):
        return [r for r in profile.rows if self.takes(r)]


class Answer:
    """The numbers of one selection. `loose`: how many units parts of cut profiles may be off by."""

    def __init__(self):
        self.total = self.covered = self.rate = self.average = self.coverage = None
        self.self, self.cum, self.loose, self.row_loose = {}, {}, 0, 0


def spread(rows):
    return [r for r in rows if not r.time]


def part_of(profile, rows, a, b):
    """What of a profile's rows lies in [a, b): (sum, units it may be off by, [(row, part)])."""
    if profile.length == 0:
        inside = a <= profile.start < b
        return sum(r.value for r in rows) * inside, 0, [(r, r.value * inside) for r in rows]
    whole, some = spread(profile.rows), spread(rows)
    is_cut = profile.start < a or profile.end > b
    parts = [(r, r.value if a <= min(max(r.time, profile.start), profile.end - 1) < b else 0) for r in rows if r.time]
    total = sum(v for _, v in parts)
    if len(whole) == len(some):
        total += share_of(sum(r.value for r in whole), profile.start, profile.length, a, b)
        off = 0
    else:
        total += sum(share_of(r.value, profile.start, profile.length, a, b) for r in some)
        off = 2 * len(some) if is_cut else 0
    parts += [(r, share_of(r.value, profile.start, profile.length, a, b)) for r in some]
    return total, off, parts


def day_of(profile):
    return profile.start // DAY


class Data:
    """Everything that is stored."""

    def __init__(self):
        self.series = []

    def select(self, kind, matchers, a, b):
        """Matchers are [(name, value)], all of which must be equal."""
        found = []
        for series in self.series:
            if series.kind != kind or any(series.labels.get(n, v) != v for n, v in matchers):
                continue
            selected = Selected(series, matchers, a, b)
            selected.profiles = [p for p in selected.profiles if self.has_labels(series.service, day_of(p), selected.open)]
            found.append(selected)
        return found

    def has_labels(self, service, day, matchers):
        """Whether a service's rows of a day have labels of these names: then it is known that none has the value."""
        rows = [r for s in self.series if s.service == service for p in s.profiles if day_of(p) == day for r in p.rows]
        return all(not value or any(name in r.labels for r in rows) for name, value in matchers)

    def answer(self, kind, matchers, a, b):
        selected = self.select(kind, matchers, a, b)
        gauge = any(s.series.gauge for s in selected)
        answer = Answer()
        spans = [presence(s.profiles, gauge, a, b) for s in selected]
        self.cover(answer, selected, spans, gauge, a, b)
        if gauge:
            self.hold(answer, selected, spans)
        else:
            self.add(answer, selected, a, b)
        if answer.total == 0 and not answer.covered:
            answer.total = None
        if answer.total is not None:
            seconds = Fraction(answer.covered, S)
            answer.rate = answer.total if gauge else Fraction(answer.total) / seconds if answer.covered else None
            answer.average = answer.total if gauge else Fraction(answer.total * S, b - a)
        answer.coverage = Fraction(answer.covered, b - a)
        return answer

    @staticmethod
    def cover(answer, selected, spans, gauge, a, b):
        covered = [union(span) if gauge else union(cut([(p.start, p.end) for p in s.profiles], a, b)) for s, span in zip(selected, spans)]
        present = sum(union(span) for span in spans)
        anywhere = union([x for span in spans for x in span])
        answer.covered = (2 * anywhere * sum(covered) + present) // (2 * present) if present else 0

    @staticmethod
    def add(answer, selected, a, b):
        answer.total = 0
        for s in selected:
            for p in s.profiles:
                total, off, parts = part_of(p, s.rows(p), a, b)
                answer.total += total
                answer.loose += off
                if p.start < a or p.end > b:
                    answer.row_loose += 2 * len(parts)
                for row, part in parts:
                    answer.self[row.stack[-1]] = answer.self.get(row.stack[-1], 0) + part
                    for name in set(row.stack):
                        answer.cum[name] = answer.cum.get(name, 0) + part

    @staticmethod
    def hold(answer, selected, spans):
        """Each profile's value until the next of its series, as long as the series is there."""
        time = answer.covered
        held, own, cum = 0, {}, {}
        for s, span in zip(selected, spans):
            starts = sorted({p.start for p in s.profiles})
            for i, start in enumerate(starts):
                until = starts[i + 1] if i + 1 < len(starts) else 1 << 62
                length = union(cut(span, start if i else -(1 << 62), until))
                same = [p for p in s.profiles if p.start == start]
                for p in same:
                    for row in s.rows(p):
                        part = Fraction(row.value * length, len(same))
                        held += part
                        own[row.stack[-1]] = own.get(row.stack[-1], 0) + part
                        for name in set(row.stack):
                            cum[name] = cum.get(name, 0) + part
        if not time:
            return
        answer.total = rounded(Fraction(held) / time)
        answer.self = {n: rounded(Fraction(v) / time) for n, v in own.items()}
        answer.cum = {n: rounded(Fraction(v) / time) for n, v in cum.items()}
        # Rows are rounded so that they add up.
        answer.row_loose = len(own) + len(cum) + sum(len(p.rows) for s in selected for p in s.profiles[:1]) + 8

    def points(self, kind, matchers, a, b, step):
        """Sums per step of [a, b), steps aligned to their width; and by how much each may be off."""
        selected = self.select(kind, matchers, a, b)
        first = a - a % step
        out = []
        for x in range(first, b, step):
            lo, hi = max(a, x), min(b, x + step)
            total = off = 0
            for s in selected:
                for p in s.profiles:
                    part, loose, _ = part_of(p, s.rows(p), lo, hi)
                    total += part
                    off += loose
            out.append((total, off))
        return out
