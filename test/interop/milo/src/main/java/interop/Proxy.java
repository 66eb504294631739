package interop;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A TCP proxy in front of the server. It can cut connections, and it reads what no cipher hides: the type and size of a
 * chunk, and the token id of a MSG chunk (Part 6, 6.7.2).
 */
final class Proxy implements Closeable {
  private final String host;
  private final int port;
  private final ServerSocket listener;
  private final List<Connection> connections = new ArrayList<>();

  /** What was seen in each direction of one connection. */
  static final class Connection {
    final Socket client;
    final Socket server;
    final List<Integer> up = new ArrayList<>();
    final List<Integer> down = new ArrayList<>();

    Connection(Socket client, Socket server) {
      this.client = client;
      this.server = server;
    }

    synchronized List<Integer> tokens(boolean ofClient) {
      return List.copyOf(ofClient ? up : down);
    }

    private synchronized void note(List<Integer> tokens, int token) {
      if (tokens.isEmpty() || tokens.get(tokens.size() - 1) != token) {
        tokens.add(token);
      }
    }
  }

  Proxy(String host, int port) throws IOException {
    this.host = host;
    this.port = port;
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  String url() {
    return "opc.tcp://127.0.0.1:" + listener.getLocalPort();
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        Connection c;
        try {
          c = new Connection(client, new Socket(host, port));
        } catch (IOException e) {
          client.close();
          continue;
        }
        synchronized (connections) {
          connections.add(c);
        }
        start(() -> pump(c, c.client, c.server, c.up));
        start(() -> pump(c, c.server, c.client, c.down));
      }
    } catch (IOException e) {
      // The listener was closed.
    }
  }

  private static void pump(Connection c, Socket from, Socket to, List<Integer> tokens) {
    try (from; to) {
      DataInputStream in = new DataInputStream(from.getInputStream());
      OutputStream out = to.getOutputStream();
      byte[] header = new byte[16];
      while (true) {
        in.readFully(header);
        ByteBuffer view = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
        if (new String(header, 0, 3, StandardCharsets.US_ASCII).equals("MSG")) {
          c.note(tokens, view.getInt(12));
        }
        byte[] rest = new byte[view.getInt(4) - header.length];
        in.readFully(rest);
        out.write(header);
        out.write(rest);
        out.flush();
      }
    } catch (IOException e) {
      // One side is gone; the other is closed with it.
    }
  }

  Connection last() {
    synchronized (connections) {
      return connections.get(connections.size() - 1);
    }
  }

  int count() {
    synchronized (connections) {
      return connections.size();
    }
  }

  /** Resets every connection at once, without a word of the protocol. */
  void cut() throws IOException {
    synchronized (connections) {
      for (Connection c : connections) {
        for (Socket socket : List.of(c.client, c.server)) {
          if (!socket.isClosed()) {
            socket.setSoLinger(true, 0);
            socket.close();
          }
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    cut();
  }
}
