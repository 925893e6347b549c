#!/usr/bin/env python3
"""The JSON formats against real producers (Node.js, py-spy) and independent judges (arithmetic of
our own over python's json, speedscope's published schema, the Collector's JSON codec, protojson)."""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import zipfile

from support.tap import ROOT, VESTAL, Skip, go_profiles, main, scratch, test, vestal

DUMP_ROWS = os.environ.get("DUMP_ROWS", os.path.join(os.path.dirname(VESTAL), "tests/dump_rows"))

WORKLOAD = """
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s }
function keep(n) { const a = []; for (let i = 0; i < n; i++) a.push({i, s: 'x' + i}); return a }
function deep(n) { return n ? deep(n - 1) + 1 : hot(20000) }
const begin = Date.now(); let r = 0; global.kept = []
while (Date.now() - begin < 400) {
    r += hot(100000) + deep(300)
    if (global.kept.length < 30) global.kept.push(keep(2000))
}
"""


def path(name):
    return os.path.join(scratch(), name)


def run(*command, timeout=120, cwd=None):
    done = subprocess.run(command, cwd=cwd or scratch(), capture_output=True, text=True,
                          timeout=timeout, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def rows(file):
    """{type: {stack, root first: sum}}; a stack is a tuple of (name, line)."""
    if not os.path.exists(DUMP_ROWS):
        raise Skip("tests/dump_rows is not built")
    sums, types = {}, []
    for text in run(DUMP_ROWS, file).splitlines():
        entry = json.loads(text)
        if isinstance(entry, dict):
            types = entry["types"]
            for name in types:
                sums.setdefault(name, collections.Counter())
            continue
        values, _, _, frames = entry
        stack = tuple((frame[0], frame[1]) for frame in reversed(frames))
        for name, value in zip(types, values):
            sums[name][stack] += value
    return sums


def same(ours, theirs, what):
    ours, theirs = +collections.Counter(ours), +collections.Counter(theirs)
    assert ours == theirs, f"{what}: only here {list((ours - theirs).items())[:3]}, " \
                           f"only there {list((theirs - ours).items())[:3]}"


def node_profile(kind):
    if not shutil.which("node"):
        raise Skip("no Node.js")
    file = path(f"node.{kind}profile")
    if not os.path.exists(file):
        with open(path("workload.js"), "w", encoding="utf-8") as script:
            script.write(WORKLOAD)
        run("node", f"--{kind}-prof", f"--{kind}-prof-name={os.path.basename(file)}", "workload.js")
    return file


def frame_of(node):
    call = node["callFrame"]
    return (call["functionName"] or "(anonymous)", max(call["lineNumber"], -1) + 1)


@test
def node_cpu_profiles_have_the_samples_and_times_devtools_shows():
    file = node_profile("cpu")
    with open(file, encoding="utf-8") as text:
        profile = json.load(text)
    nodes = {node["id"]: node for node in profile["nodes"]}
    parent = {child: node["id"] for node in profile["nodes"] for child in node.get("children", [])}

    def stack(node):
        frames = []
        while node is not None:
            frames.append(frame_of(nodes[node]))
            node = parent.get(node)
        return tuple(reversed([f for f in frames if f[0] != "(root)"]))

    count, spent, clock, latest = collections.Counter(), collections.Counter(), 0, 0
    times = []
    for delta in profile["timeDeltas"]:
        clock += delta
        latest = max(latest, clock)
        times.append(latest)
    times.append(max(latest, profile["endTime"] - profile["startTime"]))
    for i, node in enumerate(profile["samples"]):
        count[stack(node)] += 1
        spent[stack(node)] += (times[i + 1] - times[i]) * 1000
    ours = rows(file)
    same(ours["samples/count"], count, "samples")
    same(ours["cpu/nanoseconds"], spent, "time")
    assert any(name == "hot" for s in count for name, _ in s)
    assert max(map(len, count)) > 200, "the recursion is not there"


@test
def node_heap_profiles_have_the_bytes_and_sampled_objects_of_every_node():
    file = node_profile("heap")
    with open(file, encoding="utf-8") as text:
        profile = json.load(text)
    bytes_of, objects, stack_of = collections.Counter(), collections.Counter(), {}
    todo = [(profile["head"], ())]
    while todo:
        node, above = todo.pop()
        stack = above + (() if frame_of(node)[0] == "(root)" else (frame_of(node),))
        stack_of[node["id"]] = stack
        bytes_of[stack] += node["selfSize"]
        todo += [(child, stack) for child in node["children"]]
    # Node names nodes here, now and then, that it has left out above.
    for sample in profile["samples"]:
        if sample["nodeId"] in stack_of:
            objects[stack_of[sample["nodeId"]]] += 1
    ours = rows(file)
    same(ours["inuse_space/bytes"], bytes_of, "bytes")
    same(ours["inuse_objects/count"], objects, "objects")
    assert sum(bytes_of.values()) > 1000000


@test
def formats_are_recognised_by_content_whatever_the_file_is_called():
    for kind, name in (("cpu", "cpuprofile"), ("heap", "heapprofile")):
        shutil.copy(node_profile(kind), path("data"))
        out, _ = vestal("show", "--json", path("data"))
        assert name in json.dumps(json.loads(out)), out[:300]


def schema_fault(value, schema, root, at="$"):
    """Why a value does not follow a JSON schema (draft 7, as far as speedscope's goes), or None."""
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].split("/")[1:]:
            target = target[part]
        return schema_fault(value, target, root, at)
    if "anyOf" in schema:
        faults = [schema_fault(value, option, root, at) for option in schema["anyOf"]]
        return None if None in faults else "; ".join(faults)
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float)}
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return f"{at} is no {schema['type']}"
    if "const" in schema and value != schema["const"]:
        return f"{at} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is not one of {schema['enum']}"
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                return f"{at}.{key} is missing"
        for key, part in value.items():
            if key in schema.get("properties", {}):
                fault = schema_fault(part, schema["properties"][key], root, f"{at}.{key}")
                if fault:
                    return fault
    if isinstance(value, list) and "items" in schema:
        for i, part in enumerate(value):
            fault = schema_fault(part, schema["items"], root, f"{at}[{i}]")
            if fault:
                return fault
    return None


def speedscopes():
    """(source, speedscope file) for real profiles."""
    sources = [node_profile("cpu"), node_profile("heap")]
    if shutil.which("go"):
        sources += [os.path.join(go_profiles(), name + ".pb.gz") for name in ("cpu", "heap", "mutex")]
    for source in sources:
        target = path(os.path.basename(source) + ".speedscope.json")
        if not os.path.exists(target):
            vestal("convert", source, "-o", target)
        yield source, target


@test
def written_speedscope_files_hold_together():
    for source, target in speedscopes():
        with open(target, encoding="utf-8") as text:
            file = json.load(text)
        assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
        assert file["exporter"].startswith("vestal")
        frames = file["shared"]["frames"]
        assert all(frame["name"] for frame in frames)
        assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
        theirs = rows(source)
        assert len(file["profiles"]) == len(theirs)
        for profile in file["profiles"]:
            assert profile["type"] == "sampled" and profile["startValue"] == 0
            assert len(profile["samples"]) == len(profile["weights"])
            assert sum(profile["weights"]) == profile["endValue"]
            sums = collections.Counter()
            for stack, weight in zip(profile["samples"], profile["weights"]):
                sums[tuple((frames[i]["name"], frames[i].get("line", 0)) for i in stack)] += weight
            (match,) = [key for key in theirs if key.split("/")[0] == profile["name"]]
            same(sums, theirs[match], f"{source} {match}")


@test
def written_speedscope_files_follow_the_published_schema():
    if not shutil.which("npm"):
        raise Skip("no npm")
    folder = path("npm")
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "speedscope"], cwd=folder,
                          capture_output=True, text=True, timeout=120, check=False)
    found = glob.glob(f"{folder}/node_modules/speedscope/dist/release/file-format-schema*.json")
    if done.returncode or not found:
        raise Skip("the npm package speedscope cannot be had")
    with open(found[0], encoding="utf-8") as text:
        schema = json.load(text)
    for _, target in speedscopes():
        with open(target, encoding="utf-8") as text:
            fault = schema_fault(json.load(text), schema, schema)
        assert fault is None, f"{target}: {fault}"


def py_spy():
    """py-spy, from the package index."""
    folder = path("py-spy")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                           "py-spy"], capture_output=True, text=True, timeout=120, check=False)
    wheels = glob.glob(f"{folder}/*.whl")
    if done.returncode or not wheels:
        raise Skip("py-spy cannot be had")
    with zipfile.ZipFile(wheels[0]) as wheel:
        (name,) = [n for n in wheel.namelist() if n.endswith("/py-spy")]
        wheel.extract(name, folder)
    os.chmod(os.path.join(folder, name), 0o755)
    return os.path.join(folder, name)


@test
def speedscope_files_of_py_spy_are_read():
    program = py_spy()
    with open(path("spin.py"), "w", encoding="utf-8") as script:
        script.write("import threading, time\n"
                     "def spin():\n    end = time.time() + 1.5\n"
                     "    while time.time() < end: sum(range(1000))\n"
                     "t = threading.Thread(target=spin, name='other'); t.start(); spin(); t.join()\n")
    file = path("spy.speedscope.json")
    done = subprocess.run([program, "record", "-t", "-f", "speedscope", "-o", file, "-r", "50", "--",
                           sys.executable, path("spin.py")], capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode or not os.path.exists(file):
        raise Skip("py-spy cannot trace here: " + done.stderr.strip()[-100:])
    with open(file, encoding="utf-8") as text:
        data = json.load(text)
    frames, theirs = data["shared"]["frames"], collections.Counter()
    for profile in data["profiles"]:
        assert profile["unit"] == "seconds"
        for stack, weight in zip(profile["samples"], profile["weights"]):
            theirs[tuple((frames[i]["name"], frames[i].get("line") or 0) for i in stack)] += \
                round(weight * 1e9)
    same(rows(file)["wall/nanoseconds"], theirs, "py-spy")
    assert any("spin" in name for stack in theirs for name, _ in stack)


def peer(folder, *flags):
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    program = path(folder)
    if not os.path.exists(program):
        env = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off", GOTOOLCHAIN="local")
        done = subprocess.run(["go", "build", "-o", program, *flags, "."], env=env, check=False,
                              cwd=os.path.join(ROOT, "tests/peers", folder), capture_output=True,
                              text=True, timeout=600)
        if done.returncode:
            raise Skip("Go modules cannot be had: " + done.stderr.strip().splitlines()[-1])
    return program


def otlp_files():
    """(OTLP as protobuf, the same as JSON), both written by us from real Go profiles."""
    for name in ("cpu", "heap", "mutex"):
        source = os.path.join(go_profiles(), name + ".pb.gz")
        for suffix in (".otlp", ".otlp.json"):
            if not os.path.exists(path(name + suffix)):
                vestal("convert", source, "-o", path(name + suffix))
        yield path(name + ".otlp"), path(name + ".otlp.json")


@test
def otlp_json_and_protobuf_hold_the_same():
    for binary, text in otlp_files():
        first, second = rows(binary), rows(text)
        assert set(first) == set(second) and first
        for name, sums in first.items():
            same(sums, second[name], f"{text} {name}")


@test
def the_collector_reads_our_json_and_we_read_its():
    collector = peer("otlpcol")
    for binary, text in otlp_files():
        run(collector, text, path("from-json.otlp"))
        run(collector, binary, path("collector.json"))
        wanted = rows(binary)
        for back in (path("from-json.otlp"), path("collector.json")):
            got = rows(back)
            assert set(got) == set(wanted), f"{back}: {set(got)}"
            for name, sums in wanted.items():
                same(got[name], sums, f"{back} {name}")


@test
def protojson_reads_our_json_and_we_read_its():
    official = peer("otlpgo")
    for binary, text in otlp_files():
        run(official, "proto", text, path("from-json.otlp"))
        run(official, "json", binary, path("protojson.json"))
        wanted = rows(binary)
        for back in (path("from-json.otlp"), path("protojson.json")):
            for name, sums in wanted.items():
                same(rows(back)[name], sums, f"{back} {name}")


@test
def every_shape_of_the_official_encoder_is_read_from_json():
    official = peer("otlpgo")
    for shape in ("times", "values", "both", "types", "references"):
        run(official, "make", shape, path("shape.otlp"))
        run(official, "json", path("shape.otlp"), path("shape.json"))
        wanted, got = rows(path("shape.otlp")), rows(path("shape.json"))
        assert set(wanted) == set(got), f"{shape}: {set(wanted)} {set(got)}"
        for name, sums in wanted.items():
            same(got[name], sums, f"{shape} {name}")


@test
def bad_files_give_one_line_with_the_byte_and_status_65():
    bad = {
        "nan.cpuprofile": '{"nodes":[{"id":1}],"samples":[1],"timeDeltas":[NaN]}',
        "cycle.cpuprofile": '{"nodes":[{"id":1,"children":[1]}],"samples":[]}',
        "deep.speedscope.json": '{"$schema":"https://www.speedscope.app/x","profiles":' + "[" * 1000000,
        "cut.heapprofile": '{"head":{"selfSize":1,"id":1,"children":[',
        "index.otlp.json": '{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"samples":['
                           '{"stackIndex":7,"values":[1]}]}]}]}],"dictionary":{"stackTable":[{}],'
                           '"stringTable":[""],"mappingTable":[{}],"locationTable":[{}],'
                           '"functionTable":[{}],"linkTable":[{}],"attributeTable":[{}]}}',
    }
    for name, text in bad.items():
        with open(path(name), "w", encoding="utf-8") as file:
            file.write(text)
        _, err = vestal("top", path(name), status=None)
        done = subprocess.run([VESTAL, "top", path(name)], capture_output=True, check=False)
        assert done.returncode == 65, f"{name}: status {done.returncode}: {err}"
        assert len(err.strip().splitlines()) == 1, f"{name}: {err}"
        assert "byte" in err or "stackTable" in err or "samples[0]" in err, f"{name}: {err}"


main()
