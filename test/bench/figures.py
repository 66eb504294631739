#!/usr/bin/env python3
"""Measures what BENCHMARKS.md states: builds uaload, runs its server and its loads in processes of their own, and
prints a Markdown table with the median and the spread of several alternating runs.

usage: test/bench/figures.py [-runs 5] [-seconds 5] [-sessions 1000]
"""
import argparse
import json
import pathlib
import signal
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECURE = "Basic256Sha256/SignAndEncrypt"


class Server:
    """uaload serve on a port of its own, for the time of a with statement."""

    def __init__(self, uaload, port):
        self.endpoint = f"opc.tcp://127.0.0.1:{port}"
        self.process = subprocess.Popen([uaload, "serve", "-endpoint", self.endpoint], stdout=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=10)

    def load(self, uaload, *flags):
        command = [uaload, *flags, "-endpoint", self.endpoint, "-pid", str(self.process.pid), "-json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def spread(values, digits):
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def reads(uaload, runs, seconds):
    loads = [
        ("1 client, 1 in flight, 1 node", ["-clients", "1", "-inflight", "1"]),
        ("10 clients, 100 in flight, 1 node", ["-clients", "10", "-inflight", "100"]),
        ("10 clients, 10 in flight, 100 nodes", ["-clients", "10", "-inflight", "10", "-nodes", "100"]),
    ]
    cells = {}
    with Server(uaload, 48411) as server:
        for _ in range(runs):  # alternating, so that a noisy minute hits all alike
            for name, flags in loads:
                for security in ("None", SECURE):
                    r = server.load(uaload, "read", *flags, "-security", security, "-duration", f"{seconds}s", "-warmup", "1s")
                    cells.setdefault((name, security), []).append(r)
    print("| Read | security | requests/s | server CPU us per request | p50 us | p99 us |")
    print("|---|---|---|---|---|---|")
    for (name, security), r in cells.items():
        print(f"| {name} | {security} | {spread([x['requests_per_second'] for x in r], 0)} "
              f"| {spread([x['server_cpu_us_per_request'] for x in r], 2)} "
              f"| {spread([x['latency_us']['p50'] for x in r], 0)} | {spread([x['latency_us']['p99'] for x in r], 0)} |")


def sessions(uaload, runs, count):
    print(f"\n| {count} idle sessions, one subscription and item each | RSS KiB per session | established per second | server CPU % of a core |")
    print("|---|---|---|---|")
    for security in ("None", SECURE):
        results = []
        for _ in range(runs):  # a fresh server each time: memory that was used before is not given back
            with Server(uaload, 48412) as server:
                results.append(server.load(uaload, "sessions", "-sessions", str(count), "-security", security, "-duration", "10s"))
        print(f"| {security} | {spread([r['rss_bytes_per_session'] / 1024 for r in results], 1)} "
              f"| {spread([r['established_per_second'] for r in results], 0)} "
              f"| {spread([r['server_cpu_percent'] for r in results], 1)} |")


def starts(uaload, runs):
    print("\nstart of a server, namespace 0 and a new RSA key included:")
    for _ in range(runs):
        with Server(uaload, 48413) as server:
            resident = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096
            print(f"- {server.ready.split(', ', 1)[1]}, resident {resident / 2**20:.1f} MiB")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("-runs", type=int, default=5)
    flags.add_argument("-seconds", type=int, default=5)
    flags.add_argument("-sessions", type=int, default=1000)
    given = flags.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        uaload = f"{folder}/uaload"
        subprocess.run(["go", "build", "-o", uaload, "./cmd/uaload"], cwd=ROOT, check=True)
        reads(uaload, given.runs, given.seconds)
        sessions(uaload, max(1, given.runs - 2), given.sessions)
        starts(uaload, given.runs)


if __name__ == "__main__":
    main()
