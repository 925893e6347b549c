#!/usr/bin/env python3
"""The server from the command line: start, push, ask, compare, delete, back up, check, tokens."""
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from support.tap import VESTAL, Skip, go_profiles, main, scratch, test, vestal
from support.wait import until

COMMANDS = ["up", "server", "push", "query", "services", "labels", "types", "status", "retention", "delete",
            "backup", "check", "token", "symbols"]


class Server:
    """A vestal server on a port of its own; `url` is where it is."""

    def __init__(self, *args, command="server"):
        self.args = [VESTAL, command, "--listen", "127.0.0.1:0", "--otlp-grpc", "none",
                     "--otlp-http", "none", *args]

    def __enter__(self):
        self.process = subprocess.Popen(self.args, cwd=scratch(), stderr=subprocess.PIPE, text=True)
        self.log = []
        line = self.process.stderr.readline()
        found = re.match(r"vestal: server on (https?://\S+), data in ", line)
        if not found:
            self.process.kill()
            raise AssertionError(f"no address: {line}{self.process.communicate()[1]}")
        self.url = found[1]
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr),
                                       daemon=True)
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        self.reader.join(timeout=10)
        return status

    def vestal(self, *args, env=None, **more):
        return vestal(*args, env={"VESTAL_SERVER": self.url, **(env or {})}, **more)

    def push(self, name, *args):
        return self.vestal("push", os.path.join(go_profiles(), name + ".pb.gz"), *args)

    def total(self, *args):
        return json.loads(self.vestal("query", "--json", *args)[0])["total"]


def total_of(name, type_name="cpu"):
    path = os.path.join(go_profiles(), name + ".pb.gz")
    return json.loads(vestal("top", "--json", "--type", type_name, path)[0])["total"]


def path_of(name):
    return os.path.join(go_profiles(), name + ".pb.gz")


def fresh(name):
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def table_of(text):
    """Without how much of which range was covered: the last hour with data ends with a whole second."""
    return re.sub(r"^(Rate:|Duration:) .*\n", "", text, flags=re.M)


@test
def what_was_pushed_is_found_again_with_the_same_numbers():
    with Server("--memory") as server:
        _, err = server.push("cpu", "--service", "checkout", "--label", "commit=abc123")
        assert 'stored as checkout{commit="abc123"}' in err, err
        whole, _ = server.vestal("query", "checkout", "-n", "0", "--from", "-1h", "--until", "now+1m")
        assert re.findall("Duration: .*", whole) == re.findall("Duration: .*", vestal("top", path_of("cpu"))[0])
        stored = table_of(server.vestal("query", "checkout", "-n", "0")[0])
        plain = table_of(vestal("top", "-n", "0", path_of("cpu"))[0])
        assert stored == plain, stored + plain
        stored = table_of(server.vestal("top", "-n", "0", 'checkout{commit="abc123"}')[0])
        assert stored == plain, stored + plain
        assert server.total("checkout{commit=abc123}", "--type", "cpu", "--from", "-1h") == \
            total_of("cpu")
        server.push("heap", "--service", "checkout")
        assert server.total("checkout", "--type", "heap") == total_of("heap", "inuse_space")
        assert server.vestal("services")[0] == "checkout\n"
        assert "commit" in server.vestal("labels")[0].split()
        assert server.vestal("labels", "commit")[0] == "abc123\n"
        out, _ = server.vestal("types")
        assert re.search(r"^cpu +nanoseconds +sum +process_cpu:cpu:", out, re.M), out
        assert re.search(r"^heap +bytes +level ", out, re.M), out
        out, _ = server.vestal("status")
        assert "2 of 1 services" in out, out
        assert server.stop() == 0


@test
def every_input_can_be_pushed():
    with Server("--memory") as server:
        with open(path_of("cpu"), "rb") as file:
            server.vestal("push", "-", "--service", "piped", stdin=file.read())
        vestal("convert", "-f", path_of("cpu"), "-o", "x.folded", "--type", "cpu")
        server.vestal("push", "x.folded", path_of("cpu2"), "--service", "two", cwd=scratch())
        assert server.total("piped") == total_of("cpu")
        assert "two" in server.vestal("services")[0].split()
        _, err = server.vestal("push", path_of("cpu"), "--service", "old", "--from", "-3d", "--until",
                               "-2d")
        out, _ = server.vestal("query", "old", "--from", "-4d", "--until", "-1d")
        assert "Duration: 86400s" in out or "Duration: 24hrs" in out, out


@test
def a_perf_data_file_is_read_here_and_not_by_the_server():
    data = os.path.join(scratch(), "perf.data")
    work = ["perf", "record", "-q", "-F", "499", "-g", "-o", data, "--", sys.executable, "-c",
            "sum(i * i for i in range(3000000))"]
    if not shutil.which("perf") or subprocess.run(work, capture_output=True, check=False).returncode:
        raise Skip("perf does not record here")
    with Server("--memory") as server, open(data, "rb") as file:
        server.vestal("push", data, "--service", "perfed")
        assert server.total("perfed") > 0
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        connection.request("POST", "/api/v1/profiles?service=x", file.read())
        answer = connection.getresponse()
        assert answer.status == 415 and b"vestal push" in answer.read()
        connection.close()


@test
def the_line_of_the_seeds_compares_two_versions():
    with Server("--memory") as server:
        server.push("cpu", "--service", "my-service", "--label", "commit=abc123")
        server.push("cpu2", "--service", "my-service", "--label", "commit=def456")
        out, _ = server.vestal("diff", "--baseline", "my-service{commit=abc123}", "--comparison",
                               "my-service{commit=def456}", "--time-range", "1h")
        before, after = re.search(r"^Before: .*$", out, re.M)[0], re.search(r"^After: .*$", out, re.M)[0]
        assert "my-service{commit=abc123}" in before and "my-service{commit=def456}" in after, out
        assert re.search(r"\d samples, 20\d\d-.*Z to 20\d\d-.*Z$", before), before
        plain, _ = vestal("diff", path_of("cpu"), path_of("cpu2"))
        assert out.split("verdict")[1] == plain.split("verdict")[1]
        out, _ = server.vestal("diff", "--baseline", "my-service", "--comparison",
                               path_of("cpu2"), "--json")
        assert json.loads(out)["before"]["total"] == total_of("cpu") + total_of("cpu2")


@test
def heaps_that_are_stored_are_judged_and_locks_say_why_not():
    with Server("--memory") as server:
        # A function that allocates a third of everything is not there before.
        function = json.loads(vestal("top", "--json", "--type", "alloc_space", path_of("allocs"))[0])["rows"][0]["name"]
        before = os.path.join(scratch(), "before.pb.gz")
        vestal("convert", "-f", "--ignore", "^" + re.escape(function) + "$", path_of("allocs"), "-o", before)
        server.vestal("push", before, "--service", "shop", "--label", "commit=a")
        server.push("allocs", "--service", "shop", "--label", "commit=b")
        server.push("mutex", "--service", "shop", "--label", "commit=a")
        server.push("mutex", "--service", "shop", "--label", "commit=b")
        sides = ["diff", "--baseline", "shop{commit=a}", "--comparison", "shop{commit=b}"]
        out, _ = server.vestal(*sides, "--type", "alloc_space")
        assert "Verdicts: samples are counted as one in 512 KiB" in out, out
        rows = json.loads(server.vestal(*sides, "--type", "alloc_space", "--json", "-n", "0")[0])
        assert rows["note"] is None and rows["before"]["samples"] > 0, rows
        verdicts = {row["name"]: row["verdict"] for row in rows["rows"]}
        assert "unknown" not in verdicts.values(), verdicts
        assert verdicts[function] in ("added", "noise"), verdicts
        for type_name in ("alloc_objects", "delay"):
            out, _ = server.vestal(*sides, "--type", type_name)
            assert "No verdicts: the number of samples" in out and "unknown" in out, out


@test
def every_view_takes_selectors():
    work = fresh("views")
    os.makedirs(work)
    with Server("--memory") as server:
        server.push("cpu", "--service", "checkout", "--label", "commit=abc123")
        _, err = server.vestal("flame", "checkout{}", "-o", "a.svg", cwd=work)
        assert "checkout{}: 20" in err, err
        server.vestal("convert", "checkout{}", "-o", "a.pb.gz", cwd=work)
        server.vestal("query", "checkout", "--flame", "b.svg", "--pprof", "b.pb.gz", cwd=work)
        for name in ("a", "b"):
            out, _ = vestal("top", "--json", f"{work}/{name}.pb.gz")
            assert json.loads(out)["total"] == total_of("cpu")
        out, _ = server.vestal("show", "--json", "checkout{}")
        assert json.loads(out)["files"][0]["format"] == "pprof"
        out, _ = server.vestal("query", "checkout", "--by", "commit")
        assert re.search(r"100% .* abc123$", out, re.M), out
        out, _ = server.vestal("query", "checkout", "--series")
        assert "█" in out, out
        out, _ = server.vestal("query", "checkout", "--series", "--json")
        assert json.loads(out)["schema"] == "vestal.series/1"
        out, _ = server.vestal("query", "checkout", "--focus", "fib", "--json")
        assert json.loads(out)["kept"] < json.loads(out)["total"]


@test
def what_was_acknowledged_survives_a_restart_and_a_kill():
    data = fresh("kept")
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Server("--data", data) as server:
            server.push("cpu", "--service", "checkout", "--label", f"end={number.name}")
            server.stop(number)
    with Server("--data", data) as server:
        assert server.vestal("labels", "end")[0] == "SIGKILL\nSIGTERM\n"
        assert server.total("checkout") == 2 * total_of("cpu")
        backup = fresh("backup")
        _, err = server.vestal("backup", backup)
        assert "backed up" in err
        _, err = server.vestal("backup", backup, status=None)
        _, err = server.vestal("check", data, status=None)
    _, err = vestal("check", data)
    assert "rows and files checked, no damage" in err, err
    vestal("check", backup)
    with Server("--data", backup) as server:
        assert server.total("checkout") == 2 * total_of("cpu")


@test
def a_memory_limit_is_not_mistaken_for_memory():
    for command in ("server", "up"):
        _, err = vestal(command, "--memory", "512M", status=64)
        assert "--memory takes no size" in err and "--memory-limit 512M" in err, err
    _, err = vestal("server", "--memory", "--listen", "127.0.0.1:0", "--memory-limit", "1M", status=None)
    assert "too little" in err, err
    with Server("--memory", "--memory-limit", "100M") as server:
        with urllib.request.urlopen(server.url + "/metrics") as reply:
            assert b"\nvestal_memory_limit_bytes 104857600\n" in reply.read()


@test
def a_query_beyond_its_time_is_an_error_and_no_answer():
    with Server("--memory", "--query-timeout", "1us") as server:
        server.push("cpu", "--service", "checkout")
        try:
            urllib.request.urlopen(server.url + "/api/v1/top?query=checkout").close()
            raise AssertionError("it was answered")
        except urllib.error.HTTPError as error:
            assert error.code == 504 and b"--query-timeout" in error.read(), error
        # Health and metrics have no deadline, and nothing before them.
        with urllib.request.urlopen(server.url + "/metrics") as reply:
            assert b"\nvestal_queries_timed_out_total 1\n" in reply.read()


@test
def a_damaged_store_is_told():
    data = fresh("damaged")
    with Server("--data", data) as server:
        server.push("cpu", "--service", "checkout")
    days = [os.path.join(folder, name) for folder, _, names in os.walk(data) for name in names
            if re.match(r"\d{4}-\d\d-\d\d\.db$", name)]
    with open(days[0], "r+b") as file:
        content = bytearray(file.read())
        for at in range(len(content) // 3, len(content) * 2 // 3):
            content[at] ^= 0x5a
        file.seek(0)
        file.write(content)
    _, err = vestal("check", data, status=None)
    assert "no damage" not in err, err
    _, err = vestal("check", "/nonexistent/x", status=66)
    assert "/nonexistent/x" in err, err


@test
def deleting_takes_only_what_is_selected():
    with Server("--data", fresh("deleting")) as server:
        server.push("cpu", "--service", "checkout", "--label", "commit=abc123")
        server.push("cpu2", "--service", "checkout", "--label", "commit=def456")
        _, err = server.vestal("delete", "checkout", status=64)
        assert "--yes" in err, err
        _, err = server.vestal("delete", "checkout{", "--yes", status=64)
        assert "not valid" in err, err
        _, err = server.vestal("delete", "checkout", "--before", "-1h", "--yes")
        assert "deleted 0 profiles" in err, err
        _, err = server.vestal("delete", 'checkout{commit="abc123"}', "--yes")
        assert "deleted 1 profiles" in err, err
        assert server.vestal("labels", "commit")[0] == "def456\n"
        assert server.total("checkout") == total_of("cpu2")


@test
def tokens_open_what_they_say():
    data = fresh("guarded")

    def token(*args):
        out, err = vestal("token", "create", "--data", data, *args)
        assert out.startswith("vst_") and out.strip() not in err
        return out.strip()

    everything, reader = token("--admin", "--name", "me"), token("--read")
    writer, other = token("--write"), token("--tenant", "other")
    out, _ = vestal("token", "list", "--data", data)
    assert len(out.splitlines()) == 5 and "me" in out and everything not in out, out
    with Server("--data", data) as server:
        def ask(text, *args, status=0):
            return server.vestal(*args, env={"VESTAL_TOKEN": text}, status=status)

        _, err = server.vestal("services", status=77)
        assert "--token" in err, err
        _, err = ask("vst_wrong", "services", status=77)
        ask(writer, "push", path_of("cpu"), "--service", "checkout")
        _, err = ask(reader, "push", path_of("cpu"), "--service", "checkout", status=77)
        assert "does not allow" in err, err
        assert ask(reader, "services")[0] == "checkout\n"
        ask(writer, "services", status=77)
        ask(reader, "delete", "checkout", "--yes", status=77)
        _, err = ask(other, "services")
        assert "none" in err, err
        assert server.vestal("services", "--token", reader)[0] == "checkout\n"
        path = os.path.join(scratch(), "token")
        with open(path, "w", encoding="ascii") as file:
            file.write(reader + "\n")
        assert server.vestal("services", "--token-file", path)[0] == "checkout\n"
        ask(everything, "delete", "checkout", "--yes")
        found = re.search(r"^(\w{16}) .* read +\d{4}-", vestal("token", "list", "--data", data)[0], re.M)
        vestal("token", "revoke", found[1], "--data", data)
        until(lambda: "--token" in ask(reader, "services", status=None)[1], "the revoked token does not open")
    _, err = vestal("token", "revoke", "nosuch", "--data", data, status=66)
    assert "nosuch" in err, err


@test
def others_are_not_let_in_by_accident():
    _, err = vestal("server", "--memory", "--listen", "0.0.0.0:0", "--otlp-grpc", "none",
                    "--otlp-http", "none", status=None, timeout=30)
    assert "vestal token create" in err and "--insecure" in err, err


@test
def tenants_are_apart():
    with Server("--memory", "--trust-tenant-header") as server:
        server.push("cpu", "--service", "mine", "--tenant", "a")
        assert server.vestal("services", "--tenant", "a")[0] == "mine\n"
        assert server.vestal("services", "--tenant", "b")[0] == ""


@test
def a_folder_is_pushed_file_by_file_with_its_labels():
    work = fresh("dropped")
    os.makedirs(work)
    shutil.copy(path_of("cpu"), f"{work}/cpu-1.pb.gz")
    with open(f"{work}/cpu-1.pb.gz.json", "w", encoding="utf-8") as file:
        json.dump({"service.name": "shop", "service.version": "1.2", "git": {"commit": "c1"},
                   "git.branch": "main", "deployment.environment": "prod",
                   "window_start": int(time.time() * 1000) - 60000, "durationMillis": 15000}, file)
    with open(f"{work}/notes.txt", "w", encoding="utf-8") as file:
        file.write("this is no profile\n")
    with Server("--memory") as server:
        child = subprocess.Popen([VESTAL, "push", "--watch", work, "--settle", "0.5"],
                                 env=dict(os.environ, VESTAL_SERVER=server.url), cwd=scratch(),
                                 stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: os.path.exists(f"{work}/pushed/cpu-1.pb.gz") and
                  os.path.exists(f"{work}/refused/notes.txt"))
            # A program writes a file in pieces, then its labels under the shorter name.
            with open(path_of("cpu2"), "rb") as source, open(f"{work}/cpu-2.pb.gz", "wb") as file:
                content = source.read()
                file.write(content[:100])
                file.flush()
                # What comes later and is whole overtakes it.
                with open(f"{work}/later.txt", "w", encoding="utf-8") as later:
                    later.write("this is no profile either\n")
                until(lambda: os.path.exists(f"{work}/refused/later.txt"))
                assert os.path.exists(f"{work}/cpu-2.pb.gz"), "pushed while it was being written"
                file.write(content[100:])
            with open(f"{work}/cpu-2.json", "w", encoding="utf-8") as file:
                json.dump({"service": "shop", "commit": "c2", "version": 3}, file)
            until(lambda: os.path.exists(f"{work}/pushed/cpu-2.json"))
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=30)
        finally:
            child.kill()
            child.wait()
        assert child.returncode == 0 and "2 pushed, 2 refused, 0 files left" in err, err
        assert sorted(os.listdir(f"{work}/pushed")) == ["cpu-1.pb.gz", "cpu-1.pb.gz.json",
                                                        "cpu-2.json", "cpu-2.pb.gz"]
        labels = server.vestal("labels")[0].split()
        for name in ("service.version", "commit", "branch", "deployment.environment", "version"):
            assert name in labels, labels
        assert server.vestal("labels", "commit")[0] == "c1\nc2\n"
        out, _ = server.vestal("query", 'shop{commit="c1"}', "--from", "-1d", "--until", "now+1d")
        assert "Duration: 15s" in out, out
        assert server.total("shop{commit=c2}") == total_of("cpu2")


@test
def a_folder_waits_while_the_server_is_away_and_loses_nothing():
    work, data = fresh("waiting"), fresh("waiting-data")
    os.makedirs(work)
    shutil.copy(path_of("cpu"), f"{work}/cpu-1.pb.gz")
    with Server("--data", data) as server:
        url = server.url
    child = subprocess.Popen([VESTAL, "push", "--watch", work, "--delete", "--settle", "0",
                              "--service", "shop"], env=dict(os.environ, VESTAL_SERVER=url),
                             cwd=scratch(), stderr=subprocess.PIPE, text=True)
    try:
        while "no server answers" not in child.stderr.readline():
            assert child.poll() is None
        assert os.path.exists(f"{work}/cpu-1.pb.gz")
        with Server("--data", data, "--listen", url.removeprefix("http://")) as server:
            until(lambda: not os.listdir(work))
            child.send_signal(signal.SIGTERM)
            assert child.wait(timeout=30) == 0
            assert server.total("shop") == total_of("cpu")
    finally:
        child.kill()
        child.wait()


@test
def mistakes_are_answered_with_a_sentence():
    with Server("--memory") as server:
        server.push("cpu", "--service", "checkout")
        server.push("heap", "--service", "heaps")
        for args, status, words in (
                (["query", "nosuch"], 66, "there is no profile of that kind"),
                (["query", "checkout{"], 64, "not valid"),
                (["query", "checkout", "--type", "nosuch"], 66, 'no type "nosuch"; there are: '),
                (["query", "heaps"], 64, "which type? there are: memory:"),
                (["query", "checkout", "--from", "yesterdayish"], 64, "yesterdayish"),
                (["query", "checkout", "--from", "-10m", "--until", "-9m"], 66, "of that kind from 20"),
                (["query"], 64, "one selector"),
                (["top", "checkout"], 66, "'checkout{}'"),
                (["push", "--service", "x"], 64, "file missing"),
                (["push", path_of("cpu"), "--label", "x"], 64, "K=V"),
                (["push", VESTAL, "--service", "x"], 65, "vestal"),
                (["push", "/nonexistent/x.pb.gz"], 66, "/nonexistent/x.pb.gz"),
                (["labels", "a", "b"], 64, "one label"),
                (["token", "frob"], 64, "create, list"),
                (["query", "checkout", "--pprof", path_of("cpu")], 73, "-f overwrites"),
        ):
            out, err = server.vestal(*args, status=status)
            assert out == "" and words in err and err.count("\n") == 1, f"{args}: {err}"
    for command in ("status", "services", "types", "labels"):
        _, err = vestal(command, "--server", "http://127.0.0.1:1", status=69)
        assert err == "vestal: no server answers at http://127.0.0.1:1: start one with vestal server\n"


@test
def two_servers_do_not_share_a_folder():
    data = fresh("shared")
    with Server("--data", data) as server:
        _, err = vestal("server", "--data", data, "--listen", "127.0.0.1:0", "--otlp-grpc", "none",
                        "--otlp-http", "none", status=None, timeout=30)
        assert str(server.process.pid) in err, err


@test
def up_says_where_it_is_and_what_to_type_next():
    with Server("--memory", command="up") as server:
        server.push("cpu", "--service", "checkout")
        assert server.stop(signal.SIGTERM) == 0
        assert any("next:" in line and server.url in line for line in server.log), server.log
        assert os.geteuid() or any("agent: every process" in line for line in server.log), server.log


@test
def up_goes_on_without_the_ports_of_otlp_when_a_collector_has_them():
    with socket.socket() as collector:
        try:
            collector.bind(("127.0.0.1", 4317))
            collector.listen()
        except OSError:
            pass  # Somebody has it: all the same.
        process = subprocess.Popen([VESTAL, "up", "--memory", "--listen", "127.0.0.1:0"],
                                   cwd=scratch(), stderr=subprocess.PIPE, text=True)
        lines = []
        while not lines or "next:" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        try:
            url = re.search(r"server on (\S+),", lines[0])[1]
            warning = [line for line in lines if "4317 is in use" in line]
            assert warning and "--otlp-grpc" in warning[0] and url.partition("//")[2] in warning[0], lines
            request = urllib.request.Request(url + "/v1development/profiles", b'{"resourceProfiles":[]}',
                                             {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as reply:
                assert reply.status == 200
        finally:
            process.terminate()
            process.communicate()
        assert process.returncode == 0
        # What was asked for is not done without.
        for command in ("up", "server"):
            _, err = vestal(command, "--memory", "--listen", "127.0.0.1:0", "--otlp-grpc",
                            "127.0.0.1:4317", "--otlp-http", "none", status=None, timeout=60)
            assert "127.0.0.1:4317 is in use by another program" in err, err


@test
def every_example_runs_against_a_server():
    work = fresh("examples")
    os.makedirs(f"{work}/profiles")
    os.makedirs(f"{work}/build")
    shutil.copy("/bin/true", f"{work}/app")
    shutil.copy("/bin/false", f"{work}/build/app")
    for name in ("cpu", "monday", "tuesday"):
        shutil.copy(path_of("cpu"), f"{work}/{name}.pb.gz")
    data = f"{work}/vestal-data"
    ran, skipped = 0, []
    with Server("--data", data) as server:
        env = dict(os.environ, PATH=os.path.dirname(VESTAL) + os.pathsep + os.environ["PATH"],
                   VESTAL_SERVER=server.url)
        server.push("heap", "--service", "heaps")
        for command in [c for c in COMMANDS if c not in ("token", "delete")] + ["delete", "token"]:
            text, _ = vestal("help", "--markdown", command)
            for line in re.findall(r"^    (vestal .*)$", text.split("# EXAMPLES")[1]
                                   .split("# DESCRIPTION")[0], re.M):
                # Those that stay, those of other programs, and those that want the server stopped.
                if command in ("up", "server", "check") or "--watch" in line or ":6060" in line:
                    skipped.append(line)
                    continue
                done = subprocess.run(["bash", "-c", line], cwd=work, env=env, text=True,
                                      capture_output=True, timeout=60, check=False)
                assert done.returncode == 0, f"{line}: {done.returncode}: {done.stderr}"
                ran += 1
    done = subprocess.run([VESTAL, "check", "vestal-data"], cwd=work, check=False)
    assert done.returncode == 0
    print(f"# {ran} examples ran; not run: {skipped}")


@test
def requests_of_other_tools_are_understood():
    """A file posted as curl would."""
    with Server("--memory") as server, open(path_of("cpu"), "rb") as file:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        connection.request("POST", "/api/v1/profiles?service=by-hand&label=commit%3Dx",
                           gzip.decompress(file.read()))
        answer = connection.getresponse()
        assert answer.status == 200 and json.loads(answer.read())["profiles"] == 1
        connection.close()
        assert server.total('by-hand{commit="x"}') == total_of("cpu")


if __name__ == "__main__":
    main()
