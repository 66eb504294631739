#!/usr/bin/env python3
"""Draws what "uaload matrix" has measured: server CPU, memory, delay and loss over the number of monitored items.

  plot.py MATRIX.csv [FOLDER]    writes cpu, memory, delay and loss, each as SVG and PNG; FOLDER is that of the file

Needs what requirements.txt names.
"""
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt  # noqa: E402

MARKS = {"kept up": "o", "late": "v", "loss": "X", "error": "P"}
COLOURS = ["#1f4e9c", "#c0504d", "#4f9d4f", "#7a5195", "#c98a1b", "#2f8f9d", "#b03060", "#666666"]
DASHES = ["-", "--", ":", "-."]


def read(name):
    with open(name, newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{name} has no lines: run a cell first")
    return rows


def number(row, name):
    """A figure, or None where it is not known."""
    return float(row[name]) if row[name] else None


def interval(row):
    ms = float(row["publishing_interval_ms"])
    return f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms"


def kind(row):
    """What the lines of a plot differ in: they connect cells with different numbers of items."""
    rate = float(row["changes_per_second"]) * float(row["publishing_interval_ms"]) / 1000
    rest = "" if abs(rate - 1) < 0.01 else f", {row['changes_per_second']} changes/s"
    several = "" if row["subscriptions_per_session"] == "1" else f" x {row['subscriptions_per_session']} subscriptions"
    return int(row["sessions"]), f"{int(row['sessions']):,} sessions{several}, {interval(row)}{rest}"


def panel(axes, rows, value, styles):
    """One line for each kind of cell, one mark for each cell: its shape is the verdict."""
    for label in sorted({kind(r) for r in rows}):
        cells = sorted((r for r in rows if kind(r) == label), key=lambda r: int(r["items"]))
        points = [(int(r["items"]), value(r), r["verdict"]) for r in cells if value(r) is not None]
        if not points:
            continue
        colour, dash = styles[label]
        axes.plot([p[0] for p in points], [p[1] for p in points], color=colour, linestyle=dash, linewidth=1.1, label=label[1])
        for x, y, verdict in points:
            axes.plot(x, y, color=colour, marker=MARKS.get(verdict, "."), markersize=5 if verdict == "kept up" else 8)
    axes.set_xscale("log")
    axes.grid(True, which="major", linewidth=0.4, alpha=0.6)
    axes.set_xlabel("monitored items in all")


def draw(rows, title, value, log=False, floor=None):
    """A panel for each security, all with the same scales."""
    policies = sorted({r["security"] for r in rows}, key=lambda s: (s != "None", s))
    kinds = sorted({kind(r) for r in rows})
    sessions = sorted({k[0] for k in kinds})
    styles, used = {}, {}
    for k in kinds:
        used[k[0]] = used.get(k[0], -1) + 1
        styles[k] = (COLOURS[sessions.index(k[0]) % len(COLOURS)], DASHES[used[k[0]] % len(DASHES)])
    figure, panels = plt.subplots(1, len(policies), sharex=True, sharey=True, squeeze=False,
                                  figsize=(6.5 * len(policies), 6), constrained_layout=True)
    for axes, policy in zip(panels[0], policies):
        panel(axes, [r for r in rows if r["security"] == policy], value, styles)
        axes.set_title(policy, fontsize=10)
        if log:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=floor)
    panels[0][0].set_ylabel(title)
    handles = {}
    for axes in panels[0]:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    for verdict, mark in MARKS.items():
        if any(r["verdict"] == verdict for r in rows):
            handles[verdict] = plt.Line2D([], [], color="#444444", marker=mark, linestyle="none")
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(3, max(1, len(handles))), fontsize=8)
    return figure


def megabytes(row):
    rss = number(row, "server_rss_bytes")
    return rss / 2**20 if rss else None


def lost(row):
    """The share of the values that did not come, or came twice or out of order, in percent."""
    expected = number(row, "values_expected")
    wrong = sum(number(row, n) for n in ("missing", "repeated", "out_of_order"))
    return 100 * wrong / expected if expected else None


PLOTS = {
    "cpu": ("server CPU, % of a core", lambda r: number(r, "server_cpu_percent"), {"floor": 0}),
    "memory": ("server memory, MiB", megabytes, {"log": True}),
    "delay": ("delay from write to arrival of 99 in 100, ms", lambda r: number(r, "delay_p99_ms"), {"log": True}),
    "loss": ("values lost, repeated or out of order, %", lost, {"floor": -1}),
}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    rows = read(sys.argv[1])
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else pathlib.Path(sys.argv[1]).parent
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.rcParams["svg.hashsalt"] = "uaload"  # the same matrix gives the same files
    for name, (title, value, how) in PLOTS.items():
        figure = draw(rows, title, value, **how)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        figure.savefig(folder / f"{name}.png", dpi=120)
        plt.close(figure)
        print(f"{folder / name}.svg\n{folder / name}.png")


if __name__ == "__main__":
    main()
