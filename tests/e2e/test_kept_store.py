#!/usr/bin/env python3
"""Data directories written by earlier versions and left by a killed server (tests/fixtures/store-2,
store-3): queries return the recorded results before, during and after the upgrade. Files of newer
formats are refused.
"""
import json
import os
import tarfile

from support.kept_store import Kept, answers
from support.tap import ROOT, main, scratch, test, vestal
from support.wait import until

FIXTURES = ("store-2", "store-3")


def unpacked(fixture, name):
    """The directory, and what it answered when it was recorded."""
    source = os.path.join(ROOT, "tests/fixtures", fixture)
    folder = os.path.join(scratch(), name, fixture)
    os.makedirs(folder)
    with tarfile.open(os.path.join(source, "data.tar.xz")) as archive:
        archive.extractall(folder)
    with open(os.path.join(source, "answers.json"), encoding="utf-8") as file:
        return os.path.join(folder, "data"), json.load(file)


def compare(server, recorded, when):
    found = list(answers(server))
    assert len(found) == len(recorded["answers"])
    for now, then in zip(found, recorded["answers"]):
        assert now == then, f"{when}: {then['tenant']} {then['path']}: {then['answer']}, now {now['answer']}"


def version_of(path):
    with open(path, "rb") as file:
        return int.from_bytes(file.read(64)[60:64], "big")


@test
def a_directory_of_an_earlier_version_answers_as_it_did():
    for fixture in FIXTURES:
        folder, recorded = unpacked(fixture, "kept")
        with Kept(folder, recorded["tokens"]) as server:
            compare(server, recorded, f"{fixture} at first")
            # House is kept when the server starts and every ten seconds: what was left in the log is in blocks then.
            until(lambda server=server: b"vestal_store_fresh_chunks 0\n" in server.ask("/metrics")[1])
            compare(server, recorded, f"{fixture} brought up to date")
        assert version_of(os.path.join(folder, "anonymous/2026-03-11.db")) == 3
        vestal("check", folder)
        with Kept(folder, recorded["tokens"]) as server:
            compare(server, recorded, f"{fixture} opened again")


@test
def a_directory_of_an_earlier_version_is_whole():
    for fixture in FIXTURES:
        folder, _ = unpacked(fixture, "checked")
        vestal("check", folder)
        day = os.path.join(folder, "anonymous/2026-03-11.db")
        assert version_of(day) < 3, "the check changed the file"


main()
