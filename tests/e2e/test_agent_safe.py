#!/usr/bin/env python3
"""What the agent may do here and what it takes: vestal doctor, live, the agent's budget and rights.

    VESTAL=build/vestal tests/e2e/test_agent_safe.py
"""
import json
import os
import shutil
import subprocess

from support.tap import VESTAL, Skip, main, scratch, test, vestal


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def nobody(*command, timeout=60):
    """Runs vestal as a user without rights."""
    need_root()
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    program = os.path.join(scratch(), "vestal-for-all")
    if not os.path.exists(program):
        os.chmod(scratch(), 0o755)
        shutil.copy(VESTAL, program)
        os.chmod(program, 0o755)
    folder = os.path.join(scratch(), "nobody")
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o777)
    return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                           program, *command], cwd=folder, capture_output=True, text=True,
                          timeout=timeout, check=False)


def findings(text):
    answer = json.loads(text)
    assert answer["schema"] == "vestal.doctor/1"
    return answer, {row["name"]: row for row in answer["findings"]}


@test
def the_doctor_tries_everything_and_its_status_says_the_result():
    done = subprocess.run([VESTAL, "doctor", "--json"], capture_output=True, text=True, check=False)
    answer, rows = findings(done.stdout)
    assert done.returncode == (0 if answer["well"] else 1), done
    assert {"kernel", "capabilities", "kernel types", "ring buffer", "processor time", "waits",
            "perf events", "kernel names"} <= set(rows), rows
    for row in rows.values():
        assert row["state"] in ("ok", "missing", "note"), row
        assert row["state"] != "missing" or row["fix"], row
    text, _ = vestal("doctor", status=done.returncode)
    assert len(text.splitlines()) >= len(rows)


@test
def without_rights_the_doctor_says_what_is_missing_and_what_helps():
    done = nobody("doctor", "--json")
    answer, rows = findings(done.stdout)
    assert done.returncode == 1 and not answer["well"], done
    assert rows["processor time"]["state"] == "missing"
    assert "CAP_BPF" in rows["processor time"]["fix"]
    assert "setcap" in rows["capabilities"]["fix"]


@test
def the_doctor_asks_whether_a_server_answers():
    done = subprocess.run([VESTAL, "doctor", "--json", "--server", "http://127.0.0.1:1"],
                          capture_output=True, text=True, check=False)
    _, rows = findings(done.stdout)
    assert rows["server"]["state"] == "missing" and done.returncode == 1
    _, err = vestal("doctor", "--server", "nonsense", status=64)
    assert "no URL" in err


main()
