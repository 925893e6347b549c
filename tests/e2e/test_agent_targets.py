#!/usr/bin/env python3
"""Which processes are profiled: by number, name, user, control group and label, by the file's rules,
and changed while the agent runs. Needs root: without it everything is skipped.

    VESTAL=build/vestal tests/e2e/test_agent_targets.py
"""
import json
import os
import signal
import shutil
import subprocess
import tempfile
import time

from support.agent import Agent
from support.recording import allowed, build
from support.server import Server
from support.tap import VESTAL, Skip, main, scratch, test, vestal


def program(name):
    """The same workload under another name."""
    path = os.path.join(scratch(), name)
    if not os.path.exists(path):
        os.chmod(scratch(), 0o755)
        shutil.copy(build("shares"), path)
    return path


class Running:
    def __init__(self, *command, env=None, start=None):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=scratch(),
                                        env={**os.environ, **(env or {})}, start_new_session=True,
                                        preexec_fn=start)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # With what it started.
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


def recorded(*options, seconds="1.5"):
    """Names of the processes in a recording."""
    allowed()
    path = os.path.join(scratch(), f"targets-{time.monotonic_ns()}.pb.gz")
    vestal("record", "-F", "499", "-d", seconds, "-o", path, *options)
    rows = json.loads(vestal("show", "--json", path)[0])
    found = {label["key"]: label for one in rows["files"][0]["profiles"] for label in one["labels"]}
    return set(found["process"]["examples"]) if "process" in found else set()


@test
def a_user_is_a_target_and_nobody_else_is_seen():
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    # Somebody whom nothing else on this machine runs as.
    user = str(60000 + os.getpid() % 5000)
    with Running("setpriv", "--reuid", user, "--clear-groups", program("of-nobody"), "60"), \
            Running(program("of-root"), "60"):
        time.sleep(0.3)
        seen = recorded("--uid", user)
        assert seen == {"of-nobody"}, seen
    _, err = vestal("record", "--uid", "no-such-user", status=64)
    assert "no such user" in err, err


@test
def a_name_is_a_target_also_of_processes_that_begin_later():
    with Running("sh", "-c", f"sleep 0.7; while :; do {program('comes-late')} 0.02; done"), \
            Running(program("stays"), "60"), Running(program("unwanted"), "60"):
        seen = recorded("-n", "stays", "-n", "comes-late", seconds="2")
    # A shell that is about to become the program may be seen as the shell it still is.
    assert {"stays", "comes-late"} <= seen <= {"stays", "comes-late", "sh"}, seen


@test
def a_label_is_a_target_and_what_it_starts_is_followed():
    with Running("sh", "-c", f"{program('child')} 60; :",
                 env={"OTEL_RESOURCE_ATTRIBUTES": "team=a,zone=eu"}), \
            Running(program("other"), "60", env={"OTEL_RESOURCE_ATTRIBUTES": "team=b"}):
        time.sleep(0.3)
        seen = recorded("--label", "team=a")
    assert "child" in seen and "other" not in seen, seen


@test
def a_control_group_is_a_target():
    for place in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids"):
        folder = f"{place}/vestal-test-{os.getpid()}"
        if os.path.exists(f"{place}/cgroup.procs"):
            try:
                os.mkdir(folder)
                break
            except OSError:
                pass
    else:
        raise Skip("no control group can be made")

    def enter():
        with open(f"{folder}/cgroup.procs", "w", encoding="utf-8") as file:
            file.write("0")

    try:
        with Running(program("inside"), "60", start=enter), Running(program("outside"), "60"):
            time.sleep(0.3)
            assert recorded("--cgroup", folder) == {"inside"}
            assert recorded("--cgroup", os.path.basename(folder)) == {"inside"}
    finally:
        for _ in range(50):
            try:
                os.rmdir(folder)
                break
            except OSError:
                time.sleep(0.1)


class Told(Agent):
    """An agent with a server of its own, told by a file."""

    def __init__(self, text):
        self.folder = tempfile.mkdtemp(dir=scratch())
        self.file, self.socket = f"{self.folder}/agent.yaml", f"{self.folder}/control/agent.sock"
        self.write(text)
        self.server = Server()
        super().__init__("--config", self.file, "--interval", "1", "--queue", "none", "--control",
                         self.socket)

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def __enter__(self):
        self.server.__enter__()
        self.command += ["--server", self.server.url]
        super().__enter__()
        self.wait(lambda: os.path.exists(self.socket))
        return self

    def __exit__(self, kind, *more):
        super().__exit__(kind, *more)
        self.server.__exit__(kind, *more)
        assert kind or not os.path.exists(self.socket)

    def ctl(self, *words, status=0):
        out, err = vestal("agent", "ctl", "--control", self.socket, *words, status=status)
        return err if status else out

    def services(self):
        return set(vestal("services", env={"VESTAL_SERVER": self.server.url})[0].split())


@test
def rules_rename_label_and_drop():
    text = f"""
rules:
  - match: {{executable: /renamed$, env: {{STAGE: ^prod}}}}
    service: token-issuer
    labels: {{team: shop, deployment.environment: production}}
  - match: {{cmdline: /dropped 60}}
    drop: true
"""
    with Told(text) as agent, Running(program("renamed"), "60", env={"STAGE": "prod-1"}), \
            Running(program("dropped"), "60"), Running(program("plain"), "60"):
        agent.wait(lambda: {"token-issuer", "plain"} <= agent.services())
        time.sleep(2)
        found = agent.services()
        assert not {"renamed", "dropped"} & found, found
        labels = json.loads(vestal("query", "--json", 'token-issuer{team="shop",'
                                   'deployment.environment="production"}',
                                   env={"VESTAL_SERVER": agent.server.url})[0])
        assert labels["total"] > 0


@test
def targets_and_rate_change_while_it_runs():
    with Told("targets: [{name: one}]\n") as agent, Running(program("one"), "90"), \
            Running(program("two"), "90"):
        agent.wait(lambda: "one" in agent.services())
        assert agent.ctl("targets") == "name=one\n"
        assert "two" not in agent.services()
        assert agent.ctl("targets", "name=two", "uid=12345") == "ok\n"
        assert agent.ctl("targets") == "name=two\nuid=12345\n"
        agent.wait(lambda: "two" in agent.services())
        assert agent.ctl("rate", "49") == "ok\n"
        agent.wait(lambda: json.loads(agent.ctl("status"))["wanted_hz"] == 49)
        status = json.loads(agent.ctl("status"))
        assert status["schema"] == "vestal.agent/1" and status["targets"] == 2, status
        assert "not understood" in agent.ctl("explode", status=64)
        assert "1 to 5000" in agent.ctl("rate", "0", status=64)
        assert "no target" in agent.ctl("targets", "x=y", status=64)
        # The file again.
        agent.write("targets: [{name: two}]\nrate: 19\n")
        agent.process.send_signal(signal.SIGHUP)
        agent.wait(lambda: os.path.exists(agent.socket) and
                   subprocess.run([VESTAL, "agent", "ctl", "--control", agent.socket, "targets"],
                                  capture_output=True, check=False).stdout == b"name=two\n")
        assert json.loads(agent.ctl("status"))["wanted_hz"] == 19
    _, err = vestal("agent", "ctl", "--control", agent.socket, "status", status=69)
    assert "no agent listens" in err, err


@test
def the_socket_is_not_for_others():
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    with Told("rate: 19\n") as agent:
        folder = agent.folder
        while folder not in ("/", "/tmp"):
            os.chmod(folder, os.stat(folder).st_mode | 0o755)
            folder = os.path.dirname(folder)
        os.chmod(os.path.dirname(agent.socket), 0o755)
        os.chmod(agent.socket, 0o777)
        shutil.copy(VESTAL, f"{agent.folder}/vestal")
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups",
                               f"{agent.folder}/vestal", "agent", "ctl", "--control", agent.socket,
                               "rate", "1000"], capture_output=True, text=True, check=False)
        assert done.returncode == 64 and "alone" in done.stderr, done
        assert json.loads(agent.ctl("status"))["wanted_hz"] == 19


main()
