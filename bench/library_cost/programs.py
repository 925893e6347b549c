"""Whole programs, with the library and without it in turns: their processor time, and their time."""
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

from library_cost.meter import PAIRS, SCRATCH, fresh, in_turns, load, profiled, row, slowdown

ALL = {"VESTAL_TYPES": "cpu,alloc,heap"}
SQL = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c "
       "limit 1500000) insert into t select x, 'row ' || x from c; create index i on t(b);")


def json_file():
    path = SCRATCH / "big.json"
    if not path.exists():
        path.write_text("[" + ",".join(f'{{"id": {i}, "name": "n{i}", "of": [{i}, null, true]}}'
                                       for i in range(250000)) + "]")
    return str(path)


def c_file():
    path = SCRATCH / "big.c"
    if not path.exists():
        path.write_text("".join(f"int f{i}(int a, int b) {{ int s = 0; for (int k = 0; k < b; k++) "
                                f"s += a * k ^ {i}; return s; }}\n" for i in range(3000)))
    return str(path)


def repository():
    """With enough in it that git has something to look at."""
    folder = SCRATCH / "repository"
    if not folder.exists():
        folder.mkdir()
        for i in range(300):
            (folder / f"file{i}").write_text(f"{i}\n")
        subprocess.run("git init -q && git add . && git -c user.name=x -c user.email=x@x commit -q -m x",
                       shell=True, check=True, cwd=folder)
    return str(folder)


def finish(process):
    """Processor seconds of a process that ends now, and of its children."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{process.args}: status {process.returncode}")
    return used.ru_utime + used.ru_stime


def start(command, env):
    # Unbuffered, python3 does little but write.
    usual = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.Popen(command, env=dict(usual, **env), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=SCRATCH)


def once(command):
    def measure(env):
        begun = time.monotonic()
        used = finish(start(command, env))
        return used, time.monotonic() - begun
    return measure


def many(command, times):
    """Programs that end at once: many of them are one figure."""
    def measure(env):
        begun = time.monotonic()
        used = sum(finish(start(command, env)) for _ in range(times))
        return used / times, (time.monotonic() - begun) / times
    return measure


def redis(env):
    """The server's time; its clients are the same with and without."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = start(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir",
                    str(fresh("redis"))], env)
    ask = ["redis-cli", "-p", port]
    while subprocess.run([*ask, "ping"], capture_output=True, check=False).returncode:
        time.sleep(0.02)
    begun = time.monotonic()
    subprocess.run(["redis-benchmark", "-p", port, "-n", "60000", "-q", "-P", "4", "-t",
                    "set,get,incr,lpush,lpop,sadd,hset,mset"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    spent = time.monotonic() - begun
    subprocess.run([*ask, "shutdown", "nosave"], check=False, capture_output=True)
    return finish(server), spent


def compare(name, measure, target, pairs=PAIRS):
    measure({})
    plain, full = in_turns(measure, pairs, {}, profiled(**ALL))
    cpu = [b[0] / a[0] for a, b in zip(plain, full)]
    time_of = [b[1] / a[1] for a, b in zip(plain, full)]
    row(f"{name}: processor time ({statistics.median(one[0] for one in plain):.3f} s, {pairs} pairs, {load()})",
        slowdown(cpu), [("its time", slowdown(time_of))], target)


def programs():
    """Slow-down of whole programs, all types."""
    # What a version manager puts in front of it are processes of their own.
    compare("python3 -m json.tool", once([os.path.realpath(sys.executable), "-m", "json.tool", json_file()]),
            "<= 3 %")
    if shutil.which("sqlite3"):
        compare("sqlite3 bulk insert", once(["sqlite3", ":memory:", SQL]), "<= 3 %")
    if shutil.which("gcc"):
        compare("gcc on a big file", once(["gcc", "-O1", "-c", c_file(), "-o", str(SCRATCH / "big.o")]),
                "<= 3 %")
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        compare("redis-benchmark", redis, "<= 3 %")


def brief():
    """Programs that end at once: what is added to each."""
    commands = {"bash -c true": ["bash", "-c", "true"]}
    if shutil.which("git"):
        commands["git status"] = ["git", "-C", repository(), "status"]
    for name, command in commands.items():
        plain, full = in_turns(many(command, 10), PAIRS, {}, profiled(**ALL))
        added = statistics.median(b[0] - a[0] for a, b in zip(plain, full))
        row(f"{name}: processor time of {1e3 * statistics.median(one[0] for one in plain):.1f} ms, added",
            f"{added * 1e3:.2f} ms", [(load(), "")])
