#!/usr/bin/env python3
"""What the processes of a server and an agent hold when root starts them, and that a backup goes
nowhere but where the operator said.

    VESTAL=build/vestal tests/e2e/test_privileges.py
"""
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time

from support.recording import allowed
from support.server import Server
from support.tap import VESTAL, Skip, main, scratch, test, vestal
from support.wait import until

SERVER_UID, AGENT_UID = 60590, 60591
KEPT = {"dac_read_search": 2, "sys_ptrace": 19, "syslog": 34, "perfmon": 38, "bpf": 39,
        "checkpoint_restore": 40}
SECRET = "an older file of root's"


def as_root():
    if os.geteuid():
        raise Skip("needs root")


def user(name, number):
    """The uid of a process that takes the user `name` where the system has it."""
    with open("/etc/passwd", encoding="utf-8") as file:
        for line in file:
            fields = line.split(":")
            if fields[0] == name:
                return int(fields[2])
    return number


def held(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        fields = dict(line.rstrip("\n").split(":", 1) for line in file)
    return {"uids": set(map(int, fields["Uid"].split())), "gids": set(map(int, fields["Gid"].split())),
            "groups": fields["Groups"].split(), "seccomp": int(fields["Seccomp"]),
            "no_new_privs": int(fields["NoNewPrivs"]),
            **{name: int(fields[name], 16) for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}}


def has_landlock():
    """Whether this kernel knows it: the version of landlock_create_ruleset."""
    import ctypes
    return ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1) > 0


def links(pid):
    folder = f"/proc/{pid}/fd"
    return [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]


def fresh(name):
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def push(server, service="checkout"):
    path = os.path.join(scratch(), "x.folded")
    with open(path, "w", encoding="utf-8") as file:
        file.write("main;work 70\nmain;idle 30\n")
    vestal("push", path, "--service", service, "--server", server.url)


def modes(folder):
    """(uid, mode) of everything below and of the folder itself."""
    found = {}
    for top, folders, names in os.walk(folder):
        for name in [".", *folders, *names]:
            info = os.lstat(os.path.join(top, name))
            found[os.path.relpath(os.path.join(top, name), folder)] = (info.st_uid, stat.S_IMODE(info.st_mode))
    return found


@test
def a_server_of_root_is_a_user_without_privileges():
    as_root()
    data = fresh("served")
    with Server(folder=data) as server:
        push(server)
        own = held(server.process.pid)
        uid = user("vestal", SERVER_UID)
        assert own["uids"] == {uid} and 0 not in own["gids"] and not own["groups"], own
        assert not any(own[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")), own
        assert own["no_new_privs"] == 1 and own["seccomp"] == 2, own
        if has_landlock():
            assert any("landlock" in link for link in links(server.process.pid)), links(server.process.pid)
        for task in os.listdir(f"/proc/{server.process.pid}/task"):
            one = held(f"{server.process.pid}/task/{task}")
            assert one == own, (task, one, own)
        assert server.get("/api/v1/top", query="checkout")["total"] == 100
    for name, (owner, mode) in modes(data).items():
        assert owner == uid and not mode & 0o077, (name, owner, oct(mode))
    # And again, with what root left in it.
    with open(f"{data}/audit.log", "a", encoding="ascii"):
        os.chown(f"{data}/audit.log", 0, 0)
        os.chmod(f"{data}/audit.log", 0o644)
    with Server(folder=data) as server:
        assert server.get("/api/v1/top", query="checkout")["total"] == 100
        assert modes(data)["audit.log"] == (uid, 0o600)


@test
def a_user_can_be_chosen_and_root_can_stay():
    as_root()
    for name, uid in (("4321", 4321), ("root", 0)):
        with Server("--user", name, folder=fresh(f"user-{name}")) as server:
            push(server)
            own = held(server.process.pid)
            assert own["uids"] == {uid} and not own["CapEff"] and not own["CapBnd"], own
    done = subprocess.run([VESTAL, "server", "--user", "no-such-user", "--data", fresh("nobody"), "--listen",
                           "127.0.0.1:0"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode and "no-such-user" in done.stderr, done.stderr


@test
def a_low_port_is_bound_before_privileges_go():
    as_root()
    for port in range(1023, 1000, -1):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        process = subprocess.Popen([VESTAL, "server", "--memory", "--listen", f"127.0.0.1:{port}", "--otlp-grpc",
                                    "none", "--otlp-http", "none"], stderr=subprocess.PIPE, text=True, cwd=scratch())
        line = process.stderr.readline()
        try:
            if "in use" in line:
                continue
            assert f":{port}" in line, line
            assert held(process.pid)["uids"] == {user("vestal", SERVER_UID)}
            return
        finally:
            process.terminate()
            process.wait(60)
            process.stderr.close()
    raise Skip("no low port is free")


@test
def what_is_not_plainly_ours_is_not_handed_over():
    as_root()
    uid = user("vestal", SERVER_UID)
    outside = os.path.join(scratch(), "outside")
    with open(outside, "w", encoding="utf-8") as file:
        file.write(SECRET)
    os.chmod(outside, 0o600)

    def refused(folder, word):
        done = subprocess.run([VESTAL, "server", "--data", folder, "--listen", "127.0.0.1:0", "--otlp-grpc", "none",
                               "--otlp-http", "none"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode and word in done.stderr, done.stderr

    data = fresh("tricked")
    with Server(folder=data):
        pass
    # A second name for a file of root's, in a folder that the server's user may write to.
    os.link(outside, f"{data}/audit.log.1")
    refused(data, "second name")
    os.unlink(f"{data}/audit.log.1")
    # A link is left alone.
    os.symlink(outside, f"{data}/link")
    with Server(folder=data):
        pass
    assert os.lstat(outside).st_uid == 0 and os.lstat(f"{data}/link").st_uid == 0
    os.unlink(f"{data}/link")
    # A file of somebody else's.
    with open(f"{data}/foreign", "w", encoding="utf-8"):
        os.chown(f"{data}/foreign", 1234, 1234)
    refused(data, "1234")
    # A folder that is no store at all stays whose it is.
    home = fresh("home")
    os.makedirs(home)
    shutil.copy(outside, f"{home}/letter")
    refused(home, "not a store")
    assert os.stat(home).st_uid == 0 and os.stat(f"{home}/letter").st_uid == 0
    assert os.stat(data).st_uid == uid


# ---------------------------------------------------------------- agent

@test
def vestal_up_of_root_has_a_server_and_an_agent_of_their_own():
    as_root()
    allowed()
    data = fresh("up")
    log = f"{scratch()}/up.log"
    with open(log, "w", encoding="utf-8") as err:
        up = subprocess.Popen([VESTAL, "up", "--data", data, "--listen", "127.0.0.1:0", "--otlp-grpc", "none",
                               "--otlp-http", "none", "--log-level", "info"], stderr=err, cwd=scratch())

    def said():
        with open(log, encoding="utf-8", errors="replace") as file:
            return file.read()

    try:
        until(lambda: "agent started" in said(), said)
        address = re.search(r"server on http://(\S+),", said())[1]
        children = subprocess.run(["pgrep", "-P", str(up.pid)], capture_output=True, text=True,
                                  check=True).stdout.split()
        agent = int(children[0])
        assert held(up.pid)["uids"] == {user("vestal", SERVER_UID)}, held(up.pid)
        own = held(agent)
        assert own["uids"] == {user("vestal-agent", AGENT_UID)}, own
        assert own["CapPrm"] == own["CapBnd"] == sum(1 << bit for bit in KEPT.values()), own
        assert own["no_new_privs"] == 1 and own["seccomp"] == 2, own
        with open(f"/proc/{agent}/mountinfo", encoding="utf-8") as file:
            root = [line.split() for line in file if line.split()[4] == "/"]
        assert root and "ro" in root[-1][5].split(","), root
        doctor = json.loads(vestal("doctor", "--json", status=None)[0])
        texts = [f["text"] for f in doctor["findings"] if f["name"] == "process"]
        assert any(f"({up.pid}): user {user('vestal', SERVER_UID)}, capabilities none, no_new_privs, seccomp" in text
                   for text in texts), texts
        assert any(f"({agent}): user {user('vestal-agent', AGENT_UID)}" in text and "bpf" in text and
                   "files read-only" in text for text in texts), texts
        # What it is there for goes on: processes of others are seen, with names.
        until(lambda: '"services":["' in vestal_services(address), said)
    finally:
        up.send_signal(signal.SIGTERM)
        status = up.wait(60)
    assert status == 0, said()
    # It was told to end, although the server may not send it a signal.
    assert not os.path.exists(f"/proc/{agent}"), said()
    assert not re.search(r"keeps more|not handed over", said()), said()


def vestal_services(address):
    return subprocess.run(["curl", "-s", f"http://{address}/api/v1/services"], capture_output=True, text=True,
                          check=False).stdout


@test
def the_agent_writes_only_into_its_own_folders():
    as_root()
    allowed()
    os.chmod(scratch(), 0o755)
    queue, control = fresh("queue"), f"{fresh('control')}/agent.sock"
    log = f"{scratch()}/agent.log"
    with open(log, "w", encoding="utf-8") as err:
        agent = subprocess.Popen([VESTAL, "agent", "--server", "http://127.0.0.1:1", "--interval", "1", "--queue",
                                  queue, "--control", control], stderr=err, cwd=scratch())

    def said():
        with open(log, encoding="utf-8", errors="replace") as file:
            return file.read()

    try:
        until(lambda: "agent started" in said(), said)
        until(lambda: any(name.endswith(".entry") for name in os.listdir(queue)), said)
        uid = user("vestal-agent", AGENT_UID)
        for name, (owner, mode) in modes(queue).items():
            assert owner == uid and not mode & 0o077, (name, owner, oct(mode))
        assert "rate" in vestal("agent", "ctl", "status", "--control", control)[0]
        # As the agent itself would: with its user, in its view of the files.
        for folder, works in ((queue, True), ("/tmp", False), ("/var/tmp", False), ("/dev/shm", False)):
            done = subprocess.run(["nsenter", "--target", str(agent.pid), "--mount", "setpriv", "--reuid", str(uid),
                                   "--clear-groups", "sh", "-c", f"echo x > {folder}/vestal-test-{agent.pid}.new"],
                                  capture_output=True, text=True, check=False)
            assert (done.returncode == 0) == works, (folder, done.stderr)
    finally:
        agent.send_signal(signal.SIGTERM)
        status = agent.wait(60)
    assert status == 0, said()


# ---------------------------------------------------------------- backup

def ask(path, target, uid=0):
    """A POST at a unix socket as a user; the status and the body."""
    done = subprocess.run(["setpriv", "--reuid", str(uid), "--clear-groups", "curl", "-s", "-w", "\n%{http_code}",
                           "--unix-socket", path, "-X", "POST", f"http://localhost{target}"],
                          capture_output=True, text=True, check=False)
    body, _, status = done.stdout.rpartition("\n")
    return int(status or 0), body


@test
def the_server_writes_backups_only_below_its_folder_and_only_for_its_own():
    as_root()
    data, place = fresh("kept"), fresh("place")
    sockets = f"{fresh('sockets')}"
    os.makedirs(sockets)
    os.chmod(scratch(), 0o755)
    path = f"{sockets}/s.sock"
    victim = fresh("victim")
    os.makedirs(victim)
    with Server("--backup-dir", place, "--otlp-http", f"unix:{path}", folder=data) as server:
        os.chmod(path, 0o666)
        push(server)
        for uid in (0, user("vestal", SERVER_UID)):
            status, body = ask(path, f"/api/v1/backup?name=of-{uid}", uid)
            assert status == 200, body
        assert ask(path, "/api/v1/backup?name=other", 65534)[0] == 403
        assert server.ask("/api/v1/backup?name=by-tcp", b"")[0] == 403
        for name in ("..", "../x", "/etc/x", "a/b", ".hidden", "x" * 65, "%00", "a%2fb"):
            assert ask(path, f"/api/v1/backup?name={name}")[0] == 400, name
        assert server.ask(f"/api/v1/backup?destination={victim}/x", b"")[0] == 400
        assert ask(path, "/api/v1/backup?name=of-0")[0] == 409
        # A link in its place is not followed.
        os.symlink(victim, f"{place}/trap")
        assert ask(path, "/api/v1/backup?name=trap")[0] == 409
        assert not os.listdir(victim)
        os.unlink(f"{place}/trap")
        assert sorted(os.listdir(place)) == sorted(["of-0", f"of-{user('vestal', SERVER_UID)}"])
        for name, (_, mode) in modes(place).items():
            assert not mode & 0o077, (name, oct(mode))
    vestal("check", f"{place}/of-0")


@test
def a_link_that_is_put_in_the_way_meanwhile_leads_nowhere():
    """Somebody who may write into the folder exchanges names as fast as possible."""
    as_root()
    data, place, victim = fresh("raced"), fresh("open-place"), fresh("raced-victim")
    os.makedirs(place)
    os.makedirs(victim)
    os.chmod(victim, 0o777)
    path = f"{fresh('race-sockets')}/s.sock"
    os.makedirs(os.path.dirname(path))
    stop = threading.Event()

    def race():
        while not stop.is_set():
            for number in range(20):
                try:
                    os.rename(f"{place}/b{number}", f"{place}/gone-{number}-{time.monotonic_ns()}")
                    os.symlink(victim, f"{place}/b{number}")
                except OSError:
                    pass

    with Server("--backup-dir", place, "--otlp-http", f"unix:{path}", folder=data) as server:
        push(server)
        racer = threading.Thread(target=race)
        racer.start()
        try:
            answers = [ask(path, f"/api/v1/backup?name=b{number}")[0] for number in range(20)]
        finally:
            stop.set()
            racer.join()
    assert set(answers) <= {200, 403, 409, 500, 503}, answers
    assert not os.listdir(victim), os.listdir(victim)


@test
def a_backup_is_fetched_with_the_rights_of_whoever_asks_and_leaves_nothing_at_the_server():
    data, copy = fresh("fetched"), fresh("fetched-copy")
    with Server(folder=data) as server:
        push(server)
        before = sorted(os.listdir(data))
        vestal("backup", copy, "--server", server.url)
        for name, (owner, mode) in modes(copy).items():
            assert owner == os.geteuid() and not mode & 0o077, (name, owner, oct(mode))
        # Into what is there already, and through a link: refused, and nothing is changed.
        for target in (copy, f"{scratch()}/copy-link"):
            if target != copy:
                os.symlink(copy, target)
            names = sorted(os.listdir(copy))
            assert "exists" in vestal("backup", target, "--server", server.url, status=None)[1]
            assert sorted(os.listdir(copy)) == names
        status, body = server.ask("/api/v1/backup", b"")
        assert status == 200, body
        begun = json.loads(body)
        assert any(name.startswith(".backup-") for name in os.listdir(data))
        assert server.ask("/api/v1/backup", b"")[0] == 429
        assert server.ask(f"/api/v1/backup/file?id={begun['id']}&file=99999")[0] == 400
        assert server.ask("/api/v1/backup/file?id=00&file=0")[0] == 404
        status, part = server.ask(f"/api/v1/backup/file?id={begun['id']}&file=0&offset=0")
        assert status == 200 and len(part) == min(begun["files"][0]["bytes"], 4 << 20)
        assert server.ask(f"/api/v1/backup/end?id={begun['id']}", b"")[0] == 200
        assert sorted(os.listdir(data)) == sorted(set(before) | {"anonymous"}), os.listdir(data)
        # What a server that was killed left behind is removed by the next one.
        assert server.ask("/api/v1/backup", b"")[0] == 200
        left = [name for name in os.listdir(data) if name.startswith(".backup-")]
        server.process.kill()
        server.process.wait()
        server.process.returncode = 0
    assert left
    with Server(folder=data) as server:
        assert not [name for name in os.listdir(data) if name.startswith(".backup-")]
        assert server.get("/api/v1/top", query="checkout")["total"] == 100
    vestal("check", copy)


@test
def a_hostile_server_cannot_write_outside_of_the_new_folder():
    """The names of a backup's files are the server's."""
    import http.server
    names = ["../outside", "/etc/outside", "a/../../outside", "a//b", "a/./b", "", "a\nb", "x/" * 12 + "y"]
    current = []

    class Hostile(http.server.BaseHTTPRequestHandler):
        def answer(self, body, kind):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):  # pylint: disable=invalid-name
            self.answer(json.dumps({"schema": "vestal.backup/2", "id": "1",
                                    "files": [{"path": "STORE", "bytes": 1},
                                              {"path": current[-1], "bytes": 1}]}).encode(), "application/json")

        def do_GET(self):  # pylint: disable=invalid-name
            self.answer(b"x", "application/octet-stream")

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    inside = fresh("hostile")
    os.makedirs(inside)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as web:
        threading.Thread(target=web.serve_forever).start()
        try:
            for name in names:
                current.append(name)
                _, err = vestal("backup", "copy", "--server", f"http://127.0.0.1:{web.server_port}", cwd=inside,
                                status=None)
                assert "a file with the name" in err, (name, err)
                assert not os.listdir(inside), (name, os.listdir(inside))
        finally:
            web.shutdown()


main()
