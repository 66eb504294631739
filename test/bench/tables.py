"""Markdown tables of medians and spreads, and what they were measured on."""
import os
import pathlib
import platform
import re
import statistics
import subprocess

from processes import ROOT


failures = []  # what could not be measured


def failed(what, why):
    """Says what could not be measured, among the tables, where its line would be."""
    failures.append(what)
    print(f"\nnot measured: {what}: {why}", flush=True)


def spread(values, digits=2):
    """Median (least to largest); a dash where nothing was measured."""
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    one = f"{statistics.median(values):,.{digits}f}"
    return one if len(values) == 1 else f"{one} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def table(title, columns, rows):
    """Prints a table under a heading."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def said(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60).stdout.strip()


def machine():
    """A line for what the figures were made on, as it was before the first run."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) / 2**20
    changed = " with changes" if said("git", "status", "--porcelain", "--untracked-files=no") else ""
    return (f"{len(os.sched_getaffinity(0))} cores of {cpu.group(1) if cpu else 'an unnamed CPU'}, {memory:.0f} GiB, "
            f"Linux {platform.release()}, {said('go', 'env', 'GOVERSION')}, commit {said('git', 'rev-parse', '--short', 'HEAD')}{changed}, "
            f"load average before {os.getloadavg()[0]:.2f}")
