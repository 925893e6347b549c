#!/usr/bin/env python3
"""libvestal in programs that do what programs do: they run as before.

    VESTAL=build/vestal tests/e2e/test_host.py
"""
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request

from support.controlled import free_port
from support.inside import LIBRARIES, PRELOAD, files, output, run
from support.recording import build, top
from support.tap import VESTAL, Skip, main, scratch, test, vestal
from support.wait import until

BUSY = {"VESTAL_TYPES": "cpu,alloc,heap,lock", "VESTAL_RATE": "1000", "VESTAL_ALLOC_INTERVAL": "16KB"}
MODES = {
    "vfork": "a_program_that_vforks",
    "daemon": "a_daemon",
    "jump": "a_program_that_jumps_out_of_handlers",
    "overflow": "a_program_whose_stack_overflows_and_that_goes_on",
    "altstack": "work_on_a_small_signal_stack",
    "sigprof": "a_program_that_profiles_itself_by_SIGPROF",
    "blocked": "a_thread_that_blocks_all_signals",
    "become": "a_program_that_becomes_another_with_all_signals_blocked",
    "exits": "a_program_whose_threads_end_at_every_moment",
    "reset": "a_program_that_sets_all_signals_to_their_default",
    "sigwait": "a_program_that_waits_for_whatever_signal_comes",
    "setuid": "a_program_that_gives_up_its_rights",
    "strict": "a_program_that_locks_itself_in_strictly",
    "filter": "a_program_that_dies_of_system_calls_not_on_its_list",
}


def need_preload():
    if not os.path.exists(PRELOAD):
        raise Skip("no libvestal-preload.so beside the program")


def add_mode_tests():
    for mode, name in MODES.items():
        def check(mode=mode):
            need_preload()
            plain = run([build("hosts"), mode], timeout=200)
            for _ in range(2):
                done = run([build("hosts"), mode], timeout=200, preload=True,
                           VESTAL_OUTPUT=output(f"host-{mode}"), **BUSY)
                assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr), done
        check.__name__ = f"{name}_runs_as_before"
        test(check)


add_mode_tests()


@test
def what_was_sampled_before_a_program_locks_itself_in_is_there():
    need_preload()
    pattern = output("host-locked")
    run([build("hosts"), "filter"], preload=True, VESTAL_OUTPUT=pattern, VESTAL_RATE="250")
    assert top(*files(pattern))[1]["main"]["cum"] > 5e7


@test
def closing_the_library_is_harmless_stopped_or_not():
    done = run([build("closer"), os.path.join(LIBRARIES, "libvestal.so")],
               VESTAL_OUTPUT=output("closer"), VESTAL_RATE="1000")
    assert done.stdout == "closed\n", done


@test
def a_program_with_an_allocator_of_its_own_runs_as_before():
    need_preload()
    plain = run([build("own_malloc")])
    done = run([build("own_malloc")], preload=True, VESTAL_OUTPUT=output("host-own-malloc"), **BUSY)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr), done


@test
def a_program_of_musl_is_refused_with_a_message():
    need_preload()
    if not shutil.which("musl-gcc"):
        raise Skip("no musl-gcc")
    program = os.path.join(scratch(), "of-musl")
    source = os.path.join(scratch(), "of-musl.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\nint main(void) { puts("ran"); return 0; }\n')
    subprocess.run(["musl-gcc", "-o", program, source], check=True)
    assert run([program]).stdout == "ran\n"
    done = run([program], status=None, preload=True, VESTAL_OUTPUT=output("host-musl"), **BUSY)
    # Its loader says it, and does not begin.
    assert done.returncode == 127 and done.stdout == "", done
    assert "libvestal-preload.so" in done.stderr and "Error" in done.stderr, done.stderr
    done = subprocess.run([VESTAL, "record", "--preload", "-o", "m.pb.gz", "-f", "--", program],
                          capture_output=True, text=True, cwd=scratch(), check=False)
    assert done.returncode != 0 and "musl" in done.stderr and "glibc" in done.stderr, done


class Daemon:
    """A server under the library, ended at the end; its files are looked at then."""

    def __init__(self, command, folder, env=None, stop=signal.SIGTERM):
        need_preload()
        self.pattern = os.path.join(folder, "profile-%p.pb.gz")
        self.stop, self.log = stop, os.path.join(folder, "said")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=folder, env=dict(os.environ, **BUSY, **(env or {}),
                                                                 LD_PRELOAD=PRELOAD,
                                                                 VESTAL_OUTPUT=self.pattern))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
            self.process.wait()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def end(self):
        self.process.send_signal(self.stop)
        status = self.process.wait(100)
        assert status == 0, (status, self.said())
        assert "libvestal" not in self.said(), self.said()
        found = files(self.pattern)
        assert found, self.said()
        for path in found:
            vestal("show", path)


def answer(*command):
    """What it prints; nothing while it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    return done.stdout if done.returncode == 0 else ""


@test
def redis_serves_saves_and_ends_as_before():
    if not shutil.which("redis-server"):
        raise Skip("no redis-server")
    port, folder = str(free_port()), tempfile.mkdtemp(dir=scratch())
    with Daemon(["redis-server", "--port", port, "--bind", "127.0.0.1"], folder) as server:
        until(lambda: answer("redis-cli", "-p", port, "ping") == "PONG\n", "redis")
        out = answer("redis-benchmark", "-p", port, "-n", "5000", "-q", "-t", "set,get,lpush,mset")
        assert out.count("requests per second") >= 4, out
        # Its snapshot is a child of fork().
        assert "started" in answer("redis-cli", "-p", port, "bgsave")
        until(lambda: "rdb_last_bgsave_status:ok" in answer("redis-cli", "-p", port, "info") and
              "rdb_bgsave_in_progress:0" in answer("redis-cli", "-p", port, "info"), "a snapshot")
        assert answer("redis-cli", "-p", port, "dbsize").strip() != "0"
        server.end()
        assert "crashed" not in server.said() and os.path.exists(f"{folder}/dump.rdb")


@test
def nginx_serves_reloads_and_ends_as_before():
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not nginx:
        raise Skip("no nginx")
    port, folder = free_port(), tempfile.mkdtemp()
    os.chmod(folder, 0o777)
    try:
        with open(f"{folder}/conf", "w", encoding="utf-8") as file:
            file.write(f"daemon off; worker_processes 2; pid {folder}/pid;\n"
                       f"error_log {folder}/error.log;\nevents {{}}\n"
                       f"http {{ access_log off; client_body_temp_path {folder}/1;"
                       f" proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;"
                       f" uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;\n"
                       f" server {{ listen 127.0.0.1:{port}; gzip on; gzip_types text/plain;"
                       " location / { default_type text/plain; return 200 'hello\\n'; } } }\n")

        def get():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as reply:
                    return reply.read() == b"hello\n"
            except OSError:
                return False
        with Daemon([nginx, "-c", f"{folder}/conf"], folder, stop=signal.SIGQUIT) as server:
            until(get, "nginx")
            for i in range(600):
                assert get(), i
                if i == 300:
                    server.process.send_signal(signal.SIGHUP)
            server.end()
        with open(f"{folder}/error.log", encoding="utf-8") as log:
            said = log.read()
        assert not re.search(r"\[(alert|emerg|crit)\]|exited on signal", said), said
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@test
def postgres_answers_and_ends_as_before():
    paths = [shutil.which(name) for name in ("postgres", "initdb", "psql")]
    if not all(paths):
        raise Skip("no postgres, initdb and psql")
    as_user = []
    folder = tempfile.mkdtemp()
    if os.geteuid() == 0:
        if not shutil.which("runuser"):
            raise Skip("postgres does not run as root, and there is no runuser")
        as_user = ["runuser", "-u", "nobody", "--"]
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    try:
        made = subprocess.run([*as_user, paths[1], "-D", f"{folder}/data", "-U", "me", "-A", "trust"],
                              capture_output=True, text=True, check=False, timeout=200, cwd="/")
        if made.returncode:
            raise Skip(f"initdb: {made.stderr.strip()[-200:]}")
        library = shutil.copy(PRELOAD, folder)
        os.chmod(library, 0o755)
        os.chmod(folder, 0o755)
        port = free_port()
        with open(f"{folder}/said", "wb") as log:
            server = subprocess.Popen(
                [*as_user, "env", f"LD_PRELOAD={library}", f"VESTAL_OUTPUT={folder}/data/p-%p.pb.gz",
                 *(f"{key}={value}" for key, value in BUSY.items()), paths[0], "-D",
                 f"{folder}/data", "-p", str(port), "-k", "", "-c", "listen_addresses=127.0.0.1"],
                stdout=log, stderr=log, cwd="/")
        try:
            def ask(text):
                return answer(paths[2], "-h", "127.0.0.1", "-p", str(port), "-U", "me", "-d",
                              "postgres", "-Atc", text)
            until(lambda: ask("select 1") == "1\n", "postgres")
            assert ask("create table t as select g x from generate_series(1, 200000) g;"
                       " select sum(x) from t") .endswith("20000100000\n")
            for _ in range(5):
                assert ask("select count(*) from t a join t b using (x)") == "200000\n"
            pid = int(open(f"{folder}/data/postmaster.pid", encoding="utf-8").readline())
            os.kill(pid, signal.SIGINT)
            assert server.wait(100) == 0
        finally:
            server.kill()
            server.wait()
        with open(f"{folder}/said", encoding="utf-8") as log:
            said = log.read()
        assert "terminated by signal" not in said and "libvestal" not in said, said
        assert files(f"{folder}/data/p-%p.pb.gz"), said
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
