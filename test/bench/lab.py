"""The loads of one measuring: what they are, how they are run in turns, and what stands beside them as their floor."""
import dataclasses
import itertools
import json
import time

import processes

NONE, SECURE = "None", "Basic256Sha256/SignAndEncrypt"
SECURITIES = (NONE, SECURE)
PORTS = 14_800  # to 14,849: below the ports that the system gives to clients, of which a load takes thousands


@dataclasses.dataclass(frozen=True)
class Load:
    """A load of uaload. exchange names its messages among the sizes that the echo asks for."""
    name: str
    flags: tuple
    exchange: str
    clients: int = 1
    inflight: int = 1
    per: int = 1        # what the figures count within one message of the echo
    rate: float = 0     # messages per second and client; 0: as many as are answered
    paced: bool = False  # the load has neither -clients nor -inflight in the sense of the others

    def command(self):
        shape = () if self.paced else ("-clients", str(self.clients), "-inflight", str(self.inflight))
        return [*self.flags, *shape]


class Lab:
    """Builds the programs, starts servers, runs loads, keeps every result."""

    def __init__(self, folder, runs, seconds, warmup, raw=None):
        self.uaload, self.echo = processes.build(folder, "./cmd/uaload", "./test/bench/echo")
        self.runs, self.seconds, self.warmup, self.raw = runs, seconds, warmup, raw
        self.ports = itertools.cycle(range(PORTS, PORTS + 49))
        self.known = {}

    def server(self, *flags, cores=None, env=None):
        """uahive with the benchmark's address space, every security on one endpoint."""
        endpoint = f"opc.tcp://127.0.0.1:{next(self.ports)}"
        server = processes.Server([self.uaload, "serve", "-endpoint", endpoint, *flags], cores, env)
        server.endpoint = endpoint
        return server

    def echo_server(self, cores=None, env=None):
        address = f"127.0.0.1:{next(self.ports)}"
        server = processes.Server([self.echo, "serve", "-listen", address], cores, env)
        server.address = address
        return server

    def sizes(self, server, security):
        """Bytes of request and answer of each exchange, asked once from a server."""
        if security not in self.known:
            self.known[security] = processes.run_json([self.echo, "sizes", "-endpoint", server.endpoint, "-security", security], 60)
        return self.known[security]

    def keep(self, kind, **facts):
        if self.raw:
            self.raw.write(json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%S"), "kind": kind, **facts}) + "\n")
            self.raw.flush()

    def times(self):
        return ["-duration", f"{self.seconds}s", "-warmup", f"{self.warmup}s", "-json"]

    def load(self, server, load, security, cores=None):
        command = [self.uaload, *load.command(), "-endpoint", server.endpoint, "-security", security,
                   "-pid", str(server.pid), *self.times()]
        result = processes.run_json(command, self.seconds + self.warmup + 60 + load.clients / 10, cores)
        self.keep("load", name=load.name, security=security, cores=cores, result=result)
        return result

    def hold(self, server, load, security, seconds=10):
        """A load that holds sessions rather than sending requests."""
        command = [self.uaload, *load.command(), "-endpoint", server.endpoint, "-security", security,
                   "-pid", str(server.pid), "-duration", f"{seconds}s", "-json"]
        result = processes.run_json(command, seconds + 300)
        self.keep("load", name=load.name, security=security, result=result)
        return result

    def floor(self, echo, load, sizes, cores=None, each=False, push=False):
        """The echo of the same message sizes, clients and requests in flight; with push, at the same rate by its own timer."""
        request, response = sizes[load.exchange]
        pace = ["-push", str(round(1000 / load.rate)), "-inflight", "2"] if push else ["-rate", str(load.rate), "-inflight", str(load.inflight)]
        command = [self.echo, "load", "-connect", echo.address, "-request", str(request), "-response", str(response),
                   "-clients", str(load.clients), *pace, "-pid", str(echo.pid), *self.times(), *(["-each"] if each else [])]
        result = processes.run_json(command, self.seconds + self.warmup + 30, cores)
        self.keep("echo", name=load.name, cores=cores, each=each, push=push, result=result)
        return result

    def crypto(self, size, seconds=0.5):
        result = processes.run_json([self.echo, "crypto", "-size", str(size), "-duration", f"{seconds}s", "-json"], 60)
        self.keep("crypto", result=result)
        return result
