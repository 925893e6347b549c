#!/usr/bin/env python3
"""Pyroscope's API against its official Go module, over every protocol that its clients speak, and
uploads by curl over HTTP/2."""
import base64
import json
import os
import shutil
import subprocess

from support import clients
from support.server import Server
from support.tap import Skip, go_profiles, main, scratch, test

CHECKS = ["push", "names", "graphs", "selections", "profile", "series", "exemplars", "diff", "small",
          "refusals"]
server = Server()


def check_protocol(protocol):
    """All the program's own checks."""
    program = clients.go("api")
    done = clients.run([*program, protocol, server.url], scratch(), timeout=120)
    assert done.returncode == 0 and done.stdout.split() == CHECKS, done.stdout + done.stderr


@test
def connect_with_protobuf():
    check_protocol("connect")


@test
def connect_with_json():
    check_protocol("json")


@test
def grpc_of_the_connect_library():
    check_protocol("grpc")


@test
def grpc_web():
    check_protocol("grpcweb")


@test
def grpc_of_the_grpc_library():
    check_protocol("grpc-go")


def curl(*args, stdin=None):
    if not shutil.which("curl"):
        raise Skip("no curl")
    done = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "-w", "\n%{http_version} %{http_code}",
                           *args], input=stdin, capture_output=True, timeout=60, check=False)
    body, _, verdict = done.stdout.decode().rpartition("\n")
    assert verdict == "2 200", f"{verdict}: {body} {done.stderr.decode()}"
    return body


def check_curl(service):
    """Found by curl as well."""
    found = json.loads(curl("-G", server.url + "/api/v1/top", "-d", "type=cpu", "--data-urlencode",
                            f'query={{service_name="{service}",region="north"}}'))
    assert found["total"] > 0 and found["rows"], found


@test
def curl_uploads_a_form_over_http2():
    path = os.path.join(go_profiles(), "cpu.pb.gz")
    curl("-g", "-F", f"profile=@{path}", server.url + "/ingest?name=curl.form{region=north}&spyName=gospy")
    check_curl("curl.form")


@test
def curl_pushes_json_over_http2():
    with open(os.path.join(go_profiles(), "cpu.pb.gz"), "rb") as file:
        profile = base64.b64encode(file.read()).decode()
    labels = {"__name__": "process_cpu", "service_name": "curl.json", "region": "north"}
    body = {"series": [{"labels": [{"name": k, "value": v} for k, v in labels.items()],
                        "samples": [{"rawProfile": profile}]}]}
    curl("-H", "Content-Type: application/json", "--data-binary", "@-",
         server.url + "/push.v1.PusherService/Push", stdin=json.dumps(body).encode())
    check_curl("curl.json")


@test
def curl_uploads_any_file_over_http2():
    path = os.path.join(go_profiles(), "cpu.pb.gz")
    curl("--data-binary", f"@{path}", "-H", "Content-Type: application/octet-stream",
         server.url + "/api/v1/profiles?service=curl.file&label=region%3Dnorth")
    check_curl("curl.file")


if __name__ == "__main__":
    with server:
        main()
