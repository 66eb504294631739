package interop;

import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.ubyte;
import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;
import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.ulong;
import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.ushort;

import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.eclipse.milo.opcua.sdk.client.OpcUaClient;
import org.eclipse.milo.opcua.sdk.client.identity.AnonymousProvider;
import org.eclipse.milo.opcua.sdk.client.identity.IdentityProvider;
import org.eclipse.milo.opcua.sdk.client.identity.UsernameProvider;
import org.eclipse.milo.opcua.sdk.client.identity.X509IdentityProvider;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaMonitoredItem;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaSubscription;
import org.eclipse.milo.opcua.stack.core.AttributeId;
import org.eclipse.milo.opcua.stack.core.NodeIds;
import org.eclipse.milo.opcua.stack.core.StatusCodes;
import org.eclipse.milo.opcua.stack.core.UaException;
import org.eclipse.milo.opcua.stack.core.security.CertificateValidator;
import org.eclipse.milo.opcua.stack.core.security.SecurityPolicy;
import org.eclipse.milo.opcua.stack.core.types.builtin.ByteString;
import org.eclipse.milo.opcua.stack.core.types.builtin.DataValue;
import org.eclipse.milo.opcua.stack.core.types.builtin.DateTime;
import org.eclipse.milo.opcua.stack.core.types.builtin.ExpandedNodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.LocalizedText;
import org.eclipse.milo.opcua.stack.core.types.builtin.Matrix;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.QualifiedName;
import org.eclipse.milo.opcua.stack.core.types.builtin.StatusCode;
import org.eclipse.milo.opcua.stack.core.types.builtin.Variant;
import org.eclipse.milo.opcua.stack.core.types.builtin.XmlElement;
import org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.UInteger;
import org.eclipse.milo.opcua.stack.core.types.enumerated.BrowseDirection;
import org.eclipse.milo.opcua.stack.core.types.enumerated.MessageSecurityMode;
import org.eclipse.milo.opcua.stack.core.types.enumerated.NodeClass;
import org.eclipse.milo.opcua.stack.core.types.enumerated.TimestampsToReturn;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseResult;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodRequest;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodResult;
import org.eclipse.milo.opcua.stack.core.types.structured.Range;
import org.eclipse.milo.opcua.stack.core.types.structured.ReadValueId;
import org.eclipse.milo.opcua.stack.core.types.structured.ReferenceDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.WriteValue;
import org.eclipse.milo.opcua.stack.core.util.SelfSignedCertificateBuilder;
import org.eclipse.milo.opcua.stack.core.util.SelfSignedCertificateGenerator;

/**
 * Runs Eclipse Milo's client against the demo server: Suite ENDPOINT [all|none|secured].
 *
 * <p>Each check prints PASS or FAIL, the last line totals them.
 */
public final class Suite {
  private static final String URI_OF_CLIENT = "urn:uahive:interop:milo";

  private record Security(SecurityPolicy policy, MessageSecurityMode mode) {
    @Override
    public String toString() {
      return policy.getUri().replaceAll(".*#", "") + "/" + mode;
    }
  }

  private static final Security NONE = new Security(SecurityPolicy.None, MessageSecurityMode.None);
  private static final List<Security> SECURED =
      List.of(
          new Security(SecurityPolicy.Basic256Sha256, MessageSecurityMode.SignAndEncrypt),
          new Security(SecurityPolicy.Basic256Sha256, MessageSecurityMode.Sign),
          new Security(SecurityPolicy.Aes128_Sha256_RsaOaep, MessageSecurityMode.SignAndEncrypt),
          new Security(SecurityPolicy.Aes256_Sha256_RsaPss, MessageSecurityMode.SignAndEncrypt));

  private interface Body {
    String run() throws Exception;
  }

  private final String endpoint;
  private final KeyPair keys;
  private final X509Certificate certificate;
  private int passed;
  private int failed;

  private Suite(String endpoint) throws Exception {
    this.endpoint = endpoint;
    keys = SelfSignedCertificateGenerator.generateRsaKeyPair(2048);
    certificate =
        new SelfSignedCertificateBuilder(keys)
            .setCommonName("uahive interop milo")
            .setApplicationUri(URI_OF_CLIENT)
            .addDnsName("localhost")
            .build();
  }

  public static void main(String[] args) throws Exception {
    // The JDK lacks the name under which this client asks for RSASSA-PSS.
    java.security.Security.addProvider(new BouncyCastleProvider());
    String endpoint = args.length > 0 ? args[0] : "opc.tcp://127.0.0.1:4840";
    String which = args.length > 1 ? args[1] : "all";
    Thread limit =
        new Thread(
            () -> {
              try {
                Thread.sleep(240_000);
              } catch (InterruptedException e) {
                return;
              }
              System.out.println("FAIL the suite did not end within 240 s\n0 passed, 1 failed");
              Runtime.getRuntime().halt(1);
            });
    limit.setDaemon(true);
    limit.start();
    Suite suite = new Suite(endpoint);
    List<Security> all = new ArrayList<>();
    if (!which.equals("secured")) {
      all.add(NONE);
    }
    if (!which.equals("none")) {
      all.addAll(SECURED);
    }
    for (Security security : all) {
      suite.identities(security);
    }
    for (Security security : List.of(NONE, SECURED.get(0))) {
      if (all.contains(security)) {
        suite.services(security);
        suite.renewal(security);
        suite.reconnection(security);
      }
    }
    System.out.printf("%d passed, %d failed%n", suite.passed, suite.failed);
    System.out.flush();
    Runtime.getRuntime().halt(suite.failed == 0 && suite.passed > 0 ? 0 : 1);
  }

  private void check(String name, Body body) {
    try {
      String note = body.run();
      passed++;
      System.out.println("PASS " + name + (note == null ? "" : ": " + note));
    } catch (Exception | AssertionError e) {
      failed++;
      System.out.println("FAIL " + name + ": " + String.valueOf(e).replace('\n', ';'));
    }
    System.out.flush();
  }

  private static void expect(boolean condition, String text) {
    if (!condition) {
      throw new AssertionError(text);
    }
  }

  /** A connected client; an empty user is anonymous, a lifetime of 0 is the client's default. */
  private OpcUaClient connect(String url, Security security, String user, String password, int lifetime)
      throws UaException {
    OpcUaClient client =
        OpcUaClient.create(
            url,
            endpoints ->
                endpoints.stream()
                    .filter(e -> e.getSecurityPolicyUri().equals(security.policy.getUri()))
                    .filter(e -> e.getSecurityMode() == security.mode)
                    .findFirst(),
            transport -> {
              if (lifetime > 0) {
                transport.setChannelLifetime(uint(lifetime));
              }
            },
            config ->
                config
                    .setApplicationUri(URI_OF_CLIENT)
                    .setKeyPair(keys)
                    .setCertificate(certificate)
                    .setCertificateChain(new X509Certificate[] {certificate})
                    .setCertificateValidator(new CertificateValidator.InsecureCertificateValidator())
                    .setSessionTimeout(uint(60_000))
                    .setRequestTimeout(uint(10_000))
                    .setIdentityProvider(identity(user, password)));
    client.connect();
    return client;
  }

  /** The user who logs in with the certificate that the environment names. */
  private static final String CERTIFICATE = "certificate";

  private static IdentityProvider identity(String user, String password) {
    if (!user.equals(CERTIFICATE)) {
      return user.isEmpty() ? new AnonymousProvider() : new UsernameProvider(user, password);
    }
    try (InputStream in = Files.newInputStream(Path.of(System.getenv("UAHIVE_USER_CERT")))) {
      var owner = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
      String text = Files.readString(Path.of(System.getenv("UAHIVE_USER_KEY"))).replaceAll("-----[^-]*-----|\\s", "");
      var key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text)));
      return new X509IdentityProvider(owner, key);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private void identities(Security security) {
    var users = new ArrayList<>(List.of("", "operator"));
    if (System.getenv("UAHIVE_USER_CERT") != null) {
      users.add(CERTIFICATE);
    }
    for (String user : users) {
      check(
          security + (user.isEmpty() ? " anonymous connects" : user.equals(CERTIFICATE) ? " user certificate connects" : " user name connects"),
          () -> {
            OpcUaClient client = connect(endpoint, security, user, user, 0);
            DataValue state = client.readValue(0, TimestampsToReturn.Both, NodeIds.Server_ServerStatus_State);
            expect(Integer.valueOf(0).equals(state.getValue().getValue()), "ServerState " + state);
            client.disconnect();
            return null;
          });
    }
    check(
        security + " a wrong password is refused",
        () -> {
          try {
            connect(endpoint, security, "operator", "wrong", 0).disconnect();
          } catch (UaException e) {
            long code = e.getStatusCode().getValue();
            expect(
                code == StatusCodes.Bad_UserAccessDenied || code == StatusCodes.Bad_IdentityTokenRejected,
                "refused with " + e.getStatusCode());
            return null;
          }
          throw new AssertionError("accepted");
        });
  }

  private static NodeId demo(String path) {
    return new NodeId(2, path);
  }

  private void services(Security security) {
    OpcUaClient client;
    try {
      client = connect(endpoint, security, "operator", "operator", 0);
    } catch (Exception e) {
      check(security + " connects for the services", () -> { throw e; });
      return;
    }
    Set<NodeId> variables = new HashSet<>();
    check(security + " browses all of the demo from Objects", () -> browse(client, variables));
    check(
        security + " every variable of the demo reads good",
        () -> {
          List<NodeId> nodes = List.copyOf(variables);
          List<DataValue> values = client.readValues(0, TimestampsToReturn.Both, nodes);
          for (int i = 0; i < nodes.size(); i++) {
            DataValue v = values.get(i);
            expect(v.getStatusCode().isGood() && v.getValue().isNotNull(), nodes.get(i) + ": " + v);
          }
          return nodes.size() + " variables";
        });
    Map<String, Variant[]> cases = cases(client);
    for (Map.Entry<String, Variant[]> entry : cases.entrySet()) {
      check(
          security + " writes and reads back Types." + entry.getKey(),
          () -> {
            for (Variant value : entry.getValue()) {
              roundtrip(client, demo("Types." + entry.getKey()), value);
            }
            return null;
          });
    }
    check(security + " reads and writes index ranges", () -> ranges(client));
    check(
        security + " calls Add",
        () -> {
          CallMethodResult result =
              client
                  .call(
                      List.of(
                          new CallMethodRequest(
                              demo("Plant.Press1"),
                              demo("Plant.Press1.Add"),
                              new Variant[] {Variant.ofInt32(2), Variant.ofInt32(40)})))
                  .getResults()[0];
          expect(result.getStatusCode().isGood(), "status " + result.getStatusCode());
          expect(result.getOutputArguments()[0].equals(Variant.ofInt32(42)), "Sum " + result.getOutputArguments()[0]);
          return null;
        });
    check(
        security + " receives 20 consecutive changes in order, none missing",
        () -> {
          Counter counter = new Counter(client);
          counter.take(20, true);
          counter.subscription.delete();
          return "up to " + counter.last;
        });
    check(security + " disconnects", () -> client.disconnect() == null ? "" : null);
  }

  private String browse(OpcUaClient client, Set<NodeId> variables) throws UaException {
    Set<NodeId> seen = new HashSet<>();
    ArrayDeque<NodeId> open = new ArrayDeque<>(List.of(NodeIds.ObjectsFolder));
    while (!open.isEmpty()) {
      NodeId node = open.poll();
      BrowseResult result =
          client.browse(
              new BrowseDescription(
                  node, BrowseDirection.Forward, NodeIds.HierarchicalReferences, true, uint(0), uint(63)));
      expect(result.getStatusCode().isGood(), node + ": " + result.getStatusCode());
      ReferenceDescription[] references = result.getReferences();
      for (ReferenceDescription ref : references == null ? new ReferenceDescription[0] : references) {
        Optional<NodeId> target = ref.getNodeId().toNodeId(client.getNamespaceTable());
        if (target.isPresent() && target.get().getNamespaceIndex().intValue() == 2 && seen.add(target.get())) {
          open.add(target.get());
          if (ref.getNodeClass() == NodeClass.Variable) {
            variables.add(target.get());
          }
        }
      }
    }
    for (String path : List.of("Plant.Press1.PartCounter", "Plant.Press1.Add", "Plant.Conveyor1", "Types.Scalar.Guid")) {
      expect(seen.contains(demo(path)), path + " is missing");
    }
    return seen.size() + " nodes of the demo";
  }

  private static Map<String, Variant[]> cases(OpcUaClient client) {
    UUID guid = UUID.fromString("72962b91-fa75-4ae6-8d28-b404dc7daf63");
    Map<String, Object[]> values = new TreeMap<>();
    values.put("Boolean", new Boolean[] {true, false});
    values.put("SByte", new Byte[] {-128, 127});
    values.put("Byte", array(ubyte(0), ubyte(255)));
    values.put("Int16", new Short[] {-32768, 32767});
    values.put("UInt16", array(ushort(0), ushort(65535)));
    values.put("Int32", new Integer[] {Integer.MIN_VALUE, Integer.MAX_VALUE});
    values.put("UInt32", array(uint(0), UInteger.MAX));
    values.put("Int64", new Long[] {Long.MIN_VALUE, Long.MAX_VALUE});
    values.put("UInt64", array(ulong(0), ulong(Long.MAX_VALUE)));
    values.put("Float", new Float[] {-1.5f, Float.POSITIVE_INFINITY, Float.NaN});
    values.put("Double", new Double[] {Math.PI, Double.MIN_VALUE, Double.NaN});
    values.put("String", new String[] {"plain", "Grüße 你好 🏭", ""});
    values.put("DateTime", array(new DateTime(134092026151234567L), new DateTime(116444736000000000L)));
    values.put("Guid", array(guid));
    values.put("ByteString", array(ByteString.of(new byte[] {0, 1, -1}), ByteString.of(new byte[0])));
    values.put("XmlElement", array(new XmlElement("<press id='1'>ü</press>")));
    values.put("NodeId", array(NodeIds.Server, new NodeId(2, 70000), demo("Plant.Press1"), new NodeId(2, guid)));
    values.put("ExpandedNodeId", array(ExpandedNodeId.of(ushort(2), "Plant"), ExpandedNodeId.of("urn:elsewhere", "Far")));
    values.put("StatusCode", array(new StatusCode(StatusCodes.Bad_NodeIdUnknown), StatusCode.GOOD));
    values.put("QualifiedName", array(new QualifiedName(2, "name"), new QualifiedName(0, "Grüße")));
    values.put("LocalizedText", array(new LocalizedText("de", "Druck"), LocalizedText.english("press")));
    values.put(
        "ExtensionObject",
        array(
            org.eclipse.milo.opcua.stack.core.types.builtin.ExtensionObject.encode(
                client.getStaticEncodingContext(), new Range(-1.5, 99.25))));
    Map<String, Variant[]> cases = new TreeMap<>();
    values.forEach(
        (name, elements) -> {
          List<Variant> scalars = new ArrayList<>();
          for (Object element : elements) {
            scalars.add(Variant.of(element));
          }
          cases.put("Scalar." + name, scalars.toArray(new Variant[0]));
          cases.put("Array." + name, new Variant[] {Variant.of(elements)});
        });
    cases.put("Scalar.Variant", array(Variant.ofDouble(4.5), Variant.ofString("text")));
    cases.put("Array.Variant", array(Variant.of(array(Variant.ofInt32(7), Variant.ofString("mixed")))));
    cases.put("Matrix.Double", array(Variant.of(Matrix.ofDouble(new Double[][] {{1.5, 2.5, 3.5}, {-1.0, 0.0, 1e300}}))));
    cases.put("Matrix.Int32", array(Variant.of(Matrix.ofInt32(new Integer[][] {{6, 5, 4}, {3, 2, 1}}))));
    return cases;
  }

  @SafeVarargs
  private static <T> T[] array(T... elements) {
    return elements;
  }

  private static DataValue read(OpcUaClient client, NodeId node, String range) throws UaException {
    ReadValueId id = new ReadValueId(node, AttributeId.Value.uid(), range, QualifiedName.NULL_VALUE);
    DataValue value = client.read(0, TimestampsToReturn.Both, List.of(id)).getResults()[0];
    expect(value.getStatusCode().isGood(), "reading " + node + " " + range + ": " + value.getStatusCode());
    return value;
  }

  private static void write(OpcUaClient client, NodeId node, String range, Variant value) throws UaException {
    StatusCode status =
        client.write(List.of(new WriteValue(node, AttributeId.Value.uid(), range, DataValue.valueOnly(value)))).getResults()[0];
    expect(status.isGood(), "writing " + value + ": " + status);
  }

  private static void roundtrip(OpcUaClient client, NodeId node, Variant value) throws UaException {
    write(client, node, null, value);
    Variant got = read(client, node, null).getValue();
    expect(got.equals(value), "wrote " + value + ", read " + got);
  }

  private static String ranges(OpcUaClient client) throws UaException {
    NodeId array = demo("Types.Array.Int32");
    write(client, array, null, Variant.of(new Integer[] {10, 11, 12, 13, 14}));
    Variant part = read(client, array, "1:3").getValue();
    expect(part.equals(Variant.of(new Integer[] {11, 12, 13})), "1:3 is " + part);
    write(client, array, "1:2", Variant.of(new Integer[] {91, 92}));
    Variant whole = read(client, array, null).getValue();
    expect(whole.equals(Variant.of(new Integer[] {10, 91, 92, 13, 14})), "whole is " + whole);
    return null;
  }

  /** Follows Plant.Press1.PartCounter through a subscription whose item queue outlasts a reconnection. */
  private static final class Counter {
    final OpcUaSubscription subscription;
    final LinkedBlockingQueue<DataValue> values = new LinkedBlockingQueue<>();
    final TreeSet<Long> early = new TreeSet<>();
    long last = -1;
    long missing;

    Counter(OpcUaClient client) throws Exception {
      subscription = new OpcUaSubscription(client, 250.0);
      subscription.create();
      OpcUaMonitoredItem item = OpcUaMonitoredItem.newDataItem(demo("Plant.Press1.PartCounter"));
      item.setSamplingInterval(50);
      item.setQueueSize(uint(200));
      item.setDataValueListener((source, value) -> values.add(value));
      subscription.addMonitoredItem(item);
      subscription.synchronizeMonitoredItems();
    }

    /**
     * Takes n changes, none missing and none twice; where not strict, changes may be missing and are counted. Milo
     * handles Publish responses that arrive close together on several threads (its pull request 1823 tells how), so a
     * few may come in another order than they did on the wire: they are held until their turn.
     */
    void take(int n, boolean strict) throws InterruptedException {
      while (n > 0) {
        while (early.isEmpty() || last >= 0 && early.first() != last + 1 && (strict || early.size() < 8)) {
          DataValue value = values.poll(20, TimeUnit.SECONDS);
          expect(value != null, "no further change within 20 s, last was " + last + ", held " + early);
          expect(value.getValue().getValue() instanceof UInteger, "value " + value);
          long v = ((UInteger) value.getValue().getValue()).longValue();
          expect(v > last, v + " came after " + last);
          expect(early.add(v), v + " came twice");
          expect(early.size() <= 16, "changes are missing after " + last + ": " + early);
        }
        long v = early.pollFirst();
        if (last >= 0) {
          missing += v - last - 1;
          n--;
        }
        last = v;
      }
    }
  }

  private Proxy proxy() throws Exception {
    URI uri = URI.create(endpoint);
    return new Proxy(uri.getHost(), uri.getPort() < 0 ? 4840 : uri.getPort());
  }

  private void renewal(Security security) {
    check(
        security + " renews its token while changes flow",
        () -> {
          try (Proxy proxy = proxy()) {
            OpcUaClient client = connect(proxy.url(), security, "", "", 10_000);
            Proxy.Connection connection = proxy.last();
            Counter counter = new Counter(client);
            while (connection.tokens(false).size() < 2) {
              counter.take(1, true);
            }
            counter.take(10, true);
            List<Integer> up = connection.tokens(true);
            List<Integer> down = connection.tokens(false);
            expect(up.get(0) != 0 && up.get(up.size() - 1).equals(down.get(down.size() - 1)), up + " and " + down);
            client.disconnect();
            return "tokens " + up;
          }
        });
  }

  private void reconnection(Security security) {
    check(
        security + " reconnects after its socket was cut, and the subscription goes on",
        () -> {
          try (Proxy proxy = proxy()) {
            OpcUaClient client = connect(proxy.url(), security, "operator", "operator", 0);
            Counter counter = new Counter(client);
            counter.take(5, true);
            int before = proxy.count();
            Object id = counter.subscription.getSubscriptionId();
            proxy.cut();
            counter.take(20, false);
            expect(proxy.count() > before, "the client did not connect again");
            expect(id.equals(counter.subscription.getSubscriptionId()), "the subscription was not kept");
            client.disconnect();
            return counter.missing + " changes missing";
          }
        });
  }
}
