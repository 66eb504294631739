"""A TCP proxy in front of the server: it can cut connections, and reads what no cipher hides.

The first 12 bytes of a chunk (type, size, channel id) and, in MSG chunks, the token id that follows are never
encrypted (Part 6, 6.7.2), so the proxy can tell that a channel was renewed and that both sides moved to the new token.
"""

import asyncio
import struct


class Stream:
    """Splits one direction of a connection into chunk headers."""

    def __init__(self) -> None:
        self.pending = b""
        self.skip = 0
        self.opens = 0
        self.tokens: list[int] = []

    def feed(self, data: bytes) -> None:
        while data:
            if self.skip:
                step = min(self.skip, len(data))
                self.skip -= step
                data = data[step:]
                continue
            need = 16 - len(self.pending)
            self.pending += data[:need]
            data = data[need:]
            if len(self.pending) < 16:
                return
            kind, size, _, token = struct.unpack("<3sxIII", self.pending)
            if kind == b"OPN":
                self.opens += 1
            elif kind == b"MSG" and (not self.tokens or self.tokens[-1] != token):
                self.tokens.append(token)
            self.skip = max(0, size - 16)
            self.pending = b""


class Connection:
    def __init__(self) -> None:
        self.up = Stream()
        self.down = Stream()
        self.writers: list[asyncio.StreamWriter] = []


class Proxy:
    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.connections: list[Connection] = []
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"opc.tcp://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return
        conn = Connection()
        conn.writers = [writer, up_writer]
        self.connections.append(conn)
        await asyncio.gather(
            self._pump(reader, up_writer, conn.up),
            self._pump(up_reader, writer, conn.down),
        )

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: Stream) -> None:
        try:
            while data := await reader.read(65536):
                stream.feed(data)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def cut(self) -> None:
        """Resets every connection at once, without a word of the protocol."""
        for conn in self.connections:
            for writer in conn.writers:
                writer.transport.abort()
