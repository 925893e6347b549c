"""What the build leaves behind, and the tools it uses."""
import contextlib
import glob
import importlib.machinery
import importlib.util
import io
import os
import shutil
import subprocess
import tempfile

from _tap import Skip, run, test

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VESTAL = os.environ.get("VESTAL", f"{ROOT}/build/vestal")


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def load(path):
    loader = importlib.machinery.SourceFileLoader("tool", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tool", loader))
    loader.exec_module(module)
    return module


@test
def the_program_is_hardened():
    headers = output("readelf", "-hldW", VESTAL)
    assert "DYN (Position-Independent" in headers
    assert "GNU_RELRO" in headers and "BIND_NOW" in headers
    assert "RWE" not in headers
    assert "__stack_chk_fail" in output("nm", "-D", VESTAL)
    assert "_chk@" in output("nm", "-D", VESTAL), "no fortified call"


@test
def the_program_starts_without_libraries_it_may_not_need():
    needed = output("readelf", "-dW", VESTAL)
    assert "libcurl" not in needed and "libssl" not in needed


@test
def manual_pages_are_made_of_the_help_texts_and_are_valid():
    if not shutil.which("groff"):
        raise Skip("groff is missing")
    with tempfile.TemporaryDirectory() as folder:
        output(f"{ROOT}/tools/mkman", VESTAL, folder)
        pages = sorted(os.listdir(folder))
        assert "vestal.1" in pages and "vestal-top.1" in pages and len(pages) > 8, pages
        for page in pages:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", f"{folder}/{page}"],
                                  capture_output=True, check=False)
            assert done.returncode == 0 and not done.stderr, (page, done.stderr)
        text = output("groff", "-man", "-Tascii", "-P-cbou", f"{folder}/vestal-top.1")
        assert "vestal-top - " in text and "--focus" in text and "EXIT STATUS" in text, text


@test
def roff_of_odd_text_shows_that_text():
    if not shutil.which("groff"):
        raise Skip("groff is missing")
    mkman = load(f"{ROOT}/tools/mkman")
    markdown = ("# NAME\n\nx - y\n\n.TH is no request, 'nor this\n\n**-a**, **--all** *N\\_M*\n"
                ":   back\\\\slash … *it*\n\n    .code -x 'y' \\n\n\n# OTHER\n")
    with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
        file.write(mkman.to_roff(markdown, "x", "1"))
        file.flush()
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou", file.name],
                              capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    for part in (".TH is no request, 'nor this", "-a, --all N_M", "back\\slash … it",
                 ".code -x 'y' \\n"):
        assert part in done.stdout, (part, done.stdout)


@test
def installation_puts_everything_below_its_prefix():
    with tempfile.TemporaryDirectory() as folder:
        output(f"{ROOT}/tools/install-files", folder, "/usr")
        for path in ("bin/vestal", "share/man/man1/vestal.1", "share/man/man1/vestal-diff.1",
                     "share/bash-completion/completions/vestal",
                     "share/zsh/site-functions/_vestal",
                     "share/fish/vendor_completions.d/vestal.fish"):
            assert os.path.getsize(f"{folder}/usr/{path}") > 0, path
        assert os.listdir(folder) == ["usr"]
        output(f"{folder}/usr/bin/vestal", "version")


@test
def bytes_are_embedded_as_they_are():
    data = bytes(range(256)) * 40 + b'??/"\\\n0"9'
    program = ('#include <stdio.h>\n#include <stddef.h>\nextern const unsigned char page[];\n'
               'extern const size_t page_size;\n'
               'int main(void) { fwrite(page, 1, page_size, stdout); return 0; }\n')
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("page", data), ("empty", b""), ("missing", None)):
            if content is not None:
                with open(f"{folder}/{name}", "wb") as file:
                    file.write(content)
            output(f"{ROOT}/tools/embed.py", f"{folder}/{name}", f"{folder}/{name}.c",
                   f"{folder}/{name}.d", "page")
            with open(f"{folder}/main.c", "w", encoding="utf-8") as file:
                file.write(program)
            output("gcc", "-Wall", "-Werror", "-o", f"{folder}/a", f"{folder}/{name}.c",
                   f"{folder}/main.c")
            got = subprocess.run([f"{folder}/a"], capture_output=True, check=True).stdout
            assert got == (content or b""), name


@test
def an_unchanged_page_is_not_compiled_again():
    with tempfile.TemporaryDirectory() as folder:
        command = (f"{ROOT}/tools/embed.py", f"{folder}/x", f"{folder}/x.c", f"{folder}/x.d", "page")
        output(*command)
        before = os.stat(f"{folder}/x.c").st_mtime_ns
        output(*command)
        assert os.stat(f"{folder}/x.c").st_mtime_ns == before


@test
def a_folder_of_files_is_embedded_compressed():
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/ui/assets")
        for name, content in (("index.html", "<p>" * 900), ("assets/a-1.js", "x" * 500), ("assets/b-2.css", "?"),
                              ("assets/a-1.js.map", "no")):
            with open(f"{folder}/ui/{name}", "w", encoding="utf-8") as file:
                file.write(content)
        command = (f"{ROOT}/tools/embed_tree.py", f"{folder}/ui", f"{folder}/t.c", f"{folder}/t.d")
        output(*command)
        with open(f"{folder}/t.c", encoding="utf-8") as file:
            text = file.read()
        with open(f"{folder}/t.d", encoding="utf-8") as file:
            depends = file.read()
        assert "web_asset_count = 3;" in text and "/assets/b-2.css" in text and ".map" not in text, text
        assert "2700, true}" in text and "1, 1, false}" in text, text
        assert f"{folder}/ui/assets/a-1.js" in depends, depends
        before = os.stat(f"{folder}/t.c").st_mtime_ns
        output(*command)
        assert os.stat(f"{folder}/t.c").st_mtime_ns == before
        os.remove(f"{folder}/ui/index.html")
        output(*command)
        with open(f"{folder}/t.c", encoding="utf-8") as file:
            assert "web_asset_count = 0;" in file.read()
        with open(f"{folder}/ui/index.html", "w", encoding="utf-8"), open(f"{folder}/ui/x.odd", "w", encoding="utf-8"):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode and "x.odd" in done.stderr, done


def install_deps(installed, user, sudo, *groups):
    """Runs install-deps on a made-up machine: what dpkg knows, who we are, whether sudo works."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("bash", "awk", "grep", "env", "true"):
            os.symlink(shutil.which(name), f"{folder}/{name}")
        scripts = {"dpkg-query": f"for p; do case ' {installed} ' in *\" $p \"*) "
                                 "echo installed $p;; esac; done",
                   "id": f"echo {user}", "sudo": sudo, "apt-get": f"echo apt-get \"$@\" >>{folder}/log"}
        for name, script in scripts.items():
            if script is not None:
                with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/bash\n{script}\n")
                os.chmod(f"{folder}/{name}", 0o755)
        done = subprocess.run([f"{ROOT}/tools/install-deps", *groups], env={"PATH": folder},
                              capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        if os.path.exists(f"{folder}/log"):
            with open(f"{folder}/log", encoding="utf-8") as file:
                said += file.read()
        return done.returncode, said


NEARLY = ("gcc libc6-dev python3 meson ninja-build pkg-config libdeflate-dev libzstd-dev "
          "libcurl4-gnutls-dev libsqlite3-dev libnghttp2-dev libssl-dev libyaml-dev "
          "liblzma-dev zlib1g-dev libiberty-dev clang bpftool libbpf-dev")


@test
def dependencies_that_are_missing_are_installed_by_name():
    status, text = install_deps(NEARLY, 0, None, "build")
    assert status == 0, text
    assert "install -y --no-install-recommends libpcre2-dev npm" in text, text


@test
def without_root_the_one_line_to_type_is_printed():
    status, text = install_deps(NEARLY, 1000, "exit 1", "build")
    assert status == 1, text
    assert "    sudo apt-get install -y --no-install-recommends libpcre2-dev npm\n" in text, text
    assert "apt-get -qq" not in text


@test
def sudo_is_used_when_it_asks_nothing():
    status, text = install_deps(NEARLY, 1000, 'shift; exec "$@"', "build")
    assert status == 0 and "apt-get -qq" in text, text


@test
def a_machine_without_npm_alone_may_build():
    status, text = install_deps(NEARLY + " libpcre2-dev", 1000, "exit 1", "build")
    assert status == 0 and "npm is missing" in text, text


@test
def dependencies_that_are_there_are_left_alone():
    done = subprocess.run([f"{ROOT}/tools/install-deps", "build"], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        assert done.stdout + done.stderr == "", done


def judged(text, status=0):
    runner = load(f"{ROOT}/tools/run-tests")
    counts = runner.Counts()
    runner.judge(runner.Program("x", []), text, status, counts)
    return counts


@test
def the_runner_counts_what_tap_says():
    counts = judged("ok 1 - a\n# why\nnot ok 2 - b\nok 3 - c # SKIP no go\n1..3\n", 1)
    assert counts.passed == 1 and len(counts.skipped) == 1 and len(counts.failed) == 1
    assert counts.failed[0][1:] == ("b", "# why") and counts.skipped[0][1:] == ("c", "no go")


@test
def the_runner_believes_no_program_that_ends_oddly():
    assert judged("ok 1 - a\n1..1\n").failed == []
    assert len(judged("ok 1 - a\n1..1\n", 1).failed) == 1
    assert len(judged("ok 1 - a\n1..2\n").failed) == 1
    assert len(judged("ok 1 - a\n").failed) == 1
    assert len(judged("").failed) == 1
    assert len(judged("ok 1 - a\n1..1\n", "was ended by SIGSEGV").failed) == 1
    assert len(judged("1..0 # SKIP nothing here\n").skipped) == 1


@test
def the_runner_stops_what_does_not_end():
    runner = load(f"{ROOT}/tools/run-tests")
    program = runner.Program("x", ["sh", "-c", "echo ok 1; sleep 1000"], timeout=0.3)
    text, status, _ = runner.run(program, "/tmp")
    assert "did not end" in status and "ok 1" in text


def run_twice(name, first, second):
    """What counts of a program that says one thing first and another when it is run again."""
    runner = load(f"{ROOT}/tools/run-tests")
    with tempfile.TemporaryDirectory() as folder:
        script = f"if [ -e {folder}/ran ]; then {second}; else touch {folder}/ran; {first}; fi"
        counts = runner.Counts()
        with contextlib.redirect_stdout(io.StringIO()):
            runner.run_all([runner.Program(name, ["sh", "-c", script])], folder, counts)
    return counts


@test
def the_runner_runs_nothing_again():
    good, bad = "echo ok 1 - a; echo 1..1", "echo not ok 1 - a; echo 1..1; exit 1"
    for name in ("tests/e2e/x.py", "tests/browser/run.mjs", "test_x"):
        counts = run_twice(name, bad, good)
        assert counts.passed == 0 and len(counts.failed) == 1, name
        counts = run_twice(name, good, bad)
        assert counts.passed == 1 and counts.failed == [], name


@test
def a_fresh_machine_has_this_machines_way_to_the_network_and_nothing_else_of_it():
    with open(f"{ROOT}/tools/test-fresh", encoding="utf-8") as file:
        script = file.read()
    # The functions alone, without what the last lines begin.
    functions = script[:script.rindex("\ncase ")].replace('cd "$(dirname "$0")/.."', "")
    env = {"PATH": "/usr/bin:/bin", "HOME": "/root", "https_proxy": "http://proxy:1", "SSL_CERT_FILE": "/x",
           "GOROOT": "/go", "SECRET_TOKEN": "s", "LD_PRELOAD": "", "PIP_CERT": "/y"}
    done = subprocess.run(["bash", "-c", f"{functions}\nnetwork_environment"], env=env, capture_output=True,
                          text=True, check=False)
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert {"https_proxy", "SSL_CERT_FILE", "PIP_CERT"} <= names, done
    assert names <= {"https_proxy", "SSL_CERT_FILE", "PIP_CERT", "NPM_CONFIG_REGISTRY"}, names
    assert "://" not in script.replace("http://[0-9.:]*", "").replace("'server on http://", ""), "a host's name"


@test
def every_fuzz_target_is_registered_and_has_seeds():
    with open(f"{ROOT}/tests/fuzz/meson.build", encoding="utf-8") as file:
        registered = file.read()
    for path in glob.glob(f"{ROOT}/tests/fuzz/fuzz_*.c"):
        name = os.path.basename(path)[5:-2]
        assert f"'{name}':" in registered, f"{name} is not in tests/fuzz/meson.build"
        seeds = f"{ROOT}/tests/fuzz/corpus/{name}"
        assert os.path.isdir(seeds) and os.listdir(seeds), f"{name} has no seeds"
        for folder, _, names in os.walk(seeds):
            for seed in names:
                assert os.path.getsize(f"{folder}/{seed}") <= 65536, f"{folder}/{seed} is large"


@test
def every_unit_test_is_registered():
    with open(f"{ROOT}/tests/meson.build", encoding="utf-8") as file:
        registered = file.read()
    for path in glob.glob(f"{ROOT}/tests/unit/*/test_*.c"):
        assert os.path.basename(path) in registered, f"{path} is not in tests/meson.build"


run()
