"""A busy program under the official Python SDK of Pyroscope: functions with a known share of the
time, and memory that is kept."""
import json
import os
import random
import sys
import time

import pyroscope


def burn(rounds):
    x = rounds | 1
    for _ in range(rounds):
        x = (x * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
    return x


def heavy(rounds):
    return burn(rounds) + 1


def light(rounds):
    return burn(rounds) + 2


def hoard():
    return bytearray(1 << 20)


def work(seconds):
    """Slices of any length from none, so that they cannot keep step with the profiler's clock."""
    shares, kept = {"heavy": 0, "light": 0}, []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic_ns()
        with pyroscope.tag_wrapper({"endpoint": "/heavy"}):
            heavy(random.randint(1, 270_000))
        middle = time.monotonic_ns()
        with pyroscope.tag_wrapper({"endpoint": "/light"}):
            light(random.randint(1, 90_000))
        shares["heavy"] += middle - begin
        shares["light"] += time.monotonic_ns() - middle
        if len(kept) < 64:
            kept.append(hoard())
    return shares


pyroscope.configure(application_name=os.environ["CLIENT_SERVICE"],
                    server_address=os.environ["CLIENT_SERVER"], tags={"region": "north"},
                    upload_interval=4, mem_enabled=True)
RESULT = work(float(os.environ["CLIENT_SECONDS"]))
pyroscope.shutdown()
json.dump(RESULT, sys.stdout)
print()
