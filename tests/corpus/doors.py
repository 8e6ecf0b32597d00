"""The doors a command can take: the wire, C, Python, Node, Rust. Each takes BSON and gives BSON.

A door knows how to open and close itself and how to run one command; sessions are the same for all of them: the
`lsid` is a field of the command.
"""
import base64
import ctypes
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from extended_json import INT, decode, encode

sys.path.append(str(Path(__file__).resolve().parent.parent))
from serving import BUILD, Server, WireSocket  # noqa: E402


class Door:
    """Sessions and Extended JSON above `run`, which the doors implement."""

    def __init__(self):
        self.sessions = {}

    def begin(self):
        """Forgets the sessions of the case before."""
        if self.sessions:
            self.run("admin", encode({"endSessions": list(self.sessions.values())}))
        self.sessions = {}

    def command(self, db, command, session):
        """Runs one command (canonical Extended JSON) and gives its reply."""
        if session not in self.sessions:
            raw = base64.b64encode(uuid.uuid4().bytes).decode()
            self.sessions[session] = {"id": {"$binary": {"base64": raw, "subType": "04"}}}
        return decode(self.run(db, encode({**command, "lsid": self.sessions[session]})))

    def run(self, db, body):
        """Runs one command; BSON in, BSON out."""
        raise NotImplementedError

    def close(self):
        """Releases what the door holds."""


class WireDoor(Door):
    """A socket to `multifora serve`, which this door starts on a new file unless it is given an address."""

    def __init__(self, address=None):
        super().__init__()
        self.server = None
        if address is None:
            self.folder = tempfile.TemporaryDirectory()
            self.server = Server(Path(self.folder.name) / "corpus.mfdb", "--replica-set", "corpus")
            address = self.server.address
        self.socket = WireSocket(address)

    def run(self, db, body):
        return self.socket.command(db, body)

    def close(self):
        self.socket.close()
        if self.server:
            status = self.server.stop()
            self.folder.cleanup()
            if status != 0:
                raise RuntimeError(f"multifora serve ended with status {status}")


class _Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_uint8)), ("len", ctypes.c_size_t)]


class CDoor(Door):
    """libmultifora through ctypes."""

    def __init__(self):
        super().__init__()
        self.library = ctypes.CDLL(str(BUILD / "libmultifora.so"))
        self.database = ctypes.c_void_p()
        status = self.library.mf_open(b":memory:", None, ctypes.byref(self.database), None)
        if status != 0:
            raise RuntimeError(f"mf_open: status {status}")

    def run(self, db, body):
        reply = _Bytes()
        self.library.mf_command(self.database, None, db.encode(), body, ctypes.c_size_t(len(body)),
                                ctypes.byref(reply), None)
        raw = ctypes.string_at(reply.data, reply.len)
        self.library.mf_bytes_free(ctypes.byref(reply))
        return raw

    def close(self):
        self.library.mf_close(self.database, None)


class PythonDoor(Door):
    """The native part of the Python package."""

    def __init__(self):
        super().__init__()
        from multiforadb import _native
        self.engine = _native.Engine.open(":memory:")

    def run(self, db, body):
        return self.engine.command(db, body)

    def close(self):
        self.engine.close()


class PipeDoor(Door):
    """A child process that reads "db<TAB>hex" lines and answers each with a line of hex."""

    def __init__(self, command):
        super().__init__()
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, db, body):
        self.child.stdin.write(f"{db}\t{body.hex()}\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"the child process has ended with status {self.child.wait()}")
        return bytes.fromhex(line)

    def close(self):
        self.child.stdin.close()
        if self.child.wait(30) != 0:
            raise RuntimeError(f"the child process ended with status {self.child.returncode}")


class NodeDoor(PipeDoor):
    """The Node addon in a child process."""

    def __init__(self):
        super().__init__(["node", Path(__file__).with_name("node_pipe.mjs")])


class RustDoor(PipeDoor):
    """The Rust API in a child process (an example of the crate)."""

    def __init__(self):
        super().__init__([BUILD / "examples" / "command_pipe"])


DOORS = {"rust": RustDoor, "c": CDoor, "python": PythonDoor, "node": NodeDoor, "wire": WireDoor}


def open_door(name, address=None):
    """A fresh door; its first command is a ping."""
    door = WireDoor(address) if name == "wire" else DOORS[name]()
    reply = door.command("admin", {"ping": {INT: "1"}}, "default")
    if reply.get("ok") is None:
        print(f"{name}: unexpected reply to ping: {reply}", file=sys.stderr)
    return door
