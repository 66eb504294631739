"use strict";
// Runs node-opcua's client against the demo server: node suite.js [ENDPOINT] [--security=all|none|secured].
// The endpoint may also come from UAHIVE_ENDPOINT. Each check prints PASS or FAIL, the last line totals them.

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { parseArgs } = require("node:util");
const {
  AttributeIds,
  MessageSecurityMode,
  OPCUAClient,
  SecurityPolicy,
  ServerState,
  UserTokenType,
} = require("node-opcua-client");
const { OPCUACertificateManager } = require("node-opcua-certificate-manager");
const { setErrorLogger, setWarningLogger } = require("node-opcua-debug");
const { Proxy } = require("./proxy");
const { expect, Report } = require("./report");
const { Space } = require("./space");
const stream = require("./stream");

// What the client logs is about errors that checks cause on purpose.
setErrorLogger(() => {});
setWarningLogger(() => {});

const none = { policy: "None", mode: "None" };
const secured = [
  { policy: "Basic256Sha256", mode: "SignAndEncrypt" },
  { policy: "Basic256Sha256", mode: "Sign" },
  { policy: "Aes128_Sha256_RsaOaep", mode: "SignAndEncrypt" },
  { policy: "Aes256_Sha256_RsaPss", mode: "SignAndEncrypt" },
];

class Suite {
  constructor(endpoint, folder) {
    this.endpoint = endpoint;
    const url = new URL(endpoint);
    this.target = [url.hostname, Number(url.port || 4840)];
    this.report = new Report();
    this.operator = this.user("operator", "operator");
    this.certificates = new OPCUACertificateManager({
      rootFolder: path.join(folder, "pki"),
      automaticallyAcceptUnknownCertificate: true,
      disableFileWatchers: true,
    });
  }

  user(userName, password) {
    return { type: UserTokenType.UserName, userName, password };
  }

  name({ policy, mode }) {
    return `${policy}/${mode}`;
  }

  /** Makes the client's key and certificate; each client object shares them. */
  async prepare(folder) {
    await this.certificates.initialize();
    this.applicationUri = "urn:uahive:interop:nodeopcua";
    this.certificateFile = path.join(folder, "certificate.pem");
    await this.certificates.createSelfSignedCertificate({
      applicationUri: this.applicationUri,
      dns: ["localhost"],
      ip: ["127.0.0.1"],
      outputFile: this.certificateFile,
      subject: "/CN=uahive interop nodeopcua",
      startDate: new Date(Date.now() - 3600_000),
      validity: 90,
    });
  }

  client(security, options) {
    return OPCUAClient.create({
      applicationName: "uahive interop nodeopcua",
      applicationUri: this.applicationUri,
      clientCertificateManager: this.certificates,
      certificateFile: this.certificateFile,
      privateKeyFile: this.certificates.privateKey,
      securityMode: MessageSecurityMode[security.mode],
      securityPolicy: SecurityPolicy[security.policy],
      connectionStrategy: { maxRetry: 20, initialDelay: 200, maxDelay: 1000 },
      requestedSessionTimeout: 60_000,
      keepSessionAlive: false,
      ...options,
    });
  }

  async withSession(security, user, fn) {
    const client = this.client(security, { connectionStrategy: { maxRetry: 0 } });
    await client.connect(this.endpoint);
    try {
      const session = await client.createSession(user);
      await fn(session);
      await session.close();
    } finally {
      await client.disconnect();
    }
  }

  async discovery() {
    const endpointsAt = async (url) => {
      const client = this.client(none, { connectionStrategy: { maxRetry: 0 } });
      await client.connect(url);
      try {
        return { endpoints: await client.getEndpoints(), servers: await client.findServers() };
      } finally {
        await client.disconnect();
      }
    };
    await this.report.check("GetEndpoints offers None and three policies in both modes", async () => {
      const { endpoints } = await endpointsAt(this.endpoint);
      const offered = endpoints.map((e) => `${e.securityPolicyUri.split("#")[1]}/${MessageSecurityMode[e.securityMode]}`);
      const wanted = ["None/None"];
      for (const policy of ["Basic256Sha256", "Aes128_Sha256_RsaOaep", "Aes256_Sha256_RsaPss"]) {
        wanted.push(`${policy}/Sign`, `${policy}/SignAndEncrypt`);
      }
      const missing = wanted.filter((w) => !offered.includes(w));
      expect(missing.length === 0, `missing ${missing}`);
      return `${endpoints.length} endpoints`;
    });
    await this.report.check("FindServers names the server itself", async () => {
      const { servers } = await endpointsAt(this.endpoint);
      expect(servers.length > 0 && servers[0].applicationUri, `${servers}`);
    });
    const proxy = await new Proxy(...this.target).open();
    await this.report.check("an endpoint's address is what the client used", async () => {
      for (const { endpointUrl } of (await endpointsAt(proxy.url)).endpoints) {
        expect(Number(new URL(endpointUrl).port) === proxy.port, `${endpointUrl} instead of ${proxy.url}`);
      }
    });
    proxy.close();
  }

  async identities(security) {
    const name = this.name(security);
    const running = async (session) => {
      const { value } = await session.read({ nodeId: "i=2259", attributeId: AttributeIds.Value });
      expect(value.value === ServerState.Running, `ServerState ${value.value}`);
    };
    await this.report.check(`${name} anonymous connects`, () => this.withSession(security, undefined, running));
    await this.report.check(`${name} user name connects`, () => this.withSession(security, this.operator, running));
    for (const [what, user] of [
      ["a wrong password", this.user("operator", "wrong")],
      ["an unknown user", this.user("nobody", "operator")],
    ]) {
      await this.report.check(`${name} ${what} is refused`, async () => {
        let refusal;
        try {
          await this.withSession(security, user, async () => {});
        } catch (err) {
          refusal = String(err.message);
        }
        expect(refusal, "accepted");
        expect(/BadUserAccessDenied|BadIdentityTokenRejected/.test(refusal), `refused with ${refusal}`);
      });
    }
    const { UAHIVE_USER_CERT: certificateFile, UAHIVE_USER_KEY: keyFile } = process.env;
    if (certificateFile) {
      const user = {
        type: UserTokenType.Certificate,
        certificateData: fs.readFileSync(certificateFile),
        privateKey: fs.readFileSync(keyFile, "utf8"),
      };
      await this.report.check(`${name} user certificate connects`, () => this.withSession(security, user, running));
    }
  }

  /** All services, over one session as the demo's user. */
  async everything(security) {
    const name = this.name(security);
    let ran = false;
    const connected = await this.report.check(
      `${name} a session for the services opens and closes`,
      () =>
        this.withSession(security, this.operator, async (session) => {
          ran = true;
          await new Space(session, this.report, name).run();
          await stream.consecutive(session, this.report, name);
        }),
      120,
    );
    return connected && ran;
  }

  async run(all) {
    const full = [none, secured[0]].filter((security) => all.includes(security));
    if (all.includes(none)) {
      await this.discovery();
    }
    for (const security of all) {
      await this.identities(security);
    }
    for (const security of full) {
      await this.everything(security);
    }
    await Promise.all(
      full.flatMap((security) => [
        stream.renewal(this, security, this.report),
        stream.reconnection(this, security, this.report),
      ]),
    );
    return this.report.close();
  }
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { security: { type: "string", default: "all" }, timeout: { type: "string", default: "240" } },
  });
  const endpoint = positionals[0] ?? process.env.UAHIVE_ENDPOINT ?? "opc.tcp://127.0.0.1:4840";
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "uahive-nodeopcua-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  setTimeout(() => {
    console.log(`FAIL the suite did not end within ${values.timeout} s\n0 passed, 1 failed`);
    process.exit(1);
  }, Number(values.timeout) * 1000).unref();
  const suite = new Suite(endpoint, folder);
  await suite.prepare(folder);
  process.exit(await suite.run({ all: [none, ...secured], none: [none], secured }[values.security]));
}

main().catch((err) => {
  console.log(`FAIL the suite broke off: ${err.stack}\n0 passed, 1 failed`);
  process.exit(1);
});
