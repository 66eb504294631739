"""Checks of subscriptions, of token renewal and of reconnection."""

import asyncio

from asyncua import Client, ua

from proxy import Proxy
from report import Report, expect
from space import demo

COUNTER = demo("Plant.Press1.PartCounter")


async def subscribe(client: Client):
    """A subscription on the part counter whose item queue outlasts a reconnection."""
    subscription = await client.create_subscription(250)
    await subscription.subscribe_data_change(client.get_node(COUNTER), queuesize=200, sampling_interval=50)
    return subscription


async def following(subscription, count: int, last: int | None = None, strict: bool = True) -> tuple[int, int]:
    """Takes values until `count` changes came; returns the last one and how many were skipped."""
    missing = 0
    while count:
        event = await subscription.next_event(10)
        expect(event is not None, f"no change within 10 s, last was {last}")
        expect(event.data.monitored_item.Value.StatusCode.is_good(), f"{event.data}")
        if last is not None:
            step = event.value - last
            expect(step >= 1, f"{event.value} after {last}")
            expect(step == 1 or not strict, f"{event.value} after {last}")
            missing += step - 1
            count -= 1
        last = event.value
    return last, missing


async def consecutive(client: Client, report: Report) -> None:
    async with report.check("receives 20 consecutive changes in order, none missing") as notes:
        subscription = await subscribe(client)
        last, _ = await following(subscription, 20)
        notes.append(f"up to {last}")
        await subscription.delete()


async def renewal(suite, security, report: Report, target) -> None:
    async with report.check("renews its token while changes flow", 60) as notes:
        async with Proxy(*target) as proxy:
            client = await suite.client(security, url=proxy.url)
            client.secure_channel_timeout = 10_000
            async with client:
                connection = proxy.connections[-1]
                subscription = await subscribe(client)
                last, _ = await following(subscription, 1)
                first = connection.up.tokens[-1]
                expect(first != 0, "the token id is 0")
                while len(connection.down.tokens) < 2:
                    last, _ = await following(subscription, 1, last)
                # Both sides speak under the new token, and still nothing is missing.
                last, _ = await following(subscription, 10, last)
                await client.nodes.server_state.read_value()
                expect(connection.up.opens >= 2, f"{connection.up.opens} OpenSecureChannel requests")
                expect(connection.up.tokens[-1] == connection.down.tokens[-1] != first, "the sides differ in their token")
                notes.append(f"tokens {connection.up.tokens}")


async def reconnection(suite, security, report: Report, target) -> None:
    async with report.check("reconnects after its socket was cut, and the subscription goes on", 60) as notes:
        async with Proxy(*target) as proxy:
            client = await suite.client(security, user="operator", password="operator", url=proxy.url)
            await client.connect(auto_reconnect=True)
            try:
                subscription = await subscribe(client)
                before = subscription.subscription_id
                session = client.uaclient.session.authentication_token
                last, _ = await following(subscription, 5)
                attempts = len(proxy.connections)
                proxy.cut()
                last, missing = await following(subscription, 20, last, strict=False)
                expect(len(proxy.connections) > attempts, "the client did not connect again")
                expect(client.uaclient.session.authentication_token == session, "the session was not kept")
                expect(subscription.subscription_id == before, "the subscription was not kept")
                await client.nodes.server_state.read_value()
                notes.append(f"{missing} changes missing")
            finally:
                await client.disconnect()
