#!/usr/bin/env python3
"""The command line as a person or a script meets it: every command, every example, every exit."""
import fcntl
import gzip
import http.server
import json
import os
import pty
import re
import shutil
import signal
import ssl
import struct
import subprocess
import sys
import termios
import threading
import time

from support import readme_formats
from support.tap import ROOT, VESTAL, Skip, go_profiles, go_program, main, scratch, test, vestal

FILE_COMMANDS = ["show", "top", "flame", "diff", "convert", "redact", "completion", "version", "help"]
# Their examples are run by test_server_cli.py, which has a server.
SERVER_COMMANDS = ["up", "server", "push", "query", "services", "labels", "types", "status", "retention",
                   "delete", "backup", "check", "token", "symbols"]
# They need root and a machine at work: test_record.py, test_agent.py and the like.
AGENT_COMMANDS = ["record", "live", "agent", "doctor"]
COMMANDS = FILE_COMMANDS + SERVER_COMMANDS + AGENT_COMMANDS


def folder(name):
    """A fresh folder with profiles under the names the examples use."""
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    profiles = go_profiles()
    for target, source in (("cpu", "cpu"), ("heap", "heap"), ("before", "cpu"), ("after", "cpu2"),
                           ("monday", "cpu"), ("tuesday", "cpu2"), ("a", "cpu"), ("b", "cpu2")):
        shutil.copy(os.path.join(profiles, source + ".pb.gz"),
                    os.path.join(path, target + ".pb.gz"))
    return path


def cpu():
    return os.path.join(go_profiles(), "cpu.pb.gz")


# Where any profile will do.
FOLDED = b"main;work 3\nmain;rest 1\n"


def cpu_bytes():
    with open(cpu(), "rb") as file:
        return file.read()


def on_terminal(args, cwd=None, columns=80, env=None):
    """Runs vestal with stdout and stderr on a terminal; what it showed, and its status."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(cwd or scratch())
        os.environ.update({"TERM": "xterm", **(env or {})})
        if not env or "NO_COLOR" not in env:
            os.environ.pop("NO_COLOR", None)
        os.execv(VESTAL, [VESTAL, *args])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return shown.decode("utf-8", "replace"), os.waitstatus_to_exitcode(status)


class Server:
    """An HTTP server on the loopback for one test."""

    def __init__(self, answer, port=0):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def send(request, body, status=200, headers=()):
    request.send_response(status)
    for key, value in headers:
        request.send_header(key, value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


@test
def every_example_of_every_help_runs_as_written():
    work = folder("examples")
    env = dict(os.environ, PATH=os.path.dirname(VESTAL) + os.pathsep + os.environ["PATH"])
    skipped, ran = [], 0
    body = cpu_bytes()
    try:
        server = Server(lambda request: send(request, body), port=6060)
    except OSError:
        server = None
    recording = make_recording(work)
    if server:
        server.__enter__()
    try:
        for command in FILE_COMMANDS:
            text, _ = vestal("help", "--markdown", command)
            examples = text.split("# EXAMPLES")[1].split("# DESCRIPTION")[0]
            lines = re.findall(r"^    (vestal .*)$", examples, re.M)
            assert lines, f"{command} has no examples"
            for line in lines:
                if "--baseline" in line or (":6060" in line and not server) or (".jfr" in line and not recording):
                    skipped.append(line)
                    continue
                done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=work, env=env,
                                      capture_output=True, text=True, timeout=120, check=False)
                if "not written" in done.stderr:
                    skipped.append(line)
                    continue
                assert done.returncode == 0, f"{line}: status {done.returncode}: {done.stderr}"
                ran += 1
    finally:
        if server:
            server.__exit__()
    print(f"# {ran} examples ran; not run: {skipped}")
    assert ran > 20


def make_recording(work):
    """app.jfr of a real Java program, when there is a JDK."""
    if not shutil.which("java"):
        return False
    source = os.path.join(work, "Busy.java")
    with open(source, "w", encoding="utf-8") as file:
        file.write("public class Busy { public static void main(String[] a) { long end = System"
                   ".nanoTime() + 1500000000L; double x = 0; while (System.nanoTime() < end) "
                   "x += Math.sin(x + 1); System.out.println(x); } }\n")
    subprocess.run(["java", "-XX:StartFlightRecording:filename=app.jfr,settings=profile", source],
                   cwd=work, capture_output=True, timeout=120, check=False)
    return os.path.exists(os.path.join(work, "app.jfr"))


@test
def help_shows_examples_before_usage_and_every_option():
    for command in COMMANDS:
        out, err = vestal(command, "--help")
        assert err == ""
        assert out.index("Examples") < out.index("Usage") < out.index("ptions")
        assert out == vestal("help", command)[0]
        markdown, _ = vestal("help", "--markdown", command)
        for heading in ("NAME", "SYNOPSIS", "EXAMPLES", "DESCRIPTION", "OPTIONS", "EXIT STATUS"):
            assert f"# {heading}\n" in markdown, f"{command}: {heading}"
        for option in re.findall(r"--([a-z-]+)", out.split("Options")[-1]):
            assert f"--{option}" in markdown
    out, _ = vestal("help", "--markdown")
    assert "# COMMANDS" in out and "# FORMATS" in out


@test
def help_alone_lists_the_commands():
    out, _ = vestal("help")
    assert all(f"  {command} " in out for command in COMMANDS)
    assert vestal("--help")[0] == out
    _, err = vestal(status=64)
    assert "Commands" in err


@test
def mistakes_are_answered_with_the_nearest_word_and_64():
    for args, words in (
            (["tpo", cpu()], "did you mean vestal top?"),
            (["top", "--fokus", "x", cpu()], "did you mean --focus?"),
            (["top", "-focus=x", cpu()], "did you mean --focus?"),
            (["top", "--from", "pprov", cpu()], "did you mean pprof?"),
            (["convert", cpu(), "-o", "-", "--to", "foldet"], "did you mean folded?"),
            (["help", "flme"], "did you mean flame?"),
            (["top"], "which profile?"),
            (["top", "--count"], "needs a value"),
            (["top", "--count", "x", cpu()], "expected a number"),
            (["top", "--type", "nope", cpu()], "the profile has samples, cpu"),
            (["top", "--focus", "(", cpu()], "--focus"),
            (["top", "--tag", "=x", cpu()], "expected K=V"),
            (["convert", cpu()], "-o FILE"),
            (["convert", cpu(), "-o", "x.unknown"], "--to"),
            (["convert", "--gzip", "--zstd", cpu(), "-o", "x.pb"], "exclude each other"),
            (["diff", cpu()], "vestal diff BEFORE AFTER"),
            (["flame", cpu(), "-o", "x.pb.gz"], ".html or .svg"),
            (["completion", "tcsh"], "bash, zsh or fish"),
            (["top", "-", "-"], "only once"),
            (["--quiet", "top"], "comes after the command"),
            ([cpu()], "did you mean vestal top"),
    ):
        out, err = vestal(*args, status=64)
        assert out == "" and words in err, f"{args}: {err}"
        assert err.count("\n") == 1 and err.startswith("vestal: "), f"{args}: {err}"


@test
def what_cannot_be_read_gives_66_and_one_line():
    locked = os.path.join(scratch(), "locked.pb.gz")
    shutil.copy(cpu(), locked)
    os.chmod(locked, 0)
    paths = ["/nonexistent/cpu.pb.gz", scratch()]
    if os.geteuid() != 0:
        paths.append(locked)
    for path in paths:
        for command in ("show", "top"):
            out, err = vestal(command, path, status=66)
            assert out == "" and path in err and err.count("\n") == 1, err
    os.chmod(locked, 0o600)


@test
def an_unreadable_file_of_another_user_gives_66():
    if os.geteuid() != 0:
        raise Skip("needs root to become another user")
    work = "/tmp/vestal-e2e-locked"
    os.makedirs(work, exist_ok=True)
    try:
        locked = os.path.join(work, "locked.pb.gz")
        shutil.copy(cpu(), locked)
        os.chmod(locked, 0o600)
        done = subprocess.run([VESTAL, "top", locked], user=65534, group=65534, capture_output=True,
                              text=True, cwd="/", check=False)
        assert done.returncode == 66 and "locked.pb.gz" in done.stderr, done.stderr
    except PermissionError as error:
        raise Skip(f"the program is not readable for others: {error}") from error
    finally:
        shutil.rmtree(work)


@test
def damaged_input_gives_65_one_line_and_no_output_file():
    plain = gzip.decompress(cpu_bytes())
    cases = {
        "empty": b"",
        "cut-gzip": cpu_bytes()[:-20],
        "cut-proto": gzip.compress(plain[:-7]),
        "noise": bytes(range(256)) * 40,
        "bomb": gzip.compress(b"\0" * (1 << 24)) * 40,
    }
    for name, data in cases.items():
        path = os.path.join(scratch(), name + ".bin")
        with open(path, "wb") as file:
            file.write(data)
        target = os.path.join(scratch(), name + ".html")
        for args in (["top", path], ["show", path], ["flame", path, "-o", target],
                     ["convert", path, "-o", target + ".pb.gz"]):
            out, err = vestal(*args, status=65)
            assert out == "" and err.count("\n") == 1 and path in err, f"{name}: {err}"
        assert not os.path.exists(target) and not os.path.exists(target + ".pb.gz")


@test
def the_ceiling_on_bytes_is_an_option():
    _, err = vestal("top", "--max-bytes", "1K", cpu(), status=65)
    assert "--max-bytes" in err
    vestal("top", "--max-bytes", "1M", cpu())


@test
def stdin_is_an_input_like_any_file():
    from_file, _ = vestal("top", "-n", "0", cpu())
    from_pipe, _ = vestal("top", "-n", "0", "-", stdin=cpu_bytes())
    assert from_file == from_pipe
    both, _ = vestal("top", "--json", "-", cpu(), stdin=cpu_bytes())
    assert json.loads(both)["total"] == 2 * json.loads(vestal("top", "--json", cpu())[0])["total"]
    _, err = vestal("top", "-", stdin=b"", status=65)
    assert "stdin" in err


@test
def several_inputs_merge_also_of_different_formats():
    vestal("convert", "-f", cpu(), "-o", "mixed.folded", "--type", "cpu")
    out, _ = vestal("top", "--json", "--type", "cpu", cpu(), cpu())
    assert json.loads(out)["total"] == 2 * json.loads(vestal("top", "--json", cpu())[0])["total"]
    vestal("top", cpu(), "mixed.folded")


@test
def nothing_is_overwritten_without_force():
    work = folder("overwrite")
    for args in (["convert", "cpu.pb.gz", "-o", "out.folded"], ["flame", "cpu.pb.gz", "-o", "out.html"],
                 ["redact", "cpu.pb.gz", "-o", "out.pb.gz"],
                 ["diff", "before.pb.gz", "after.pb.gz", "--html", "out2.html"]):
        path = os.path.join(work, args[-1])
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine")
        out, err = vestal(*args, cwd=work, status=73)
        assert "-f" in err and out == "", err
        with open(path, encoding="utf-8") as file:
            assert file.read() == "mine"
        _, err = vestal(*args, "-f", cwd=work, status=None)
        with open(path, "rb") as file:
            if "not written" not in err:
                assert file.read() != b"mine", err
    assert not [name for name in os.listdir(work) if "tmp" in name.lower()]


@test
def an_output_folder_that_is_not_there_gives_73():
    for target in ("/nonexistent/x.folded", scratch()):
        _, err = vestal("convert", cpu(), "-o", target, "--to", "folded", status=73)
        assert target in err and err.count("\n") == 1, err


@test
def devices_are_written_to_as_they_are():
    vestal("convert", cpu(), "-o", "/dev/null", "--to", "pprof")
    out, _ = vestal("convert", cpu(), "-o", "/dev/stdout", "--to", "folded")
    assert ";" in out
    assert os.path.exists("/dev/null")


@test
def a_full_disk_gives_74_and_leaves_nothing():
    if os.geteuid() != 0:
        raise Skip("needs root to mount a small file system")
    mount = os.path.join(scratch(), "small")
    os.makedirs(mount)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", mount],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skip(f"mount: {done.stderr.strip()}")
    try:
        # A second profile of random names does not fit into two pages.
        big = os.path.join(scratch(), "big.folded")
        with open(big, "w", encoding="utf-8") as file:
            for i in range(5000):
                file.write(f"main;f{i * 7919 % 100003};g{i} {i + 1}\n")
        _, err = vestal("convert", big, "-o", os.path.join(mount, "x.folded"), status=74)
        assert "space" in err, err
        assert os.listdir(mount) == []
        done = subprocess.run([VESTAL, "top", "-n", "0", big], stdout=open("/dev/full", "wb"),
                              stderr=subprocess.PIPE, check=False)
        assert done.returncode == 74, done.stderr
    finally:
        subprocess.run(["umount", mount], check=False)


@test
def binary_never_goes_to_a_terminal():
    shown, status = on_terminal(["convert", cpu(), "-o", "-", "--to", "pprof"])
    assert status == 64 and "terminal" in shown and "\x1f" not in shown, shown
    shown, status = on_terminal(["convert", cpu(), "-o", "/dev/tty", "--to", "pprof"])
    assert status == 64, shown
    shown, status = on_terminal(["redact", cpu(), "-o", "-"])
    assert status == 64, shown
    shown, status = on_terminal(["convert", cpu(), "-o", "-", "--to", "folded"])
    assert status == 0 and ";" in shown


@test
def a_terminal_gets_colours_and_lines_that_fit():
    shown, status = on_terminal(["top", "--lines", cpu()], columns=60)
    assert status == 0 and "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    table = plain[plain.index("flat"):].splitlines()[1:]
    assert table and all(len(line) <= 60 for line in table), max(table, key=len)
    assert any("…" in line for line in table)


@test
def no_color_and_pipes_mean_no_colours():
    shown, _ = on_terminal(["top", cpu()], env={"NO_COLOR": "1"})
    assert "\x1b[" not in shown
    shown, _ = on_terminal(["top", "--color", "never", cpu()])
    assert "\x1b[" not in shown
    assert "\x1b[" not in vestal("top", cpu())[0]
    assert "\x1b[" in vestal("top", "--color", "always", cpu())[0]


@test
def names_from_files_cannot_speak_to_the_terminal():
    path = os.path.join(scratch(), "evil.folded")
    with open(path, "wb") as file:
        file.write(b"main;\x1b]0;owned\x07evil\xc2\x9b31m 5\nmain;ok\xff 3\n")
    for command in ("top", "show", "diff"):
        args = [path, path] if command == "diff" else [path]
        out, err = vestal(command, *args, status=None)
        assert "\x1b" not in out + err and "\x07" not in out + err and "\x9b" not in out + err
    _, err = vestal("top", "/tmp/\x1b[31mx", status=66)
    assert "\x1b" not in err


@test
def a_closed_pipe_ends_quietly():
    done = subprocess.run(f"'{VESTAL}' top -n 0 '{cpu()}' | head -1; echo ${{PIPESTATUS[0]}}",
                          shell=True, executable="/bin/bash", capture_output=True, text=True,
                          check=False)
    assert done.stderr == "", done.stderr
    read_end, write_end = os.pipe()
    os.close(read_end)
    with subprocess.Popen([VESTAL, "top", cpu()], stdout=write_end, stderr=subprocess.PIPE,
                          restore_signals=True) as child:
        os.close(write_end)
        _, err = child.communicate()
    assert err == b"" and child.returncode == -signal.SIGPIPE, (child.returncode, err)


@test
def an_interrupt_leaves_nothing_and_gives_130():
    work = folder("interrupt")
    before = sorted(os.listdir(work))
    started = threading.Event()

    def slow(request):
        started.set()
        time.sleep(30)
        send(request, b"")

    with Server(slow) as server:
        # A job in the background ignores SIGINT, and so would the child.
        child = subprocess.Popen([VESTAL, "flame", server.url + "/x", "-o", "out.html"], cwd=work,
                                 stderr=subprocess.PIPE,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        assert started.wait(60)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        assert child.returncode == 130, child.returncode
    assert sorted(os.listdir(work)) == before, err


@test
def json_of_every_command_says_its_schema_first():
    for args, schema in ((["show", cpu()], "vestal.show/1"), (["top", cpu()], "vestal.top/1"),
                         (["diff", cpu(), cpu()], "vestal.diff/1"), (["version"], "vestal.version/1")):
        out, err = vestal(*args, "--json")
        assert err == "", err
        data = json.loads(out, parse_constant=lambda word: 1 / 0)
        assert next(iter(data)) == "schema" and data["schema"] == schema


@test
def json_fields_are_those_of_the_document():
    with open(os.path.join(ROOT, "docs/json.md"), encoding="utf-8") as file:
        document = file.read()
    for args in (["show", cpu()], ["top", "--lines", cpu()], ["diff", "--lines", cpu(), cpu()],
                 ["version"]):
        fields = set()

        def collect(value, into):
            if isinstance(value, dict):
                for key, inner in value.items():
                    if key not in ("resource", "attributes", "libraries"):
                        collect(inner, into)
                    into.add(key)
            elif isinstance(value, list):
                for inner in value:
                    collect(inner, into)

        collect(json.loads(vestal(*args, "--json")[0]), fields)
        missing = [field for field in fields if f"`{field}`" not in document]
        assert not missing, f"{args[0]}: docs/json.md does not say {missing}"


@test
def show_tells_what_is_in_a_real_profile():
    out, _ = vestal("show", "--json", cpu())
    file = json.loads(out)["files"][0]
    assert (file["format"], file["compression"]) == ("pprof", "gzip")
    profile = file["profiles"][0]
    assert [(t["type"], t["unit"], t["default"]) for t in profile["types"]] == \
        [("samples", "count", False), ("cpu", "nanoseconds", True)]
    labels = {label["key"]: label for label in profile["labels"]}
    assert labels["endpoint"]["values"] == 2 and labels["password"]["examples"] == ["hunter2"]
    assert profile["duration_ns"] > 10**9 and profile["period"]["value"] == 10**7
    assert profile["mappings"][0]["build_id"] and profile["unsymbolised_share"] == 0
    assert profile["time"].endswith("Z") and profile["stacks"] <= profile["samples"]
    text, _ = vestal("show", cpu(), os.path.join(go_profiles(), "heap.pb.gz"))
    for words in ("pprof", "gzip", "cpu/nanoseconds", "endpoint: 2 values", "inuse_space/bytes",
                  "build id", "<- default"):
        assert words in text, words


@test
def show_says_what_looks_wrong():
    cases = {
        "cut": "".join(";".join([f"f{k}_{i}" for i in range(64)]) + " 1\n" for k in range(9)),
        "empty": "",
        "few": "a;b 1\n",
    }
    for name, words in (("cut", "exactly 64 frames"), ("few", "no time")):
        path = os.path.join(scratch(), name + ".folded")
        with open(path, "w", encoding="utf-8") as file:
            file.write(cases[name])
        out, _ = vestal("show", path)
        assert "looks wrong" in out and words in out, out


@test
def redacted_files_are_what_their_names_say():
    target = os.path.join(scratch(), "redacted.folded.gz")
    vestal("redact", "-q", "-f", cpu(), "-o", target)
    with gzip.open(target, "rt", encoding="utf-8") as file:
        assert re.match(r".*;.* \d+$", file.readline().strip())
    target = os.path.join(scratch(), "redacted.pb.zst")
    vestal("redact", "-q", "-f", cpu(), "-o", target)
    with open(target, "rb") as file:
        assert file.read(4) == b"\x28\xb5\x2f\xfd"


@test
def redaction_leaves_no_trace_of_the_word():
    target = os.path.join(scratch(), "redacted.pb.gz")
    _, err = vestal("redact", "-f", "--pattern", "hunter2|hashLoop", "--strip-paths", cpu(), "-o",
                    target)
    assert "1 names" in err and "label" in err, err
    with open(target, "rb") as file:
        plain = gzip.decompress(file.read())
    assert b"hunter2" not in plain and b"hashLoop" not in plain and b"[REDACTED]" in plain
    assert b"/goprof/main.go" not in plain and b"main.go" in plain
    before = json.loads(vestal("top", "--json", cpu())[0])["total"]
    assert json.loads(vestal("top", "--json", target)[0])["total"] == before


@test
def flame_writes_a_page_and_says_where():
    work = folder("flame")
    out, err = vestal("flame", "cpu.pb.gz", cwd=work, status=None)
    if "not written" in err:
        raise Skip("html is not written by this build")
    assert out == "" and "flame.html" in err
    with open(os.path.join(work, "flame.html"), encoding="utf-8") as file:
        page = file.read()
    assert page.lstrip().lower().startswith("<!doctype html") and "</html>" in page
    vestal("flame", "cpu.pb.gz", cwd=work, status=73)
    out, _ = vestal("flame", "cpu.pb.gz", "-o", "-", cwd=work)
    assert out.lstrip().lower().startswith("<!doctype html")
    _, err = vestal("flame", "-q", "-f", "cpu.pb.gz", cwd=work)
    assert err == ""


@test
def completions_are_valid_scripts_with_every_option():
    for shell in ("bash", "zsh", "fish"):
        out, _ = vestal("completion", shell)
        assert "show-from" in out and "speedscope" in out
        if not shutil.which(shell):
            continue
        done = subprocess.run([shell, "-n"], input=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, f"{shell}: {done.stderr}"
    script = vestal("completion", "bash")[0] + """
complete_words() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _vestal; echo "${COMPREPLY[*]}"
}
complete_words vestal fl
complete_words vestal top --show
complete_words vestal convert x --to spe
complete_words vestal completion z
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:4] == ["flame", "--show --show-from", "speedscope", "zsh"], done


@test
def a_running_go_program_is_profiled_by_url():
    child = subprocess.Popen([go_program(), "-serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
    try:
        address = child.stdout.readline().strip()
        url = f"http://{address}/debug/pprof"
        out, err = vestal("top", "--json", f"{url}/profile?seconds=1")
        data = json.loads(out)
        assert data["type"] == "cpu" and data["total"] > 0 and data["duration_ns"] > 0.9e9, err
        assert any(row["name"].startswith("main.") for row in data["rows"])
        assert json.loads(vestal("top", "--json", f"{url}/heap")[0])["type"] == "inuse_space"
        out, _ = vestal("show", f"{url}/goroutine", f"{url}/heap", f"{url}/mutex")
        assert "goroutine/count" in out
        _, err = vestal("top", f"{url}/nosuch", status=69)
        assert "HTTP status 404" in err and "nknown profile" in err, err
    finally:
        child.stdin.close()
        child.wait(timeout=30)


@test
def servers_that_fail_are_quoted():
    def answer(request):
        if request.path == "/denied":
            send(request, b"log in first\nreally", 403)
        elif request.path == "/broken":
            send(request, b"<html>no</html>", 500)
        elif request.path == "/loop":
            send(request, b"", 302, [("Location", "/loop")])
        elif request.path == "/file":
            send(request, b"", 302, [("Location", "file:///etc/passwd")])
        elif request.path == "/moved":
            send(request, b"", 302, [("Location", "/profile")])
        elif request.path == "/big":
            send(request, b"x" * 100000)
        elif request.path == "/agent":
            send(request, f"{request.headers['User-Agent']};f 1\n".encode())
        elif request.path == "/slow":
            time.sleep(20)
        else:
            send(request, FOLDED)

    with Server(answer) as server:
        for path, status, words in (
                ("/denied", 77, "HTTP status 403: log in first"),
                ("/broken", 69, "HTTP status 500"),
                ("/loop", 69, "redirects"),
                ("/file", 69, "rotocol"),
                ("/moved", 0, ""),
                ("/profile", 0, ""),
        ):
            _, err = vestal("top", server.url + path, status=status)
            assert words in err, err
        _, err = vestal("top", "--max-bytes", "10K", server.url + "/big", status=65)
        assert "--max-bytes" in err, err
        out, _ = vestal("top", server.url + "/agent")
        assert "vestal/" in out
        _, err = vestal("top", "--timeout", "0.5", server.url + "/slow", status=69)
        secret = server.url.replace("http://", "http://ann:hunter2@")
        _, err = vestal("top", secret + "/denied", status=77)
        assert "hunter2" not in err, err
    _, err = vestal("top", "http://127.0.0.1:1/x", status=69)
    assert "127.0.0.1" in err


@test
def a_certificate_nobody_vouches_for_is_refused():
    if not shutil.which("openssl"):
        raise Skip("no openssl to make a certificate")
    pem = os.path.join(scratch(), "server.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
                    "/CN=localhost", "-keyout", pem, "-out", pem + ".crt"], check=True,
                   capture_output=True)
    with Server(lambda request: send(request, FOLDED)) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem + ".crt", pem)
        server.server.socket = context.wrap_socket(server.server.socket, server_side=True)
        url = server.url.replace("http:", "https:") + "/x"
        out, err = vestal("top", url, status=69)
        assert out == "" and "certificate" in err and "--insecure" in err, err
        out, _ = vestal("top", "--insecure", url)
        assert "flat%" in out


@test
def what_is_no_profile_is_called_by_its_name():
    work = folder("mistakes")
    for name, content, words in (
            ("page.html", b"\n<!DOCTYPE html>\n<html></html>\n", "a page for browsers"),
            ("dump.txt", b"goroutine 1 [running]:\nmain.main()\n\t/x/main.go:3 +0x1d\n", "debug=2"),
            ("trace.out", b"go 1.22 trace\0\0\0", "go tool trace"),
            ("chrome.json", b'{"traceEvents":[{"ph":"B","ts":1}]}', "Chrome trace"),
            ("program", b"\x7fELF\2\1\1" + bytes(60), "a program"),
    ):
        path = os.path.join(work, name)
        with open(path, "wb") as file:
            file.write(content)
        _, err = vestal("top", path, status=65)
        assert words in err, err
    _, err = vestal("top", "localhost:6060/debug/pprof/heap", status=66)
    assert "begins with http://" in err, err
    _, err = vestal("top", "ftp://localhost/cpu.pb.gz", status=66)
    assert "only http:// and https://" in err, err


@test
def a_report_does_not_tell_where_its_profile_lay():
    work = folder("private")
    page = os.path.join(work, "flame.html")
    vestal("flame", os.path.join(work, "cpu.pb.gz"), "-o", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    assert "<title>cpu.pb.gz" in text and work not in text
    picture = os.path.join(work, "flame.svg")
    with Server(lambda request: send(request, cpu_bytes())) as server:
        vestal("flame", server.url + "/cpu?token=hunter2", "-o", picture)
    with open(picture, encoding="utf-8") as file:
        text = file.read()
    assert "127.0.0.1" in text and "hunter2" not in text
    _, err = vestal("flame", os.path.join(work, "cpu.pb.gz"), "-o", page + ".pdf", status=64)
    assert ".html or .svg" in err and not os.path.exists(page + ".pdf"), err


@test
def a_type_without_values_points_to_one_that_has_some():
    path = os.path.join(folder("zeros"), "exit.heap")
    with open(path, "w", encoding="ascii") as file:
        file.write("heap profile: 0: 0 [ 14: 524256] @ heapprofile\n"
                   "0: 0 [ 14: 524256] @ 0x55be6336aa9a 0x55be633692d7\n")
    _, err = vestal("top", path)
    assert "--type alloc_space" in err, err


@test
def words_of_pprof_are_understood_and_answered():
    for args, words in ((["top", "-sample_index=cpu"], "--type"), (["top", "-nodecount=3"], "--count"),
                        (["list"], "--lines"), (["web"], "vestal flame")):
        _, err = vestal(*args, cpu(), status=64)
        assert words in err, err


@test
def progress_appears_on_a_terminal_and_is_wiped():
    def slow(request):
        time.sleep(2.5)
        send(request, FOLDED)

    with Server(slow) as server:
        shown, status = on_terminal(["top", server.url + "/debug/pprof/profile?seconds=2"])
        assert status == 0 and "profiling" in shown and "of 2 s" in shown, shown
        assert {int(n) for n in re.findall(r"(\d+) of 2 s", shown)} <= {1, 2}, shown
        shown, status = on_terminal(["top", "-q", server.url + "/debug/pprof/profile?seconds=2"])
        assert status == 0 and "profiling" not in shown
        _, err = vestal("top", server.url + "/x?seconds=2")
        assert err == ""


@test
def exit_statuses_are_documented():
    out, _ = vestal("help", "exit")
    for status in (0, 64, 65, 66, 69, 70, 71, 73, 74, 77, 130):
        assert re.search(rf"^\s+{status}  ", out, re.M), status


@test
def the_readme_lists_the_formats_this_program_has():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        found = readme_formats.in_readme(file.read())
    assert found and found[0] == readme_formats.table(VESTAL), \
        "run tests/e2e/support/readme_formats.py build/vestal README.md"


@test
def the_readme_names_only_commands_and_options_that_exist():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    every_option = "".join(vestal(command, "--help")[0] for command in COMMANDS)
    for command in re.findall(r"(?:^\$ |`)vestal ([a-z]+)", text, re.M):
        assert command in COMMANDS, command
    for option in re.findall(r"[` ](--[a-z-]+)", text):
        assert option in every_option, option
    for link in re.findall(r"\]\(([^)]*)\)", text):
        if not link.endswith(".png"):
            assert os.path.exists(os.path.join(ROOT, link)), link


@test
def the_version_is_said_in_every_way_people_try():
    out, _ = vestal("version")
    assert re.match(r"vestal \d+\.\d+\.\d+", out)
    assert vestal("--version")[0] == out and vestal("-V")[0] == out
    data = json.loads(vestal("version", "--json")[0])
    assert data["version"] in out and "libzstd" in data["libraries"]


if sys.platform != "linux":
    print("1..0 # SKIP Linux only")
else:
    main()
