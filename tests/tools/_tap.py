"""A little TAP for the tests in Python of this folder."""
import sys
import traceback

_tests = []


def test(function):
    _tests.append(function)
    return function


class Skip(Exception):
    pass


def run():
    failed = 0
    for number, function in enumerate(_tests, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}")
        except Skip as reason:
            print(f"ok {number} - {function.__name__} # SKIP {reason}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
            print(f"not ok {number} - {function.__name__}")
        sys.stdout.flush()
    print(f"1..{len(_tests)}")
    sys.exit(1 if failed else 0)
