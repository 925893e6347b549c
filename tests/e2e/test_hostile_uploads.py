#!/usr/bin/env python3
"""Uploads that are made to spoil answers: other services' answers stay what they are.

    VESTAL=build/vestal tests/e2e/test_hostile_uploads.py
"""
import os
import time

from support.pprof_writer import write_pprof
from support.server import Server
from support.tap import main, scratch, test


@test
def a_huge_report_of_completeness_takes_no_answer_away():
    path = os.path.join(scratch(), "small_questions.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("limits:\n  query_memory: 100KiB\n")
    now = time.time_ns() - 20 * 10**9
    report = write_pprof({("cpu", f"lost: {i}"): (1, 10**6) for i in range(8000)},
                         [("completeness_samples", "count"), ("completeness_time", "nanoseconds")],
                         now, 10**10, ("completeness", "count", 1))
    work = write_pprof({("main", "work"): (5 * 10**9,)}, [("cpu", "nanoseconds")], now, 10**10)
    with Server("--config", path) as server:
        for service, body in (("loud", report), ("quiet", work)):
            assert server.ask(f"/api/v1/profiles?service={service}", body)[0] == 200
        for path in ("top", "series", "tree"):
            answer = server.get(f"/api/v1/{path}", query="{}", type="cpu", time_range="1h")
            assert not answer["completeness"]["reported"], answer["completeness"]
        assert server.get("/api/v1/overview", time_range="1h")["services"], "an overview"


@test
def a_unit_named_derived_is_a_unit():
    now = time.time_ns() - 20 * 10**9
    body = write_pprof({("main", "work"): (5,)}, [("cpu", "nanoseconds")], now, 10**10,
                       ("cpu", "derived", 1))
    with Server() as server:
        assert server.ask("/api/v1/profiles?service=odd", body)[0] == 200
        answer = server.get("/api/v1/top", query="odd", time_range="1h")
        assert answer["type"] == "process_cpu:cpu:nanoseconds:cpu:derived", answer["type"]
        again = server.get("/api/v1/top", query="odd", type=answer["type"], time_range="1h")
        assert again["total"] == 5, again["total"]


if __name__ == "__main__":
    main()
