#!/usr/bin/env python3
"""What the agent may do here and what it takes: vestal doctor, live, the agent's budget and rights.

    VESTAL=build/vestal tests/e2e/test_agent_safe.py
"""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import urllib.parse

from support.agent import Agent, Program
from support.recording import build, close, cpu_seconds
from support.server import Server
from support.tap import VESTAL, Skip, main, scratch, test, vestal
from support.wait import until


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
    assert {"kernel", "capabilities", "kernel types", "ring buffer", "CPU time", "waits",
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
    assert rows["CPU time"]["state"] == "missing"
    assert "CAP_BPF" in rows["CPU time"]["fix"]
    assert "setcap" in rows["capabilities"]["fix"]


@test
def the_doctor_asks_whether_a_server_answers():
    done = subprocess.run([VESTAL, "doctor", "--json", "--server", "http://127.0.0.1:1"],
                          capture_output=True, text=True, check=False)
    _, rows = findings(done.stdout)
    assert rows["server"]["state"] == "missing" and done.returncode == 1
    _, err = vestal("doctor", "--server", "nonsense", status=64)
    assert "no URL" in err


# A server that never answers.
NOBODY = "http://127.0.0.1:1"
BUSY = "import time\nend = time.time() + 60\nwhile time.time() < end: sum(range(1000))\n"


class Busy:
    """A process that only works."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", BUSY])
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def may_record():
    need_root()
    done = subprocess.run([VESTAL, "doctor", "--json"], capture_output=True, text=True, check=False)
    if findings(done.stdout)[1]["CPU time"]["state"] != "ok":
        raise Skip("this kernel does not load the programs")


@test
def live_once_prints_a_table_into_a_pipe():
    may_record()
    with Busy() as pid:
        text, _ = vestal("live", "--once", "--type", "cpu", "-p", str(pid))
        every, _ = vestal("live", "--once", "--type", "cpu")
    lines = text.splitlines()
    assert lines[0].startswith("vestal live"), text
    assert lines[1].split() == ["cpu", "cum", "share", "function"], text
    assert re.match(r"\s*[\d.]+%\s+[\d.]+%\s+[\d.]+%\s+\S", lines[2]), text
    assert "\033" not in text
    assert every.splitlines()[1].split() == ["cpu", "cum", "share", "process", "function"], every
    _, err = vestal("live", status=64)
    assert "--once" in err
    _, err = vestal("live", "--once", "-p", "999999999", status=66)
    assert "no process" in err


@test
def the_table_of_live_is_true_of_a_program_with_known_shares():
    may_record()
    with Program(build("shares"), "600") as program:
        before = cpu_seconds(program.pid)
        text, _ = vestal("live", "--once", "--type", "cpu", "-F", "997", "--interval", "4", "-p", str(program.pid))
        used = cpu_seconds(program.pid) - before
    head = re.match(r"vestal live  (\d+) s  cpu ([\d.]+)%", text)
    seconds, cpu = int(head[1]), float(head[2]) / 100
    rows = {line.split()[-1]: [float(v.rstrip("%")) / 100 for v in line.split()[:3]] for line in text.splitlines()[2:]}
    samples = cpu * seconds * 997
    assert samples > 200, text
    # Not more than it used; the table begins later than the program's clock is looked at. Clocks are spread by a quarter.
    assert cpu * seconds <= used * (1 + 4 / samples ** 0.5) + 0.1, (text, used)
    # What is shown is rounded to a tenth of a percent.
    assert abs(sum(flat for flat, _, _ in rows.values()) - cpu) < 0.001 * len(rows), text
    assert abs(sum(share for _, _, share in rows.values()) - 1) < 0.001 * len(rows), text
    for flat, cum, share in rows.values():
        assert flat <= cum + 0.0011 and cum <= cpu + 0.0011 and abs(share * cpu - flat) < 0.0016, text
    for name, truth in (("work_most", 0.6), ("work_some", 0.3), ("work_little", 0.1), ("descend", 1)):
        assert close(rows[name][1] / cpu, truth, samples, 0.02), (name, text)


def read_until(fd, pattern, seconds=20):
    """What a terminal was sent until the pattern comes."""
    seen = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not re.search(pattern, seen):
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
    assert re.search(pattern, seen), seen[-2000:]
    return seen


def in_terminal(keys_and_answers, end, *options):
    """Runs `vestal live` in a terminal, types, ends it, and looks whether the terminal is as before."""
    may_record()
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 100, 0, 0))
    before = termios.tcgetattr(follower)
    process = subprocess.Popen([VESTAL, "live", "--type", "cpu", *options], stdin=follower, stdout=follower,
                               stderr=follower, start_new_session=True,
                               env=dict(os.environ, TERM="xterm"))
    try:
        seen = read_until(leader, rb"function[\s\S]*\d%")
        assert b"\033[?1049h" in seen
        for keys, answer in keys_and_answers:
            os.write(leader, keys)
            read_until(leader, answer)
        end(process, leader)
        read_until(leader, rb"\033\[\?1049l")
        assert process.wait(20) == 0, process.returncode
        assert termios.tcgetattr(follower) == before
    finally:
        process.kill()
        process.wait()
        os.close(leader)
        os.close(follower)


@test
def live_obeys_its_keys_and_gives_the_terminal_back():
    def resize_and_quit(process, leader):
        fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
        process.send_signal(signal.SIGWINCH)
        os.write(leader, b"q")

    in_terminal([(b"s", b"by cpu with callees"), (b"/zz", b"/zz_"), (b"\r", rb"/zz\033"),
                 (b"p", b"PAUSED"), (b"\033[6~\033[A", b"vestal live")], resize_and_quit)


@test
def live_symbolizes_running_functions():
    with Program(build("deep_spin"), "5") as program:
        in_terminal([(b"s", rb"spin\b"), (b"s", rb"deeper")], lambda _, leader: os.write(leader, b"q"),
                    "-p", str(program.pid))


@test
def live_gives_the_terminal_back_when_it_is_told_to_end():
    in_terminal([], lambda process, _: process.send_signal(signal.SIGTERM))


@test
def an_agent_with_nothing_to_profile_needs_eight_mebibytes_and_its_ring():
    """By its own meter: all its processes and the kernel's maps. docs/agent.md has the bound."""
    settings = f"{scratch()}/nothing.yaml"
    with open(settings, "w", encoding="utf-8") as file:
        file.write("targets:\n  - name: no-such-program\n")
    ring = min(max(2, os.cpu_count() // 8), 4)
    per_cpu = os.cpu_count() / 8
    with Agent("--config", settings, "--interval", "1", "--metrics", "127.0.0.1:0", server=NOBODY) as agent:
        rows = agent.metrics_when(lambda rows: rows["vestal_agent_pss_bytes"] > 0)
        assert 1 << 20 < rows["vestal_agent_pss_bytes"] <= (8 + ring + per_cpu) * 2**20, rows


@test
def the_agent_tells_what_it_does_and_what_it_costs():
    with Busy(), Agent("--metrics", "127.0.0.1:0", server=NOBODY) as agent:
        rows = agent.metrics_when(lambda rows: rows["vestal_agent_samples_total"] > 50)
        assert rows['vestal_agent_unwind_ends_total{end="root"}'] > 0, rows
        assert 0 < rows["vestal_agent_cpu_share"] < 0.5, rows
        assert rows['vestal_agent_cpu_seconds_total{where="bpf"}'] > 0, rows
        assert 1 << 20 < rows["vestal_agent_memory_bytes"] < 1 << 30, rows
        assert rows["vestal_agent_wanted_rate_hz"] == 97, rows
        assert rows["vestal_agent_paused"] == 0, rows
    _, err = vestal("agent", "--metrics", "0.0.0.0:0", status=None)
    assert "this machine alone" in err, err


@test
def above_its_budget_the_agent_lowers_the_rate_and_says_so():
    with Server() as server, Busy(), Agent("--cpu-budget", "0.001%", "--interval", "1", "--metrics",
                                           "127.0.0.1:0", server="http://" + server.otlp_http) as agent:
        line = agent.wait_for("rate lowered")
        assert "cpu budget" in line and "wanted_hz=97" in line, line
        rows = agent.metrics_when(lambda rows: rows["vestal_agent_rate_hz"] < 97)
        assert rows["vestal_agent_wanted_rate_hz"] == 97, rows
        agent.metrics_when(lambda rows: rows["vestal_agent_export_requests_total"] > 1)
        assert server.get("/api/v1/status")["profiles"] > 0
        # A sample stands for more, so that what was used stays true.
        lowered = f"{time.time():.0f}"

        def totals():
            # Until there is a profile, the answer is 404.
            replies = [server.ask("/api/v1/top?" + urllib.parse.urlencode(
                {"query": "{}", "type": name, "from": lowered, "to": f"{time.time():.0f}"}))
                for name in ("cpu", "samples")]
            found = [status == 200 and json.loads(body)["total"] for status, body in replies]
            return found if all(found) else None
        agent.metrics_when(lambda later: later["vestal_agent_export_requests_total"] >
                           rows["vestal_agent_export_requests_total"] + 3)
        spent, samples = until(totals, agent.said)
        assert spent / samples > 1.5e9 / 97, (spent, samples)


@test
def above_the_load_given_the_agent_pauses():
    with Busy(), Agent("--load-shedding", "1%", "--type", "cpu,offcpu", "--metrics",
                       "127.0.0.1:0", server=NOBODY) as agent:
        agent.wait_for("sampling pauses")
        rows = agent.metrics_when(lambda rows: rows["vestal_agent_paused"] == 1)
        assert rows["vestal_agent_rate_hz"] == 0, rows
        again = agent.metrics_when(lambda later: later['vestal_agent_cpu_seconds_total{where="user"}'] >
                                   rows['vestal_agent_cpu_seconds_total{where="user"}'])
        assert again["vestal_agent_samples_total"] == rows["vestal_agent_samples_total"], again


def status_rows(pid, task):
    with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


@test
def the_running_agent_has_given_its_other_rights_away():
    # bpf, perfmon, sys_ptrace, dac_read_search, syslog, checkpoint_restore
    kept = sum(1 << number for number in (39, 38, 19, 2, 34, 40))
    with Server() as server:
        with Busy(), Agent("--interval", "1", server="http://" + server.otlp_http) as agent:
            until(lambda: server.get("/api/v1/status")["profiles"], agent.said)
            pid = agent.process.pid
            tasks = os.listdir(f"/proc/{pid}/task")
            assert len(tasks) >= 3, tasks
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                host = int(file.read().split()[0])
            rows = status_rows(host, host)
            assert int(rows["CapEff"], 16) == int(rows["CapPrm"], 16) == 0, rows
            # A uid that no login, container or service has: none of their processes can end it.
            assert len(set(rows["Uid"].split())) == 1 and int(rows["Uid"].split()[0]) > 60513, rows
            assert rows["Uid"].split() != ["65534"] * 4 and rows["NoNewPrivs"] == "1", rows
            assert os.readlink(f"/proc/{host}/ns/user") != os.readlink("/proc/self/ns/user")
            # Who drains the ring comes before others, who reads files does not.
            usual = os.getpriority(os.PRIO_PROCESS, 0)
            assert os.getpriority(os.PRIO_PROCESS, pid) == -10, os.getpriority(os.PRIO_PROCESS, pid)
            assert os.getpriority(os.PRIO_PROCESS, host) == usual, os.getpriority(os.PRIO_PROCESS, host)
            for task in tasks:
                rows = status_rows(pid, task)
                for name in ("CapEff", "CapPrm", "CapBnd"):
                    assert int(rows[name], 16) & ~kept == 0, (task, name, rows[name])
                assert int(rows["CapInh"], 16) == int(rows["CapAmb"], 16) == 0, rows
                assert rows["NoNewPrivs"] == "1" and rows["Seccomp"] == "2", rows
        assert "more rights" not in agent.said(), agent.said()


@test
def without_them_it_still_names_what_others_run_and_sends_the_last_window():
    need_root()
    shell = os.path.join(scratch(), "private-shell")
    shutil.copy(shutil.which("dash") or "/bin/sh", shell)
    os.chmod(scratch(), 0o755)
    os.chown(shell, 65534, 65534)
    os.chmod(shell, 0o700)
    with Server() as server:
        with Agent("--interval", "3600", server="http://" + server.otlp_http):
            busy = subprocess.Popen(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                                     shell, "-c", "while :; do :; done"])
            until(lambda: cpu_seconds(busy.pid) > 1)
            busy.kill()
            busy.wait()
        found = json.dumps(server.get("/api/v1/services"))
        assert "private-shell" in found, found


def brief_program(folder):
    """The bytes of a program that runs for two milliseconds of its own."""
    program = os.path.join(folder, "program")
    source = os.path.join(folder, "program.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <time.h>\nint main(void){clock_t e=clock()+2000;"
                   "while(clock()<e);return 0;}\n")
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    with open(program, "rb") as file:
        return file.read()


def many_programs(folder, content, count):
    """Runs so many different files of this content, each once."""
    for number in range(count):
        one = os.path.join(folder, f"program-{number}")
        with open(one, "wb") as file:
            file.write(content)
        os.chmod(one, 0o755)
        subprocess.run([one], check=True)
        os.unlink(one)


@test
def files_that_nobody_maps_any_more_are_given_away():
    if not shutil.which("gcc"):
        raise Skip("no gcc")
    folder = os.path.join(scratch(), "many")
    os.makedirs(folder, exist_ok=True)
    # Before the agent: the compiler's tables are larger than all that is looked at here.
    content = brief_program(folder)
    # Only the children of this program: others on the machine have tables too.
    with Agent("-F", "997", "--cpu-budget", "0", "--memory-budget", "0", "--interval", "1", "-p",
               str(os.getpid()), "--metrics", "127.0.0.1:0", server=NOBODY) as agent:
        pid = agent.process.pid
        seen = []
        for _ in range(3):
            before = agent.metrics()["vestal_agent_modules_freed_total"]
            many_programs(folder, content, 800)
            rows = agent.metrics_when(
                lambda rows: rows["vestal_agent_modules_freed_total"] - before > 400 and
                rows["vestal_agent_modules_idle"] <= 500, 90)
            assert rows["vestal_agent_open_files"] < 700, rows
            assert len(os.listdir(f"/proc/{pid}/fd")) < 800
            seen.append(rows["vestal_agent_table_bytes"])
        # The first rounds fill what is kept for those that come again.
        assert seen[2] < max(seen[:2]) + (1 << 20), seen
        assert rows["vestal_agent_modules_refused_total"] == 0, rows


main()
