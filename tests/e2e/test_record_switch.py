#!/usr/bin/env python3
"""Waits as kernels without the tracepoint sched_exit_tp show them: stacks are taken when threads
leave. The same truth as in test_record.py, on whatever kernel this is.

    VESTAL=build/vestal tests/e2e/test_record_switch.py
"""
import os

from support import wait_truth
from support.recording import allowed
from support.tap import main, test, vestal

os.environ["VESTAL_NO_SCHED_EXIT"] = "1"


@test
def the_doctor_says_which_way_it_is():
    allowed()
    said, _ = vestal("doctor", status=None)
    assert "when threads leave" in said, said


@test
def waits_are_as_long_as_the_program_measured():
    wait_truth.check_lengths()


@test
def the_waits_of_a_convoy_are_as_long_as_it_measured():
    wait_truth.check_convoy()


@test
def waits_for_locks_are_told_apart_and_wakers_named():
    # One that had to wait for a processor after it was woken may be kept for that alone, which on a
    # busy machine are many.
    wait_truth.check_locks_and_wakers(0.5)


@test
def a_deadlock_shows_though_nothing_ever_moves():
    wait_truth.check_deadlock()


main()
