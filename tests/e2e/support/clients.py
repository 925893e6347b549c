"""The programs of tests/clients: made from official packages, run against a server.

What is downloaded and built stays in build-clients. A toolchain that is missing and a registry that
cannot be reached are reasons to skip; a program that does not compile is not."""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

from support.tap import ROOT, Skip

BUILD = os.path.join(ROOT, "build-clients")
SOURCES = os.path.join(ROOT, "tests/clients")
SECONDS = os.environ.get("CLIENT_SECONDS", "12")


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"no {tool}")


def run(command, cwd, env=None, timeout=1500):
    return subprocess.run(command, cwd=cwd, env=dict(os.environ, **(env or {})), timeout=timeout,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def last_line(text):
    return (text.strip().splitlines() or ["no reason given"])[-1]


def fetch(command, cwd, env=None):
    """What needs a registry."""
    done = run(command, cwd, env)
    if done.returncode:
        raise Skip(f"{command[0]} cannot fetch packages: {last_line(done.stderr or done.stdout)}")


def compile_(command, cwd, env=None):
    done = run(command, cwd, env)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"


def copy(name):
    """The sources, where tools may leave files beside them."""
    folder = os.path.join(BUILD, name)
    shutil.copytree(os.path.join(SOURCES, name), folder, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("node_modules", "target"))
    return folder


def once(folder, lock, make):
    """Calls make() unless it succeeded before with the same lock file."""
    with open(lock, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    stamp = os.path.join(folder, "stamp")
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as file:
            if file.read() == digest:
                return
    make()
    with open(stamp, "w", encoding="ascii") as file:
        file.write(digest)


def go(name):
    need("go")
    env = {"GOFLAGS": "-mod=mod", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    folder, program = copy(name), os.path.join(BUILD, name, name + ".exe")
    fetch(["go", "mod", "download"], folder, env)
    compile_(["go", "build", "-o", program, "."], folder, env)
    return [program]


def need_node_for(lock, package):
    """Skips where node is older than what a package says it needs."""
    with open(lock, encoding="utf-8") as file:
        needed = json.load(file)["packages"][f"node_modules/{package}"]["engines"]["node"]
    here = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    numbers = [[int(n) for n in re.findall(r"\d+", text)] for text in (here, needed)]
    if numbers[0] < numbers[1]:
        raise Skip(f"{package} needs node {needed}, here is {here.strip()}")


def nodejs():
    need("node", "npm")
    folder = copy("nodejs")
    need_node_for(os.path.join(folder, "package-lock.json"), "@pyroscope/nodejs")
    once(folder, os.path.join(folder, "package-lock.json"),
         lambda: fetch(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder))
    return ["node", os.path.join(folder, "busy.js")]


def python():
    folder = copy("python")
    program = os.path.join(folder, "venv/bin/python")

    def install():
        fetch([sys.executable, "-m", "venv", os.path.join(folder, "venv")], folder)
        fetch([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r",
               "requirements.txt"], folder)

    once(folder, os.path.join(folder, "requirements.txt"), install)
    return [program, os.path.join(folder, "busy.py")]


def java():
    need("java", "mvn")
    folder = copy("java")
    jars = os.path.join(folder, "jars")
    once(folder, os.path.join(folder, "pom.xml"),
         lambda: fetch(["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies",
                        "-DoutputDirectory=" + jars], folder))
    return ["java", "-Xmx256m", "-cp", jars + "/*", os.path.join(folder, "Busy.java")]


def rust(package):
    need("cargo")
    # Without this, each of the two would change the lock file under the other's feet.
    folder = copy("rust")
    fetch(["cargo", "fetch", "--quiet"], folder)
    compile_(["cargo", "build", "--quiet", "--offline", "--package", package], folder)
    return [os.path.join(folder, "target/debug", package)]


def run_client(server, service, make):
    """Builds and runs; what the program measured of itself."""
    env = {"CLIENT_SERVER": server.url, "CLIENT_SERVICE": service, "CLIENT_SECONDS": SECONDS,
           "CLIENT_OTLP": server.otlp_grpc}
    done = run(make(), BUILD, env, timeout=300)
    assert done.returncode == 0, f"{service}: {done.returncode} {done.stdout}{done.stderr}"
    return json.loads(last_line(done.stdout))


class Clients:
    """All programs at work, two at a time, on one server."""

    def __init__(self, server, makers):
        os.makedirs(BUILD, exist_ok=True)
        self.server, self.makers = server, makers
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.runs = {name: self.pool.submit(run_client, server, name, make)
                     for name, make in makers.items()}

    def result(self, name):
        """Waits for it; raises what went wrong."""
        return self.runs[name].result()

    def again(self, name):
        return run_client(self.server, name + ".again", self.makers[name])

    def close(self):
        self.pool.shutdown(wait=True, cancel_futures=True)
