"""Programs with libvestal inside, linked or loaded before them."""
import glob
import os
import re
import subprocess

from support.recording import SOURCES, WAYS
from support.tap import ROOT, VESTAL, Skip, scratch

LIBRARIES = os.path.dirname(VESTAL)
PRELOAD = os.path.join(LIBRARIES, "libvestal-preload.so")

if not os.path.exists(PRELOAD):
    LIBRARIES = os.path.join(ROOT, "build")
    PRELOAD = os.path.join(LIBRARIES, "libvestal-preload.so")


def build_inside(name, way="plain"):
    """A workload that calls libvestal."""
    if not os.path.exists(os.path.join(LIBRARIES, "libvestal.so")):
        raise Skip("no libvestal.so beside the program")
    out = os.path.join(scratch(), f"{name}-{way}")
    if not os.path.exists(out):
        subprocess.run(WAYS[way] + ["-Wall", "-g", "-fno-optimize-sibling-calls",
                                    f"-I{ROOT}/include", "-o", out, f"{SOURCES}/{name}.c",
                                    f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lvestal",
                                    "-lpthread"], check=True, capture_output=True)
    return out


def run(command, timeout=120, status=0, preload=False, stdin=subprocess.DEVNULL, cwd=None, **env):
    """The program to its end, with these variables of the environment."""
    env = dict(os.environ, **env)
    if preload:
        env["LD_PRELOAD"] = PRELOAD
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                          stdin=stdin, cwd=cwd or scratch(), env=env, errors="replace")
    assert status is None or done.returncode == status, \
        f"{command}: status {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done


def counts(done):
    """What a workload with libvestal says it sampled."""
    numbers = re.search(r"samples (\d+) lost (\d+) exports (\d+) failed (\d+)", done.stderr)
    return dict(zip(("samples", "lost", "exports", "failed"), map(int, numbers.groups())))


def only(pattern):
    """The one file of this name."""
    found = glob.glob(pattern)
    assert len(found) == 1, found
    return found[0]


def output(name):
    """A fresh name for files of any number of processes."""
    return os.path.join(scratch(), f"{name}-%p.pb.gz")


def files(pattern):
    return sorted(glob.glob(pattern.replace("%p", "*").replace("%t", "*")))
