"""The checks of the tree pass on the tree, and fail where they must."""
import os
import re
import subprocess
import tempfile

from _tap import Skip, run, test

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = """
| folder | holds | may use |
|---|---|---|
| base | x | libc |
| model | x | base |
| format | x | base model |
| net | x | base |
| server | x | all but net |
| cli | x | all |
"""


def tool(name, *arguments):
    done = subprocess.run([f"{ROOT}/tools/{name}", *arguments], capture_output=True, text=True,
                          cwd=ROOT, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def layers(files):
    """What check-layers says about a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"ARCHITECTURE.md": TABLE, "src/base/alloc.c": "", **files}.items():
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
        return tool("check-layers", root)


def refused(files, *words):
    status, output = layers(files)
    assert status == 1, f"was accepted: {files}"
    for word in words:
        assert word in output, output


def accepted(files):
    status, output = layers(files)
    assert status == 0, output


@test
def the_tree_follows_its_layers():
    status, output = tool("check-layers")
    assert status == 0, output


@test
def layers_refuse_an_include_upwards():
    refused({"src/base/x.c": '#include "model/model.h"\n'}, "src/base/x.c:1", "may not use model")
    refused({"src/format/x.c": '\n# include "net/net.h"\n'}, "src/format/x.c:2")
    refused({"src/server/x.c": '#include "net/net.h"\n'}, "may not use net")


@test
def layers_refuse_a_private_header_of_another_folder():
    refused({"src/cli/x.c": '#include "model/dict.h"\n'}, "private to model", "model/model.h")


@test
def layers_accept_facades_base_and_own_headers():
    accepted({"src/cli/x.c": '#include "model/model.h"\n#include "base/buf.h"\n#include "cli/y.h"\n'
                             '#include <stdio.h>\n#include "commit.h"\n'})
    accepted({"src/server/x.c": '#include "cli/cli.h"\n'})


@test
def layers_refuse_a_folder_that_the_table_does_not_list():
    refused({"src/extra/x.c": ""}, "src/extra", "not in the table")


@test
def layers_refuse_two_files_of_one_name():
    refused({"src/model/read.c": "", "src/format/read.c": ""}, "file names are unique")


@test
def layers_refuse_banned_functions():
    for call in ("malloc(1)", "free (p)", "strdup(s)", "strcpy(a, b)", "strcat(a, b)",
                 "sprintf(a, b)", "atoi(s)", "strtol(s, 0, 10)", "strtok(s, t)", "system(s)",
                 "fprintf(stderr, s)", "printf(s)", "log_info(s)"):
        refused({"src/model/x.c": f"void f(void)\n{{\n\t{call};\n}}\n"}, "src/model/x.c:3",
                re.match(r"\w+", call)[0])


@test
def layers_accept_them_where_they_belong():
    accepted({"src/base/alloc.c": "void f(void) { free(malloc(1)); }\n",
              "src/cli/x.c": 'void f(void) { printf("x"); log_info("x"); }\n'})


@test
def layers_do_not_mistake_words_for_calls():
    accepted({"src/model/x.c": '/* malloc(1), then free(it) */\nconst char *s = "malloc(1)";\n'
                               "void f(void) { mem_free(p); o->free(p); o.printf(p); // free(p)\n}\n"})


@test
def layers_refuse_a_document_without_a_table():
    status, output = layers({"ARCHITECTURE.md": "# nothing\n"})
    assert status == 1 and "no table" in output, output


@test
def public_names_carry_our_name():
    status, output = tool("check-symbols")
    assert status == 0, output


def library(source, root):
    with open(f"{root}/x.c", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", f"{root}/libx.so",
                    f"{root}/x.c"], check=True)
    return tool("check-symbols", "--lib", f"{root}/libx.so")


@test
def symbols_refuse_a_library_that_exports_another_name():
    with tempfile.TemporaryDirectory() as root:
        status, output = library("int vestal_a; void helper(void) {}\n", root)
        assert status == 1 and "exports helper" in output and "vestal_a" not in output, output
        status, output = library("int counter = 1;\n", root)
        assert status == 1 and "exports counter" in output, output


@test
def symbols_accept_a_library_that_hides_its_own():
    with tempfile.TemporaryDirectory() as root:
        source = ('__attribute__((visibility("hidden"))) void helper(void) {}\n'
                  "static int s; int vestal_start(void) { helper(); return s; }\n")
        status, output = library(source, root)
        assert status == 0, output


def header(text, root):
    with open(f"{root}/x.h", "w", encoding="utf-8") as file:
        file.write(text)
    return tool("check-symbols", "--header", f"{root}/x.h")


@test
def symbols_refuse_a_header_that_declares_another_name():
    with tempfile.TemporaryDirectory() as root:
        for text, name in (("int start(void);", "start"), ("extern int level;", "level"),
                           ("struct options { int size; };", "options"),
                           ("#define LIMIT 5", "LIMIT"), ("enum vestal_k { KIND_A, VESTAL_B };", "KIND_A"),
                           ("typedef int number;", "number"),
                           ("typedef void (*hook)(int vestal_x);", "hook"),
                           ("static inline int f(int a) { return a; }", "f"),
                           ('extern "C" {\nint begin(int vestal_a);\n}', "begin")):
            status, output = header(text + "\n", root)
            assert status == 1 and f"declares {name}," in output, (text, output)


@test
def symbols_accept_a_header_of_our_names():
    text = """
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
#define VESTAL_API __attribute__((visibility("default")))
/* start(x) is explained here */
struct vestal_options {
	size_t size;
	const char *service; /* name; not a symbol */
	void (*on_error)(int code);
};
enum vestal_kind { VESTAL_CPU, VESTAL_HEAP = 3 };
struct vestal_span;
VESTAL_API int vestal_start(const struct vestal_options *options);
VESTAL_API void vestal_span_enter(const unsigned char trace[16], void *(*alloc)(size_t n));
extern const char vestal_version[];
#ifdef __cplusplus
}
#endif
"""
    with tempfile.TemporaryDirectory() as root:
        status, output = header(text, root)
        assert status == 0, output


@test
def every_c_file_is_formatted():
    status, output = tool("format", "check-format")
    if status == 127 or "not found" in output:
        raise Skip("clang-format is missing")
    assert status == 0, output


@test
def architecture_names_only_what_exists():
    with open(f"{ROOT}/ARCHITECTURE.md", encoding="utf-8") as file:
        text = file.read()
    source = ""
    for folder, _, names in os.walk(f"{ROOT}/src"):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                source += file.read()
    for word in set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)(?:\(\))?`", text)):
        assert re.search(rf"\b{word}\b", source), f"ARCHITECTURE.md speaks of {word}"
    for path in set(re.findall(r"`((?:src|tools|docs)/[\w./-]+)`", text)):
        assert os.path.exists(f"{ROOT}/{path}"), f"ARCHITECTURE.md speaks of {path}"


run()
