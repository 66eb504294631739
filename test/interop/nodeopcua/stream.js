"use strict";
// Checks of subscriptions, of token renewal and of reconnection.
const { AttributeIds, TimestampsToReturn } = require("node-opcua-client");
const { Proxy } = require("./proxy");
const { expect } = require("./report");
const { demo } = require("./space");

/** Follows Plant.Press1.PartCounter through a subscription whose item queue outlasts a reconnection. */
class Counter {
  constructor() {
    this.values = [];
    this.wake = () => {};
  }

  async subscribe(session) {
    this.subscription = await session.createSubscription2({
      requestedPublishingInterval: 250,
      requestedLifetimeCount: 1000,
      requestedMaxKeepAliveCount: 10,
      maxNotificationsPerPublish: 1000,
      publishingEnabled: true,
      priority: 1,
    });
    const item = await this.subscription.monitor(
      { nodeId: demo("Plant.Press1.PartCounter"), attributeId: AttributeIds.Value },
      { samplingInterval: 50, queueSize: 200, discardOldest: true },
      TimestampsToReturn.Both,
    );
    item.on("changed", (data) => {
      this.values.push(data.statusCode.isGood() ? data.value.value : data.statusCode.name);
      this.wake();
    });
    return this;
  }

  async next(seconds = 15) {
    while (this.values.length === 0) {
      const waited = await new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), seconds * 1000);
        this.wake = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
      expect(waited || this.values.length, `no further change within ${seconds} s, last was ${this.last}`);
    }
    return this.values.shift();
  }

  /** Waits for n changes in order, without gaps. */
  async take(n) {
    while (n > 0) {
      const value = await this.next();
      expect(typeof value === "number", `value ${value}`);
      if (this.last !== undefined) {
        expect(value === this.last + 1, `${value} came after ${this.last}`);
        n--;
      }
      this.last = value;
    }
  }
}

async function consecutive(session, report, prefix) {
  await report.check(`${prefix} receives 20 consecutive changes in order, none missing`, async () => {
    const counter = await new Counter().subscribe(session);
    await counter.take(20);
    await counter.subscription.terminate();
    return `up to ${counter.last}`;
  });
}

async function renewal(suite, security, report) {
  const name = `${suite.name(security)} renews its token while changes flow`;
  const proxy = await new Proxy(...suite.target).open();
  const client = suite.client(security, { defaultSecureTokenLifetime: 10_000 });
  let renewed = 0;
  client.on("security_token_renewed", () => renewed++);
  await report.check(
    name,
    async () => {
      await client.connect(proxy.url);
      const session = await client.createSession();
      const counter = await new Counter().subscribe(session);
      const { up, down } = proxy.connections.at(-1);
      while (down.tokens.length < 2) {
        await counter.take(1);
      }
      // Both sides speak under the new token, and still nothing is missing.
      await counter.take(10);
      expect(renewed >= 1, "the client reported no renewal");
      expect(up.opens >= 2, `${up.opens} OpenSecureChannel requests`);
      expect(up.tokens[0] !== 0, "the token id is 0");
      expect(up.tokens.at(-1) === down.tokens.at(-1), `tokens ${up.tokens} and ${down.tokens}`);
      return `tokens ${up.tokens}`;
    },
    60,
  );
  await client.disconnect();
  proxy.close();
}

async function reconnection(suite, security, report) {
  const name = `${suite.name(security)} reconnects after its socket was cut, and the subscription goes on`;
  const proxy = await new Proxy(...suite.target).open();
  const client = suite.client(security, {});
  await report.check(
    name,
    async () => {
      await client.connect(proxy.url);
      const session = await client.createSession(suite.operator);
      const counter = await new Counter().subscribe(session);
      const before = counter.subscription.subscriptionId;
      const token = session.authenticationToken.toString();
      await counter.take(5);
      const connections = proxy.connections.length;
      const back = new Promise((resolve) => client.once("connection_reestablished", resolve));
      proxy.cut();
      await back;
      // This client asks for what it missed (Republish) before it goes on.
      await counter.take(20);
      expect(proxy.connections.length > connections, "the client did not connect again");
      expect(session.authenticationToken.toString() === token, "the session was not kept");
      expect(counter.subscription.subscriptionId === before, "the subscription was not kept");
      return `nothing missing up to ${counter.last}`;
    },
    60,
  );
  await client.disconnect();
  proxy.close();
}

module.exports = { consecutive, reconnection, renewal };
