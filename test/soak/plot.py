#!/usr/bin/env python3
"""Draws the timeline that "uaload sessions -timeline" writes: how sessions are established, and the delay of their values.

  plot.py TIMELINE.csv [OUT]    writes OUT.svg and OUT.png; OUT is the name of the timeline without its ending

Needs what requirements.txt names.
"""
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt  # noqa: E402

PHASES = {"establishing": "#e8f0fb", "subscribing": "#fdf0d8", "measuring": "#e9f6ea", "quiet": "#f3ecf8", "closing": "#eeeeee"}


def read(name):
    with open(name, newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{name} has no lines: a run must take more than a second")
    return rows


def column(rows, name, scale=1.0):
    """The times and values of a column, where it has any."""
    found = [(float(r["seconds"]), float(r[name]) / scale) for r in rows if r[name]]
    return [f[0] for f in found], [f[1] for f in found]


def shade(axes, rows):
    """Colours the phases. A line tells of the second that ends with it."""
    begin = 0.0
    for i, row in enumerate(rows):
        end = float(row["seconds"])
        if i + 1 == len(rows) or rows[i + 1]["phase"] != row["phase"]:
            axes.axvspan(begin, end, color=PHASES.get(row["phase"], "#ffffff"), zorder=0, label=row["phase"])
            begin = end


def draw(rows):
    figure, (sessions, delay, server) = plt.subplots(3, 1, sharex=True, figsize=(10, 9), constrained_layout=True)
    for axes in (sessions, delay, server):
        shade(axes, rows)
        axes.grid(True, linewidth=0.4, alpha=0.6)
        axes.set_xlim(0, float(rows[-1]["seconds"]))

    sessions.plot(*column(rows, "established"), color="#1f4e9c", label="sessions")
    sessions.set_ylabel("sessions")
    sessions.set_ylim(bottom=0)
    rate = sessions.twinx()
    times, established = column(rows, "established")
    rate.plot(times[1:], [(b - a) / (u - t) for a, b, t, u in zip(established, established[1:], times, times[1:])],
              color="#c0504d", linewidth=0.9)
    rate.set_ylabel("established per second", color="#c0504d")
    rate.set_ylim(bottom=0)

    for name, label, color in (("delay_p50_ms", "half of the values", "#4f9d4f"), ("delay_p99_ms", "99 of 100", "#b03060")):
        delay.plot(*column(rows, name), label=label, color=color)
    delay.set_ylabel("delay from write to arrival, ms")
    delay.set_ylim(bottom=0)
    delay.legend(handles=[line for line in delay.get_lines()], loc="lower left", fontsize=8)

    server.plot(*column(rows, "server_cpu_percent"), color="#7a5195")
    server.set_ylabel("server CPU, % of a core", color="#7a5195")
    server.set_ylim(bottom=0)
    memory = server.twinx()
    memory.plot(*column(rows, "server_rss_bytes", 2**20), color="#888888")
    memory.set_ylabel("server memory, MiB", color="#888888")
    memory.set_ylim(bottom=0)
    server.set_xlabel("seconds")

    handles = {text: handle for handle, text in zip(*sessions.get_legend_handles_labels()) if text in PHASES}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles), fontsize=8)
    return figure


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    rows = read(sys.argv[1])
    out = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else sys.argv[1]).with_suffix("")
    matplotlib.rcParams["svg.hashsalt"] = "uaload"  # the same timeline gives the same file
    figure = draw(rows)
    figure.savefig(f"{out}.svg", metadata={"Date": None})
    figure.savefig(f"{out}.png", dpi=120)
    print(f"{out}.svg\n{out}.png")


if __name__ == "__main__":
    main()
