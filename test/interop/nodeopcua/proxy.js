"use strict";
// A TCP proxy in front of the server: it can cut connections, and reads what no
// cipher hides: the type and size of a chunk, and the token id of a MSG chunk
// (Part 6, 6.7.2). So it can tell that a channel was renewed and that both sides
// moved to the new token.
const net = require("node:net");

/** Splits one direction of a connection into chunk headers. */
class Stream {
  constructor() {
    this.pending = Buffer.alloc(0);
    this.skip = 0;
    this.opens = 0;
    this.tokens = [];
  }

  feed(data) {
    while (data.length > 0) {
      if (this.skip > 0) {
        const step = Math.min(this.skip, data.length);
        this.skip -= step;
        data = data.subarray(step);
        continue;
      }
      const need = 16 - this.pending.length;
      this.pending = Buffer.concat([this.pending, data.subarray(0, need)]);
      data = data.subarray(need);
      if (this.pending.length < 16) {
        return;
      }
      const kind = this.pending.toString("latin1", 0, 3);
      const token = this.pending.readUInt32LE(12);
      if (kind === "OPN") {
        this.opens++;
      } else if (kind === "MSG" && this.tokens.at(-1) !== token) {
        this.tokens.push(token);
      }
      this.skip = Math.max(0, this.pending.readUInt32LE(4) - 16);
      this.pending = Buffer.alloc(0);
    }
  }
}

class Proxy {
  constructor(host, port) {
    this.connections = [];
    this.server = net.createServer((client) => {
      const server = net.connect(port, host);
      const conn = { client, server, up: new Stream(), down: new Stream() };
      this.connections.push(conn);
      client.on("data", (data) => conn.up.feed(data)).on("error", () => {}).on("close", () => server.destroy());
      server.on("data", (data) => conn.down.feed(data)).on("error", () => {}).on("close", () => client.destroy());
      client.pipe(server);
      server.pipe(client);
    });
  }

  async open() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.port = this.server.address().port;
    this.url = `opc.tcp://127.0.0.1:${this.port}`;
    return this;
  }

  /** Resets every connection at once, without a word of the protocol. */
  cut() {
    for (const { client, server } of this.connections) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  close() {
    this.cut();
    this.server.close();
  }
}

module.exports = { Proxy };
