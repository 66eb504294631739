"""How the cost of a request grows with cores, clients, requests in flight and nodes; what sessions and a start cost."""
import dataclasses

from lab import SECURITIES, Load
from processes import Failed
from tables import failed, spread, table
from workloads import BATCH, PIPELINED

CLIENTS = (1, 10, 100, 1_000)
INFLIGHT = (1, 4, 16, 64, 256)
NODES = (1_000, 100_000, 1_000_000)
COLUMNS = ["security", "requests/s", "server CPU us", "p50 us", "p99 us"]


def cells(results):
    return [spread([r["requests_per_second"] for r in results], 0), spread([r["server_cpu_us_per_request"] for r in results], 3),
            spread([r["latency_us"]["p50"] for r in results], 0), spread([r["latency_us"]["p99"] for r in results], 0)]


def rounds(lab, work):
    """Calls each piece of work once in every round; a name whose load fails is said once and left out."""
    found, broken = {name: [] for name in work}, set()
    for _ in range(lab.runs):
        for name, run in work.items():
            if name in broken:
                continue
            try:
                found[name].append(run())
            except Failed as why:
                broken.add(name)
                failed(", ".join(getattr(part, "name", str(part)) for part in name), why)
    return {name: results for name, results in found.items() if name not in broken}


def cores(lab):
    """GOMAXPROCS of the server; the load has both cores at all times, so that two are never the server's alone."""
    with lab.server(env={"GOMAXPROCS": "1"}) as one, lab.server(env={"GOMAXPROCS": "2"}) as two:
        work = {(load, n, security): lambda load=load, server=server, security=security: lab.load(server, load, security)
                for load in (PIPELINED, BATCH) for n, server in ((1, one), (2, two)) for security in SECURITIES}
        found = rounds(lab, work)
    table("Cores", ["load", "GOMAXPROCS", *COLUMNS], ([k[0].name, k[1], k[2], *cells(r)] for k, r in found.items()))


def crowd(lab, title, loads):
    with lab.server() as server:
        work = {(load, security): lambda load=load, security=security: lab.load(server, load, security)
                for load in loads for security in SECURITIES}
        found = rounds(lab, work)
    table(title, ["clients", "in flight each", *COLUMNS],
          ([load.clients, load.inflight, security, *cells(r)] for (load, security), r in found.items()))


def many(clients, inflight):
    return dataclasses.replace(PIPELINED, name=f"{clients} clients, {inflight} in flight", clients=clients, inflight=inflight)


def clients(lab):
    crowd(lab, "Clients", [many(n, depth) for depth in (1, 10) for n in CLIENTS])


def inflight(lab):
    crowd(lab, "Requests in flight", [many(10, n) for n in INFLIGHT])


def spaces(lab):
    """Reads of nodes that lie all over address spaces of different sizes, and what those take to load and to hold."""
    lines, held = [], {}
    for n in NODES:
        with lab.server("-nodes", str(n), "-array-sizes", "none") as server:
            held[n] = (server.stated(r"started in (\d+) ms"), server.resident())
            wide = ("-node", "ns=1;i=100001", "-spread", str(n))
            loads = [Load("1 node", ("read", "-nodes", "1", *wide), "read 1", 10, 100),
                     Load("100 nodes", ("read", "-nodes", "100", *wide), "read 100", 10, 10)]
            work = {(load, security): lambda load=load, security=security: lab.load(server, load, security)
                    for load in loads for security in SECURITIES}
            lines += [[f"{n:,}", load.name, security, *cells(r)] for (load, security), r in rounds(lab, work).items()]
            lab.keep("space", nodes=n, started_ms=held[n][0], resident_bytes=held[n][1])
    table("Reads in address spaces of different sizes", ["nodes", "a Read of", *COLUMNS], lines)
    least = held[NODES[0]]
    table("Address spaces", ["nodes", "ready after ms", "resident MiB", "bytes per node above the first"],
          ([f"{n:,}", f"{ms:.0f}", f"{resident / 2**20:.1f}",
            f"{(resident - least[1]) / (n - NODES[0]):.0f}" if n > NODES[0] else "-"] for n, (ms, resident) in held.items()))


def scale(lab):
    cores(lab)
    clients(lab)
    inflight(lab)
    spaces(lab)


def sessions(lab, count=1000):
    """A fresh server for each run: memory that was used before is not given back."""
    lines = []
    for security in SECURITIES:
        results = []
        for _ in range(lab.runs):
            with lab.server("-array-sizes", "none") as server:  # an image in the heap lets the garbage of as much stand
                load = Load(f"{count} sessions", ("sessions", "-sessions", str(count), "-write", "0"), "", paced=True)
                results.append(lab.hold(server, load, security))
        lines.append([security, spread([r.get("rss_bytes_per_session", 0) / 1024 for r in results], 1),
                      spread([r["established_per_second"] for r in results], 0),
                      spread([r["server_cpu_percent"] for r in results], 1)])
    table(f"{count} idle sessions, one subscription and item each",
          ["security", "RSS KiB per session", "established per second", "server CPU % of a core"], lines)


def start(lab):
    """Namespace 0 and a new RSA key included."""
    found = []
    for _ in range(max(lab.runs, 5)):
        with lab.server("-array-sizes", "none") as server:
            found.append((server.stated(r"started in (\d+) ms"), server.resident() / 2**20))
            lab.keep("start", started_ms=found[-1][0], resident_mib=found[-1][1])
    table("Start", ["ready after ms", "resident MiB"], [[spread([f[0] for f in found], 0), spread([f[1] for f in found], 1)]])


SUBSETS = {"scale": scale, "cores": cores, "clients": clients, "inflight": inflight, "spaces": spaces,
           "sessions": sessions, "start": start}
