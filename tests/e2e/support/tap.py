"""What the end-to-end tests share: TAP on stdout, the program under test, real Go profiles."""
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
VESTAL = os.path.abspath(os.environ.get("VESTAL", os.path.join(ROOT, "build/vestal")))

# A test that hangs is one failed test, with the line it hangs in; not the end of its program.
TEST_SECONDS = int(os.environ.get("TEST_SECONDS", "400"))

_tests = []


class Skip(Exception):
    """Raised by a test that cannot run here, with the reason."""


def test(function):
    """Registers a test; its name says what it proves."""
    _tests.append(function)
    return function


def _too_long(number, frame):
    raise TimeoutError(f"the test took more than {TEST_SECONDS} s")


def main():
    """Runs all registered tests."""
    failed = 0
    signal.signal(signal.SIGALRM, _too_long)
    print(f"1..{len(_tests)}")
    for number, function in enumerate(_tests, 1):
        name = function.__name__
        try:
            signal.alarm(TEST_SECONDS)
            function()
            print(f"ok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            if isinstance(error, AssertionError):
                where = traceback.extract_tb(error.__traceback__)[-1]
                text = f"line {where.lineno}: {where.line}: {error}"
            else:
                text = traceback.format_exc()
            for line in text.splitlines():
                print(f"# {line}")
            print(f"not ok {number} - {name}")
        finally:
            signal.alarm(0)
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


_scratch = None


def scratch():
    """A folder that is gone when the program ends."""
    global _scratch  # pylint: disable=global-statement
    if _scratch is None:
        _scratch = tempfile.mkdtemp(prefix="vestal-e2e-")
        # Root's server is another user, who reads what it is told to read.
        os.chmod(_scratch, 0o755)
        atexit.register(shutil.rmtree, _scratch, ignore_errors=True)
    return _scratch


def vestal(*args, cwd=None, stdin=None, env=None, status=0, timeout=120):
    """Runs vestal; stdout and stderr as text."""
    done = subprocess.run([VESTAL, *args], cwd=cwd or scratch(), input=stdin, capture_output=True,
                          env=dict(os.environ, **(env or {})), timeout=timeout, check=False)
    out, err = done.stdout, done.stderr.decode("utf-8", "replace")
    if status is not None:
        assert done.returncode == status, f"vestal {' '.join(args)}: status {done.returncode}: {err}"
    return out.decode("utf-8", "replace"), err


_profiles = None


def go_program():
    """The path of tests/peers/goprof, built."""
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    path = os.path.join(scratch(), "goprof")
    if not os.path.exists(path):
        env = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off", GOTOOLCHAIN="local")
        subprocess.run(["go", "build", "-o", path, "."], check=True, env=env,
                       cwd=os.path.join(ROOT, "tests/peers/goprof"), capture_output=True)
    return path


def go_profiles():
    """A folder with real profiles of a Go program: cpu, cpu2, heap, allocs, mutex, block, goroutine."""
    global _profiles  # pylint: disable=global-statement
    if _profiles is None:
        folder = os.path.join(scratch(), "profiles")
        os.makedirs(folder, exist_ok=True)
        subprocess.run([go_program(), folder], check=True, capture_output=True, timeout=120)
        _profiles = folder
    return _profiles
