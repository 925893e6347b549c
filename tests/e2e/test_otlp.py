#!/usr/bin/env python3
"""OTLP profiles against independent judges: the official Go module (in the versions that made the
layouts 1.8 to 1.11), the Collector's own codec, protoc, and go tool pprof for what comes back."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess

from support.otlp_judge import build, official, run
from support.tap import ROOT, VESTAL, Skip, go_profiles, main, scratch, test, vestal

DUMP_ROWS = os.environ.get("DUMP_ROWS", os.path.join(os.path.dirname(VESTAL), "tests/dump_rows"))
LAYOUTS = {"1.8": "OTLP 1.8", "1.9": "OTLP 1.9", "1.10": "OTLP 1.10", "1.11": "OTLP 1.10"}
SHAPES = ["times", "values", "both", "types", "plainvalue"]


def made(layout, shape):
    path = os.path.join(scratch(), f"{layout}-{shape}.otlp")
    if not os.path.exists(path):
        run(official(layout), "make", shape, path)
    return path


def key(labels, time, frames):
    # A key that stands several times is an array in OTLP: joined by commas on both sides.
    return json.dumps([sorted(labels), time, frames])


def official_rows(path, layout="1.11"):
    """{type: multiset of rows}"""
    found, rows = {}, None
    for line in run(official(layout), "rows", path).splitlines():
        entry = json.loads(line)
        if isinstance(entry, dict):
            rows = found.setdefault(entry["type"], collections.Counter())
        else:
            value, labels, time, frames = entry
            rows[key(labels.items(), time, frames)] += value
    return found


class Pairs(list):
    """A JSON object whose keys may repeat."""


def our_rows(path):
    if not os.path.exists(DUMP_ROWS):
        raise Skip("tests/dump_rows is not built")
    found, types = {}, []
    for line in run(DUMP_ROWS, path).splitlines():
        entry = json.loads(line, object_pairs_hook=Pairs)
        if isinstance(entry, Pairs):
            types = dict(entry)["types"]
            for name in types:
                found.setdefault(name, collections.Counter())
            continue
        values, pairs, time, frames = entry
        labels = collections.OrderedDict()
        for name, value in pairs:
            labels[name] = f"{labels[name]},{value}" if name in labels else value
        for name, value in zip(types, values):
            found[name][key(labels.items(), time, frames)] += value
    return found


def same_rows(ours, theirs):
    for name, rows in theirs.items():
        assert name in ours, f"{name} is missing, there are {list(ours)}"
        assert ours[name] == rows, \
            f"{name}: only here {list((ours[name] - rows).items())[:3]}, " \
            f"only there {list((rows - ours[name]).items())[:3]}"


@test
def every_layout_of_the_official_encoder_is_recognised_and_read_as_its_decoder_reads_it():
    for layout, variant in LAYOUTS.items():
        for shape in SHAPES:
            path = made(layout, shape)
            same_rows(our_rows(path), official_rows(path, layout))
            out, _ = vestal("show", "--json", path)
            assert variant in out, f"{layout} {shape} is not called {variant}: {out[:300]}"


@test
def references_into_the_string_table_are_read():
    path = made("1.11", "references")
    same_rows(our_rows(path), official_rows(path))
    back = os.path.join(scratch(), "references.otlp")
    vestal("convert", "-f", path, "-o", back)
    data = json.loads(run(official(), "dump", back))
    attributes = {a["key"]: a["value"] for a in
                  data["resourceProfiles"][0]["resource"]["attributes"]}
    assert attributes["thread.name"] == {"stringValue": "work"}, attributes
    values = attributes["args"]["arrayValue"]["values"]
    assert values[0] == {"stringValue": "main"} and values[2] == {"boolValue": True}, values
    assert values[1]["kvlistValue"]["values"][0]["value"] == {"doubleValue": 0.5}, values


def converted():
    """(pprof, otlp) for real Go profiles."""
    for name in ("cpu", "heap", "allocs", "mutex", "block", "goroutine"):
        source = os.path.join(go_profiles(), name + ".pb.gz")
        target = os.path.join(scratch(), name + ".otlp")
        if not os.path.exists(target):
            vestal("convert", source, "-o", target)
        yield source, target


@test
def the_official_decoder_reads_what_is_written():
    for source, target in converted():
        same_rows(our_rows(source), official_rows(target))
        theirs, ours = official_rows(target), our_rows(source)
        assert set(theirs) == set(ours), f"{set(theirs)} and {set(ours)}"


@test
def zero_entries_stand_first_and_nothing_is_written_that_is_not_used():
    for _, target in converted():
        data = json.loads(run(official(), "dump", target))
        d = data["dictionary"]
        assert d["stringTable"][0] == "" and len(set(d["stringTable"])) == len(d["stringTable"])
        for table in ("mappingTable", "locationTable", "functionTable", "linkTable", "stackTable",
                      "attributeTable"):
            assert not any(v not in ("0", "") and v for v in d[table][0].values()), (table, d[table][0])
            assert len({json.dumps(e, sort_keys=True) for e in d[table]}) == len(d[table]), table
        used = {i for s in d["stackTable"] for i in s["locationIndices"]}
        assert used == set(range(1, len(d["locationTable"])))
        used = {l["functionIndex"] for e in d["locationTable"] for l in e["lines"]} - {0}
        assert used == set(range(1, len(d["functionTable"])))


@test
def the_collector_reads_what_is_written_and_writes_what_is_read():
    collector = build("otlpcol", "otlpcol")
    for source, target in converted():
        again = os.path.join(scratch(), "again.otlp")
        samples = int(run(collector, target, again))
        same_rows(our_rows(source), our_rows(again))
        data = json.loads(run(official(), "dump", target))
        assert samples == sum(len(profile["samples"]) for profile in
                              data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"])


@test
def protoc_finds_no_unknown_field():
    if not shutil.which("protoc"):
        raise Skip("no protoc")
    for source, target in list(converted()) + [(None, made("1.11", "both"))]:
        if source is None:
            source, target = target, os.path.join(scratch(), "both-again.otlp")
            vestal("convert", "-f", source, "-o", target)
        with open(target, "rb") as file:
            done = subprocess.run(
                ["protoc", "--decode=profiles.ProfilesData", "-I",
                 os.path.join(ROOT, "tests/peers"), "profiles.proto"],
                stdin=file, capture_output=True, check=False)
        text = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, done.stderr
        assert not re.search(r"^\s*\d+[:{ ]", text, re.M), "an unknown field"
        assert text.count("stack_table {") > 1


def raw(path):
    """go tool pprof -raw in parts. Samples that are equal are added up, because OTLP wants them
    so, and mappings that no location uses are left out, because OTLP has no place for them."""
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    text = run("go", "tool", "pprof", "-symbolize=none", "-raw", path)
    head, rest = text.split("Samples:\n")
    samples, rest = rest.split("Locations\n")
    locations, mappings = rest.split("Mappings\n")
    types, *samples = samples.splitlines()
    sums, last = {}, None
    for line in samples:
        values, _, stack = line.partition(": ")
        if re.fullmatch(r"[\s\d-]+", values):
            last = [stack, "", list(map(int, values.split()))]
            sums.setdefault(id(last), last)
        else:
            last[1] += line
    merged = {}
    for stack, labels, values in sums.values():
        old = merged.get((stack, labels), [0] * len(values))
        merged[stack, labels] = [a + b for a, b in zip(old, values)]
    used = set(re.findall(r"M=(\d+)", locations)) | {"1"}
    mappings = [m for m in mappings.splitlines() if m.split(":")[0] in used]
    return head, types, merged, locations, mappings


@test
def real_pprof_files_survive_the_way_through_otlp():
    for source, target in converted():
        back = os.path.join(scratch(), "back.pb.gz")
        vestal("convert", "-f", target, "-o", back)
        assert raw(source) == raw(back), source


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def message(*fields):
    """Protobuf from (number, value) pairs: int, bytes or text."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def full_pprof():
    """A pprof file that uses every field the format has."""
    strings = ["", "objects", "count", "space", "bytes", "main", "main.main", "main.go", "leaf",
               "/bin/shop", "abc123def4567890", "size", "tag", "a", "b", "malloc", "keep_me",
               "note one", "note two", "https://example.org", "[vdso]"]
    s = {text: i for i, text in enumerate(strings)}
    value_type = lambda t, u: message((1, s[t]), (2, s[u]))
    line = lambda f, n, c: message((1, f), (2, n), (3, c))
    sample = lambda locations, values, *labels: message(
        (1, b"".join(map(varint, locations))), (2, b"".join(map(varint, values))),
        *[(3, label) for label in labels])
    text_label = lambda k, v: message((1, s[k]), (2, s[v]))
    number_label = lambda k, n, u: message((1, s[k]), (3, n), *([(4, s[u])] if u else []))
    return message(
        (1, value_type("objects", "count")), (1, value_type("space", "bytes")),
        (2, sample([1, 2, 3], [1, 4096], text_label("tag", "a"), text_label("tag", "b"),
                   number_label("size", 4096, "bytes"))),
        (2, sample([3], [0, 0])),
        (2, sample([2, 3], [-1, -8], number_label("size", 8, ""))),
        (3, message((1, 1), (2, 0x400000), (3, 0x500000), (4, 0x1000), (5, s["/bin/shop"]),
                    (6, s["abc123def4567890"]), (7, 1), (8, 1), (9, 1), (10, 1))),
        (3, message((1, 2), (2, 0x7000), (3, 0x8000), (5, s["[vdso]"]))),
        (4, message((1, 1), (2, 1), (3, 0x400100), (4, line(2, 33, 4)), (4, line(1, 10, 0)))),
        (4, message((1, 2), (2, 2), (3, 0x7010))),
        (4, message((1, 3), (2, 1), (3, 0x400200), (4, line(1, 12, 0)), (5, 1))),
        (5, message((1, 1), (2, s["main"]), (3, s["main.main"]), (4, s["main.go"]), (5, 9))),
        (5, message((1, 2), (2, s["leaf"]), (4, s["main.go"]))),
        *[(6, text) for text in strings],
        (7, s["malloc"]), (8, s["keep_me"]), (9, 1700000000000000000), (10, 5000000000),
        (11, value_type("space", "bytes")), (12, 524288), (13, s["note one"]),
        (13, s["note two"]), (14, s["objects"]), (15, s["https://example.org"]))


@test
def every_field_of_pprof_survives_the_way_through_otlp():
    source = os.path.join(scratch(), "full.pb")
    with open(source, "wb") as file:
        file.write(full_pprof())
    names = {n: os.path.join(scratch(), n) for n in ("full.otlp", "back.pb", "straight.pb")}
    vestal("convert", "-f", source, "-o", names["full.otlp"])
    vestal("convert", "-f", names["full.otlp"], "-o", names["back.pb"], "--to", "pprof")
    vestal("convert", "-f", source, "-o", names["straight.pb"], "--to", "pprof")
    assert raw(source) == raw(names["back.pb"])
    with open(names["back.pb"], "rb") as back, open(names["straight.pb"], "rb") as straight:
        assert back.read() == straight.read()


@test
def a_file_of_the_collectors_file_exporter_is_read():
    path = os.path.join(scratch(), "exported.otlp")
    parts = [made("1.11", "values"), made("1.9", "values"), made("1.8", "both")]
    with open(path, "wb") as out:
        for part in parts:
            with open(part, "rb") as file:
                data = file.read()
            out.write(struct.pack(">I", len(data)) + data)
    ours = our_rows(path)
    want = collections.Counter()
    for part, layout in zip(parts, ("1.11", "1.9", "1.8")):
        for rows in official_rows(part, layout).values():
            for row, value in rows.items():
                want[row] += value
    assert ours["cpu/nanoseconds"] == want


@test
def profcheck_has_nothing_to_say():
    profcheck = os.environ.get("PROFCHECK") or shutil.which("profcheck")
    if not profcheck:
        raise Skip("no profcheck (github.com/open-telemetry/sig-profiling)")
    for layout in LAYOUTS:
        for shape in SHAPES:
            target = os.path.join(scratch(), "checked.otlp")
            vestal("convert", "-f", made(layout, shape), "-o", target)
            run(profcheck, "-check-dupes", "-check-orphans", target)
    for _, target in converted():
        run(profcheck, "-check-dupes", "-check-orphans", target)


main()
