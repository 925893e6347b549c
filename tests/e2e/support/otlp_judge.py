"""The official Go module for OTLP profiles as a judge (tests/peers/otlpgo), and others in Go."""
import os
import shutil
import subprocess

from support.tap import ROOT, Skip, scratch


def build(folder, name, *flags):
    """A Go program under tests/peers; its modules come from the module cache or the proxy."""
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    path = os.path.join(scratch(), name)
    if not os.path.exists(path):
        env = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off", GOTOOLCHAIN="local")
        done = subprocess.run(["go", "build", "-o", path, *flags, "."], env=env, check=False,
                              cwd=os.path.join(ROOT, "tests/peers", folder), capture_output=True,
                              text=True, timeout=600)
        if done.returncode:
            raise Skip("Go modules cannot be had: " + done.stderr.strip().splitlines()[-1])
    return path


def official(layout="1.11"):
    flags = [] if layout == "1.11" else [f"-modfile=proto{layout}.mod"]
    return build("otlpgo", "otlpgo-" + layout, *flags)


def run(*command):
    done = subprocess.run(command, cwd=scratch(), capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout
