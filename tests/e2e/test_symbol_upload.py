#!/usr/bin/env python3
"""Names that come later: profiles of a stripped program, and symbols sent to the server afterwards.

    VESTAL=build/vestal tests/e2e/test_symbol_upload.py
"""
import json
import os
import random
import shutil
import subprocess
import time

from support.agent import Agent, Program as Busy
from support.debuginfod import Debuginfod
from support.nameless import Program, pprof
from support.recording import allowed
from support.server import Server
from support.tap import VESTAL, Skip, main, scratch, test, vestal
from support.wait import until

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
_programs = {}


def program(name="nameless", flags=()):
    if name not in _programs:
        _programs[name] = Program(name, flags)
    return _programs[name]


def folder(name):
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def symbols(server, *args, status=0):
    return vestal("symbols", *args, env={"VESTAL_SERVER": server.url}, status=status)


def push(server, bytes_, service="app"):
    status, body = server.ask(f"/api/v1/profiles?service={service}", bytes_)
    assert status == 200, body


def rows(server, service="app", **more):
    answer = server.get("/api/v1/top", query=service, type="cpu", limit=1000, **more)
    return {(r["name"], r.get("line")): r for r in answer["rows"]}, answer["total"]


def names(server, service="app"):
    return {name: row for (name, _), row in rows(server, service)[0].items()}


def stacks_of(p, count=200, seed=7):
    """Stacks main -> outer or other, at addresses all over them."""
    chosen = random.Random(seed)
    main_ = list(p.range_of("main"))
    return [((chosen.choice(p.range_of(chosen.choice(("outer", "other")))), chosen.choice(main_)),
             chosen.randrange(1, 1000)) for _ in range(count)]


def expected(p, stacks, bias=0):
    """{(function, line): [flat, cum]} and {function: [flat, cum]} by addr2line."""
    lines, functions, known = {}, {}, {}
    for stack, value in stacks:
        frames = []
        for address in stack:
            if address not in known:
                known[address] = p.truth(address - bias)
            frames += known[address]
        for table, keys in ((lines, frames), (functions, [f for f, _ in frames])):
            for i, key in enumerate(keys):
                row = table.setdefault(key, [0, 0])
                row[0] += value if i == 0 else 0
                row[1] += value if key not in keys[:i] else 0
    return lines, functions


def check_named(server, p, stacks, bias=0, service="app"):
    lines, functions = expected(p, stacks, bias)
    got, total = rows(server, service)
    assert total == sum(value for _, value in stacks)
    assert {n: [r["flat"], r["cum"]] for (n, _), r in got.items()} == functions, (got, functions)
    got, _ = rows(server, service, lines="true")
    assert {key: [r["flat"], r["cum"]] for key, r in got.items()} == lines, (got, lines)
    assert all(r["file"] == p.source for r in got.values()), got


def called(server, p, stacks, *path):
    """What Pyroscope's clients are told about stacks that begin like this; checked."""
    now = time.time_ns() // 10 ** 6
    question = {"profileTypeID": CPU, "labelSelector": '{service_name="app"}', "start": now - 3600000,
                "end": now + 60000, "step": 15,
                "stackTraceSelector": {"callSite": [{"name": name} for name in path]}}
    status, body = server.ask("/querier.v1.QuerierService/SelectSeries", json.dumps(question).encode(),
                              {"Content-Type": "application/json"})
    assert status == 200, body
    got = sum(point.get("value", 0) for s in json.loads(body).get("series", []) for point in s["points"])
    want = sum(value for stack, value in stacks
               if tuple(f for address in stack for f, _ in p.truth(address))[::-1][:len(path)] == path)
    assert got == want, (path, got, want)
    return got


@test
def what_was_stored_as_addresses_is_named_after_an_upload():
    p = program()
    whole = (0, 1 << 20, 0)  # as agents write it: the file's own addresses
    stacks = stacks_of(p)
    with Server(folder=folder("upload")) as server:
        push(server, pprof(p, stacks, whole, time.time_ns()))
        before = names(server)
        assert before and all(name.startswith("app+0x") for name in before), before
        said = symbols(server, "upload", p.whole)[1]
        assert p.build_id in said, said
        check_named(server, p, stacks)
        # Every answer has them, and profiles that come later too.
        tree = server.get("/api/v1/tree", query="app", type="cpu")
        assert {"main", "outer", "inner", "other"} <= set(str(tree).replace("'", " ").split())
        status, body = server.ask("/api/v1/export?query=app&type=cpu&format=folded")
        assert status == 200 and b"main;outer;inner" in body, body
        exported = os.path.join(scratch(), "named.pb.gz")
        status, body = server.ask("/api/v1/export?query=app&type=cpu")
        with open(exported, "wb") as file:
            file.write(body)
        top = json.loads(vestal("top", "--json", "-n", "0", "--lines", exported)[0])["rows"]
        lines, _ = expected(p, stacks)
        assert {(r["name"], r["line"]): r["flat"] for r in top} == \
            {key: flat for key, (flat, _) in lines.items()}, top
        status, body = server.ask("/api/v1/tree?query=app&type=cpu&format=vft")
        assert status == 200 and b"inner" in body and b"app+0x" not in body
        render = server.get("/pyroscope/render", query=CPU + '{service_name="app"}', **{"from": "now-1h", "until": "now"})
        assert "inner" in render["flamebearer"]["names"], render
        function = server.get("/api/v1/function", query="app", type="cpu", name="inner")
        _, functions = expected(p, stacks)
        assert [function["self"], function["total"]] == functions["inner"], function
        for self_, where in (("self", 0), ("total", 1)):
            assert sum(v or 0 for v in function["series"][self_]) == functions["inner"][where], function
        series = server.get("/api/v1/series", query="app", type="cpu", function="outer")["series"]
        assert sum(v or 0 for s in series for v in s["values"]) == functions["outer"][1], series
        assert called(server, p, stacks, "main", "outer") > called(server, p, stacks, "main", "outer", "inner") > 0
        later = stacks_of(p, seed=8)
        push(server, pprof(p, later, whole, time.time_ns()), "later")
        check_named(server, p, later, service="later")
    # After a restart as well.
    with Server(folder=os.path.join(scratch(), "upload")) as server:
        check_named(server, p, stacks)
        assert p.build_id in symbols(server, "list")[0]
        symbols(server, "delete", p.build_id)
        assert names(server) == before


@test
def mappings_of_single_segments_are_understood():
    """As the kernel maps them, at some address: programs with all kinds of addresses."""
    for name, flags in (("pie", ("-pie", "-fPIE")), ("no-pie", ("-no-pie",)),
                        ("lld", ("-fuse-ld=lld",))):
        try:
            p = program(name, flags)
        except subprocess.CalledProcessError:
            print(f"# no {flags}")
            continue
        offset, address, size = p.code()
        page = address & ~4095
        bias = 0x5555_0000_0000 if name != "no-pie" else 0
        mapping = (page + bias, (address + size + 4095 & ~4095) + bias, offset & ~4095)
        stacks = [(tuple(a + bias for a in stack), value) for stack, value in stacks_of(p)]
        with Server(folder=folder("segments")) as server:
            push(server, pprof(p, stacks, mapping, time.time_ns()))
            symbols(server, "upload", p.whole)
            check_named(server, p, stacks, bias)


@test
def a_debug_file_alone_is_enough_and_completes_a_program():
    p = program()
    stacks = stacks_of(p)
    with Server(folder=folder("debug")) as server:
        push(server, pprof(p, stacks, (0, 1 << 20, 0), time.time_ns()))
        said = symbols(server, "upload", p.stripped, status=None)[1]
        # Stripped it has the names it imports alone.
        assert "build id" in said or "no names" in said, said
        assert not {"outer", "inner"} & names(server).keys()
        symbols(server, "upload", p.debug)
        check_named(server, p, stacks)
        kinds = {f["kind"] for f in server.get("/api/v1/symbols")["files"]}
        assert "debug" in kinds, kinds


@test
def folders_are_searched_and_what_is_there_is_not_sent_again():
    p = program()
    tree = folder("tree")
    os.makedirs(f"{tree}/deep/er")
    shutil.copy(p.whole, f"{tree}/deep/er/app")
    shutil.copy(p.debug, f"{tree}/app.debug")
    with open(f"{tree}/README", "w", encoding="utf-8") as file:
        file.write("no program\n")
    os.symlink("/bin/true", f"{tree}/link")
    with Server(folder=folder("folders")) as server:
        said = symbols(server, "upload", tree)[1]
        assert said.count(p.build_id) == 2, said
        assert "has all of them" in symbols(server, "upload", tree)[1]
        files = server.get("/api/v1/symbols")["files"]
        assert [(f["build_id"], f["kind"]) for f in files] == \
            [(p.build_id, "program"), (p.build_id, "debug")], files
        table = symbols(server, "list")[0]
        assert table.count(p.build_id) == 2 and "program" in table, table


@test
def what_names_nothing_is_refused_with_the_reason():
    p = program()
    work = folder("refused")
    os.makedirs(work)

    def write(name, bytes_):
        with open(f"{work}/{name}", "wb") as file:
            file.write(bytes_)
        return f"{work}/{name}"

    with open(p.whole, "rb") as file:
        whole = file.read()
    core = bytearray(whole)
    core[16] = 4  # ET_CORE
    subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", p.whole, f"{work}/no-id"],
                   check=True)
    cases = [(write("text", b"hello\n"), "not an ELF file"),
             (write("half", whole[:len(whole) // 2]), None),
             (write("core", bytes(core)), "core file"), (f"{work}/no-id", "no build id")]
    with Server("--max-body", "64M", folder=folder("refusing")) as server:
        for path, reason in cases:
            status, body = server.ask("/api/v1/symbols/upload", open(path, "rb").read())
            if reason:
                assert 400 <= status < 500 and reason in json.loads(body)["message"], (path, body)
                err = symbols(server, "upload", path, status=None)[1]
                assert reason in err, err
        status, body = server.ask("/api/v1/symbols/upload", b"")
        assert status == 400, body
        symbols(server, "upload", f"{work}/missing", status=66)
        files = server.get("/api/v1/symbols")["files"]
        assert not [f for f in files if f["kind"] == "core"] and len(files) <= 1, files
        status, _ = server.ask(f"/api/v1/symbols/delete?build_id={'ab' * 20}", b"")
        assert status == 404
        status, _ = server.ask("/api/v1/symbols/delete?build_id=../../x", b"")
        assert status == 400
        # Parts must follow each other, and a name must be one.
        for query, want in (("upload=a&offset=5&size=10", 404), ("upload=../x&offset=0&size=10", 400),
                            ("offset=3&size=10", 400), ("upload=b&offset=0&size=2", 400)):
            status, body = server.ask(f"/api/v1/symbols/upload?{query}", b"12345")
            assert status == want, (query, status, body)
        server.ask("/api/v1/symbols/upload?upload=c&offset=0&size=10", b"123")
        status, body = server.ask("/api/v1/symbols/upload?upload=c&offset=5&size=10", b"123")
        assert status == 409 and "3" in json.loads(body)["message"], body
    leftovers = [f for f in os.listdir(os.path.join(scratch(), "refusing/.symbols/anonymous"))
                 if f.endswith(".incoming")]
    assert not leftovers, leftovers
    # In memory there is no place for them.
    with Server() as server:
        assert server.ask("/api/v1/symbols/upload", whole)[0] == 415


@test
def limits_are_kept():
    p = program()
    config = os.path.join(scratch(), "limits.yaml")
    size = os.path.getsize(p.whole)
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"symbols: {{max_file: {size}, max_size: {size + 100}}}\n")
    with Server("--config", config, folder=folder("limits")) as server:
        symbols(server, "upload", p.whole)
        err = symbols(server, "upload", p.debug, status=None)[1]
        assert "delete some" in err, err
        big = os.path.join(scratch(), "big")
        shutil.copy(p.whole, big)
        with open(big, "ab") as file:
            file.write(bytes(1000))
        err = symbols(server, "upload", big, status=None)[1]
        assert "files of up to" in err, err
        assert len(server.get("/api/v1/symbols")["files"]) == 1


@test
def tenants_have_their_own():
    p = program()
    stacks = stacks_of(p)
    with Server("--trust-tenant-header", folder=folder("tenants")) as server:
        for tenant in ("ann", "ben"):
            status, body = server.ask("/api/v1/profiles?service=app",
                                      pprof(p, stacks, (0, 1 << 20, 0), time.time_ns()),
                                      {"X-Scope-OrgID": tenant})
            assert status == 200, body
        symbols(server, "upload", p.whole, "--tenant", "ann")
        for tenant, named in (("ann", True), ("ben", False)):
            _, body = server.ask("/api/v1/top?query=app&type=cpu", headers={"X-Scope-OrgID": tenant})
            assert ("outer" in {r["name"] for r in json.loads(body)["rows"]}) == named, (tenant, body)
            _, body = server.ask("/api/v1/symbols", headers={"X-Scope-OrgID": tenant})
            assert len(json.loads(body)["files"]) == named, body


@test
def a_backup_has_them():
    p = program()
    with Server(folder=folder("kept")) as server:
        push(server, pprof(p, stacks_of(p), (0, 1 << 20, 0), time.time_ns()))
        symbols(server, "upload", p.whole)
        copy = folder("kept-copy")
        vestal("backup", copy, "--server", server.url)
    with Server(folder=copy) as server:
        check_named(server, p, stacks_of(p))


# ---------------------------------------------------------------- debuginfod

@test
def the_server_asks_debuginfod():
    p = program()
    stacks = stacks_of(p)
    text = open(p.source, "rb").read()
    with Debuginfod({p.build_id: p.debug}, {(p.build_id, p.source): text}) as other, \
            Server("--debuginfod", f"http://127.0.0.1:1 {other.url}", folder=folder("asking")) as server:
        push(server, pprof(p, stacks, (0, 1 << 20, 0), time.time_ns()))
        names(server)
        until(lambda: "outer" in names(server), describe=lambda: other.asked)
        check_named(server, p, stacks)
        assert other.asked == [f"/buildid/{p.build_id}/debuginfo"], other.asked
        row = next(iter(rows(server, lines="true")[0].values()))
        assert row["build_id"] == p.build_id
        status, body = server.ask(f"/api/v1/source?file={p.source}&build_id={p.build_id}")
        assert status == 200 and body == text, (status, body)
        status, _ = server.ask(f"/api/v1/source?file={p.source}")
        assert status == 404
        status, _ = server.ask(f"/api/v1/source?file=/../../metrics&build_id={p.build_id}")
        assert status in (400, 404) and not [a for a in other.asked if "metrics" in a], other.asked


@test
def what_debuginfod_does_wrong_leaves_addresses():
    p = program()
    stacks = stacks_of(p, 20)
    config = os.path.join(scratch(), "debuginfod.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("debuginfod: {max_file: 1MiB, timeout: 2s}\n")
    for way, files in (("plain", {}), ("truncated", {p.build_id: p.debug}),
                       ("plain", {p.build_id: "/bin/true"}), ("endless", {p.build_id: p.debug}),
                       ("slow", {p.build_id: p.debug})):
        with Debuginfod(files, way=way) as other, \
                Server("--config", config, "--debuginfod", other.url, folder=folder("wrong")) as server:
            push(server, pprof(p, stacks, (0, 1 << 20, 0), time.time_ns()))
            assert all(n.startswith("app+0x") for n in names(server)), way
            other.wait(f"/buildid/{p.build_id}/debuginfo")
            # When it is done with, what was received of it is gone; asked again nothing happens.
            until(lambda: not os.listdir(f"{scratch()}/wrong/.debuginfod"), describe=lambda: way)
            assert all(n.startswith("app+0x") for n in names(server)), way
            assert len(other.asked) == 1, (way, other.asked)
        assert not os.listdir(f"{scratch()}/wrong/.debuginfod"), way


# ---------------------------------------------------------------- from the kernel to the name

def nameless_names(urls, *run):
    path = os.path.join(scratch(), f"nameless-{time.monotonic_ns()}.pb.gz")
    subprocess.run([VESTAL, "record", "-F", "499", "-o", path, "--", *run], check=True,
                   capture_output=True, timeout=240, cwd=scratch(),
                   env={**os.environ, "DEBUGINFOD_URLS": urls})
    return path, {r["name"] for r in json.loads(vestal("top", "--json", "-n", "0", path)[0])["rows"]}


@test
def what_record_could_not_name_is_named_after_push_and_upload():
    allowed()
    p = program()
    path, before = nameless_names("", p.stripped, "300000")
    assert not {"outer", "inner", "other"} & before and any(n.startswith("app+0x") for n in before), before
    with Server(folder=folder("end-to-end")) as server:
        vestal("push", path, "--service", "app", env={"VESTAL_SERVER": server.url})
        assert not {"outer", "inner"} & names(server).keys()
        symbols(server, "upload", p.whole)
        after, _ = rows(server, lines="true")
        assert {"main", "outer", "inner"} <= {n for n, _ in after}, after
        assert all(line for (n, line) in after if n in ("outer", "inner", "main")), after


@test
def what_the_agent_sent_without_names_is_named_after_an_upload():
    allowed()
    p = program()
    with Server(folder=folder("agent-names")) as server:
        with Busy(p.stripped, str(10 ** 12)), \
                Agent("-F", "199", "--interval", "1", server=f"http://{server.otlp_http}",
                      env={"DEBUGINFOD_URLS": ""}) as agent:
            agent.wait(lambda: server.ask("/api/v1/top?query=app&type=cpu")[0] == 200)
            agent.wait(lambda: any(n.startswith("app+0x") for n in names(server)))
            symbols(server, "upload", p.debug)
            after, _ = rows(server, lines="true")
            assert ("inner" in {n for n, _ in after}) and not [n for n, _ in after if n.startswith("app+0x")], after


@test
def record_and_agent_fetch_debug_files():
    allowed()
    p = program()
    cache = os.path.join("/var/cache/vestal/debuginfod", p.build_id + ".debug")
    with Debuginfod({p.build_id: p.debug}) as other:
        try:
            _, found = nameless_names(other.url, p.stripped, "300000")
            assert {"outer", "inner", "main"} <= found, (found, other.asked)
            assert len(set(other.asked)) == len(other.asked), other.asked
            # It is kept: nobody is asked a second time.
            before = other.asked.count(f"/buildid/{p.build_id}/debuginfo")
            _, found = nameless_names(other.url, p.stripped, "300000")
            assert {"outer", "inner"} <= found and \
                other.asked.count(f"/buildid/{p.build_id}/debuginfo") == before == 1, other.asked
        finally:
            if os.path.exists(cache):
                os.unlink(cache)
    own = folder("agent-cache")
    config = os.path.join(scratch(), "agent.yaml")
    with Debuginfod({p.build_id: p.debug}) as other, Server(folder=folder("agent-fetch")) as server:
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"server: http://{server.otlp_http}\nrate: 199\ninterval: 1s\n"
                       f"queue: {{directory: none}}\ntargets: [{{name: app}}]\n"
                       f"debuginfod: {{urls: '{other.url}', directory: {own}}}\n")
        with Busy(p.stripped, str(10 ** 12)), Agent("--config", config) as agent:
            agent.wait(lambda: server.ask("/api/v1/top?query=app&type=cpu")[0] == 200)
            agent.wait(lambda: {"outer", "inner"} <= names(server).keys())
            assert os.listdir(own) == [p.build_id + ".debug"], os.listdir(own)


@test
def a_debuginfod_that_is_slow_or_breaks_off_leaves_the_agent_its_addresses():
    allowed()
    p = program()
    config = os.path.join(scratch(), "agent-wrong.yaml")
    for way in ("slow", "truncated"):
        own = folder("agent-wrong-cache")
        with Debuginfod({p.build_id: p.debug}, way=way) as other, Server(folder=folder("agent-wrong")) as server:
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"server: http://{server.otlp_http}\nrate: 199\ninterval: 1s\n"
                           f"queue: {{directory: none}}\ntargets: [{{name: app}}]\n"
                           f"debuginfod: {{urls: '{other.url}', directory: {own}, timeout: 2s}}\n")
            with Busy(p.stripped, str(10 ** 12)), Agent("--config", config) as agent:
                other.wait(f"/buildid/{p.build_id}/debuginfo")
                # Windows come while it waits, and nothing is left when it has given up.
                agent.wait(lambda: server.ask("/api/v1/top?query=app&type=cpu")[0] == 200)
                agent.wait(lambda: any(n.startswith("app+0x") for n in names(server)))
                agent.wait(lambda: not os.listdir(own))
                assert "outer" not in names(server), way
        assert not os.listdir(own) and len(other.asked) == len(set(other.asked)), (way, other.asked)


@test
def a_debuginfod_that_breaks_off_leaves_record_its_addresses():
    allowed()
    p = program()
    with Debuginfod({p.build_id: p.debug}, way="truncated") as other:
        _, found = nameless_names(other.url, p.stripped, "200000")
    assert f"/buildid/{p.build_id}/debuginfo" in other.asked, other.asked
    assert not {"outer", "inner"} & found and any(n.startswith("app+0x") for n in found), found
    assert not os.path.exists(f"/var/cache/vestal/debuginfod/{p.build_id}.debug")


@test
def live_fetches_debug_files():
    allowed()
    p = program()
    with Debuginfod({p.build_id: p.debug}) as other, Busy(p.stripped, str(10 ** 12)) as busy:
        try:
            shown, _ = vestal("live", "--once", "--type", "cpu", "-p", str(busy.pid),
                              env={"DEBUGINFOD_URLS": other.url})
        finally:
            cache = f"/var/cache/vestal/debuginfod/{p.build_id}.debug"
            if os.path.exists(cache):
                os.unlink(cache)
    assert "outer" in shown and "app+0x" not in shown, (shown, other.asked)
    assert f"/buildid/{p.build_id}/debuginfo" in other.asked, other.asked


def with_debug_link(name, *, alternate):
    """A program without names whose .gnu_debuglink leads to a file beside it, shared parts elsewhere."""
    p = program(name)
    place = os.path.join(scratch(), f"{name}-place")
    os.makedirs(f"{place}/.debug", exist_ok=True)
    # Whoever reads it has no rights.
    for path in (scratch(), place, f"{place}/.debug"):
        os.chmod(path, 0o755)
    debug = f"{place}/.debug/app.debug"
    shutil.copy(p.debug, debug)
    if alternate:
        if not shutil.which("dwz"):
            raise Skip("no dwz")
        other = f"{place}/.debug/other.debug"
        shutil.copy(program(name + "-other").debug, other)
        subprocess.run(["dwz", "-m", "common", "-r", "app.debug", "other.debug"], check=True,
                       capture_output=True, cwd=f"{place}/.debug")
        said = subprocess.run(["readelf", "-SW", debug], check=True, capture_output=True, text=True).stdout
        assert ".gnu_debugaltlink" in said, said
    bare = f"{place}/app"
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", p.stripped, bare], check=True)
    return bare


@test
def workers_follow_gnu_debuglink():
    allowed()
    bare = with_debug_link("linked", alternate=False)
    _, found = nameless_names("", bare, "300000")
    assert {"outer", "inner", "main"} <= found, found


@test
def workers_follow_dwz_to_the_shared_file():
    allowed()
    bare = with_debug_link("shared", alternate=True)
    _, found = nameless_names("", bare, "300000")
    # The name of what was inlined lies in the shared file.
    assert {"outer", "inner", "main"} <= found, found
    # Without it what was inlined is not known any more: it was read from there.
    os.unlink(os.path.join(os.path.dirname(bare), ".debug/common"))
    _, found = nameless_names("", bare, "300000")
    assert "main" in found and "inner" not in found, found


@test
def servers_that_are_slow_or_away_leave_addresses_and_the_recording():
    allowed()
    p = program()
    with Debuginfod({}) as other:
        _, found = nameless_names(f"http://127.0.0.1:1 {other.url} nonsense", p.stripped, "200000")
        assert not {"outer", "inner"} & found and not other.asked, (found, other.asked)
        _, found = nameless_names(f"http://127.0.0.1:1 {other.url}", p.stripped, "200000")
        assert not {"outer", "inner"} & found and other.asked, (found, other.asked)


@test
def debug_files_that_only_root_may_read_are_found():
    allowed()
    p = program("roots")
    place = f"/usr/lib/debug/.build-id/{p.build_id[:2]}/{p.build_id[2:]}.debug"
    if shutil.which("unshare") is None:
        raise Skip("no unshare")
    script = (f"mount -t tmpfs none /usr/lib/debug && mkdir -p {os.path.dirname(place)} && "
              f"cp {p.debug} {place} && chmod 600 {place} && cd {scratch()} && "
              f"exec {VESTAL} record -F 499 -f -o roots.pb.gz -- {p.stripped} 300000")
    os.makedirs("/usr/lib/debug", exist_ok=True)
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
        raise Skip("no mount namespaces")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                          timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found = {r["name"] for r in json.loads(vestal("top", "--json", "-n", "0",
                                                  os.path.join(scratch(), "roots.pb.gz"))[0])["rows"]}
    assert {"outer", "inner", "main"} <= found, found


main()
