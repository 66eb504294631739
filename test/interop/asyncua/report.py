"""Counts checks: one PASS or FAIL line each, and a closing line that totals them."""

import asyncio
import contextlib
import sys
import traceback
from pathlib import Path


class Report:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.passed = 0
        self.failed = 0

    @contextlib.asynccontextmanager
    async def check(self, name: str, seconds: float = 30):
        """Runs the block as one check; what it raises is a failure, and so is taking too long.

        The block may append to the list it is given: what stands there ends the PASS line.
        """
        notes: list[str] = []
        try:
            async with asyncio.timeout(seconds):
                yield notes
        except Exception as exc:
            self.failed += 1
            print(f"FAIL {self.prefix} {name}: {type(exc).__name__}: {exc} {_where(exc)}", flush=True)
        else:
            self.passed += 1
            print(f"PASS {self.prefix} {name}" + (f": {', '.join(notes)}" if notes else ""), flush=True)

    def close(self) -> int:
        """Prints the closing line; the exit code is 0 only where checks ran and none failed."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.stdout.flush()
        return 0 if self.failed == 0 and self.passed > 0 else 1


def _where(exc: BaseException) -> str:
    """The deepest line of this folder that is not expect itself."""
    here = str(Path(__file__).parent)
    frames = [f for f in traceback.extract_tb(exc.__traceback__) if f.filename.startswith(here) and f.name != "expect"]
    frames = [f for f in frames if ".venv" not in f.filename]
    return f"({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


def expect(condition: object, text: str) -> None:
    if not condition:
        raise AssertionError(text)
