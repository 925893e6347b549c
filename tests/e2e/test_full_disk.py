#!/usr/bin/env python3
"""A real server on disks that are really full: small file systems in a mount namespace of this test's own.
Uploads are refused with 503 and sent again later, questions are answered, a delete works and frees
the space, and with room the server is well again by itself.
"""
import ctypes
import json
import os
import subprocess
import time

from support.server import Server
from support.tap import Skip, main, scratch, test, vestal

CLONE_NEWNS = 0x00020000
FULL = "read-only: disk full"
INODES = "read-only: no inodes left"


def own_mounts():
    """What is mounted from here on is gone with this process."""
    if not hasattr(own_mounts, "done"):
        libc = ctypes.CDLL(None, use_errno=True)
        own_mounts.done = libc.unshare(CLONE_NEWNS) == 0 and not subprocess.run(
            ["mount", "--make-rprivate", "/"], check=False, capture_output=True).returncode
    if not own_mounts.done:
        raise Skip("mounting needs root")


def fill(folder):
    """Somebody else takes all the room there is."""
    fd = os.open(folder + "/.filler", os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(fd, bytes(4096)):
            pass
    except OSError:
        pass
    os.close(fd)


class Disk(Server):
    """A server on a file system of its own, of so many MiB."""

    def __init__(self, name, options, after=None):
        own_mounts()
        self.folder = os.path.join(scratch(), name)
        self.sent = after.sent if after else 0
        if not after:
            os.makedirs(self.folder)
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder], check=True)
        super().__init__(folder=self.folder)

    def upload(self, n=200):
        self.sent += 1
        text = "\n".join(f"main;f{self.sent}_{os.urandom(150).hex()} 1" for _ in range(n))
        return self.ask("/ingest?name=shop&format=folded", text.encode())[0]

    def ready(self):
        status, body = self.ask("/ready")
        return status, body.decode()

    def reserve(self):
        folder = self.folder + "/.reserve"
        return len(os.listdir(folder)) if os.path.isdir(folder) else 0

    def total(self):
        answer = self.get("/api/v1/top", query="shop", type="process_cpu:cpu:nanoseconds:cpu:nanoseconds")
        return answer["total"]

    def delete_all(self):
        return json.loads(vestal("delete", "{}", "--yes", "--json", env={"VESTAL_SERVER": self.url})[0])

    def recovers(self):
        wait(lambda: self.ready()[0] == 200)
        wait(lambda: self.upload() == 200)
        assert self.reserve() == 16


def wait(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it does not happen")


def is_refused(server, text):
    wait(lambda: server.ready()[0] == 503)
    status, body = server.ready()
    assert body.startswith(text), body
    assert server.upload() == 503
    # What is left is for what frees space.
    assert server.ask("/api/v1/symbols/upload", b"no program")[0] == 503
    status, body = server.ask("/ready?for=queries")
    assert status == 200 and text in body.decode(), body
    assert server.get("/api/v1/status")["disk_state"] == text
    reason = text.removeprefix("read-only: ")
    assert f'vestal_store_read_only{{reason="{reason}"}} 1' in server.ask("/metrics")[1].decode()
    wait(lambda: any(text in line and "level=error" in line for line in server.log))


@test
def a_full_disk_is_told_before_anything_is_written_and_a_delete_frees_it():
    with Disk("full", "size=48m") as server:
        assert server.ready() == (200, "ready\n")
        assert server.reserve() == 16
        for _ in range(30):
            assert server.upload() == 200
        total = server.total()
        fill(server.folder)
        # Nobody has to fail first.
        is_refused(server, FULL)
        assert server.total() == total
    # After a restart it is known at once.
    with Disk("full", "", after=server) as server:
        status, body = server.ready()
        assert status == 503 and body.startswith(FULL), body
        assert server.total() == total
        assert server.delete_all()["profiles"] == 30
        with open(server.folder + "/audit.log", encoding="utf-8") as file:
            actions = [json.loads(line)["action"] for line in file]
        assert "delete" in actions, actions
        # What it freed is more than the reserve: the other file may stay.
        server.recovers()
    vestal("check", server.folder)


@test
def a_token_is_revoked_on_a_full_disk():
    own_mounts()
    folder = os.path.join(scratch(), "revoke")
    os.makedirs(folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], check=True)
    tokens = [vestal("token", "create", "--data", folder, "--name", name)[0].strip() for name in ("stays", "goes")]
    with open(folder + "/tokens", encoding="utf-8") as file:
        revoked = next(line.split()[0] for line in file if line.rstrip().endswith("goes"))
    # Not even in the last page of a file is there room for a line.
    for name in ("tokens", "audit.log"):
        with open(f"{folder}/{name}", "a", encoding="utf-8") as file:
            file.write("#" * (4095 - file.tell() % 4096) + "\n")
    fill(folder)
    _, err = vestal("token", "revoke", revoked, "--data", folder)
    assert "audit.log" in err and revoked in err, err
    assert revoked not in vestal("token", "list", "--data", folder)[0]
    os.unlink(folder + "/.filler")
    # A list with a line that was struck out can be changed.
    tokens.append(vestal("token", "create", "--data", folder, "--name", "new")[0].strip())
    with Server(folder=folder) as server:
        opens = [server.ask("/api/v1/services", headers={"Authorization": "Bearer " + token})[0] for token in tokens]
        assert opens == [200, 401, 200], opens


@test
def a_disk_that_uploads_fill_recovers_when_others_make_room():
    with Disk("uploads", "size=24m") as server:
        statuses = []
        for _ in range(400):
            statuses.append(server.upload(400))
            if statuses[-1] == 503:
                break
        stored = statuses.count(200)
        assert set(statuses) == {200, 503}, set(statuses)
        is_refused(server, FULL)
        # A question about what was stored opens files.
        assert server.total() > 0
        assert server.delete_all()["profiles"] == stored
        server.recovers()
    vestal("check", server.folder)


@test
def retention_frees_a_full_disk_with_the_reserve():
    """A day is cut, which writes before it frees."""
    own_mounts()
    folder = os.path.join(scratch(), "cut")
    os.makedirs(folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder], check=True)
    with Server("--retention", "0", folder=folder) as server:
        now = int(time.time()) // 86400 * 86400 - 86400
        for window in range(40):
            when = now + window * 600
            text = "\n".join(f"main;f{window}_{os.urandom(100).hex()} 1" for _ in range(200))
            status, body = server.ask(f"/ingest?name=shop&format=folded&from={when}&until={when + 10}", text.encode())
            assert status == 200, body
    fill(folder)
    with Server("--retention", "0", "--max-size", "400KB", folder=folder) as server:
        wait(lambda: any("reason=size" in line for line in server.log))
        os.unlink(folder + "/.filler")
        wait(lambda: server.ask("/ready")[0] == 200)
    vestal("check", folder)


@test
def a_disk_without_inodes_is_named_and_a_delete_still_works():
    with Disk("inodes", "size=64m,nr_inodes=200") as server:
        for _ in range(3):
            assert server.upload() == 200
        taken = []
        try:
            while True:
                taken.append(f"{server.folder}/.file{len(taken)}")
                os.close(os.open(taken[-1], os.O_CREAT | os.O_WRONLY))
        except OSError:
            taken.pop()
        is_refused(server, INODES)
        assert server.delete_all()["profiles"] == 3
        for path in taken:
            os.unlink(path)
        server.recovers()


@test
def a_quota_on_disk_makes_room_by_itself():
    """With a limit on what the store may take, a full disk is a reason to look at it at once: of these tenants
    none has more than all may have together."""
    own_mounts()
    folder = os.path.join(scratch(), "limited")
    os.makedirs(folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], check=True)
    with Server("--max-size", "2MB", "--retention", "0", "--trust-tenant-header", folder=folder) as server:
        now = int(time.time())
        for day in range(20, -1, -1):
            when = now - day * 86400
            text = "\n".join(f"main;f{day}_{os.urandom(100).hex()} 1" for _ in range(1000))
            status, body = server.ask(f"/ingest?name=shop&format=folded&from={when}&until={when + 10}", text.encode(),
                                      {"X-Scope-OrgID": f"tenant-{day % 7}"})
            assert status == 200, body
        fill(folder)
        wait(lambda: any("read-only: disk full" in line for line in server.log))
        wait(lambda: any("reason=size" in line for line in server.log))
        wait(lambda: server.ask("/ready")[0] == 200)


main()
