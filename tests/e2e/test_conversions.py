#!/usr/bin/env python3
"""Conversions never change a sum: for each type and stack, or the refusal names what cannot be held.

Every file of profiles under tests is written in every format, and what was written in every other one;
all of it is read by readers of their own (support/profile_files.py). So are files that a generator makes of
stacks and values it knows (support/made_files.py). CONVERSIONS=DIRECTORY adds files, MADE=N makes more.
"""
import collections
import concurrent.futures
import glob
import os
import random
import subprocess
import sys
import zlib

from support import made_files, profile_files
from support.profile_files import NAMELESS
from support.tap import ROOT, VESTAL, main, scratch, test

TARGETS = ["pprof", "otlp", "otlp-json", "folded", "speedscope", "pgo"]
# What a refusal has to name.
REFUSALS = ["negative", "64 bits", "lines", "samples or cpu", "CPU profile", "cpu/nanoseconds"]
UNITS = {"microseconds": ("nanoseconds", 1000), "milliseconds": ("nanoseconds", 10**6),
         "seconds": ("nanoseconds", 10**9)}


def convert(path, target, *options):
    """The bytes written, or None, and what was said."""
    done = subprocess.run([VESTAL, "convert", "--sum-gauges", "--no-compress", *options, path, "--to",
                           target, "-o", "-"], capture_output=True, timeout=100, check=False)
    said = done.stderr.decode("utf-8", "replace")
    assert done.returncode >= 0 and "Sanitizer" not in said, f"{path} to {target}: {said}"
    return (done.stdout if done.returncode == 0 else None), said


def plain(name):
    """A name as the format with the fewest signs has it."""
    for end in ("_[k]", "_[j]", "_[i]", "_[0]", "_[1]"):
        name = name.removesuffix(end)
    if name.startswith("#"):
        name = "_" + name[1:]
    return name.replace(";", ":").replace("\n", " ").replace("\r", " ").replace("\0", " ").strip()


def normal(profiles, known=None, scaled=True):
    """{(type, unit): {stack: value}} without what is 0; names that `known` lacks are no names."""
    out = collections.defaultdict(collections.Counter)
    for kind, unit, rows in profiles:
        unit, factor = UNITS.get(unit, (unit, 1)) if scaled else (unit, 1)
        for stack, value in rows.items():
            names = [plain(n) for n in stack]
            if known is not None:
                names = [n if n in known else NAMELESS for n in names]
            out[kind, unit][tuple(names) or (NAMELESS,)] += value * factor
    for rows in out.values():
        for stack in [s for s, v in rows.items() if not v]:
            del rows[stack]
    return {kind: dict(rows) for kind, rows in out.items() if rows}


def known_names(profiles):
    return {plain(n) for _, _, rows in profiles for stack in rows for n in stack}


def without_derived(want, got):
    """CPU time that OTLP derives from counts is no other sum."""
    cpu, counts = ("cpu", "nanoseconds"), got.get(("samples", "count"))
    if cpu in want or cpu not in got or not counts:
        return got
    periods = {value / counts.get(stack, 0.1) for stack, value in got[cpu].items()}
    return {k: r for k, r in got.items() if k != cpu or len(periods) > 1}


def same(want, got, target):
    """Why two are not the same, or None."""
    if target.startswith("otlp"):
        got = without_derived(want, got)
    if target in ("folded", "pgo"):
        # One type, whose name folded does not have.
        if not got:
            return "nothing was written"
        rows = list(got.values())
        if len(rows) == 1 and (rows[0] in want.values() or target == "pgo"):
            return None if target == "folded" else same_pgo(want, rows[0])
        return explain(want, got)
    if target == "speedscope" or want.keys() != got.keys():
        # Names of units are its own.
        left = sorted(sorted(r.items()) for r in want.values())
        right = sorted(sorted(r.items()) for r in got.values())
        return None if left == right else explain(want, got)
    return None if want == got else explain(want, got)


def same_pgo(want, rows):
    total = sum(rows.values())
    return None if any(total == sum(r.values()) for r in want.values()) else f"total {total}: {want}"


def explain(want, got):
    lines = [f"sums {[(k, sum(r.values())) for k, r in want.items()][:4]} became "
             f"{[(k, sum(r.values())) for k, r in got.items()][:4]}"]
    for (kind, rows), other in zip(sorted(want.items()), [r for _, r in sorted(got.items())]):
        for stack in list(rows.keys() | other.keys()):
            if rows.get(stack) != other.get(stack):
                lines.append(f"{kind} {stack[-4:]}: {rows.get(stack)} became {other.get(stack)}")
                break
    return "; ".join(lines)[:600]


def name_free(path):
    return path.replace(ROOT + "/", "")


def write_scratch(data, name):
    path = os.path.join(scratch(), name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def check_target(path, origin, target, reference):
    """Converts a file and compares; (what was written or None, complaint or None)."""
    data, said = convert(path, target)
    if data is None:
        fine = any(word in said for word in REFUSALS)
        return None, None if fine else f"{name_free(origin)} to {target} is refused: {said.strip()}"
    try:
        written = profile_files.read(data, target)
    except (ValueError, KeyError, IndexError, AssertionError) as e:
        return None, f"{name_free(origin)} to {target} cannot be read: {type(e).__name__} {e}"
    # Folded stacks name no unit; times of speedscope are read as nanoseconds.
    known, scaled = known_names(reference), target != "folded" or path.endswith(".speedscope")
    want, got = normal(reference, known, scaled), normal(written, known, scaled)
    # The type that is chosen may have nothing.
    if target == "folded" and not got and len(want) < len({p[:2] for p in reference}):
        return None, None
    why = same(want, got, target)
    return (data, written), f"{name_free(origin)} to {target}: {why}" if why else None


def reference_of(path):
    """What a file holds, by its own reader where there is one, else by what Vestal makes of it."""
    with open(path, "rb") as f:
        data = f.read()
    for form in ("pprof", "otlp-json", "speedscope"):
        show = subprocess.run([VESTAL, "show", "--from", form, path], capture_output=True,
                              timeout=60, check=False)
        if show.returncode == 0 and form_of(path) == form:
            try:
                return profile_files.read(data, form)
            except Exception:  # pylint: disable=broad-except
                break
    written, _ = convert(path, "otlp")
    return profile_files.read(written, "otlp") if written is not None else None


def form_of(path):
    show = subprocess.run([VESTAL, "show", "--json", path], capture_output=True, timeout=60,
                          check=False)
    return "pprof" if b'"pprof"' in show.stdout else ""


def check_file(path, deep, reference=None):
    reference = reference or reference_of(path)
    if reference is None:
        return None, []
    wrong, number = [], abs(hash(path)) % 10**12
    for target in TARGETS:
        result, complaint = check_target(path, path, target, reference)
        wrong += [complaint] if complaint else []
        if not result or not deep or target == "pgo" or complaint:
            continue
        between = write_scratch(result[0], f"{number}.{target}")
        for second in TARGETS:
            _, complaint = check_target(between, f"{path} by {target}", second, result[1])
            wrong += [complaint] if complaint else []
        os.unlink(between)
    return True, wrong


def check_all(paths, deep, least):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda p: check_file(p, deep), paths))
    read = sum(1 for ok, _ in done if ok)
    wrong = [w for _, list_ in done for w in list_]
    print(f"# {read} of {len(paths)} files are profiles")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:20])
    assert read >= least, f"only {read} of {len(paths)} files could be read"


def recorded_bodies():
    """What is compressed in the requests of tests/fixtures/receive."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/fixtures/receive/*.http"))):
        with open(path, "rb") as f:
            data = f.read()
        at = data.find(b"\x1f\x8b\x08")
        while at >= 0:
            try:
                inner = zlib.decompressobj(31).decompress(data[at:])
                yield write_scratch(inner, f"{os.path.basename(path)}-{at}")
            except zlib.error:
                pass
            at = data.find(b"\x1f\x8b\x08", at + 3)


@test
def files_of_the_tests_keep_their_sums():
    paths = []
    for name in ("pprof", "otlp", "otlp_json", "folded", "speedscope", "jfr", "perf_script",
                 "cpuprofile", "heapprofile", "legacy"):
        paths += sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/corpus", name, "*")))
    check_all(paths, False, 30)


@test
def recorded_profiles_keep_their_sums_through_all_pairs_of_formats():
    paths = sorted(glob.glob(os.path.join(ROOT, "tests/fixtures/jfr/*-all.jfr.gz")))
    paths += sorted(glob.glob(os.path.join(ROOT, "tests/fixtures/jfr/jdk-2*.jfr.gz")))
    check_all(paths + list(recorded_bodies()), True, 8)


CASES = {
    "types.folded": "main;a 3\nmain;b 4\n",
    "comment.folded": "x 0\n#main;a 3\nmain;# b 4\n",
    "fractions.folded": "".join(f"main;f{i} 0.4\n" for i in range(1000)),
    "fractions-of-one.folded": "main;f 0.25\n" * 1000,
    "blanks.folded": "main thread;worker 12 3\nmain thread;worker 13 4\nx 3\n",
    "large.folded": f"main;a {2**62}\nmain;b {2**62 - 1}\n",
    "weights.speedscope.json": """{"$schema":"https://www.speedscope.app/file-format-schema.json",
        "shared":{"frames":[{"name":"a"},{"name":"b;c"}]},"profiles":[{"type":"sampled","name":"x",
        "unit":"milliseconds","startValue":0,"endValue":3,"samples":[[0],[0,1],[0]],
        "weights":[0.5,1.25,1.25]}]}""",
    "none.speedscope.json": """{"$schema":"https://www.speedscope.app/file-format-schema.json",
        "shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":[{"type":"sampled","name":"x",
        "unit":"none","startValue":0,"endValue":3,"samples":[[0],[0,1],[0]],
        "weights":[5,12,7]},{"type":"sampled","name":"y",
        "unit":"none","startValue":0,"endValue":3,"samples":[[0],[0,1]],"weights":[1,2]}]}""",
    "clocks.perf": "w 1 1.000000: 50 cpu-clock: \n\t            11ef a (/b)\n\n"
                   "w 1 1.000000: 50 task-clock: \n\t            11ef a (/b)\n\n"
                   "w 1 1.000000: 9 page-faults: \n\t            11ef b;c (/b)\n\n",
}


@test
def made_up_cases_keep_their_sums_through_all_pairs_of_formats():
    paths = [write_scratch(text.encode(), name) for name, text in CASES.items()]
    check_all(paths, True, len(CASES))


@test
def fractions_add_up_to_their_sum():
    for name, total, stacks in (("fractions.folded", 400, 1000), ("fractions-of-one.folded", 250, 1)):
        path = write_scratch(CASES[name].encode(), name)
        data, _ = convert(path, "pprof")
        (_, _, rows), = profile_files.read(data, "pprof")
        assert sum(rows.values()) == total, f"{name}: {sum(rows.values())} of {total}"
        assert max(rows.values()) <= max(1, total // stacks), rows.most_common(2)


def small_pprof(*values):
    """One type, a stack for each value."""
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def number(field_, value):
        value &= (1 << 64) - 1
        out = [field_ << 3]
        while value > 0x7f:
            out.append(value & 0x7f | 0x80)
            value >>= 7
        return bytes(out + [value])

    out = field(1, number(1, 1) + number(2, 2))
    for i, value in enumerate(values, 1):
        out += field(2, number(1, i) + number(2, value))
        out += field(4, number(1, i) + field(4, number(1, i)))
        out += field(5, number(1, i) + number(2, 2 + i))
    for text in ["", "samples", "count"] + ["f%d" % i for i in range(1, len(values) + 1)]:
        out += field(6, text.encode())
    return out


@test
def what_a_format_cannot_hold_is_refused_by_name():
    path = write_scratch(small_pprof(5, -3), "negative.pb")
    for target in ("folded", "speedscope"):
        data, said = convert(path, target)
        assert data is None and "negative" in said, f"{target}: {said}"
    path = write_scratch(small_pprof(2**62, 2**62), "large.pb")
    both = subprocess.run([VESTAL, "convert", path, path, "--to", "folded", "-o", "-"],
                          capture_output=True, check=False)
    assert both.returncode and b"64 bits" in both.stderr, both.stderr + both.stdout
    # A type is chosen, and the others are named.
    path = write_scratch(CASES["clocks.perf"].encode(), "clocks.perf")
    _, said = convert(path, "folded")
    assert "cpu/nanoseconds" in said and "task-clock/nanoseconds" in said, said


@test
def names_that_look_like_something_else_in_folded_text_stay_names():
    path = os.path.join(scratch(), "names.folded")
    for text in ("worker 12 3\n", "a;worker 12 3\nb;worker 13 4\n"):
        source = write_scratch(b"x 0\nx y;z 0\n" + text.encode(), "names.in")
        data, _ = convert(source, "pprof")
        pb = write_scratch(data, "names.pb")
        again, said = convert(pb, "folded")
        with open(path, "wb") as f:
            f.write(again)
        back, _ = convert(path, "pprof")
        want, got = (sorted(r[2].values()) for r in (profile_files.read(data, "pprof")[0],
                                                    profile_files.read(back, "pprof")[0]))
        assert [v for v in want if v] == [v for v in got if v], f"{text!r}: {want} {got} {again} {said}"


@test
def files_that_were_made_keep_their_sums_through_all_pairs_of_formats():
    seed = int(os.environ.get("SEED", "20261119"))
    rng, wrong = random.Random(seed), []
    for number in range(int(os.environ.get("MADE", "25"))):
        name, data, reference = made_files.make(rng)
        path = write_scratch(data, f"made-{seed}-{number}-{name}")
        _, complaints = check_file(path, True, reference)
        wrong += complaints
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:10])


@test
def files_of_others_keep_their_sums():
    """CONVERSIONS=DIRECTORY: all files below it that Vestal can read."""
    folder = os.environ.get("CONVERSIONS")
    paths = []
    for root, _, names in os.walk(folder) if folder else ():
        paths += [os.path.join(root, n) for n in names]
    check_all(sorted(paths), os.environ.get("CONVERSIONS_DEEP") == "1", 0)


main()
