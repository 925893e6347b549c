#!/usr/bin/env python3
"""`vestal server --config` scrapes a real Go program: what its counters gained is found again under
the names and types Pyroscope's users expect, no more and no less."""
import os
import re
import shutil
import signal
import subprocess
import urllib.request

from support import tap
from support.server import Server
from support.tap import Skip, scratch, test, vestal
from support.wait import until

_program = None


def program():
    global _program  # pylint: disable=global-statement
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    if not _program:
        _program = os.path.join(scratch(), "goscrape")
        env = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off", GOTOOLCHAIN="local")
        subprocess.run(["go", "build", "-o", _program, "."], check=True, env=env,
                       cwd=os.path.join(tap.ROOT, "tests/peers/goscrape"), capture_output=True)
    return _program


class Target:
    def __init__(self, address=None):
        self.args = [program(), *([address] if address else [])]

    def __enter__(self):
        self.process = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.address = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def step(self):
        with urllib.request.urlopen(f"http://{self.address}/step", timeout=60) as reply:
            assert reply.read() == b"stepped\n"


def write(name, text):
    path = os.path.join(scratch(), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def scraping(target, more=""):
    write("token", "secret\n")
    return write("vestal.yaml", f"""
retention: 2d
service_retention: {{goshop: 30d}}
log: {{level: debug}}
scrape_configs:
  - job_name: goshop
    interval: 1s
    timeout: 20s
    targets: ["{target}"]
    path_prefix: /inner
    bearer_token_file: {scratch()}/token
    labels: {{region: eu}}
{more}""")


def tasks(server, **wanted):
    status = server.get("/api/v1/status")
    return [t for t in status.get("scrape", [])
            if all(t[key] == value for key, value in wanted.items())]


def scraped(server, profile, more=1):
    """Waits for that many more good scrapes of a profile."""
    goal = good(server, profile) + more
    until(lambda: good(server, profile) >= goal, f"a scrape of {profile}")


def good(server, profile):
    return sum(t["scrapes"] - t["failures"] for t in tasks(server, profile=profile))


def total(server, kind, function, query="goshop"):
    """What the function and those it calls have in all, of one type."""
    top = server.get("/api/v1/top", query=query, type=kind, **{"from": "-1h", "until": "now+1h"},
                     limit=10000)
    return sum(row["cum"] for row in top["rows"] if row["name"] == function)


@test
def what_was_counted_since_the_first_look_is_found_and_nothing_else():
    with Target() as target:
        target.step()
        with Server("--config", scraping(target.address)) as server:
            check_counters(target, server)


def check_counters(target, server):
    for profile in ("memory", "mutex", "block", "goroutine", "process_cpu"):
        scraped(server, profile)
    for _ in range(3):
        target.step()
    for profile in ("memory", "mutex", "block"):
        scraped(server, profile, 2)
    space = "memory:alloc_space:bytes:space:bytes"
    objects = "memory:alloc_objects:count:space:bytes"
    assert total(server, objects, "main.keepBytes") >= 3000
    # The slice that holds them grows too: its bytes are above those of the 3000.
    assert total(server, space, "main.keepBytes") >= 3000 * 4096
    assert total(server, space, "main.keepBytes") < 4000 * 4096
    # Steps before the first look are not among them; a wait may not come about on a busy host.
    fights = total(server, "mutex:contentions:count:contentions:count", "main.fightForLock")
    assert 0 < fights <= 60, fights
    assert total(server, "mutex:delay:nanoseconds:contentions:count", "main.fightForLock") > 0
    waits = total(server, "block:contentions:count:contentions:count", "main.waitForChannel")
    assert 0 < waits <= 30, waits
    assert total(server, "block:delay:nanoseconds:contentions:count", "main.waitForChannel") > 0
    assert total(server, "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "main.burn") > 0
    # Levels are averaged over time, not added up.
    assert total(server, "goroutine:goroutine:count:goroutine:count", "main.parked") == 7
    inuse = total(server, "memory:inuse_objects:count:space:bytes", "main.keepBytes")
    assert 1000 <= inuse <= 4100, inuse


@test
def labels_say_the_service_the_instance_and_what_the_file_says():
    with Target() as target, Server("--config", scraping(target.address)) as server:
        scraped(server, "goroutine")
        query = f'{{service_name="goshop",instance="{target.address}",region="eu"}}'
        assert total(server, "goroutine:goroutine:count:goroutine:count", "main.parked",
                     query) == 7
        services = server.get("/api/v1/services")
        assert "goshop" in str(services), services


@test
def a_target_that_is_down_is_counted_and_logged_once():
    with Target() as target:
        address = target.address
        config = scraping(address)
    with Server("--config", config) as server:
        until(lambda: all(t["failures"] >= 2 for t in tasks(server)), "failures")
        down = tasks(server, state="down")
        assert len(down) == 5 and all(t["reason"] for t in down), down
        metrics = server.ask("/metrics")[1].decode()
        assert re.search(r'^vestal_scrape_failures_total\{job="goshop"\} [1-9]', metrics, re.M)
        assert f'vestal_scrape_up{{job="goshop",instance="{address}",profile="memory"}} 0' in metrics
        with Target(address):
            until(lambda: len(tasks(server, state="up")) == 5, "all up")
            until(lambda: "".join(server.log).count('"scrape works again"') == 5, "their lines")
            assert "".join(server.log).count('"scrape fails"') == 5, server.log


@test
def a_program_that_was_started_again_is_noticed():
    with Target() as target:
        target.step()
        config = scraping(target.address)
        with Server("--config", config) as server:
            scraped(server, "memory", 2)
            target.process.stdin.close()
            target.process.wait(60)
            until(lambda: tasks(server, profile="memory", state="down"), "down")
            with Target(target.address) as again:
                until(lambda: tasks(server, profile="memory")[0]["resets"] >= 1, "reset")
                again.step()
                scraped(server, "memory", 2)
            found = total(server, "memory:alloc_objects:count:space:bytes", "main.keepBytes")
            assert 1000 <= found < 1100, found


@test
def a_wrong_token_is_told():
    with Target() as target:
        config = scraping(target.address)
        write("token", "wrong\n")
        with Server("--config", config) as server:
            until(lambda: tasks(server, profile="memory", state="down"), "down")
            assert "401" in tasks(server, profile="memory")[0]["reason"]
            write("token", "secret\n")
            until(lambda: tasks(server, profile="memory", state="up"), "up")


@test
def sighup_reads_the_targets_again_and_keeps_what_was_known():
    with Target() as first, Target() as second:
        with Server("--config", scraping(first.address)) as server:
            scraped(server, "memory", 2)
            before = good(server, "memory")
            text = scraping(first.address, f"""
  - job_name: other
    interval: 1s
    targets: ["{second.address}"]
    path_prefix: /inner
    bearer_token: secret
    profiles: {{process_cpu: {{enabled: false}}, memory: {{enabled: false}}}}
""")
            assert os.path.exists(text)
            first.step()
            server.process.send_signal(signal.SIGHUP)
            until(lambda: tasks(server, job="other", profile="goroutine", state="up"), "the second job")
            assert len(tasks(server, job="other")) == 3
            assert tasks(server, job="goshop", profile="memory")[0]["scrapes"] >= before
            scraped(server, "memory", 2)
            # The step around the signal is there: the counters of before were not forgotten.
            assert 1000 <= total(server, "memory:alloc_objects:count:space:bytes",
                                 "main.keepBytes") < 1100
            write("vestal.yaml", "scrape_configs: [{job_nam: x}]\n")
            server.process.send_signal(signal.SIGHUP)
            until(lambda: any("job_name" in line for line in server.log), "the complaint")
            scraped(server, "memory")


@test
def the_command_line_wins_over_the_file():
    config = write("both.yaml", "retention: 3d\nmax_size: 1GB\nlisten: 127.0.0.1:1\n")
    with Server("--config", config, "--retention", "5d") as server:
        status = server.get("/api/v1/status")
        assert status["retention_ns"] == 5 * 86400 * 10**9, status
        assert status["max_size"] == 1 << 30, status


@test
def faults_of_the_file_name_file_line_and_key():
    for text, sentence in (
            ("listen: 127.0.0.1:0\nretension: 3d\n",
             'line 2: unknown key "retension"; did you mean "retention"?'),
            ("scrape_configs:\n  - job_name: a\n    targets: [b]\n", "is not host:port"),
            ("scrape_configs:\n  - job_name: a\n    targets: []\n", "has no targets"),
            ("scrape_configs:\n  - targets: ['a:1']\n", "line 2: job_name is missing"),
            ("scrape_configs:\n  - {job_name: a, targets: ['a:1']}\n"
             "  - {job_name: a, targets: ['b:1']}\n", "is there twice"),
            ("scrape_configs:\n  - job_name: a\n    targets: ['a:1']\n    bearer_token: x\n"
             "    basic_auth: {username: y}\n", "both"),
            ("scrape_configs:\n  - job_name: a\n    targets: ['a:1']\n    interval: 2s\n"
             "    profiles: {process_cpu: {seconds: 5}}\n", "more seconds than its interval"),
            ("service_retention: {a: soon}\n", "service_retention of a"),
            ("tokens: ${VESTAL_NO_SUCH_VARIABLE}\n", "VESTAL_NO_SUCH_VARIABLE is not set")):
        path = write("bad.yaml", text)
        _, err = vestal("server", "--memory", "--config", path, status=64)
        assert sentence in err, f"{text!r}: {err}"
    _, err = vestal("server", "--config", "/nowhere.yaml", status=66)
    assert "/nowhere.yaml" in err


if __name__ == "__main__":
    tap.main()
