#!/usr/bin/env python3
"""The ways to run the agent that docs/agent.md shows, as far as a machine without systemd, Docker and
Kubernetes can try them: the rights they give, the folders they leave writable, the unit's words.

    VESTAL=build/vestal tests/e2e/test_agent_deploy.py
"""
import json
import os
import re
import shutil
import signal
import subprocess

from support.recording import allowed
from support.server import Server
from support.tap import ROOT, VESTAL, Skip, main, scratch, test
from support.wait import until

with open(f"{ROOT}/docs/agent.md", encoding="utf-8") as page:
    PAGE = page.read()
UNIT = re.search(r"```ini\n(.*?)```", PAGE, re.S)[1]
# Used once, to become another user to whom the queue belongs.
AT_START = {"setuid", "setgid", "setpcap", "chown"}
# As a container has it: little is writable, and what the host has elsewhere is not seen.
READ_ONLY = """set -e
mount --make-rprivate /
mount -t tmpfs none {folder}/queue
mount -o remount,bind,ro /
exec "$@"
"""


def capabilities():
    """As the table says it: lower case, without CAP_."""
    table = re.search(r"\| capability \| what for \|\n(.*?)\n\n", PAGE, re.S)[1]
    return {name.lower() for name in re.findall(r"`CAP_(\w+)`", table)}


@test
def all_examples_give_the_rights_that_the_table_names():
    wanted = capabilities()
    assert len(wanted) == 6, wanted
    unit = re.search(r"CapabilityBoundingSet=(.*)", UNIT)[1]
    assert {name.lower() for name in re.findall(r"CAP_(\w+)", unit)} == wanted, unit
    docker = re.search(r"docker run.*?```", PAGE, re.S)[0]
    assert {name.lower() for name in re.findall(r"--cap-add (\w+)", docker)} == wanted | AT_START, docker
    kubernetes = re.search(r"\n +add: \[([^\]]*)\]", PAGE)[1]
    assert {name.strip().lower() for name in kubernetes.split(",")} == wanted | AT_START, kubernetes


@test
def systemd_understands_the_unit():
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze")
    program, unit = f"{scratch()}/vestal-copy", f"{scratch()}/vestal-agent.service"
    shutil.copy(VESTAL, program)
    os.chmod(program, 0o755)
    os.chmod(scratch(), 0o755)
    with open(unit, "w", encoding="utf-8") as file:
        file.write(UNIT.replace("/usr/local/bin/vestal", program))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True,
                          text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "vestal-agent" in line]
    assert not said, said


def confined(folder, more, *command):
    """The command with the rights of the examples alone, and one writable folder."""
    os.makedirs(f"{folder}/queue", exist_ok=True)
    rights = ",".join(f"+{name}" for name in sorted(capabilities() | more))
    return ["unshare", "--mount", "--uts", "--ipc", "sh", "-c", READ_ONLY.format(folder=folder), "sh",
            "setpriv", "--bounding-set", f"-all,{rights}", "--inh-caps", "-all", "--no-new-privs", "--",
            *command]


@test
def six_capabilities_are_enough_in_a_container_that_is_read_only():
    works_confined(set(), 0)


@test
def with_those_of_the_start_the_agent_is_another_user():
    works_confined(AT_START, 60591)


def works_confined(more, uid):
    allowed()
    for tool in ("unshare", "setpriv"):
        if not shutil.which(tool):
            raise Skip(f"no {tool}")
    folder = f"{scratch()}/container"
    probe = subprocess.run(confined(folder, more, "true"), capture_output=True, text=True, check=False)
    if probe.returncode:
        raise Skip(f"no mount namespaces here: {probe.stderr.strip()}")
    shell = f"{scratch()}/shell-of-another"
    shutil.copy(shutil.which("dash") or "/bin/sh", shell)
    os.chmod(shell, 0o755)
    os.chmod(scratch(), 0o755)
    log = f"{scratch()}/agent.log"
    with Server() as server, open(log, "w", encoding="utf-8") as err:
        busy = subprocess.Popen(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                                 shell, "-c", "while :; do :; done"])
        agent = subprocess.Popen(confined(folder, more, VESTAL, "agent", "--server", "http://" + server.otlp_http,
                                          "--interval", "1", "--queue", f"{folder}/queue"), stderr=err)

        def said():
            with open(log, encoding="utf-8", errors="replace") as file:
                return file.read()

        try:
            until(lambda: "agent started" in said(), said)
            with open(f"/proc/{agent.pid}/status", encoding="ascii", errors="replace") as file:
                status = file.read()
            numbers = {"dac_read_search": 2, "sys_ptrace": 19, "syslog": 34, "perfmon": 38, "bpf": 39,
                       "checkpoint_restore": 40}
            kept = sum(1 << numbers[name] for name in capabilities())
            assert uid == 0 or int(re.search(r"Uid:\s+(\d+)", status)[1]) == uid, status
            assert int(re.search(r"CapEff:\s+(\w+)", status)[1], 16) == kept, status
            until(lambda: "shell-of-another" in json.dumps(server.get("/api/v1/services")), said)
        finally:
            agent.send_signal(signal.SIGTERM)
            status = agent.wait(60)
            busy.kill()
            busy.wait()
        assert status == 0 and "more rights" not in said(), said()
        names = server.get("/api/v1/top", query='{service_name="shell-of-another"}', n=0)
        assert names["total"] > 0, names
        # The kernel's own functions have names: CAP_SYSLOG works.
        # A busy machine may cost samples; nothing else is wrong.
        wrong = [line for line in said().splitlines() if re.search(r"level=(warn|error)", line) and
                 not re.search(r"samples were lost|rate lowered|costs too much|less closely", line)]
        assert not wrong, said()


main()
