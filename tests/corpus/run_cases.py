#!/usr/bin/env python3
"""Runs the command cases through one door of the database.

    run_cases.py --door rust|c|python|node|wire [--address HOST:PORT] [--only TEXT] [--no-variants]
                 [--prune] [--list-failures] [FILE.json ...]

A case that fails must be listed in expected_failures.txt, and a listed case must fail: the list can only
shrink. Closing line: "corpus DOOR: N passed, N failed, N expected failures". Exit status 0 when nothing
unexpected happened, 1 when something did, 2 when nothing ran.
"""
import argparse
import json
import sys
from pathlib import Path

from case_run import Failure, Run, variants
from doors import DOORS, open_door

HERE = Path(__file__).resolve().parent
TIMEOUT_SECS = 60


def read_expected(path):
    """"area/name" of every case that is known to fail, with its reason.

    A line in brackets is the reason for the names under it."""
    expected, reason = {}, None
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            reason = line.strip("[]")
        elif line:
            if not reason or line in expected:
                raise SystemExit(f"{path.name}: {line!r} has no reason above it or stands twice")
            expected[line] = reason
    return expected


def prune(path, fixed):
    """Takes cases that pass off the list, and reasons without cases."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    kept = ["\n".join(line for line in block.splitlines() if line.strip() not in fixed) for block in blocks]
    path.write_text("\n\n".join(block for block in kept if len(block.splitlines()) > 1) + "\n", encoding="utf-8")


class Runner:
    """Runs cases through a door and reopens it when it breaks."""

    def __init__(self, name, address, with_variants):
        self.name, self.address, self.with_variants = name, address, with_variants
        self.door = open_door(name, address)

    def failures(self, case):
        """What went wrong in each run of a case, as lines."""
        lines = []
        for label, indexes in variants(case):
            if label and not self.with_variants:
                break
            try:
                Run(self.door, case, TIMEOUT_SECS).execute(indexes)
            except Failure as failure:
                lines.append(f"{label}: {failure.line()}" if label else failure.line())
            except Exception as error:  # the door itself broke: a failure of this case, not of the next
                lines.append(f"{label} door: {type(error).__name__}: {error}")
                self.reopen()
        return lines

    def reopen(self):
        try:
            self.door.close()
        except Exception as error:
            print(f"{self.name}: closing a broken door: {error}", file=sys.stderr)
        self.door = open_door(self.name, self.address)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--door", choices=DOORS, required=True)
    parser.add_argument("--address", help="HOST:PORT of a server that runs already (wire)")
    parser.add_argument("--only", help="only cases whose name contains this text")
    parser.add_argument("--no-variants", action="store_true", help="without the second runs with indexes")
    parser.add_argument("--prune", action="store_true", help="take cases that pass off the list")
    parser.add_argument("--list-failures", action="store_true", help="name expected failures too")
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()

    expected = read_expected(HERE / "expected_failures.txt")
    runner = Runner(args.door, args.address, not args.no_variants)
    passed = failed = known = 0
    fixed = set()
    for path in args.files or sorted((HERE / "cases").glob("*.json")):
        file_passed = file_total = 0
        for case in json.loads(path.read_text(encoding="utf-8")):
            if args.only and args.only not in case["name"]:
                continue
            name = f"{case['area']}/{case['name']}"
            lines = runner.failures(case)
            file_total += 1
            file_passed += not lines
            if lines and name in expected:
                known += 1
                if args.list_failures:
                    print(f"known {name}: {lines[0]}")
            elif lines:
                failed += 1
                print("\n".join(f"FAIL {name} {line}" for line in lines))
            elif name in expected and args.no_variants is False:
                failed += 1
                fixed.add(name)
                print(f"FAIL {name}: passes, but expected_failures.txt lists it: take it off the list")
            else:
                passed += 1
        print(f"  {args.door:6} {path.name:24} {file_passed:4} of {file_total}", flush=True)
    runner.door.close()
    if args.prune:
        prune(HERE / "expected_failures.txt", fixed)
    print(f"corpus {args.door}: {passed} passed, {failed} failed, {known} expected failures")
    return 2 if passed + failed + known == 0 else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
