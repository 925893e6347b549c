#!/usr/bin/env python3
"""The probes that Grafana's canary exporter (profilecli canary-exporter, all of its probe sets) sends
to a Pyroscope every fifteen seconds: what it pushes, what it asks, and what it then expects."""
import base64
import json
import struct
import time
import urllib.parse

from support.server import Server
from support.tap import main, test

TYPE = "deadmans_switch:made_up:profilos:made_up:profilos"
OTLP_TYPE = "otlp_test:otlp_test:count:otlp_test:samples"
SERVICE = "pyroscope-canary-exporter"
SELECTOR = f'{{service_name="{SERVICE}", job="canary-exporter", instance="host-1"}}'
SPAN = "00000bac2a5ab0c7"
QUERIER = "querier.v1.QuerierService/"
server = Server()


# ---------------------------------------------------------------- protobuf, as far as needed

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    """A varint, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def packed(number, *values):
    return field(number, b"".join(map(varint, values)))


# ---------------------------------------------------------------- what it sends

def pushed_profile(now_ns):
    """func1 called by func2: 10; func1 alone: 20, within a span."""
    strings = ["", "made_up", "profilos", "func1", "func2", "profile_id", SPAN]
    value_type = field(1, 1) + field(2, 2)
    return b"".join([
        field(1, value_type),
        field(2, packed(1, 1, 2) + packed(2, 10)),
        field(2, packed(1, 1) + packed(2, 20) + field(3, field(1, 5) + field(2, 6))),
        field(3, field(1, 1) + field(7, 1)),
        *(field(4, field(1, i) + field(2, 1) + field(4, field(1, i))) for i in (1, 2)),
        *(field(5, field(1, i) + field(2, 2 + i)) for i in (1, 2)),
        *(field(6, s) for s in strings),
        field(9, now_ns), field(11, value_type)])


def push(now_ns):
    labels = {"__name__": "deadmans_switch", "service_name": SERVICE, "job": "canary-exporter",
              "instance": "host-1"}
    server.call("push.v1.PusherService/Push", series=[{
        "labels": [{"name": k, "value": v} for k, v in sorted(labels.items())],
        "samples": [{"ID": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
                     "rawProfile": base64.b64encode(pushed_profile(now_ns)).decode()}]}])


STRINGS = ["", "otlp_test", "samples", "count", "func1", "func2", "ingestion_method"]


def otlp_json(now_ns):
    """As protojson writes it. Locations 0 and 1 are data; the tables of links and attributes are not
    there at all."""
    attributes = {"service.name": SERVICE, "job": "canary-exporter", "instance": "host-1",
                  "ingestion_method": "otlp_http_json"}
    return json.dumps({
        "resourceProfiles": [{
            "resource": {"attributes": [{"key": k, "value": {"stringValue": v}}
                                        for k, v in attributes.items()]},
            "scopeProfiles": [{
                "scope": {"name": SERVICE},
                "profiles": [{
                    "sampleType": {"typeStrindex": 1, "unitStrindex": 3},
                    "samples": [{"stackIndex": 1, "values": ["10"]},
                                {"stackIndex": 2, "values": ["20"]}],
                    "timeUnixNano": str(now_ns),
                    "periodType": {"typeStrindex": 1, "unitStrindex": 2}, "period": "1"}]}]}],
        "dictionary": {
            "mappingTable": [{}],
            "locationTable": [{"lines": [{"functionIndex": 1}]}, {"lines": [{"functionIndex": 2}]}],
            "functionTable": [{}, {"nameStrindex": 4}, {"nameStrindex": 5}],
            "stringTable": STRINGS + ["otlp_http_json"],
            "stackTable": [{}, {"locationIndices": [1, 0]}, {"locationIndices": [0]}]}}).encode()


def otlp_protobuf(now_ns):
    attributes = {"service.name": SERVICE, "job": "canary-exporter", "instance": "host-1",
                  "ingestion_method": "otlp_http_protobuf"}
    profile = (field(1, field(1, 1) + field(2, 3)) +
               field(2, field(1, 1) + packed(4, 10)) + field(2, field(1, 2) + packed(4, 20)) +
               fixed64(3, now_ns) + field(5, field(1, 1) + field(2, 2)) + field(6, 1))
    resource = b"".join(field(1, field(1, k) + field(2, field(1, v))) for k, v in attributes.items())
    dictionary = b"".join([
        field(1, b""),
        *(field(2, field(3, field(1, i))) for i in (1, 2)),
        field(3, b""), *(field(3, field(1, i)) for i in (4, 5)),
        *(field(5, s) for s in [*STRINGS, "otlp_http_protobuf"]),
        field(7, b""), field(7, packed(1, 1, 0)), field(7, packed(1, 0))])
    scope = field(1, field(1, SERVICE)) + field(2, profile)
    return field(1, field(1, resource) + field(2, scope)) + field(2, dictionary)


def send_otlp(body, content_type):
    status, reply = server.ask("/v1development/profiles", body, {"Content-Type": content_type})
    assert status == 200, f"{status}: {reply}"


def fill():
    """Everything that is sent, at one time, which it returns in nanoseconds."""
    now_ns = time.time_ns()
    push(now_ns)
    send_otlp(otlp_json(now_ns), "application/json")
    send_otlp(otlp_protobuf(now_ns), "application/x-protobuf")
    return now_ns


# ---------------------------------------------------------------- what it asks

def call(method, **request):
    return server.call(QUERIER + method, start=NOW // 1000000, end=NOW // 1000000 + 5000, **request)


def stacks(profile):
    """The pprof of an answer as {"leaf>caller": value}."""
    strings = profile["stringTable"]
    functions = {f["id"]: strings[int(f["name"])] for f in profile["function"]}
    locations = {l["id"]: [functions[line["functionId"]] for line in l["line"]]
                 for l in profile["location"]}
    found = {}
    for sample in profile["sample"]:
        name = ">".join(f for l in sample["locationId"] for f in locations[l])
        found[name] = found.get(name, 0) + int(sample["value"][0])
    return found


@test
def select_merge_profile():
    profile = call("SelectMergeProfile", labelSelector=SELECTOR, profileTypeID=TYPE)
    assert stacks(profile) == {"func1>func2": 10, "func1": 20}, profile


@test
def select_merge_otlp_profile():
    profile = call("SelectMergeProfile", labelSelector=SELECTOR, profileTypeID=OTLP_TYPE)
    assert stacks(profile) == {"func2>func1": 20, "func1": 40}, profile


@test
def profile_types():
    assert TYPE in [t["ID"] for t in call("ProfileTypes")["profileTypes"]]


@test
def series():
    sets = call("Series", labelNames=["service_name", "__profile_type__"])["labelsSet"]
    found = [{l["name"]: l["value"] for l in s["labels"]} for s in sets]
    assert all(s.get("service_name") for s in found), found
    assert {"service_name": SERVICE, "__profile_type__": TYPE} in found, found


@test
def label_names():
    names = call("LabelNames", matchers=[f'{{service_name="{SERVICE}"}}'])["names"]
    wanted = {"__name__", "__period_type__", "__period_unit__", "__profile_type__", "__service_name__",
              "__type__", "__unit__", "service_name"}
    assert wanted <= set(names), names
    assert names == sorted(names), names


@test
def label_values():
    names = call("LabelValues", name="service_name", matchers=[f'{{service_name="{SERVICE}"}}'])["names"]
    assert names == [SERVICE], names


@test
def select_series():
    found = call("SelectSeries", step=1000, labelSelector=SELECTOR, profileTypeID=TYPE,
                 groupBy=["service_name"])["series"]
    assert len(found) == 1 and len(found[0]["points"]) == 1, found
    assert found[0]["labels"] == [{"name": "service_name", "value": SERVICE}], found


def check_graph(graph, size):
    assert len(graph["names"]) == size and len(graph["levels"]) == size, graph


@test
def select_merge_stacktraces():
    check_graph(call("SelectMergeStacktraces", labelSelector=SELECTOR, profileTypeID=TYPE)["flamegraph"], 3)


@test
def select_merge_span_profile():
    check_graph(call("SelectMergeSpanProfile", labelSelector=SELECTOR, profileTypeID=TYPE,
                     spanSelector=[SPAN])["flamegraph"], 2)


@test
def get_profile_stats():
    stats = server.call(QUERIER + "GetProfileStats")
    assert stats["dataIngested"] and int(stats["oldestProfileTime"]) > 0, stats
    assert int(stats["newestProfileTime"]) < 1 << 62, stats


def rendered(path, **parameters):
    status, body = server.ask(f"/pyroscope/{path}?{urllib.parse.urlencode(parameters)}")
    assert status == 200, f"{status}: {body}"
    return json.loads(body)["flamebearer"]


@test
def render():
    check_graph(rendered("render", query=TYPE + SELECTOR, **{"from": NOW // 1000000},
                         until=NOW // 1000000 + 5000), 3)


@test
def render_diff():
    side = {"Query": TYPE + SELECTOR, "From": NOW // 1000000, "Until": NOW // 1000000 + 5000}
    check_graph(rendered("render-diff", **{left + k: v for left in ("left", "right")
                                           for k, v in side.items()}), 3)


@test
def query_exemplars():
    found = call("SelectSeries", step=5, labelSelector=SELECTOR, profileTypeID=TYPE,
                 exemplarType="EXEMPLAR_TYPE_INDIVIDUAL")["series"]
    assert len(found) == 1 and len(found[0]["points"]) == 1, found
    exemplars = found[0]["points"][0]["exemplars"]
    assert len(exemplars) == 1 and int(exemplars[0]["value"]) == 30, exemplars
    check_graph(call("SelectMergeStacktraces", labelSelector=SELECTOR, profileTypeID=TYPE,
                     profileIdSelector=[exemplars[0]["profileId"]])["flamegraph"], 3)


# ---------------------------------------------------------------- beyond the probes

@test
def private_names_have_values_and_match():
    parts = dict(zip(["__name__", "__type__", "__unit__", "__period_type__", "__period_unit__"],
                     TYPE.split(":")))
    parts |= {"__profile_type__": TYPE, "__service_name__": SERVICE}
    for name, value in parts.items():
        values = call("LabelValues", name=name)["names"]
        assert value in values, f"{name}: {values}"
        matched = call("Series", matchers=[f'{{{name}="{value}"}}'], labelNames=[name, "job"])["labelsSet"]
        assert matched, name
        nothing = call("Series", matchers=[f'{{{name}="{value}-not"}}'], labelNames=["job"])
        assert not nothing.get("labelsSet"), f"{name}: {nothing}"
        only = call("LabelValues", name="__profile_type__", matchers=[f'{{{name}="{value}"}}'])["names"]
        assert TYPE in only and (name == "__service_name__" or only == [TYPE]), f"{name}: {only}"


@test
def every_matcher_counts():
    both = [f'{{service_name="{SERVICE}"}}', f'{{__profile_type__="{TYPE}"}}']
    assert call("LabelValues", name="__type__", matchers=both)["names"] == ["made_up"]
    assert not call("LabelValues", name="job", matchers=[*both, '{job="other"}']).get("names")
    assert not call("LabelNames", matchers=[*both, '{job="other"}']).get("names")
    assert not call("Series", matchers=[both[0], '{service_name="other"}']).get("labelsSet")
    assert call("Series", matchers=both, labelNames=["service_name"])["labelsSet"] == [
        {"labels": [{"name": "service_name", "value": SERVICE}]}]


if __name__ == "__main__":
    with server:
        NOW = fill()
        main()
