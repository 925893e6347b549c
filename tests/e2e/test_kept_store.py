#!/usr/bin/env python3
"""A data directory that an earlier version wrote and left when it was killed: tests/fixtures/store-2 opens, and
answers as it did then; so it does when it was brought up to date, and after that.
"""
import json
import os
import shutil
import tarfile

from support.kept_store import Kept, answers
from support.tap import ROOT, main, scratch, test, vestal
from support.wait import until

FIXTURE = os.path.join(ROOT, "tests/fixtures/store-2")
with open(os.path.join(FIXTURE, "answers.json"), encoding="utf-8") as file:
    RECORDED = json.load(file)


def unpacked(name):
    folder = os.path.join(scratch(), name)
    os.makedirs(folder)
    with tarfile.open(os.path.join(FIXTURE, "data.tar.xz")) as archive:
        archive.extractall(folder)
    return os.path.join(folder, "data")


def compare(server, when):
    found = list(answers(server))
    assert len(found) == len(RECORDED["answers"])
    for now, then in zip(found, RECORDED["answers"]):
        assert now == then, f"{when}: {then['tenant']} {then['path']}: {then['answer']}, now {now['answer']}"


@test
def a_directory_of_an_earlier_version_answers_as_it_did():
    folder = unpacked("kept")
    with Kept(folder, RECORDED["tokens"]) as server:
        compare(server, "at first")
        # House is kept when the server starts and every ten seconds: what was left in the log is in blocks then.
        until(lambda: b"vestal_store_fresh_chunks 0\n" in server.ask("/metrics")[1])
        compare(server, "brought up to date")
    vestal("check", folder)
    with Kept(folder, RECORDED["tokens"]) as server:
        compare(server, "opened again")


@test
def a_directory_of_an_earlier_version_is_whole():
    folder = unpacked("checked")
    vestal("check", folder)
    before = sorted(os.listdir(os.path.join(folder, "anonymous")))
    assert "2026-03-11.db" in before, before
    shutil.rmtree(folder)


main()
