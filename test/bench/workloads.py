"""The workloads of issue 3, each in turns with the echo of the same message sizes."""
import contextlib
import statistics

from lab import SECURE, SECURITIES, Load
from processes import Failed
from tables import failed, spread, table

PIPELINED = Load("10 clients, 100 in flight, Read of 1 node", ("read", "-nodes", "1"), "read 1", 10, 100)
BATCH = Load("10 clients, 10 in flight, Read of 100 nodes", ("read", "-nodes", "100"), "read 100", 10, 10)
LATENCY = Load("1 client, 1 in flight, Read of 1 node", ("read", "-nodes", "1"), "read 1")
WRITE = Load("10 clients, 100 in flight, Write of 1 node", ("write", "-nodes", "1"), "write 1", 10, 100)
BROWSE = Load("1 client, 1 in flight, Browse of 100 references", ("browse", "-node", "ns=1;i=1000"), "browse")
ARRAY_READ = Load("10 clients, Read of Int32[921600]", ("array", "-op", "read", "-size", "hd"), "array read", 10)
ARRAY_WRITE = Load("10 clients, Write of Int32[921600]", ("array", "-op", "write", "-size", "hd"), "array write", 10)
PUBLISH = Load("10 sessions, 100 items at 10 Hz, per notification",
               ("subscribe", "-clients", "10", "-items", "100", "-rate", "10"), "publish 100", 10, per=100, rate=10, paced=True)

# How processes are pinned: where the server runs, and where the load.
PLACES = (("both on one core", "0", "0"), ("a core each", "0", "1"), ("free", None, None))


def cost(result):
    """Server CPU in microseconds per request, or per notification."""
    return result.get("server_cpu_us_per_notification") or result["server_cpu_us_per_request"]


def rate(result):
    return result.get("notifications_per_second") or result["requests_per_second"]


def latency(result):
    return result.get("latency_us") or result["delay_us"]


class Cell:
    """What was measured of one load under one security, run by run."""

    def __init__(self):
        self.results, self.floors, self.crypto, self.pushes = [], [], [], []
        self.failed = None

    def costs(self):
        return [cost(r) for r in self.results]

    def above(self):
        """What the server takes above the echo that ran beside it."""
        return [c - f for c, f in zip(self.costs(), self.floors)]


def turns(lab, loads, places=(PLACES[2],), crypto=None):
    """Runs every load under every security and pinning, each followed by its echo, round after round, so that a noisy
    minute hits all alike. crypto says for a load whether its answer is sealed or its request opened beside it."""
    cells = {(load, security, place[0]): Cell() for place in places for load in loads for security in SECURITIES}
    with contextlib.ExitStack() as stack:
        servers = {place: (stack.enter_context(lab.server(cores=place[1])), stack.enter_context(lab.echo_server(cores=place[1])))
                   for place in places}
        for _ in range(lab.runs):
            for (load, security, name), cell in cells.items():
                if cell.failed:
                    continue
                place = next(p for p in places if p[0] == name)
                server, echo = servers[place]
                try:
                    sizes = lab.sizes(server, security)
                    cell.results.append(lab.load(server, load, security, place[2]))
                    cell.floors.append(lab.floor(echo, load, sizes, place[2])["server_cpu_us_per_request"] / load.per)
                    if load.paced:
                        cell.pushes.append(lab.floor(echo, load, sizes, place[2], push=True)["server_cpu_us_per_request"] / load.per)
                    if crypto and security == SECURE:
                        side, what = crypto[load]
                        cell.crypto.append(lab.crypto(sizes[load.exchange][side])[what])
                except Failed as why:
                    cell.failed = str(why)
                    failed(f"{load.name}, {security}", why)
    return cells


def rows(cells, unit=1, digits=2, place=False):
    for (load, security, where), cell in cells.items():
        if cell.failed:
            continue
        yield [load.name, *([where] if place else []), security,
               spread([c / unit for c in cell.costs()], digits), spread([f / unit for f in cell.floors], digits),
               spread([a / unit for a in cell.above()], digits), spread([rate(r) for r in cell.results], 0),
               spread([latency(r)["p50"] for r in cell.results], 0), spread([latency(r)["p99"] for r in cell.results], 0)]


COLUMNS = ["load", "security", "server CPU us", "echo us", "above the echo us", "per second", "p50 us", "p99 us"]


def pipelined(lab):
    table("Many small requests", COLUMNS, rows(turns(lab, [PIPELINED, WRITE]), digits=3))


def batch(lab):
    table("Large requests", COLUMNS, rows(turns(lab, [BATCH])))


def pinned_table(lab, title, load):
    columns = [COLUMNS[0], "cores", *COLUMNS[1:]]
    table(title, columns, rows(turns(lab, [load], PLACES), place=True))


def one_by_one(lab):
    pinned_table(lab, "One request at a time", LATENCY)


def browse(lab):
    pinned_table(lab, "Browse", BROWSE)


def array(lab):
    """In milliseconds, with the cryptography of the larger message beside it and what the target makes of that."""
    crypto = {ARRAY_READ: (1, "seal_us"), ARRAY_WRITE: (0, "open_us")}
    allowed = {ARRAY_READ: 1.2, ARRAY_WRITE: 1.5}
    cells = turns(lab, [ARRAY_READ, ARRAY_WRITE], crypto=crypto)
    lines = []
    for row, ((load, _, _), cell) in zip(rows(cells, 1000), ((k, c) for k, c in cells.items() if not c.failed)):
        seconds = [c / 1000 for c in cell.crypto]
        goal = allowed[load] + 1.2 * statistics.median(seconds or [0])
        lines.append([*row[:5], spread(seconds), f"{goal:.2f}", *row[5:]])
    table("An image in one value", [*(c.replace(" us", " ms") for c in COLUMNS[:5]), "crypto ms", "target ms", *COLUMNS[5:]], lines)


def publish(lab):
    """Beside the echo stands one that answers by a timer, since publishing wakes up twice for each exchange."""
    cells = turns(lab, [PUBLISH])
    pushes = [spread(c.pushes, 3) for c in cells.values() if not c.failed]
    columns = [*COLUMNS[:4], "echo by a timer us", *COLUMNS[4:]]
    table("Notifications", columns, [[*row[:4], push, *row[4:]] for row, push in zip(rows(cells, digits=3), pushes)])


def floors(lab):
    """What a bare server and bare cryptography take, with one write for all that is due and with one for each message."""
    lines = []
    with lab.server() as server, lab.echo_server() as echo:
        for load in (PIPELINED, BATCH, LATENCY, BROWSE):
            for security in SECURITIES:
                sizes = lab.sizes(server, security)
                found = {each: [] for each in (False, True)}
                for _ in range(lab.runs):
                    for each in found:
                        found[each].append(lab.floor(echo, load, sizes, each=each)["server_cpu_us_per_request"])
                there, back = sizes[load.exchange]
                lines.append([load.name, security, there, back, spread(found[False]), spread(found[True])])
        size = sizes.get("array read", (0, 0))[1] or 3_690_000
    table("Floors: the echo", ["load", "sizes as under", "request bytes", "answer bytes", "CPU us, one write for all due", "CPU us, one write each"], lines)
    crypto = []
    for n in (128, size):
        results = [lab.crypto(n) for _ in range(lab.runs)]
        crypto.append([f"{n:,}", *(spread([r[k] for r in results], 3) for k in ("seal_us", "open_us"))])
    table("Floors: AES-256-CBC and HMAC-SHA256", ["bytes", "sign and encrypt us", "decrypt and verify us"], crypto)


SUBSETS = {"pipelined": pipelined, "batch": batch, "latency": one_by_one, "browse": browse, "array": array,
           "publish": publish, "floors": floors}
