#!/usr/bin/env python3
"""Measures what BENCHMARKS.md states. Builds uaload and the echo, runs servers and loads in processes of their own, each
load in turns with the others and with its floor, and prints Markdown tables: median (least to largest).

usage: test/bench/figures.py [-runs 5] [-seconds 3] [-warmup 1] [-raw FILE] [SUBSET...]

subsets: pipelined batch latency browse array publish floors, scale (= cores clients inflight spaces), sessions, start;
without a name all of them. Needs Linux, Go and taskset.
"""
import sys

sys.dont_write_bytecode = True  # the tree stays clean

import argparse
import contextlib
import tempfile
import time

import processes
import scale
import tables
import workloads
from lab import Lab

SUBSETS = {**workloads.SUBSETS, **scale.SUBSETS}
ALL = ["pipelined", "batch", "latency", "browse", "array", "publish", "scale", "sessions", "start", "floors"]


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("-runs", type=int, default=5, help="rounds; a figure is the median of them")
    flags.add_argument("-seconds", type=float, default=3, help="time of each load")
    flags.add_argument("-warmup", type=float, default=1, help="time before it that does not count")
    flags.add_argument("-raw", help="file to which every result is appended as a line of JSON")
    flags.add_argument("subsets", nargs="*", metavar="SUBSET")
    given = flags.parse_args()
    for name in given.subsets:
        if name not in SUBSETS:
            flags.error(f"there is no subset {name}; there are {', '.join(SUBSETS)}")
    if given.runs < 1 or given.seconds <= 0:
        flags.error("-runs and -seconds must be positive")
    processes.end_on_signals()
    with contextlib.ExitStack() as stack:
        raw = stack.enter_context(open(given.raw, "a")) if given.raw else None
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        print(f"Machine: {tables.machine()}.", flush=True)  # before the build, which is a load of its own
        lab = Lab(folder, given.runs, given.seconds, given.warmup, raw)
        for name in given.subsets or ALL:
            began = time.monotonic()
            try:
                SUBSETS[name](lab)
            except RuntimeError as why:  # a server that does not start, or dies
                tables.failed(name, why)
            print(f"\n`figures.py -runs {given.runs} -seconds {given.seconds:g} {name}` took {time.monotonic() - began:.0f} s.", flush=True)
    # A load that failed has said so; the rest is still worth having, but the command did not succeed.
    sys.exit(1 if tables.failures else 0)


if __name__ == "__main__":
    main()
