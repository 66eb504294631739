"""Runs asyncua's client against the demo server: python suite.py ENDPOINT [--security all|none|secured].

The endpoint may also come from UAHIVE_ENDPOINT. Each check prints PASS or FAIL, the last line totals them.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import socket
import tempfile
from pathlib import Path
from urllib.parse import urlparse

from asyncua import Client, ua
from asyncua.crypto.cert_gen import setup_self_signed_certificate
from asyncua.crypto.security_policies import (
    SecurityPolicyAes128Sha256RsaOaep,
    SecurityPolicyAes256Sha256RsaPss,
    SecurityPolicyBasic256Sha256,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

import events
import space
import stream
from proxy import Proxy
from report import Report, expect

APPLICATION_URI = "urn:uahive:interop:asyncua"
MODE = ua.MessageSecurityMode
NONE = ("None", None, MODE.None_)
SECURED = [
    ("Basic256Sha256/SignAndEncrypt", SecurityPolicyBasic256Sha256, MODE.SignAndEncrypt),
    ("Basic256Sha256/Sign", SecurityPolicyBasic256Sha256, MODE.Sign),
    ("Aes128_Sha256_RsaOaep/SignAndEncrypt", SecurityPolicyAes128Sha256RsaOaep, MODE.SignAndEncrypt),
    ("Aes256_Sha256_RsaPss/SignAndEncrypt", SecurityPolicyAes256Sha256RsaPss, MODE.SignAndEncrypt),
]
REFUSED = (ua.StatusCodes.BadUserAccessDenied, ua.StatusCodes.BadIdentityTokenRejected)


class Suite:
    def __init__(self, endpoint: str, folder: Path) -> None:
        self.endpoint = endpoint
        self.key = folder / "key.pem"
        self.cert = folder / "cert.der"

    async def prepare(self) -> None:
        await setup_self_signed_certificate(
            self.key,
            self.cert,
            APPLICATION_URI,
            socket.gethostname(),
            [ExtendedKeyUsageOID.CLIENT_AUTH],
            {"commonName": "uahive interop asyncua"},
        )

    async def client(self, security, user=None, password=None, url=None) -> Client:
        """A client that is set up but not connected."""
        client = Client(url or self.endpoint, timeout=10, watchdog_intervall=2)
        client.application_uri = APPLICATION_URI
        client.session_timeout = 60_000
        _, policy, mode = security
        if policy is not None:
            await client.set_security(policy, str(self.cert), str(self.key), mode=mode)
        if user:
            client.set_user(user)
            client.set_password(password)
        return client

    @contextlib.asynccontextmanager
    async def session(self, security, **kwargs):
        client = await self.client(security, **kwargs)
        async with client:
            yield client

    async def discovery(self) -> None:
        report = Report("discovery")
        async with report.check("GetEndpoints offers None and three policies in both modes") as notes:
            endpoints = await Client(self.endpoint, timeout=10).connect_and_get_server_endpoints()
            offered = {(e.SecurityPolicyUri.rpartition("#")[2], e.SecurityMode) for e in endpoints}
            wanted = {("None", MODE.None_)} | {
                (policy, mode)
                for policy in ("Basic256Sha256", "Aes128_Sha256_RsaOaep", "Aes256_Sha256_RsaPss")
                for mode in (MODE.Sign, MODE.SignAndEncrypt)
            }
            expect(wanted <= offered, f"missing {wanted - offered}")
            kinds = {t.TokenType for e in endpoints for t in e.UserIdentityTokens}
            expect({ua.UserTokenType.Anonymous, ua.UserTokenType.UserName} <= kinds, f"user tokens {kinds}")
            notes.append(f"{len(endpoints)} endpoints")
        async with report.check("FindServers names the server itself"):
            servers = await Client(self.endpoint, timeout=10).connect_and_find_servers()
            expect(servers, "no server")
            expect(all(s.ApplicationUri for s in servers), "a server without ApplicationUri")
        async with Proxy(*target(self.endpoint)) as proxy:
            async with report.check("an endpoint's address is what the client used"):
                for endpoint in await Client(proxy.url, timeout=10).connect_and_get_server_endpoints():
                    expect(
                        urlparse(endpoint.EndpointUrl).port == proxy.port,
                        f"{endpoint.EndpointUrl} instead of {proxy.url}",
                    )
        self.total.append(report)

    async def identities(self, security) -> None:
        report = Report(security[0])
        async with report.check("anonymous connects"):
            async with self.session(security) as client:
                state = await client.nodes.server_state.read_value()
                expect(state == ua.ServerState.Running, f"ServerState {state}")
        async with report.check("user name connects"):
            async with self.session(security, user="operator", password="operator") as client:
                await client.nodes.server_state.read_value()
        for user, password, what in (
            ("operator", "wrong", "a wrong password"),
            ("nobody", "operator", "an unknown user"),
        ):
            async with report.check(f"{what} is refused"):
                try:
                    async with self.session(security, user=user, password=password):
                        pass
                except ua.UaStatusCodeError as exc:
                    expect(exc.code in REFUSED, f"refused with {exc}")
                else:
                    raise AssertionError("accepted")
        if os.environ.get("UAHIVE_USER_CERT") and security[1] is not None:
            await self.certificates(security, report)
        self.total.append(report)

    async def certificates(self, security, report) -> None:
        """A user with a certificate; asyncua signs with the channel's policy, so it needs one that signs."""
        users = {
            True: (os.environ["UAHIVE_USER_CERT"], os.environ["UAHIVE_USER_KEY"]),
            False: (str(self.cert), str(self.key)),
        }
        for trusted, what in ((True, "user certificate connects"), (False, "an untrusted user certificate is refused")):
            async with report.check(what):
                client = await self.client(security)
                await client.load_client_certificate(users[trusted][0])
                await client.load_private_key(users[trusted][1])
                try:
                    async with client:
                        await client.nodes.server_state.read_value()
                except ua.UaStatusCodeError as exc:
                    expect(not trusted and exc.code in REFUSED, f"refused with {exc}")
                else:
                    expect(trusted, "accepted")

    async def everything(self, security) -> None:
        """All services, over one session as the demo's user."""
        report = Report(security[0])
        self.total.append(report)
        client = None
        async with report.check("connects for the services"):
            client = await self.client(security, user="operator", password="operator")
            await client.connect()
        if client is None:
            return
        try:
            await space.run(client, report)
            await stream.consecutive(client, report)
            await events.run(client, report)
        finally:
            await client.disconnect()

    async def endurance(self, security) -> None:
        """Token renewal and reconnection, seen from a proxy; each over a connection of its own."""
        report = Report(security[0])
        self.total.append(report)
        await asyncio.gather(
            stream.renewal(self, security, report, target(self.endpoint)),
            stream.reconnection(self, security, report, target(self.endpoint)),
        )

    async def run(self, securities) -> int:
        self.total: list[Report] = []
        await self.prepare()
        if NONE in securities:
            await self.discovery()
        for security in securities:
            await self.identities(security)
        full = [s for s in (NONE, SECURED[0]) if s in securities]
        for security in full:
            await self.everything(security)
        await asyncio.gather(*(self.endurance(security) for security in full))
        closing = Report("total")
        closing.passed = sum(r.passed for r in self.total)
        closing.failed = sum(r.failed for r in self.total)
        return closing.close()


def target(endpoint: str) -> tuple[str, int]:
    parsed = urlparse(endpoint)
    return parsed.hostname, parsed.port or 4840


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("endpoint", nargs="?", default=os.environ.get("UAHIVE_ENDPOINT", "opc.tcp://127.0.0.1:4840"))
    parser.add_argument("--security", choices=("all", "none", "secured"), default="all")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for the whole suite")
    args = parser.parse_args()
    logging.basicConfig(level=logging.CRITICAL)
    securities = {"all": [NONE, *SECURED], "none": [NONE], "secured": SECURED}[args.security]

    async def bounded() -> int:
        with tempfile.TemporaryDirectory() as folder:
            async with asyncio.timeout(args.timeout):
                return await Suite(args.endpoint, Path(folder)).run(securities)

    try:
        return asyncio.run(bounded())
    except TimeoutError:
        print(f"FAIL the suite did not end within {args.timeout:g} s\n0 passed, 1 failed", flush=True)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
