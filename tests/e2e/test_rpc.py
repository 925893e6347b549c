#!/usr/bin/env python3
"""Calls, HTTP/2 and TLS against independent clients: the official ones of gRPC and Connect in Go,
curl, h2load, and Python's ssl."""
import http.client
import os
import shutil
import signal
import ssl
import subprocess

from support.tap import ROOT, VESTAL, Skip, main, scratch, test

RPC_ECHO = os.environ.get("RPC_ECHO", os.path.join(os.path.dirname(VESTAL), "tests/rpc_echo"))


class Server:
    """rpc_echo with these arguments, as long as the `with` lasts."""

    def __init__(self, *args):
        self.args = args

    def __enter__(self):
        self.process = subprocess.Popen([RPC_ECHO, "127.0.0.1:0", *self.args], cwd=scratch(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.said()
        self.url = ("https://" if self.args else "http://") + self.address
        return self

    def said(self):
        return self.process.stdout.readline().strip()

    def __exit__(self, kind, value, trace):
        self.process.stdin.close()
        self.process.stdout.read()
        status = self.process.wait(60)
        assert kind or status == 0, f"rpc_echo ended with {status}"


def tool(name):
    if not shutil.which(name):
        raise Skip(f"no {name}")
    return name


def run(*command, stdin=None, status=0):
    done = subprocess.run(command, cwd=scratch(), input=stdin, capture_output=True, timeout=300,
                          check=False)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert status is None or done.returncode == status, f"{command}: {done.returncode} {out} {err}"
    return out


def openssl(*args):
    run(tool("openssl"), *args)


def make_ca(name):
    path = os.path.join(scratch(), name)
    if not os.path.exists(path + ".pem"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "30", "-subj", f"/CN={name}", "-keyout", path + ".key", "-out",
                path + ".pem", "-addext", "basicConstraints=critical,CA:TRUE")
    return path


def make_pair(name, ca, subject):
    """name.pem and name.key, signed by the authority."""
    path, authority = os.path.join(scratch(), name), make_ca(ca)
    if not os.path.exists(path + ".pem"):
        with open(path + ".ext", "w", encoding="ascii") as file:
            file.write("subjectAltName=IP:127.0.0.1\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                subject, "-keyout", path + ".key", "-out", path + ".csr")
        openssl("x509", "-req", "-in", path + ".csr", "-CA", authority + ".pem", "-CAkey",
                authority + ".key", "-CAcreateserial", "-days", "30", "-extfile", path + ".ext",
                "-out", path + ".pem")
    return path + ".pem", path + ".key"


def curl(server, path, *args, status=0):
    trust = ["--cacert", make_ca("servers") + ".pem"] if server.args else []
    return run(tool("curl"), "-s", *trust, *args, server.url + path, status=status)


def go_client():
    if not shutil.which("go"):
        raise Skip("no Go toolchain")
    path = os.path.join(scratch(), "rpcgo")
    if not os.path.exists(path):
        env = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off", GOTOOLCHAIN="local")
        done = subprocess.run(["go", "build", "-o", path, "."], env=env, check=False,
                              cwd=os.path.join(ROOT, "tests/peers/rpcgo"), capture_output=True,
                              text=True, timeout=600)
        if done.returncode:
            raise Skip("Go modules cannot be had: " + done.stderr.strip().splitlines()[-1])
    return path


def check_go(protocol, *tls):
    """All the client's own checks; the server noticed both calls that nobody waited for."""
    program = go_client()
    with Server(*tls) as server:
        args = []
        if tls:
            args = [make_ca("servers") + ".pem", *make_pair("agent", "clients", "/O=Example/CN=agent 7")]
        out = run(program, protocol, server.url, *args)
        assert out.split() == ["echo", "gzip", "errors", "concurrent", "deadline", "cancel"], out
        assert [server.said(), server.said()] == ["late", "late"]


@test
def the_official_grpc_client_is_served():
    check_go("grpc")


@test
def the_official_connect_client_is_served():
    check_go("connect")


@test
def grpc_web_is_served():
    check_go("grpcweb")


@test
def grpc_is_served_over_mutual_tls():
    check_go("grpc", *make_pair("one", "servers", "/CN=one"), make_ca("clients") + ".pem", "require")


@test
def connect_is_served_to_curl_over_every_http():
    with Server() as server:
        for http_version in ("--http1.1", "--http2-prior-knowledge"):
            json = ("-H", "content-type: application/json")
            assert curl(server, "/test.Echo/Echo", http_version, *json, "-d", "{}") == "{}"
            out = curl(server, "/test.Echo/Fail", http_version, *json, "-d", "not_found it is gone",
                       "-w", " %{http_code}")
            assert out == '{"code":"not_found","message":"it is gone"} 404', out
            out = curl(server, "/test.Echo/Echo", http_version, "-w", "%{http_code}")
            assert out == "405", out
            out = curl(server, "/test.Echo/Echo", http_version, "-d", "a=b", "-w", "%{http_code}")
            assert out == "415", out


@test
def an_early_refusal_reaches_curl_while_it_uploads():
    big = os.path.join(scratch(), "big")
    with open(big, "wb") as file:
        file.write(os.urandom(20 << 20))
    with Server() as server:
        out = curl(server, "/refuse", "--http2-prior-knowledge", "-H", "content-type: text/plain",
                   "--data-binary", "@" + big, "-w", "%{http_code}")
        assert out == "no\n403", out
        out = curl(server, "/refuse/x.Y/Z", "--http2-prior-knowledge", "-H",
                   "content-type: application/proto", "--data-binary", "@" + big, "-w",
                   "%{http_code}")
        assert "unauthenticated" in out and out.endswith("401"), out


@test
def an_upgrade_to_http2_is_ignored():
    with Server() as server:
        assert curl(server, "/who", "--http2") == "http/1.1 \n"


@test
def thousands_of_streams_are_answered():
    load = tool("h2load")
    with Server() as server:
        out = run(load, "-n", "5000", "-c", "10", "-m", "50", server.url + "/who")
        assert "5000 succeeded, 0 failed" in out, out


@test
def alpn_chooses_the_protocol():
    with Server(*make_pair("one", "servers", "/CN=one")) as server:
        assert curl(server, "/who") == "h2 \n"
        assert curl(server, "/who", "--http1.1") == "http/1.1 \n"
        curl(server, "/who", "--tls-max", "1.1", status=35)
        # Neither plain HTTP nor an unknown protocol get anywhere.
        run(tool("curl"), "-s", f"http://{server.address}/who", status=52)
        context = ssl.create_default_context(cafile=make_ca("servers") + ".pem")
        context.set_alpn_protocols(["smtp"])
        try:
            connect(server, context)
            assert False, "ALPN smtp was accepted"
        except ssl.SSLError:
            pass
        assert curl(server, "/who") == "h2 \n"


@test
def client_certificates_are_verified_and_named():
    good = make_pair("agent", "clients", "/O=Example/CN=agent 7")
    bad = make_pair("stranger", "servers", "/CN=stranger")
    pair, trusted = make_pair("one", "servers", "/CN=one"), make_ca("clients") + ".pem"
    with Server(*pair, trusted) as server:
        assert curl(server, "/who") == "h2 \n"
        assert curl(server, "/who", "--cert", good[0], "--key", good[1]) == \
            "h2 CN=agent 7,O=Example\n"
        assert curl(server, "/who", "--cert", bad[0], "--key", bad[1], status=None) == ""
    with Server(*pair, trusted, "require") as server:
        assert curl(server, "/who", status=None) == ""
        assert curl(server, "/who", "--cert", good[0], "--key", good[1]) == \
            "h2 CN=agent 7,O=Example\n"


def connect(server, context):
    host, port = server.address.split(":")
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=60)
    connection.connect()
    return connection


def subject(connection):
    return dict(pair[0] for pair in connection.sock.getpeercert()["subject"])["commonName"]


def is_answered(connection):
    connection.request("GET", "/who")
    return connection.getresponse().read() == b"http/1.1 \n"


@test
def certificates_are_exchanged_while_connections_stay():
    one, two = make_pair("one", "servers", "/CN=one"), make_pair("two", "servers", "/CN=two")
    certificate, key = os.path.join(scratch(), "live.pem"), os.path.join(scratch(), "live.key")
    context = ssl.create_default_context(cafile=make_ca("servers") + ".pem")
    shutil.copy(one[0], certificate)
    shutil.copy(one[1], key)
    with Server(certificate, key) as server:
        old = connect(server, context)
        assert subject(old) == "one" and is_answered(old)
        shutil.copy(two[0], certificate)
        server.process.send_signal(signal.SIGHUP)
        assert "does not match the key" in server.said()
        assert subject(connect(server, context)) == "one"
        shutil.copy(two[1], key)
        server.process.send_signal(signal.SIGHUP)
        assert server.said() == "reloaded"
        fresh = connect(server, context)
        assert subject(fresh) == "two" and is_answered(fresh) and is_answered(old)


@test
def files_that_are_no_certificates_are_named():
    one, two = make_pair("one", "servers", "/CN=one"), make_pair("two", "servers", "/CN=two")
    for args, text in (
            (("nowhere.pem", one[1]), "nowhere.pem cannot be read: No such file or directory"),
            ((one[0], two[1]), f"{one[0]} does not match the key {two[1]}"),
            ((one[1], one[1]), f"{one[1]} cannot be used: it contains no certificate in PEM format"),
            ((one[0], one[0]), f"{one[0]} cannot be used: it contains no private key in PEM format"),
            ((one[0],), "needs both a certificate and its key"),
            ((*one, one[1]), f"{one[1]} cannot be used: it contains no certificate in PEM format")):
        done = subprocess.run([RPC_ECHO, "127.0.0.1:0", *args], cwd=scratch(), capture_output=True,
                              text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 1 and text in done.stderr, done.stderr


main()
