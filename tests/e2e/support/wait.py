"""Waiting for what must happen."""
import time


def until(condition, describe="", seconds=120):
    """What the condition says when it holds; it must come to hold. The limit is only there to end a
    test that hangs: `describe`, a text or what tells one, then says what did not happen."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {describe() if callable(describe) else describe}")
        time.sleep(0.05)
