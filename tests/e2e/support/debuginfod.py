"""A server like debuginfod, that can also be slow, wrong or endless."""
import http.server
import re
import threading


class Debuginfod(http.server.ThreadingHTTPServer):
    """Has the files and sources it is given, by build id; `asked` is what it was asked for."""

    daemon_threads = True

    def __init__(self, files=None, sources=None, way="plain"):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.sources, self.way = files or {}, sources or {}, way
        self.asked = []
        self.came = threading.Condition()
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.shutdown()
        self.server_close()

    def wait(self, path):
        with self.came:
            assert self.came.wait_for(lambda: path in self.asked, 90), f"{path}: {self.asked}"


class Handler(http.server.BaseHTTPRequestHandler):
    def body(self):
        server = self.server
        match = re.fullmatch(r"/buildid/([0-9a-f]+)/(debuginfo|source(/.*))", self.path)
        if not match:
            return None
        if match[2] != "debuginfo":
            return server.sources.get((match[1], match[3]))
        path = server.files.get(match[1])
        if not path:
            return None
        with open(path, "rb") as file:
            return file.read()

    def do_GET(self):  # pylint: disable=invalid-name
        body, server = self.body(), self.server
        with server.came:
            server.asked.append(self.path)
            server.came.notify_all()
        try:
            self.answer(body)
        except OSError:
            pass  # whoever asked has heard enough

    def answer(self, body):
        server = self.server
        if server.way == "slow":
            server.released.wait(90)
        self.send_response(404 if body is None else 200)
        if server.way == "endless" and body is not None:
            self.end_headers()
            while not server.released.is_set():
                self.wfile.write(bytes(1 << 16))
            return
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write((body or b"")[:len(body or b"") // (2 if server.way == "truncated" else 1)])
        self.close_connection = True

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass
