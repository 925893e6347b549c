#!/usr/bin/env python3
"""A store whose process is killed while it writes: after reopening, every acknowledged batch is there,
and no batch is there in part.

STORE_KILLS sets the number of kills (default 5), and four times as many during deletes, compaction
and roll-ups; `tools/run-tests --long` uses 50.
"""
import os
import random
import select
import subprocess
import time

from support.tap import Skip, VESTAL, main, scratch, test, vestal

WRITER = os.environ.get("STORE_WRITER", os.path.join(os.path.dirname(VESTAL), "tests/store_writer"))
KILLS = int(os.environ.get("STORE_KILLS", "5"))
WHOLE = 3


def write_and_kill(folder, first, seconds, how="write"):
    """What was said before the end: of "ack", numbers of the batches that were acknowledged."""
    writer = subprocess.Popen([WRITER, how, folder, str(first)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    output = b""
    end = None
    while end is None or time.monotonic() < end:
        if select.select([writer.stdout], [], [], 0.01)[0]:
            piece = os.read(writer.stdout.fileno(), 65536)
            if not piece:
                break
            output += piece
        # Counted from the first acknowledgement, however long the start took.
        if end is None and output:
            end = time.monotonic() + seconds
    writer.kill()
    rest, complaints = writer.communicate()
    assert not complaints, complaints.decode()
    lines = (output + rest).split(b"\n")
    said = {"ack": [], "going": [], "gone": []}
    stored_before = set()
    for kind, number in ((line.split()[0].decode(), int(line.split()[1])) for line in lines[:-1]):
        # A batch that was stored while it was being deleted may be there.
        if kind == "going" and number in said["ack"]:
            stored_before.add(number)
        if kind != "gone" or number in stored_before:
            said[kind].append(number)
    return said


def stored(folder):
    text = subprocess.run([WRITER, "read", folder], check=True, capture_output=True, text=True)
    return {int(n): int(total) for n, total in (line.split() for line in text.stdout.splitlines())}


@test
def a_killed_writer_loses_nothing_it_acknowledged():
    if not os.path.exists(WRITER):
        raise Skip("store_writer is not built")
    chance = random.Random(1)
    data = os.path.join(scratch(), "data")
    acknowledged = []
    for round_ in range(KILLS):
        acknowledged += write_and_kill(data, round_ * 100000, chance.uniform(0.01, 0.6))["ack"]
        sums = stored(data)
        missing = [n for n in acknowledged if sums.get(n, 0) != WHOLE]
        partial = {n: total for n, total in sums.items() if total not in (0, WHOLE)}
        assert not missing, f"round {round_}: acknowledged and not there: {missing[:10]}"
        assert not partial, f"round {round_}: in part: {list(partial.items())[:10]}"
    assert len(acknowledged) > KILLS, acknowledged
    print(f"# {KILLS} kills, {len(acknowledged)} batches acknowledged")


@test
def a_kill_during_house_keeping_brings_nothing_back_and_loses_nothing():
    if not os.path.exists(WRITER):
        raise Skip("store_writer is not built")
    chance = random.Random(2)
    said = {"ack": [], "going": [], "gone": []}
    for round_ in range(4 * KILLS):
        # A directory for some rounds: reading all of it is most of the work.
        data = os.path.join(scratch(), f"kept{round_ // 10}")
        if round_ % 10 == 0:
            said = {"ack": [], "going": [], "gone": []}
        for kind, numbers in write_and_kill(data, round_ * 100000, chance.uniform(0.05, 0.6), "keep").items():
            said[kind] += numbers
        sums = stored(data)
        back = [n for n in said["gone"] if sums.get(n, 0)]
        assert not back, f"round {round_}: deleted and there again: {back[:10]}"
        missing = [n for n in set(said["ack"]) - set(said["going"]) if sums.get(n, 0) != WHOLE]
        assert not missing, f"round {round_}: acknowledged and not there: {missing[:10]}"
        if round_ % 10 == 9:
            vestal("check", data)
            print(f"# {round_ + 1} kills", flush=True)


@test
def a_second_process_is_told_who_has_the_store():
    if not os.path.exists(WRITER):
        raise Skip("store_writer is not built")
    data = os.path.join(scratch(), "data")
    first = subprocess.Popen([WRITER, "write", data, "0"], stdout=subprocess.PIPE)
    try:
        first.stdout.readline()
        second = subprocess.run([WRITER, "read", data], capture_output=True, text=True)
    finally:
        first.kill()
        first.communicate()
    assert second.returncode == 1
    assert f"in use by process {first.pid}:" in second.stderr, second.stderr


main()
