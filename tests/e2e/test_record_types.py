#!/usr/bin/env python3
"""vestal record --type: threads, memory, event loops and locks of programs that know the truth.

    VESTAL=build/vestal tests/e2e/test_record_types.py
"""
import json
import os
import subprocess
import time

from support.recording import allowed, build, record, tagged, top
from support.tap import main, scratch, test, vestal


@test
def threads_are_counted_by_what_they_do():
    done, path = record("--type", "threads", program=[build("crowd"), "2"])
    truth = json.loads(done.stdout.splitlines()[0])
    rows, names = top(path)
    assert rows["type"] == "threads" and rows["unit"] == "count", rows
    for name, number in truth.items():
        assert names[name]["cum"] == number, (name, names)
    # The one that works has no stack at the moment it is on a processor.
    assert rows["total"] == sum(truth.values()) + 1, rows["total"]
    states = {state: tagged(path, f"state={state}") for state in ("sleep", "running", "runnable")}
    assert states["sleep"] == sum(truth.values()), states
    assert states["running"] + states["runnable"] == 1, states
    assert tagged(path, "thread.name=crowd-member") == 11


@test
def threads_of_a_running_process_are_counted_beside_its_waits():
    allowed()
    process = subprocess.Popen([build("crowd"), "30"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        path = os.path.join(scratch(), "crowd.pb.gz")
        vestal("record", "--type", "offcpu,threads", "-p", str(process.pid), "-d", "2", "-o", path)
        assert top(path, "--type", "threads")[0]["total"] == 12
        waited = top(path, "--type", "off_cpu")[1]
        assert abs(waited["sleep_in_crowd"]["cum"] / 14e9 - 1) < 0.1, waited["sleep_in_crowd"]
    finally:
        process.kill()
        process.wait()


main()
