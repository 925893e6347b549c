#!/usr/bin/env python3
"""One CPU profile, exported by OTLP in many equivalent ways: counts, CPU time or both; rows in any
order, a stack in several rows, with or without times; in one or several profiles, scopes, resources
and requests, whose durations differ by 1 ns; in three versions, as protobuf and JSON, by HTTP and
gRPC, compressed or not. All must be stored identically, stack by stack.

EXPORTS=3000 SEED=7 tests/e2e/test_equal_exports.py
"""
import collections
import gzip
import json
import os
import random
import struct
import subprocess
import time

from support import otlp_writer, profile_files
from support.otlp_writer import Profile
from support.server import Server
from support.tap import VESTAL, main, scratch, test, vestal

SEED = int(os.environ.get("SEED", "20261119"))
EXPORTS = int(os.environ.get("EXPORTS", "100"))
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
CALL = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
SENT = ("counts", "cpu", "both")
# A minute ago, and not across midnight: the store decides by days.
NOW = (time.time_ns() // 10**9 - 120) * 10**9
WINDOW = 10_000_000_000


def make_truth(rng):
    """A period, and counts by (stack, labels)."""
    names = ["f%d" % i for i in range(12)]
    counts = collections.Counter()
    for _ in range(rng.randrange(1, 9)):
        stack = tuple(rng.choices(names, k=rng.randrange(1, 6)))
        labels = tuple(sorted((k, rng.choice("abc")) for k in ("thread.name", "zone")
                              if rng.random() < 0.3))
        counts[stack, labels] += rng.randrange(1, 12)
    return rng.choice([10_000_000, 10_101_010, 52_631_578]), counts


def parts_of(rng, n):
    """A number as the sum of one to three others."""
    parts = []
    while n > 1 and len(parts) < 2 and rng.random() < 0.3:
        parts.append(rng.randrange(1, n))
        n -= parts[-1]
    return parts + [n]


def make_row(rng, stack, labels, count, factor, shape):
    times = sorted(NOW + rng.randrange(WINDOW) for _ in range(count))
    labels = rng.sample(labels, len(labels))
    if shape == "times" and factor == 1:
        return stack, labels, [], times
    if shape == "values and times":
        return stack, labels, [factor] * count, times
    return stack, labels, [count * factor], []


def unit_of(rng, kind, period):
    """Its name, and what a count is in it."""
    if kind == "samples":
        return "count", 1
    units = [("nanoseconds", period)]
    if period % 1000 == 0:
        units += [("us", period // 1000), ("ns", period)]
    return rng.choice(units)


def make_profiles(rng, counts, kind, period):
    """The rows of one type in one to three Profiles."""
    unit, factor = unit_of(rng, kind, period)
    shape = rng.choice(["values", "values", "times", "values and times"])
    rows = [make_row(rng, stack, labels, part, factor, shape)
            for (stack, labels), n in counts.items() for part in parts_of(rng, n)]
    rng.shuffle(rows)
    groups = [[] for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    for row in rows:
        rng.choice(groups).append(row)
    return [Profile(kind, unit, group, NOW, WINDOW + rng.choice([0, 0, -1, 1]), period)
            for group in groups if group]


def make_requests(rng, service, profiles):
    """Spreads Profiles over requests, resources and scopes."""
    rng.shuffle(profiles)
    requests = [[] for _ in range(rng.randrange(1, 4))]
    for request in requests:
        for _ in range(rng.randrange(1, 3)):
            attributes = [("service.name", service), ("host.name", "h1")]
            rng.shuffle(attributes)
            request.append((attributes, [("scope%d" % rng.randrange(3), [])
                                         for _ in range(rng.randrange(1, 3))]))
    for p in profiles:
        _, scopes = rng.choice(rng.choice(requests))
        rng.choice(scopes)[1].append(p)
    return requests


def make_export(rng, service):
    period, counts = make_truth(rng)
    sent = rng.choice(SENT)
    profiles = [p for kind in ("samples", "cpu") if sent in ("both", "counts" if kind == "samples" else "cpu")
                for p in make_profiles(rng, counts, kind, period)]
    bodies = []
    for request in make_requests(rng, service, profiles):
        form = rng.choice(["protobuf", "protobuf", "json"])
        layout = rng.choice(otlp_writer.LAYOUTS)
        write = otlp_writer.write_json if form == "json" else otlp_writer.write_protobuf
        bodies.append((form, layout, write(rng, request, layout)))
    return period, counts, sent, bodies


def compressed(body, how):
    if how == "gzip":
        return gzip.compress(body, 1)
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=body, capture_output=True,
                              check=True).stdout
    return body


def post_http(server, form, body, how, own_port):
    headers = {"Content-Type": "application/json" if form == "json" else "application/x-protobuf"}
    if how != "identity":
        headers["Content-Encoding"] = how
    address = server.otlp_http if own_port else server.address
    command = ["curl", "-sS", "-w", "%{http_code}", "-o", "-", "--data-binary", "@-",
               f"http://{address}/v1development/profiles"]
    for key, value in headers.items():
        command += ["-H", f"{key}: {value}"]
    done = subprocess.run(command, input=compressed(body, how), capture_output=True, timeout=60,
                          check=False)
    assert done.stdout.endswith(b"200"), f"{form} {how}: {done.stdout} {done.stderr}"


def post_grpc(server, body, how):
    data = compressed(body, how)
    framed = struct.pack(">BI", how != "identity", len(data)) + data
    command = ["curl", "-sS", "--http2-prior-knowledge", "-D", "-", "-o", "/dev/null",
               "-H", "Content-Type: application/grpc", "-H", "TE: trailers", "--data-binary", "@-",
               f"http://{server.otlp_grpc}{CALL}"]
    if how != "identity":
        command += ["-H", f"grpc-encoding: {how}"]
    done = subprocess.run(command, input=framed, capture_output=True, timeout=60, check=False)
    assert b"grpc-status: 0" in done.stdout, f"grpc {how}: {done.stdout} {done.stderr}"


def send(server, rng, form, body):
    how = rng.choice(["identity", "gzip", "zstd"])
    if form == "protobuf" and rng.random() < 0.5:
        post_grpc(server, body, how)
        return "grpc " + how
    post_http(server, form, body, how, rng.random() < 0.5)
    return f"http {form} {how}"


def total_of(server, service, kind):
    start = NOW // 10**6 - 3600_000
    return server.get("/api/v1/top", query='{service_name="%s"}' % service, type=kind,
                      until=start + 7200_000, **{"from": start})


def expected_top(counts, factor):
    """{function: (self, total)}"""
    flat, cum = collections.Counter(), collections.Counter()
    for (stack, _), n in counts.items():
        flat[stack[0]] += n * factor
        for name in set(stack):
            cum[name] += n * factor
    return {name: (flat[name], cum[name]) for name in cum}


def check_stored(server, service, kind, counts, factor, title):
    top = total_of(server, service, kind)
    want = sum(counts.values()) * factor
    assert top["total"] == want, f"{title}: {top['total']} of {kind} is stored, sent was {want}"
    found = {f["name"]: (f["flat"], f["cum"]) for f in top["rows"]}
    assert found == expected_top(counts, factor), f"{title}: {found}"


@test
def equivalent_uploads_are_stored_identically():
    rng = random.Random(SEED)
    with Server() as server:
        for number in range(EXPORTS):
            service = "shop%d" % number
            period, counts, sent, bodies = make_export(rng, service)
            ways = [f"{layout} {send(server, rng, form, body)}" for form, layout, body in bodies]
            title = f"SEED={SEED} export {number}, {sent}, by {ways}"
            check_stored(server, service, CPU, counts, period, title)
            if sent != "cpu":
                check_stored(server, service, SAMPLES, counts, 1, title)


def convert(paths, target, *options):
    done = subprocess.run([VESTAL, "convert", *options, *paths, "--to", target, "--no-compress", "-o", "-"],
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, f"{paths} to {target}: {done.stderr.decode()}"
    return done.stdout


def stacks_of(counts, factor):
    out = collections.Counter()
    for (stack, _), n in counts.items():
        out[tuple(reversed(stack))] += n * factor
    return out


def by_type(profiles):
    """{type: {stack: value}}, times in nanoseconds."""
    out = collections.defaultdict(collections.Counter)
    for kind, unit, rows in profiles:
        for stack, value in rows.items():
            out[kind][stack] += value * (1000 if unit == "us" else 1)
    return {kind: +rows for kind, rows in out.items()}


@test
def equivalent_inputs_become_the_same_file():
    rng = random.Random(SEED + 1)
    for number in range(EXPORTS // 3):
        period, counts, sent, bodies = make_export(rng, "shop")
        paths = []
        for part, (form, _, body) in enumerate(bodies):
            paths.append(os.path.join(scratch(), "part%d.%s" % (part, form)))
            with open(paths[-1], "wb") as file:
                file.write(body)
        title = f"SEED={SEED} file {number}, {sent}, {[b[:2] for b in bodies]}"
        found = by_type(profile_files.read(convert(paths, "pprof"), "pprof"))
        assert found.get("cpu") == stacks_of(counts, period), f"{title}: {found}"
        if sent != "cpu":
            assert found.get("samples") == stacks_of(counts, 1), f"{title}: {found}"
        top = json.loads(vestal("top", "--json", "--type", "cpu", *paths)[0])
        assert by_type([("cpu", top["unit"], {"": top["total"]})])["cpu"][""] == \
            sum(counts.values()) * period, f"{title}: {top}"


if __name__ == "__main__":
    main()
