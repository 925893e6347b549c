#!/usr/bin/env python3
"""The same files through vestal and through go tool pprof: every number must agree."""
import collections
import json
import os
import re
import subprocess

from support.tap import Skip, go_profiles, main, scratch, test, vestal

TYPES = {
    "cpu": ["samples", "cpu"],
    "heap": ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"],
    "allocs": ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"],
    "mutex": ["contentions", "delay"],
    "block": ["contentions", "delay"],
    "goroutine": ["goroutine"],
}
UNITS = {"cpu": "ns", "delay": "ns", "alloc_space": "B", "inuse_space": "B"}


def pprof(*args):
    # No symbolisation: what is in the file is what is compared.
    done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", *args], cwd=scratch(),
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise AssertionError(f"go tool pprof {' '.join(args)}: {done.stderr}")
    return done.stdout


ROW = re.compile(r"^\s*(-?[\d.]+)(?:ns|B)?\s+[\d.e+-]+%\s+[\d.e+-]+%\s+(-?[\d.]+)(?:ns|B)?\s+[\d.e+-]+%  (.*)$")


def pprof_top(files, sample_type, flags=(), order=False):
    """{name: (flat, cum)} in pprof's order, and the total."""
    out = pprof("-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0",
                f"-sample_index={sample_type}", f"-unit={UNITS.get(sample_type, 'count')}", *flags,
                *files)
    rows, total = [], None
    for line in out.splitlines():
        match = ROW.match(line)
        if match:
            name = re.sub(r" \((partial-)?inline\)$", "", match[3])
            rows.append((name, int(float(match[1])), int(float(match[2]))))
        found = re.search(r"of (-?[\d.]+)(?:ns|B)? total", line)
        if found:
            total = int(float(found[1]))
    return rows, total


def vestal_top(files, sample_type, flags=(), lines=False):
    out, _ = vestal("top", "-n", "0", "--json", "--type", sample_type, *flags, *files)
    data = json.loads(out)
    rows = []
    for row in data["rows"]:
        name = row["name"]
        if lines and row["file"]:
            name += " " + row["file"] + (f":{row['line']}" if row["line"] else "")
        rows.append((name, row["flat"], row["cum"]))
    return rows, data["total"]


def same(files, sample_type, ours=(), theirs=(), lines=False):
    got, got_total = vestal_top(files, sample_type, ours, lines)
    want, want_total = pprof_top(files, sample_type, theirs)
    assert sorted(got) == sorted(want), \
        f"{sample_type} {ours}: only vestal {sorted(set(got) - set(want))[:5]}, " \
        f"only pprof {sorted(set(want) - set(got))[:5]}"
    assert got_total == want_total, f"total {got_total}, pprof says {want_total}"
    return got, want


def path(name):
    return os.path.join(go_profiles(), name + ".pb.gz")


@test
def every_type_of_every_profile_has_the_flat_and_cum_of_pprof():
    for name, types in TYPES.items():
        for sample_type in types:
            same([path(name)], sample_type)


@test
def lines_of_source_have_the_values_of_pprof():
    for name, types in TYPES.items():
        for sample_type in types:
            same([path(name)], sample_type, ["--lines"], ["-lines"], lines=True)


@test
def rows_come_in_the_order_of_pprof():
    for name in ("cpu", "heap", "block"):
        for ours, theirs in (((), ()), (("--cum",), ("-cum",))):
            got, want = same([path(name)], TYPES[name][-1], ours, theirs)
            assert got == want, f"{name} {ours}: the order differs"


FILTERS = [
    (["--focus", "fib|even"], ["-focus=fib|even"]),
    (["--ignore", "fib"], ["-ignore=fib"]),
    (["--hide", r"runtime\."], [r"-hide=runtime\."]),
    (["--show", r"main\."], [r"-show=main\."]),
    (["--show-from", r"main\.(work|keepMemory)"], [r"-show_from=main\.(work|keepMemory)"]),
    (["--show-from", r"\.odd$"], [r"-show_from=\.odd$"]),
    (["--hide", r"main\.mix"], [r"-hide=main\.mix"]),
    (["--focus", "main.go"], ["-focus=main.go"]),
    (["--focus", "hashLoop", "--ignore", "odd", "--hide", "mixTwice"],
     ["-focus=hashLoop", "-ignore=odd", "-hide=mixTwice"]),
]


@test
def every_filter_keeps_what_pprof_keeps():
    for ours, theirs in FILTERS:
        same([path("cpu")], "cpu", ours, theirs)
    for name in ("heap", "mutex"):
        for ours, theirs in FILTERS[2:7]:
            same([path(name)], TYPES[name][-1], ours, theirs)


@test
def labels_select_what_pprof_selects():
    for ours, theirs in (
            (["--tag", "endpoint=/checkout"], ["-tagfocus=endpoint=/checkout"]),
            (["--tag", "endpoint=~s.arch"], ["-tagfocus=endpoint=s.arch"]),
            (["--tag", "endpoint!=/checkout"], ["-tagignore=endpoint=/checkout"]),
            (["--tag", "endpoint!~s.arch"], ["-tagignore=endpoint=s.arch"]),
            (["--tag", "endpoint=~/", "--tag", "password!=hunter2"],
             ["-tagfocus=endpoint=/", "-tagignore=password=hunter2"]),
    ):
        same([path("cpu")], "cpu", ours, theirs)
    for size in ("4kb:", ":1kb", "512b:4kb"):
        same([path("heap")], "alloc_space", ["--tag", f"bytes={size}"], [f"-tagfocus=bytes={size}"])


@test
def merged_files_add_up_as_in_pprof():
    same([path("cpu"), path("cpu2")], "cpu")
    same([path("cpu"), path("cpu2")], "samples")
    same([path("heap"), path("heap")], "inuse_space", ["--sum-gauges"])
    same([path("mutex"), path("block")], "delay")


@test
def gauges_of_merged_files_are_averaged_unless_asked():
    one, _ = vestal_top([path("heap")], "inuse_space")
    two, _ = vestal_top([path("heap"), path("heap")], "inuse_space")
    assert sorted(one) == sorted(two), "the mean of a heap and itself is that heap"


@test
def a_difference_without_scaling_is_that_of_pprof_base():
    out, _ = vestal("diff", "--json", "--no-normalise", "-n", "0", path("cpu"), path("cpu2"))
    ours = {r["name"]: (r["flat"]["change"], r["cum"]["change"]) for r in json.loads(out)["rows"]}
    want, _ = pprof_top([path("cpu2")], "cpu", [f"-base={path('cpu')}"])
    for name, flat, cum in want:
        assert ours[name] == (flat, cum), f"{name}: {ours[name]}, pprof says {(flat, cum)}"


@test
def the_text_table_is_line_for_line_that_of_pprof():
    for name in ("cpu", "heap", "mutex", "goroutine"):
        ours, _ = vestal("top", "-n", "0", path(name))
        theirs = pprof("-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", path(name))
        # The time is RFC 3339 here, and there is a rate; columns grow with what is in them.
        got = [line.split() for line in ours.splitlines() if not line.startswith(("Time:", "Rate:"))]
        want = [line.split() for line in theirs.splitlines() if not line.startswith("Time:")]
        assert got == want, f"{name}: " + next(f"{a!r} {b!r}" for a, b in zip(got, want) if a != b)


def raw_samples(file):
    """Samples of pprof -raw with locations and mappings spelt out, as a multiset."""
    out = pprof("-raw", file)
    head, rest = out.split("\nSamples:\n", 1)
    samples_text, rest = rest.split("\nLocations\n", 1)
    locations_text, mappings_text = rest.split("\nMappings\n", 1)
    mappings = {}
    for line in mappings_text.splitlines():
        number, text = line.split(":", 1)
        mappings[f"M={number.strip()}"] = text.strip()
    locations, current = {}, None
    for line in locations_text.splitlines():
        match = re.match(r"^\s*(\d+): (0x[0-9a-f]+) (M=\d+)?\s*(.*)$", line)
        if match:
            current = match[1]
            locations[current] = [match[2], mappings.get(match[3]), match[4].strip()]
        else:
            locations[current].append(line.strip())
    samples = collections.Counter()
    lines = samples_text.splitlines()
    types = lines[0].replace("[dflt]", "").split()
    row = None
    rows = []
    for line in lines[1:]:
        match = re.match(r"^\s*([-\d ]+): ([\d ]*)$", line)
        if match and ":[" not in line:
            row = [tuple(map(int, match[1].split())),
                   tuple(str(locations[n]) for n in match[2].split()), []]
            rows.append(row)
        else:
            row[2] += line.split()
    for values, stack, labels in rows:
        samples[(values, stack, tuple(sorted(labels)))] += 1
    period = [line for line in head.splitlines() if line.startswith(("Period", "Duration", "Comment"))]
    return types, samples, period


def aggregate(samples):
    """Rows of equal stack and labels added up: writers may do that."""
    total = collections.defaultdict(lambda: None)
    for (values, stack, labels), count in samples.items():
        values = tuple(v * count for v in values)
        old = total[(stack, labels)]
        total[(stack, labels)] = values if old is None else tuple(a + b for a, b in zip(old, values))
    return dict(total)


def round_trip(*suffixes):
    for name in TYPES:
        current = path(name)
        for suffix in suffixes:
            target = os.path.join(scratch(), f"{name}-trip.{suffix}")
            _, err = vestal("convert", "-f", current, "-o", target, status=None)
            if "not written" in err:
                raise Skip(f".{suffix} is not written by this build")
            assert os.path.exists(target), err
            current = target
        want_types, want, want_head = raw_samples(path(name))
        got_types, got, got_head = raw_samples(current)
        assert got_types == want_types, f"{name}: {got_types} instead of {want_types}"
        assert got_head == want_head, f"{name}: {got_head} instead of {want_head}"
        got, want = aggregate(got), aggregate(want)
        assert got == want, f"{name}: only in ours {list(got.items() - want.items())[:2]}, " \
                            f"only in pprof's {list(want.items() - got.items())[:2]}"


@test
def pprof_to_pprof_keeps_every_sample_location_mapping_and_label():
    round_trip("pb.gz")


@test
def pprof_uncompressed_and_zstd_keep_everything_too():
    round_trip("pb", "pb.zst", "pb.gz")


@test
def pprof_through_otlp_keeps_every_sample():
    round_trip("otlp", "pb.gz")


@test
def pprof_through_otlp_json_keeps_every_sample():
    round_trip("otlp.json", "pb.gz")


@test
def folded_text_has_the_total_of_pprof():
    out, _ = vestal("convert", path("cpu"), "-o", "-", "--to", "folded")
    total = sum(int(line.rsplit(" ", 1)[1]) for line in out.splitlines())
    assert total == pprof_top([path("cpu")], "cpu")[1]


@test
def go_build_accepts_the_pgo_profile():
    target = os.path.join(scratch(), "default.pgo")
    _, err = vestal("convert", "-f", path("cpu"), "-o", target, status=None)
    if "not written" in err:
        raise Skip("pgo is not written by this build")
    source = os.path.join(os.path.dirname(__file__), "../peers/goprof")
    done = subprocess.run(["go", "build", f"-pgo={target}", "-o", os.path.join(scratch(), "pgo"), "."],
                          cwd=source, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


main()
