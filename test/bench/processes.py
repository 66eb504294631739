"""Servers and loads as processes of their own: started, given a time, and ended whatever happens."""
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def end_on_signals():
    """Lets a signal that would end this process end its children as well, by way of the with statements."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))


def build(folder, *packages):
    """Builds programs of the main module and returns their paths."""
    built = []
    for package in packages:
        path = f"{folder}/{pathlib.Path(package).name}"
        subprocess.run(["go", "build", "-o", path, package], cwd=ROOT, check=True, timeout=300)
        built.append(path)
    return built


def pinned(cores, command):
    """The command on some cores only; cores is a list for taskset, such as "0", or None for all."""
    return ["taskset", "-c", cores, *command] if cores else list(command)


class Server:
    """A server for the time of a with statement. It has to print a line that begins with "ready"."""

    def __init__(self, command, cores=None, env=None, patience=120):
        self.command, self.began = command, time.monotonic()
        self.process = subprocess.Popen(pinned(cores, command), stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        try:
            self.ready = self._line(patience)
        except BaseException:
            self.end()
            raise

    def _line(self, patience):
        until = time.monotonic() + patience
        while (left := until - time.monotonic()) > 0 and select.select([self.process.stdout], [], [], left)[0]:
            line = self.process.stdout.readline()
            if line.startswith("ready"):
                return line.strip()
            if not line:
                raise RuntimeError(f"{' '.join(self.command)} ended with code {self.process.wait()}")
        raise RuntimeError(f"{' '.join(self.command)} is not ready after {patience} s")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    @property
    def pid(self):
        return self.process.pid

    def resident(self):
        """Resident bytes."""
        pages = int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def stated(self, pattern):
        """A number of the ready line."""
        found = re.search(pattern, self.ready)
        if not found:
            raise RuntimeError(f"no {pattern} in: {self.ready}")
        return float(found.group(1))


# What a load counts that must not be: see uaload subscribe -json.
WRONG = ("failures", "errors", "unanswered", "missing", "repeated", "out_of_order", "unexpected", "lost_messages")


class Failed(RuntimeError):
    """A load that ended with an error, or whose requests failed."""


def run_json(command, patience, cores=None):
    """What a command prints as JSON. A command that overruns its patience in seconds is killed."""
    try:
        done = subprocess.run(pinned(cores, command), capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(command)} did not end within {patience} s") from late
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with code {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
    result = json.loads(done.stdout.strip().splitlines()[-1])
    if wrong := {key: result[key] for key in WRONG if result.get(key)}:
        raise Failed(f"{' '.join(command)} had errors: {wrong}")
    return result
