#!/usr/bin/env python3
"""What a user without rights gets: record, live and up over one's own processes, and a sentence about
the rest. Started by root it becomes nobody; where the kernel closes perf events to users only the
sentence is looked at.

    VESTAL=build/vestal tests/e2e/test_agent_own.py
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from support.recording import build, close
from support.tap import VESTAL, Skip, main, scratch, test, vestal

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
        return int(file.read())


def open_to_users():
    if paranoid() > 2:
        raise Skip("perf events are closed to users here")


def folder():
    """Where nobody may write, with the program in it."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        raise Skip("no setpriv")
    path = os.path.join(scratch(), "own")
    if not os.path.exists(path):
        os.chmod(scratch(), 0o755)
        os.makedirs(path)
        os.chmod(path, 0o777)
        shutil.copy(VESTAL, f"{path}/vestal")
        os.chmod(f"{path}/vestal", 0o755)
    return path


def as_nobody(*command):
    """A command line of somebody without rights, in the folder."""
    return [*(NOBODY if os.geteuid() == 0 else []), *command]


def own(*arguments, status=0, timeout=120):
    done = subprocess.run(as_nobody(f"{folder()}/vestal", *arguments), cwd=folder(),
                          capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


def top(path, *options):
    rows = json.loads(vestal("top", "--json", "-n", "0", *options, os.path.join(folder(), path))[0])
    return rows, {row["name"]: row for row in rows["rows"]}


class Busy:
    def __init__(self, *command, user=True):
        self.command = as_nobody(*command) if user else command

    def __enter__(self):
        self.process = subprocess.Popen(self.command, cwd=folder(), stdout=subprocess.DEVNULL)
        # setpriv becomes the program.
        for _ in range(100):
            with open(f"/proc/{self.process.pid}/comm", encoding="utf-8") as file:
                if file.read().strip() != "setpriv":
                    break
            time.sleep(0.05)
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@test
def shares_of_ones_own_program_are_true_without_rights():
    open_to_users()
    done = own("record", "-F", "499", "-o", "shares.pb.gz", "-f", "--", build("shares"), "2")
    truth = json.loads(done.stdout.splitlines()[0])
    rows, names = top("shares.pb.gz")
    samples, whole = re.search(r"(\d+) samples in .*?; ([\d.]+) % of the stacks", done.stderr).groups()
    seen, known = sum(names[name]["cum"] for name in truth), sum(truth.values())
    assert int(samples) > 300 and float(whole) >= 99, done.stderr
    assert "use sudo" in done.stderr, done.stderr
    for name, spent in truth.items():
        assert close(names[name]["cum"] / seen, spent / known, int(samples)), (name, truth, names[name])
    assert names["main"]["cum"] > 0.97 * rows["total"], names.get("main")


@test
def threads_and_children_are_followed_and_named_without_rights():
    open_to_users()
    done = own("record", "-F", "499", "-o", "threads.pb.gz", "-f", "--", "sh", "-c",
               f"{build('threads')} 60; :")
    rows, names = top("threads.pb.gz")
    # A machine that is too busy to read the samples loses some, and says so.
    if "were lost" not in done.stderr:
        # Of every brief thread the part of a period after its last sample is not seen.
        assert 0.75 < names["work_in_thread"]["cum"] / 1e9 < 1.3, names["work_in_thread"]
    assert names["work_in_thread"]["cum"] > 0.9 * rows["total"], names["work_in_thread"]
    for name in ("brief", "alone"):
        rows, _ = top("threads.pb.gz", "--tag", f"thread.name={name}")
        assert rows["total"] > 0.1e9, (name, rows["total"])


@test
def a_running_process_is_recorded_when_it_is_ones_own_and_else_refused():
    open_to_users()
    program = build("shares")
    with Busy(program, "60") as pid:
        done = own("record", "-p", str(pid), "-d", "1", "-o", "pid.pb.gz", "-f")
        _, names = top("pid.pb.gz")
        assert "descend" in names, (names, done.stderr)
        own("record", "-n", os.path.basename(program), "-d", "1", "-o", "name.pb.gz", "-f")
        assert "descend" in top("name.pb.gz")[1]
    if os.geteuid() == 0:
        with Busy(program, "60", user=False) as pid:
            done = own("record", "-p", str(pid), "-d", "1", "-o", "other.pb.gz", "-f", status=66)
            assert "not yours" in done.stderr, done.stderr


@test
def missing_privileges_are_reported():
    open_to_users()
    done = own("record", "--type", "offcpu", "-o", "waits.pb.gz", "-f", "--", "true", status=66)
    assert "CPU time" in done.stderr, done.stderr
    rows = {row["name"]: row for row in
            json.loads(own("doctor", "--json", status=1).stdout)["findings"]}
    assert rows["own processes"]["state"] == "ok", rows


@test
def live_shows_ones_own_processes():
    open_to_users()
    with Busy(build("shares"), "60") as pid:
        assert "descend" in own("live", "--once", "-p", str(pid)).stdout


@test
def up_profiles_the_processes_of_its_user_also_those_that_begin_later():
    open_to_users()
    program = build("shares")
    with Busy(program, "60"):
        server = subprocess.Popen(as_nobody(f"{folder()}/vestal", "up", "--memory", "--listen",
                                            "127.0.0.1:0", "--otlp-grpc", "none", "--otlp-http",
                                            "none"), cwd=folder(), stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "NO_COLOR": "1"})
        try:
            said = [server.stderr.readline() for _ in range(3)]
            url = re.search(r"server on (\S+),", "".join(said))[1]
            assert any("use sudo" in line for line in said), said
            with Busy("sh", "-c", f"{program} 60; :"):
                wanted, end = {"shares-plain"}, time.monotonic() + 60
                while time.monotonic() < end:
                    services = vestal("services", env={"VESTAL_SERVER": url})[0]
                    if all(name in services for name in wanted):
                        break
                    time.sleep(0.5)
                assert all(name in services for name in wanted), services
                pids = set()
                while time.monotonic() < end and len(pids) < 2:
                    pids = set(vestal("labels", "process.pid", env={"VESTAL_SERVER": url})[0].split())
                    time.sleep(0.5)
                assert len(pids) >= 2, pids
            rows = json.loads(vestal("query", "--json", "shares-plain",
                                     env={"VESTAL_SERVER": url})[0])
            assert any(row["name"] == "descend" for row in rows["rows"]), rows
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
        assert server.returncode == 0, server.returncode


main()
