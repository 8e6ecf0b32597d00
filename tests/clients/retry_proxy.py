"""A proxy that loses one reply: the command reaches the server and is applied, its client sees a broken connection."""
import socket
import struct
import threading


def _receive(sock, n):
    parts = bytearray()
    while len(parts) < n:
        got = sock.recv(n - len(parts))
        if not got:
            raise ConnectionError("closed")
        parts += got
    return bytes(parts)


def _message(sock):
    head = _receive(sock, 4)
    return head + _receive(sock, struct.unpack("<i", head)[0] - 4)


class ReplyLosingProxy:
    """Forwards whole messages; the reply to the first one that contains `needle` is dropped with its connection."""

    def __init__(self, address, needle):
        host, port = address.rsplit(":", 1)
        self.server, self.needle, self.lost = (host, int(port)), needle, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client):
        try:
            with client, socket.create_connection(self.server) as server:
                replies = threading.Thread(target=self._replies, args=(server, client), daemon=True)
                lose = threading.Event()
                self.__dict__.setdefault("losing", {})[id(client)] = lose
                replies.start()
                while True:
                    message = _message(client)
                    if self.needle in message and not self.lost:
                        self.lost += 1
                        lose.set()
                    server.sendall(message)
        except (ConnectionError, OSError):
            pass

    def _replies(self, server, client):
        try:
            while True:
                reply = _message(server)
                if self.losing[id(client)].is_set():
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(reply)
        except (ConnectionError, OSError):
            pass

    def close(self):
        """Accepts no further connection."""
        self.listener.close()
