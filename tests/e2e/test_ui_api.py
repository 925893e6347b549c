#!/usr/bin/env python3
"""What the web UI asks of a server: its own files, and the answers it draws."""
import gzip
import re

from support.api_server import Server
from support.tap import Skip, main, test

VIEWS = ("/", "/services", "/explore", "/diff", "/heatmap", "/function", "/files", "/status")
PACKED = {"Accept-Encoding": "gzip, deflate, br"}


# ---------------------------------------------------------------- files

@test
def the_plain_page_is_always_there():
    with Server() as server:
        status, headers, body = server.ask("GET", "/start")
        assert status == 200 and headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in headers["content-security-policy"]
        assert server.url.encode() in body


@test
def the_page_of_the_ui_and_all_it_loads_are_inside():
    with Server() as server:
        _, headers, page = server.ask("GET", "/")
        if headers["cache-control"] != "no-cache":
            raise Skip("this vestal was built without npm")
        for view in VIEWS:
            status, headers, body = server.ask("GET", view)
            assert (status, body) == (200, page), view
            status, _, body = server.ask("GET", view, headers={"If-None-Match": headers["etag"]})
            assert (status, body) == (304, b""), view
        files = set(re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.decode()))
        assert files, page
        for path in files:
            status, headers, packed = server.ask("GET", path, headers=PACKED)
            assert status == 200 and "immutable" in headers["cache-control"], path
            if headers.get("content-encoding"):
                _, plain_headers, plain = server.ask("GET", path)
                assert gzip.decompress(packed) == plain, path
                assert plain_headers["etag"] != headers["etag"], path
            status, head, nothing = server.ask("HEAD", path, headers=PACKED)
            assert status == 200 and not nothing, path
            assert head["content-length"] == headers["content-length"], path
        assert not re.search(rb"<script[^>]*>[^<]", page), "an inline script would not run"


@test
def what_is_not_there_is_said_in_json():
    with Server() as server:
        for path in ("/assets/nothing.js", "/assets/../etc/passwd", "/index.html"):
            status, headers, _ = server.ask("GET", path)
            assert status == 404 and headers["content-type"] == "application/json", path


if __name__ == "__main__":
    main()
