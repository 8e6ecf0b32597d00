"""Starts and stops the real `multifora serve`, for every test that needs a process on a socket."""
import os
import re
import signal
import socket
import struct
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("MULTIFORA_BUILD", ROOT / "target" / "debug"))
BIN = Path(os.environ.get("MULTIFORA_BIN", ROOT / "build" / "bin"))
MULTIFORA = BUILD / "multifora"
START_SECS = 60
STOP_SECS = 60
OP_MSG = 2013

_ADDRESS = re.compile(r"(\d+\.\d+\.\d+\.\d+):(\d+)")


class Server:
    """A running `multifora serve FILE` on a free port of the loopback address."""

    def __init__(self, path, *options, port=0):
        command = [MULTIFORA, "serve", path, "--port", str(port), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.output, self.log = [], []
        self.started = threading.Event()
        self.host = self.port = None
        self.readers = [threading.Thread(target=self._read, args=a, daemon=True)
                        for a in ((self.process.stdout, self.output), (self.process.stderr, self.log))]
        for reader in self.readers:
            reader.start()
        if not self.started.wait(START_SECS) or self.port is None:
            self.process.kill()
            raise RuntimeError(f"multifora serve did not tell its address: {self.output} {self.log}")

    def _read(self, stream, lines):
        """Keeps what the process says, and finds the address in it."""
        for line in stream:
            lines.append(line.rstrip("\n"))
            found = _ADDRESS.search(line)
            if found and self.port is None:
                self.host, self.port = found[1], int(found[2])
                self.started.set()
        self.started.set()

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    @property
    def uri(self):
        return f"mongodb://{self.address}"

    def stop(self):
        """SIGTERM; gives the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def kill(self):
        """kill -9."""
        self.process.kill()
        return self._ended()

    def _ended(self):
        status = self.process.wait(STOP_SECS)
        for reader in self.readers:
            reader.join(STOP_SECS)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


class WireSocket:
    """One socket that speaks OP_MSG, with the bytes in the test's own hands."""

    def __init__(self, address, timeout_secs=60):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=timeout_secs)
        self.request = 0

    def command(self, db, body):
        """Runs one command; BSON in, BSON out."""
        name = b"\x02$db\0" + struct.pack("<i", len(db.encode()) + 1) + db.encode() + b"\0"
        body = body[:-1] + name + b"\0"
        return self.exchange(struct.pack("<i", len(body)) + body[4:])

    def exchange(self, body):
        """Sends one OP_MSG with this body, whatever it is, and gives the reply's body."""
        self.request += 1
        self.socket.sendall(struct.pack("<iiiiIB", 21 + len(body), self.request, 0, OP_MSG, 0, 0) + body)
        length, _, answers, opcode = struct.unpack("<iiii", self.receive(16))
        reply = self.receive(length - 16)
        if (answers, opcode) != (self.request, OP_MSG):
            raise RuntimeError(f"reply to {answers} with opcode {opcode}, wanted {self.request}")
        return reply[5:]

    def receive(self, n):
        """Exactly n bytes; ConnectionError when the other side closes."""
        parts = bytearray()
        while len(parts) < n:
            got = self.socket.recv(n - len(parts))
            if not got:
                raise ConnectionError("the server closed the connection")
            parts += got
        return bytes(parts)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
