#!/usr/bin/env python3
"""libvestal's control: profiles on demand over HTTP, on and off without a restart.

    VESTAL=build/vestal tests/e2e/test_control.py
"""
import gzip
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess

from support.controlled import Controlled, free_port
from support.inside import build_inside, run
from support.recording import build, top
from support.tap import Skip, main, scratch, test, vestal
from support.wait import until


def pprof(url, *options):
    """What the real pprof says."""
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    done = subprocess.run(["go", "tool", "pprof", "-top", *options, url], capture_output=True,
                          text=True, check=False, cwd=scratch(), timeout=120,
                          env=dict(os.environ, PPROF_TMPDIR=scratch(), GOTOOLCHAIN="local"))
    assert done.returncode == 0, done.stderr
    return done.stdout


@test
def go_tool_pprof_reads_every_profile_from_a_running_program():
    with Controlled().ready() as program:
        until(lambda: program.state()["samples"] > 20, "samples")
        for path, kind, function in (("profile?seconds=2", "cpu", "work_steadily"),
                                     ("heap", "inuse_space", "hold_memory"),
                                     ("allocs", "alloc_space", "hold_memory"),
                                     ("allocs?seconds=1", "alloc_space", "hold_memory"),
                                     ("threadcreate", "threadcreate", "work")):
            said = pprof(program.url(f"/debug/pprof/{path}"))
            assert f"Type: {kind}" in said and function in said, (path, said)
        said = pprof(program.url("/debug/pprof/heap"), "-sample_index=alloc_space")
        assert "hold_memory" in said, said


@test
def vestal_reads_them_as_well_and_they_are_true():
    with Controlled().ready() as program:
        rows, names = top(program.url("/debug/pprof/profile?seconds=3"))
        # Two threads that never sleep, on a machine that others use too.
        assert names["work_steadily"]["cum"] > 0.9 * rows["total"] > 0, rows
        until(lambda: "hold_memory" in top(program.url("/debug/pprof/heap"))[1], "memory")
        rows, names = top(program.url("/debug/pprof/heap"))
        # 2 threads hold 1000 objects of 10,000 bytes each: 300 samples of 64 KiB.
        held = until(lambda: top(program.url("/debug/pprof/heap"))[1]["hold_memory"]["cum"]
                        > 14e6 and top(program.url("/debug/pprof/heap")), "all of it")
        assert held[1]["hold_memory"]["cum"] < 26e6, held[1]["hold_memory"]


@test
def the_small_pages_are_there():
    with Controlled().ready() as program:
        status, kind, body = program.ask("/debug/pprof/")
        assert status == 200 and kind.startswith("text/html") and b"threadcreate" in body
        assert program.ask("/debug/pprof")[0] == 301
        assert program.ask("/debug/pprof/cmdline")[2].split(b"\0")[0].endswith(b"steady-plain")
        assert program.ask("/debug/pprof/symbol")[2] == b"num_symbols: 1\n"
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
            base = int(next(line for line in maps if "steady" in line).split("-")[0], 16)
        symbols = subprocess.run(["nm", build("steady")], check=True, capture_output=True,
                                 text=True).stdout
        address = int(re.search(r"^(\w+) T hold_memory", symbols, re.M)[1], 16) + base
        assert program.ask("/debug/pprof/symbol", "POST", f"{address:#x}+0x1")[2] == \
            f"{address:#x}\thold_memory\n".encode()
        for path in ("/", "/debug/pprof/nothing", "/vestal/other"):
            assert program.ask(path)[0] == 404, path
        assert program.ask("/debug/pprof/heap", "POST")[0] == 405
        for seconds in ("0", "x", "-1", "3601", "99999999999999999999"):
            assert program.ask(f"/debug/pprof/profile?seconds={seconds}")[0] == 400, seconds


@test
def what_is_off_says_how_to_turn_it_on():
    with Controlled(VESTAL_TYPES="cpu").ready() as program:
        for page in ("heap", "allocs", "mutex", "block", "threads"):
            status, _, body = program.ask(f"/debug/pprof/{page}")
            assert status == 404 and b"VESTAL_TYPES=" in body, (page, status, body)


@test
def waits_for_locks_and_threads_are_asked_for_by_pprof():
    with Controlled([build("waiting")], VESTAL_TYPES="cpu,lock,threads").ready() as program:
        for page, kind, function in (("mutex", "delay", "wait_for_lock"),
                                     ("block", "block_delay", "wait_for_turn"),
                                     ("threads", "threads", "wait_for_turn")):
            url = program.url(f"/debug/pprof/{page}")
            said = until(lambda url=url, function=function:
                            (lambda text: function in text and text)(pprof(url)), page)
            assert f"Type: {kind}" in said, said


@test
def waits_of_the_next_seconds_are_the_difference():
    with Controlled([build("waiting")], VESTAL_TYPES="cpu,lock").ready() as program:
        def asked(page, kind):
            return top(program.url(f"/debug/pprof/{page}"), "--type", kind)
        for page, kind, function in (("mutex", "delay", "wait_for_lock"),
                                     ("block", "block_delay", "wait_for_turn")):
            until(lambda page=page, kind=kind, function=function: function in asked(page, kind)[1], page)
            before = asked(page, kind)[0]["total"]
            rows, names = asked(f"{page}?seconds=1", kind)
            after = asked(page, kind)[0]["total"]
            assert 1e9 <= rows["duration_ns"] and set(names) >= {function}, (rows["duration_ns"], names)
            assert 0 < rows["total"] <= after - before, (page, before, rows["total"], after)
            other = "block_delay" if page == "mutex" else "delay"
            assert asked(f"{page}?seconds=1", other)[0]["total"] == 0, page


@test
def sampling_is_switched_off_and_on_without_a_restart():
    with Controlled(VESTAL_INTERVAL_MS="200").ready() as program:
        until(lambda: program.state()["samples"] > 20, "samples")
        state = program.state("DELETE")
        assert state["enabled"] is False and state["paused_by"] == ["user"], state
        still = program.state()["samples"]
        # A profile on demand is taken all the same, and does not switch it on.
        body = program.ask("/debug/pprof/profile?seconds=1")[2]
        assert gzip.decompress(body) and program.state()["enabled"] is False
        taken = program.state()["samples"]
        assert taken > still, (taken, still)
        exports = until(lambda: program.state()["exports"], "a file")
        assert program.state()["samples"] == taken
        state = program.state("POST")
        assert state["enabled"] is True and state["paused_by"] == [], state
        until(lambda: program.state()["samples"] > taken, "samples again")
        until(lambda: program.state()["exports"] > exports, "files again")
        program.end()


@test
def allocations_go_on_after_a_pause():
    with Controlled().ready() as program:
        def allocated():
            rows, names = top(program.url("/debug/pprof/allocs"))
            return names.get("hold_memory", {"cum": 0})["cum"]
        until(lambda: allocated() > 1e6, "allocations")
        program.state("DELETE")
        # What was under way.
        first = until(lambda: (lambda a: a == allocated() and a)(allocated()), "a standstill")
        program.state("POST")
        until(lambda: allocated() > first, "allocations again")


@test
def an_address_for_others_must_be_allowed():
    for address, word in (("0.0.0.0:6060", "VESTAL_LISTEN_ANYWHERE"), ("6060", "no address"),
                          ("127.0.0.1:99999", "no address"), ("[::]:6060", "ANYWHERE")):
        done = run(["echo", "on"], preload=True, VESTAL_LISTEN=address)
        assert done.stdout == "on\n" and word in done.stderr, (address, done)
    with Controlled(VESTAL_LISTEN_ANYWHERE="1", listen=False) as program:
        program.end()
    port = free_port()
    with Controlled(VESTAL_LISTEN_ANYWHERE="1", VESTAL_LISTEN=f"0.0.0.0:{port}") as program:
        program.port = port
        program.ready()


@test
def an_address_in_use_is_an_error_for_who_asked_and_silence_for_the_rest():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        done = run(["sh", "-c", "echo on; echo off"], preload=True, VESTAL_LISTEN=address)
        assert (done.stdout, done.stderr) == ("on\noff\n", ""), done
        done = run([build_inside("listening"), address], status=1)
        assert "in use" in done.stderr, done.stderr


@test
def a_linked_program_listens_by_its_option():
    port = free_port()
    with Controlled([build_inside("listening"), f"127.0.0.1:{port}"], listen=False,
                    LD_PRELOAD="") as program:
        program.port = port
        program.ready()
        assert program.ask("/debug/pprof/heap")[0] == 404
        assert gzip.decompress(program.ask("/debug/pprof/profile?seconds=1")[2])
        program.end()


def sockets(pid):
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found += [name] * os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
        except FileNotFoundError:
            pass
    return found


@test
def a_forked_child_has_none_of_its_sockets():
    with Controlled([build("steady"), "fork"]) as program:
        child = int(program.process.stdout.readline())
        program.ready()
        assert sockets(program.pid)
        # It is the child itself that closes them, when its turn comes.
        until(lambda: not sockets(child), lambda: sockets(child))
        # Nor is its number one that the program would have had.
        assert all(int(number) >= 64 for number in sockets(program.pid)), sockets(program.pid)
        program.end()


@test
def a_program_that_closes_every_descriptor_keeps_what_it_opens_instead():
    code = ("import os,socket,sys\n"
            "sys.stdin.readline()\n"
            "os.closerange(3, 2000)\n"
            "s = [socket.create_server(('127.0.0.1', 0)) for _ in range(980)]\n"
            "p = s[-1].getsockname()[1]\n"
            "c = [socket.create_connection(('127.0.0.1', x.getsockname()[1])) for x in s[940:]]\n"
            "import time; time.sleep(2.5)\n"
            "for x in s[940:]: x.settimeout(20); x.accept()\n"
            "print('well')\n")
    if not shutil.which("prlimit"):
        raise Skip("no prlimit")
    with Controlled(["prlimit", "--nofile=4096", "python3", "-c", code]) as program:
        program.ready()
        out, err = program.process.communicate("\n", timeout=120)
        assert out == "well\n", (out, err)


@test
def other_sites_pages_may_not_ask():
    with Controlled().ready() as program:
        for headers in ({"Host": "evil.example:6060"}, {"Origin": "http://evil.example"},
                        {"Sec-Fetch-Site": "cross-site"}, {"Host": "127.0.0.1.evil.example"}):
            for method in ("GET", "POST", "DELETE"):
                assert program.ask("/vestal/profiling", method, None, headers)[0] == 403, headers
        own = f"127.0.0.1:{program.port}"
        assert program.ask("/vestal/profiling", "POST", None,
                           {"Host": own, "Origin": f"http://{own}"})[0] == 200
        assert program.ask("/vestal/profiling", "GET", None, {"Host": "localhost:1"})[0] == 200
        assert program.state()["enabled"]


@test
def hostile_requests_are_refused_and_hurt_nobody():
    with Controlled().ready() as program:
        for data in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/2\r\n\r\n", b"\0" * 100 + b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 100 + b"\r\n",
                     b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
            assert program.raw(data).startswith(b"HTTP/1.1 400 "), data
        for data in (b"GET /" + b"a" * 9000, b"x" * 8192,
                     b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"):
            assert program.raw(data).startswith((b"HTTP/1.1 431 ", b"")), data
        some = random.Random(7)
        for _ in range(300):
            data = bytearray(b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             b"Content-Length: 13\r\n\r\n0x1234+0x5678")
            for _ in range(some.randrange(1, 6)):
                data[some.randrange(len(data))] = some.randrange(256)
            with socket.create_connection(("127.0.0.1", program.port)) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
        assert program.state()["enabled"]
        program.end()


@test
def those_who_send_slowly_do_not_keep_others_out():
    with Controlled().ready() as program:
        slow = [socket.create_connection(("127.0.0.1", program.port)) for _ in range(60)]
        for connection in slow:
            try:
                connection.sendall(b"G")
            except OSError:
                pass
        assert program.state()["enabled"]
        # All that are left are closed by and by.
        for connection in slow:
            connection.settimeout(60)
            try:
                assert connection.recv(1) == b""
            except ConnectionResetError:
                pass
            connection.close()


@test
def more_profiles_at_a_time_than_there_is_room_for_are_refused():
    with Controlled().ready() as program:
        ask = (b"GET /debug/pprof/profile?seconds=30 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        waiting = []
        for _ in range(4):
            waiting.append(socket.create_connection(("127.0.0.1", program.port)))
            waiting[-1].sendall(ask)
        answer = until(lambda: program.raw(ask.replace(b"30", b"1")), "an answer")
        assert answer.startswith((b"HTTP/1.1 503 ", b"HTTP/1.1 200 ")), answer[:100]
        # Who goes away makes room.
        for connection in waiting:
            connection.close()
        until(lambda: program.raw(ask.replace(b"30", b"1")).startswith(b"HTTP/1.1 200"), "room")


@test
def a_named_signal_switches_and_no_other():
    with Controlled(VESTAL_SIGNAL="USR2").ready() as program:
        for expected in (False, True, False):
            os.kill(program.pid, signal.SIGUSR2)
            until(lambda expected=expected: program.state()["enabled"] is expected, expected)
        program.end()
    with Controlled().ready() as program:
        os.kill(program.pid, signal.SIGUSR2)
        assert program.process.wait(60) == -signal.SIGUSR2


@test
def a_signal_that_the_program_uses_is_not_taken():
    done = run(["sh", "-c", "trap 'echo mine' USR2; kill -USR2 $$; echo end"], preload=True,
               VESTAL_SIGNAL="USR1", VESTAL_OUTPUT=os.path.join(scratch(), "s-%p.pb.gz"))
    assert done.stdout == "mine\nend\n", done
    done = run([build("steady")], preload=True, status=0, VESTAL_SIGNAL="KILL")
    assert "VESTAL_SIGNAL" in done.stderr, done.stderr


@test
def off_from_the_start_is_switched_on_by_a_request():
    with Controlled(VESTAL_PROFILING="off").ready() as program:
        assert program.state()["enabled"] is False and program.state()["samples"] == 0
        program.state("POST")
        until(lambda: program.state()["samples"] > 5, "samples")


@test
def off_with_nobody_who_could_switch_it_on_is_nothing_at_all():
    with Controlled(VESTAL_PROFILING="off", listen=False) as program:
        program.process.stdout.readline()
        assert len(os.listdir(f"/proc/{program.pid}/task")) == 3
        program.end()


def config(text):
    path = os.path.join(scratch(), "profiling.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@test
def a_profiling_block_of_a_yaml_file_is_obeyed():
    path = config("app:\n  - other: [things]\nprofiling:\n  # CPU profiling\n  cpu:\n    enabled: true\n"
                  "    sample_rate: 50  # samples per second\n  memory: {enabled: true, "
                  "sample_rate: 128KB}\n  max_stack_depth: 64\n  max_profile_size: 10MB\n"
                  "  upload_interval: 2s\n  load_shedding:\n    enabled: false\n"
                  "    cpu_threshold: 1%\n")
    with Controlled(VESTAL_CONFIG=path, VESTAL_TYPES="", VESTAL_ALLOC_INTERVAL="").ready() as program:
        state = program.state()
        assert (state["rate_hz"], state["interval_ms"]) == (50, 2000), state
        assert state["types"] == ["cpu", "alloc", "heap"], state
    # The environment wins.
    with Controlled(VESTAL_CONFIG=path, VESTAL_RATE="20", VESTAL_TYPES="cpu").ready() as program:
        state = program.state()
        assert (state["rate_hz"], state["types"]) == (20, ["cpu"]), state


@test
def a_wrong_file_is_said_with_its_line():
    done = run(["echo", "on"], preload=True, VESTAL_CONFIG=config("profiling:\n  cpu:\n    rate: 5\n"))
    assert done.stdout == "on\n" and "line 3" in done.stderr and "cpu.rate" in done.stderr, done
    done = run(["echo", "on"], preload=True, VESTAL_CONFIG="/no/such/file")
    assert done.stdout == "on\n" and "/no/such/file" in done.stderr, done


@test
def samples_are_taken_in_windows_only():
    with Controlled(VESTAL_WINDOW="500ms/3s").ready() as program:
        until(lambda: program.state()["paused_by"] == ["schedule"], "the end of a window")
        assert program.state()["enabled"]
        until(lambda: not program.state()["paused_by"], "the next window")


@test
def a_busy_machine_is_left_alone():
    if os.cpu_count() > 64:
        raise Skip("too large a machine to keep busy")
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        with Controlled(VESTAL_LOAD_LIMIT="80%").ready() as program:
            until(lambda: program.state()["paused_by"] == ["load"], "a pause")
    finally:
        for one in busy:
            one.kill()
            one.wait()


@test
def the_rate_goes_down_to_what_may_be_spent():
    with Controlled(VESTAL_RATE="1000", VESTAL_BUDGET="0.1%", VESTAL_TYPES="cpu").ready() as program:
        until(lambda: program.state()["rate_hz_now"] < 100, "a lower rate")
        assert program.state()["rate_hz"] == 1000
        # Profiles say so: at 1000 Hz their period is 1 ms. The rate may have gone up a little since.
        about = vestal("show", program.url("/debug/pprof/profile?seconds=1"))[0]
        period = re.search(r"period +(\d+(?:\.\d+)?)ms of cpu", about)
        assert period and float(period[1]) > 2, about


def kept(path, reason):
    """CPU time of what was kept for it."""
    out, _ = vestal("top", "--tag", f"kept={reason}", "--json", "-n", "0", path, status=None)
    return json.loads(out)["rows"] if out else []


@test
def slow_and_failed_spans_keep_their_samples_and_all_of_it_adds_up():
    path = os.path.join(scratch(), "spans.pb.gz")
    done = run([build_inside("spans"), "6", "80"], VESTAL_RATE="25", VESTAL_KEEP_RATE="250",
               VESTAL_SLOW="80ms", VESTAL_KEEP_FAILED="on", VESTAL_OUTPUT=path)
    truth = json.loads(done.stdout)
    rows, names = top(path)
    assert abs(rows["total"] / truth["all"] - 1) < 0.15, (rows["total"], truth)
    slow = sum(row["flat"] for row in kept(path, "slow"))
    # Samples of 4 ms: that of a span's begin tells of what was before it.
    assert abs(slow / truth["slow"] - 1) < 0.25, (slow, truth)
    failed = kept(path, "failed")
    assert any(row["name"] == "handle_failing" for row in failed), failed
    assert not any(row["name"] in ("handle_slow", "handle_quick") for row in failed), failed
    assert not kept(path, "cpu")


@test
def spans_that_use_much_of_a_processor_keep_their_samples():
    path = os.path.join(scratch(), "spans-cpu.pb.gz")
    done = run([build_inside("spans"), "4"], VESTAL_RATE="25", VESTAL_KEEP_RATE="250",
               VESTAL_SLOW_CPU="20", VESTAL_OUTPUT=path)
    truth = json.loads(done.stdout)
    rows = kept(path, "cpu")
    spent = sum(row["flat"] for row in rows)
    # How much of a processor they had is the machine's choice, and measured by the program.
    least, most = 0.75 * truth["busy"] - 50e6, 1.25 * (truth["busy"] + truth["doubtful"]) + 50e6
    assert least < spent < most and not kept(path, "slow"), (spent, truth)
    names = {row["name"] for row in rows}
    assert "handle_idle" not in names and (truth["busy"] < 1e9 or "handle_slow" in names), (names, truth)


main()
