#!/usr/bin/env python3
"""C++ programs with libvestal-preload.so: operator new comes to malloc by itself, in all its forms.

    VESTAL=build/vestal tests/e2e/test_preload_cxx.py
"""
import json
import math
import os
import subprocess

from support.inside import PRELOAD, files, output, run
from support.recording import build, top
from support.tap import VESTAL, Skip, main, scratch, test, vestal

INTERVAL = 64 << 10
STATIC = ("-static-libstdc++", "-static-libgcc")


def need_preload():
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")


def by_name(path, kind):
    """Rows by function, without their arguments."""
    return {name.split("(")[0]: row for name, row in top(path, "--type", kind)[1].items()}


def check(name, way):
    need_preload()
    program = build("newer", way, suffix="cc", extra=STATIC if name == "static" else ())
    pattern = output(name)
    done = run([program, "64"], preload=True, VESTAL_TYPES="alloc,heap", VESTAL_ALLOC_INTERVAL="64KB",
               VESTAL_OUTPUT=pattern)
    truth = json.loads(done.stdout)
    path, = files(pattern)
    for kind, sites in (("alloc_space", truth["alloc"]), ("inuse_space", truth["heap"])):
        names = by_name(path, kind)
        for site, total in sites.items():
            # Sizes are at most 4 KiB: 1/p objects of the interval each, four standard errors.
            error = math.sqrt(total * 4096 * (1 / (1 - math.exp(-4096 / INTERVAL))))
            assert abs(names[site]["cum"] - total) < 4 * error, (kind, site, names[site], total)
    held = by_name(path, "inuse_space")
    assert "new_one" not in held and "new_aligned" not in held, sorted(held)
    # The C++ library's own frame lies between.
    names = by_name(path, "alloc_space")
    assert any(name.startswith("operator new") for name in names), sorted(names)
    assert names["main"]["cum"] > 0.95 * sum(truth["alloc"].values()), names["main"]


@test
def every_form_of_new_and_delete_is_seen():
    check("shared", "plain")


@test
def the_same_with_the_cxx_library_inside_of_the_program():
    check("static", "no_pie")


@test
def record_refuses_a_program_of_musl_by_name():
    need_preload()
    source = os.path.join(scratch(), "musl.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    program = os.path.join(scratch(), "musl")
    subprocess.run(["gcc", "-o", program, source, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
                   check=True)
    for named in (program, "musl"):
        done = subprocess.run([VESTAL, "record", "--preload", "-o", "m.pb.gz", "--", named], text=True,
                              env=dict(os.environ, PATH=f"{scratch()}:{os.environ['PATH']}"),
                              capture_output=True, cwd=scratch(), check=False)
        assert done.returncode != 0 and "musl" in done.stderr and "glibc" in done.stderr, done


@test
def record_refuses_a_static_program_by_name():
    need_preload()
    program = build("shares", "static")
    _, said = vestal("record", "--preload", "-f", "--", program, "0.1", status=None)
    assert "linked statically" in said, said


main()
