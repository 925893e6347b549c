#!/usr/bin/env python3
"""A kernel that refuses a program: the type that needs it is left out with its reason, the others go
on. The refusal is made by tests/shim/bpf_shim.c. Needs root.

    VESTAL=build/vestal tests/e2e/test_refused.py
"""
import errno
import os
import subprocess

from support.agent import Agent, Collector, Program
from support.recording import ROOT, allowed, build, top
from support.tap import VESTAL, main, scratch, test, vestal


def refusing(what, program, error):
    """An environment in which the kernel refuses a program."""
    shim = os.path.join(scratch(), "bpf_shim.so")
    if not os.path.exists(shim):
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, f"{ROOT}/tests/shim/bpf_shim.c"], check=True)
    return {"LD_PRELOAD": shim, "BPF_SHIM": f"{what} {program} {error}",
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def recorded(env, types, status=0):
    """What was said, and the file."""
    allowed()
    path = os.path.join(scratch(), f"{types}.pb.gz")
    err = vestal("record", "--type", types, "-f", "-o", path, "--", build("shares"), "1", env=env,
                 status=status)[1]
    return err, path


@test
def a_type_that_cannot_be_attached_is_left_out_and_the_others_are_recorded():
    err, path = recorded(refusing("attach", "on_loop_call", errno.ENOENT), "cpu,loop")
    assert "without loop: " in err and "on_loop_call" in err and "No such file" in err, err
    assert "vestal doctor" in err, err
    assert top(path)[0]["type"] == "cpu" and top(path)[0]["total"] > 0.3e9, err
    assert "lag" not in vestal("show", path)[0]


@test
def all_types_that_need_what_is_refused_are_left_out():
    err, path = recorded(refusing("attach", "on_waking", errno.EPERM), "cpu,offcpu,lock,wall,threads")
    assert "without offcpu, lock, wall: " in err and "not permitted" in err, err
    shown = vestal("show", path)[0]
    assert "cpu/nanoseconds" in shown and "threads/count" in shown and "off_cpu" not in shown, shown


@test
def a_type_whose_program_the_kernel_does_not_load_is_left_out():
    for error in (errno.EINVAL, errno.EACCES):
        err, path = recorded(refusing("load", "on_pages", error), "cpu,faults")
        assert "without faults: " in err, err
        shown = vestal("show", path)[0]
        assert "cpu/nanoseconds" in shown and "mapped/bytes" in shown and "faults/" not in shown, shown


@test
def the_only_type_that_was_asked_for_fails_with_its_reason():
    for what, program, types in (("attach", "on_loop_call", "loop"), ("load", "on_pages", "faults"),
                                 ("attach", "on_fork", "cpu")):
        err, _ = recorded(refusing(what, "*" if types == "faults" else program, errno.ENOSPC), types,
                          status=None)
        lines = [line for line in err.splitlines() if line.startswith("vestal: ")]
        assert len(lines) == 1 and "No space left" in lines[0], err
        if what == "attach":
            assert f"{types} cannot be captured: " in lines[0] and program in lines[0], err


def types_sent(collector):
    return {one["type"] for profile in collector.profiles() for one in profile["types"]}


@test
def the_agent_goes_on_without_the_type_and_says_so_once():
    with Collector() as collector:
        env = refusing("attach", "on_pages", errno.EACCES)
        with Program(build("shares"), "120"), \
                Agent("--interval", "1", "--type", "cpu,faults,offcpu", server=collector.url, env=env) as agent:
            agent.wait(lambda: "off_cpu" in types_sent(collector))
            agent.wait(lambda: len(collector.requests) > 2)
            said = agent.said()
        types = types_sent(collector)
    assert said.count("left out, the others continue") == 1 and "types=faults" in said, said
    assert "cpu" in types and "faults" not in types, types


@test
def doctor_says_which_type_is_missing_and_what_helps():
    allowed()
    done = subprocess.run([VESTAL, "doctor"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **refusing("attach", "on_pages", errno.EPERM)))
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "memory growth" in line)
    assert "on_pages" in " ".join(lines[at:at + 2]) and "docker run" in " ".join(lines[at:at + 3]), done.stdout
    assert not any("on_" in line for line in lines[:at]), done.stdout


main()
