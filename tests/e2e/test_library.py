#!/usr/bin/env python3
"""libvestal inside a program: what it sends and writes is true, and complete.

    VESTAL=build/vestal tests/e2e/test_library.py
"""
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

from support.inside import LIBRARIES, build_inside, counts, files, only, output, run
from support.recording import WAYS, close, top
from support.server import Server
from support.tap import ROOT, Skip, main, scratch, test, vestal

SPAN, TRACE = "b7ad6b7169203331", "0af7651916cd43dd8448eb211c80319c"


def check_shares(truth, names, samples):
    known, seen = sum(truth.values()), sum(names[name]["cum"] for name in truth)
    # Four standard errors: many tests, and samples that stand for more or less time.
    samples /= 1.8
    for name, spent in truth.items():
        assert close(names[name]["cum"] / seen, spent / known, samples), (name, truth, names[name])
    assert abs(seen / known - 1) < 0.1, (seen, known)
    assert names["descend"]["cum"] >= 0.97 * seen, names["descend"]


@test
def a_linked_program_is_found_by_query_with_shares_labels_and_spans():
    with Server() as server:
        done = run([build_inside("inside"), "1.5", "2"], OTEL_SERVICE_NAME="inside-shares",
                   OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{server.otlp_http}",
                   OTEL_RESOURCE_ATTRIBUTES="deployment.environment=test")
        truth, taken = json.loads(done.stdout), counts(done)
        assert taken["exports"] >= 1 and taken["failed"] == 0 and taken["lost"] == 0, taken

        def ask(selector, *options):
            out, _ = vestal("query", selector, "--json", "-n", "0", *options,
                            env={"VESTAL_SERVER": server.url})
            return {row["name"]: row for row in json.loads(out)["rows"]}

        check_shares(truth, ask("inside-shares"), taken["samples"])
        assert ask('inside-shares{deployment.environment="test"}'), "no resource attribute"
        labelled = ask('inside-shares{endpoint="/cart"}')
        assert labelled["work_labelled"]["cum"] > 0 and "work_plain" not in labelled, labelled
        named = ask('inside-shares{span_name="checkout.totals"}')
        assert named["work_in_span"]["cum"] > 0 and "work_plain" not in named, named
        spans = server.call("querier.v1.QuerierService/SelectMergeSpanProfile",
                            profileTypeID="process_cpu:cpu:nanoseconds:cpu:nanoseconds",
                            labelSelector='{service_name="inside-shares"}', spanSelector=[SPAN],
                            start=0, end=4102444800000, maxNodes=1000)
        assert "work_in_span" in spans["flamegraph"]["names"], spans
        assert "work_plain" not in spans["flamegraph"]["names"], spans


def check_file(way):
    pattern = output(f"way-{way}")
    done = run([build_inside("inside", way), "2", "1"], VESTAL_OUTPUT=pattern, VESTAL_RATE="250")
    rows, names = top(only(pattern.replace("%p", "*")))
    check_shares(json.loads(done.stdout), names, counts(done)["samples"])
    assert names["main"]["cum"] > 0.95 * rows["total"], names["main"]


def add_way_tests():
    for way in WAYS:
        if "static" in way:
            continue

        def check(way=way):
            check_file(way)
        check.__name__ = f"a_file_is_true_for_a_program_built_{way}"
        test(check)


add_way_tests()


@test
def spans_are_links_in_an_otlp_file():
    path = os.path.join(scratch(), "links.otlp")
    run([build_inside("inside"), "0.5"], VESTAL_OUTPUT=path)
    vestal("convert", path, "-o", "links.otlp.json", "-f")
    with open(os.path.join(scratch(), "links.otlp.json"), encoding="utf-8") as file:
        links = json.load(file)["dictionary"]["linkTable"]
    assert {"traceId": TRACE, "spanId": SPAN} in links, links


def read_context(pid):
    """The process context, as any other profiler reads it."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        starts = [int(line.split("-")[0], 16) for line in file
                  if re.search(r" (/memfd:|\[anon_shmem:|\[anon:)OTEL_CTX", line)]
    if len(starts) != 1:
        return None
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(starts[0])
        signature, version, size, time, payload = struct.unpack("<8sIIQQ", memory.read(32))
        if not time:
            return None
        assert (signature, version) == (b"OTEL_CTX", 2)
        memory.seek(payload)
        return memory.read(size)


@test
def other_profilers_find_the_process_context():
    program = subprocess.Popen([build_inside("inside"), "60"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL,
                               env=dict(os.environ, OTEL_SERVICE_NAME="told",
                                        OTEL_RESOURCE_ATTRIBUTES="a.b=c"))
    try:
        found = None
        while not found and program.poll() is None:
            found = read_context(program.pid)
            time.sleep(0.02)
        for text in (b"service.name", b"told", b"a.b", b"threadlocal.schema_version",
                     b"threadlocal.attribute_key_map", b"span_name"):
            assert bytes([len(text)]) + text in found, (text, found)
    finally:
        program.kill()
        program.wait()


@test
def with_a_time_in_its_name_there_is_a_file_for_each_interval():
    pattern = os.path.join(scratch(), "interval-%p-%t.pb.gz")
    done = run([build_inside("inside"), "1.2"], VESTAL_OUTPUT=pattern, VESTAL_INTERVAL_MS="300")
    found = files(pattern)
    assert len(found) >= 3, found
    totals = [top(path)[0]["total"] for path in found]
    assert sum(totals) > 1e9, (totals, counts(done), done.stdout)


def answer_once(listener, replies, bodies):
    """A server that gives these answers, one after the other."""
    for reply in replies:
        connection, _ = listener.accept()
        with connection:
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(65536)
            head, _, body = data.partition(b"\r\n\r\n")
            length = int([line for line in head.split(b"\r\n")
                          if line.lower().startswith(b"content-length:")][0].split(b":")[1])
            while len(body) < length:
                body += connection.recv(65536)
            bodies.append((head, body))
            connection.sendall(f"HTTP/1.1 {reply} x\r\nContent-Length: 0\r\n\r\n".encode())


@test
def what_a_server_cannot_take_now_is_sent_again_and_what_it_refuses_is_not():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        bodies = []
        server = threading.Thread(target=answer_once, args=(listener, (503, 400, 200), bodies))
        server.start()
        done = run([build_inside("inside"), "5"], VESTAL_INTERVAL_MS="400",
                   OTEL_EXPORTER_OTLP_HEADERS="x-key=abc",
                   OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=f"http://127.0.0.1:{listener.getsockname()[1]}/x/y")
        server.join(60)
        assert not server.is_alive()
    assert bodies[0][1] == bodies[1][1] != bodies[2][1]
    assert all(head.startswith(b"POST /x/y HTTP/1.1\r\n") and b"x-key: abc" in head
               for head, _ in bodies), bodies
    assert counts(done)["exports"] >= 1 and counts(done)["failed"] >= 1, done.stderr


@test
def a_server_that_never_answers_does_not_keep_the_program():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = run([build_inside("inside"), "0.5"], VESTAL_INTERVAL_MS="200",
                   OTEL_EXPORTER_OTLP_TIMEOUT="300",
                   OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{listener.getsockname()[1]}")
    assert counts(done)["exports"] == 0 and counts(done)["failed"] >= 1, done.stderr


@test
def a_wrong_option_is_said_by_name():
    for variable, value, word in (("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x", "https://"),
                                  ("VESTAL_RATE", "fast", "VESTAL_RATE"),
                                  ("VESTAL_TYPES", "cpu,disk", "disk"),
                                  ("OTEL_EXPORTER_OTLP_HEADERS", "novalue", "name=value")):
        done = run([build_inside("inside"), "0.1"], status=1, **{variable: value})
        assert word in done.stderr, done.stderr


@test
def the_examples_build_and_run():
    for compiler, source in (("gcc", "checkout.c"), ("g++", "checkout.cc")):
        out = os.path.join(scratch(), source + ".out")
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-o", out,
                        f"{ROOT}/examples/library/{source}", f"-L{LIBRARIES}",
                        f"-Wl,-rpath,{LIBRARIES}", "-lvestal"], check=True)
        path = os.path.join(scratch(), source + ".pb.gz")
        run([out], VESTAL_OUTPUT=path)
        assert any("calculate_totals" in name for name in top(path)[1])


@test
def spans_of_opentelemetry_cpp_are_followed():
    folder = os.environ.get("OPENTELEMETRY_CPP", "/usr")
    headers = [path for path in (f"{folder}/include", f"{folder}/api/include", f"{folder}/sdk/include")
               if os.path.isdir(path)]
    if not any(os.path.exists(f"{path}/opentelemetry/version.h") for path in headers):
        raise Skip("no headers of opentelemetry-cpp; OPENTELEMETRY_CPP names their folder")
    out = os.path.join(scratch(), "traced")
    subprocess.run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                    *(option for path in headers for option in ("-isystem", path) if path != "/usr/include"),
                    "-o", out, f"{ROOT}/examples/opentelemetry/traced.cc", f"-L{LIBRARIES}",
                    f"-Wl,-rpath,{LIBRARIES}", "-lvestal"], check=True)
    path = os.path.join(scratch(), "traced.pb.gz")
    run([out], VESTAL_OUTPUT=path)
    inside, _ = vestal("top", "--tag", "span_id=cd02000000000000", "--json", "-n", "0", path)
    inside = {row["name"]: row["cum"] for row in json.loads(inside)["rows"]}
    rows, _ = top(path)
    share = sum(value for name, value in inside.items() if "calculate_totals" in name) / rows["total"]
    assert 0.3 < share < 0.7, (share, inside)


@test
def an_installed_library_is_found_by_pkg_config():
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config")
    place = os.path.join(scratch(), "installed")
    subprocess.run([f"{ROOT}/tools/install-files", place, "/usr"], check=True, capture_output=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "vestal"], check=True, text=True,
                           capture_output=True,
                           env=dict(os.environ, PKG_CONFIG_LIBDIR=f"{place}/usr/lib/pkgconfig",
                                    PKG_CONFIG_SYSROOT_DIR=place,
                                    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS="1",
                                    PKG_CONFIG_ALLOW_SYSTEM_LIBS="1")).stdout.split()
    out = os.path.join(scratch(), "by-pkg-config")
    subprocess.run(["gcc", "-o", out, f"{ROOT}/examples/library/checkout.c", *flags], check=True)
    run([out], LD_LIBRARY_PATH=f"{place}/usr/lib", VESTAL_OUTPUT=f"{out}.pb.gz")
    assert os.path.exists(f"{out}.pb.gz")


@test
def only_our_names_are_exported_and_the_library_is_small():
    libraries = [os.path.join(LIBRARIES, f"libvestal{kind}.so") for kind in ("", "-preload")]
    done = subprocess.run([os.path.join(ROOT, "tools/check-symbols"),
                           *sum((["--lib", path] for path in libraries), [])],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    for path in libraries:
        sizes = subprocess.run(["size", "-A", path], capture_output=True, text=True, check=True).stdout
        assert int(re.search(r"^\.text\s+(\d+)", sizes, re.M)[1]) < 300_000, sizes
        needed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                                check=True).stdout
        foreign = [line for line in needed.splitlines() if "NEEDED" in line
                   and not any(name in line for name in ("libc.so.6", "libm.so.6", "ld-linux"))]
        assert not foreign, foreign


main()
