"""Input that no client should send and files that cannot be opened: one clear error each, and nothing is harmed."""
import os
import re
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
from pathlib import Path

import bson
import pytest
from serving import MULTIFORA, Server, WireSocket

OP_MSG = 2013


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server that has to survive everything in this file."""
    with Server(tmp_path_factory.mktemp("bad") / "bad.mfdb") as server:
        with WireSocket(server.address) as wire:
            wire.command("test", bson.encode({"insert": "c", "documents": [{"_id": 1}]}))
        yield server
        assert server.stop() == 0
        assert not [line for line in server.log if "panic" in line.lower()], server.log


def is_healthy(server):
    """A new client is served, reads what was there and writes."""
    assert server.process.poll() is None, server.log
    with WireSocket(server.address) as wire:
        found = bson.decode(wire.command("test", bson.encode({"find": "c", "filter": {"_id": 1}})))
        written = bson.decode(wire.command("test", bson.encode({"insert": "d", "documents": [{}]})))
        assert (found["cursor"]["firstBatch"], written["n"]) == ([{"_id": 1}], 1)


def send_raw(server, data):
    """Sends bytes and gives everything that comes back until the server closes or falls silent."""
    host, port = server.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(data)
        raw.shutdown(socket.SHUT_WR)
        answer = bytearray()
        try:
            while got := raw.recv(65536):
                answer += got
        except ConnectionResetError:
            pass
        return bytes(answer)


def header(length, opcode=OP_MSG):
    return struct.pack("<iiii", length, 1, 0, opcode)


BROKEN_MESSAGES = {
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros": bytes(64),
    "random": bytes((i * 167 + 200) % 256 for i in range(4096)),
    "length 2^31-1": header(2**31 - 1) + bytes(32),
    "negative length": header(-1) + bytes(32),
    "length 0": header(0),
    "length 15": header(15),
    "unknown opcode": header(20, 4242) + bytes(4),
    "no sections": header(20) + bytes(4),
    "unknown section": header(22) + bytes(4) + b"\x07\0",
    "section longer than the message": header(30) + bytes(4) + b"\x01" + struct.pack("<i", 2**31 - 1) + b"x\0xxx",
    "cut off in the header": header(100)[:7],
    "cut off in the body": header(100) + bytes(10),
}


@pytest.mark.parametrize("name", BROKEN_MESSAGES)
def test_a_broken_message_ends_its_connection_only(server, name):
    logged = len(server.log)
    send_raw(server, BROKEN_MESSAGES[name])
    is_healthy(server)
    if not name.startswith("cut off"):  # a client that goes away in the middle is nothing to report
        said = server.log[logged:]
        assert len(said) == 1, f"one line that says what was wrong, not {said}"


def nested(depth):
    """{a: {a: … }} as bytes, without recursion."""
    document = bson.encode({})
    for _ in range(depth):
        body = b"\x03a\0" + document
        document = struct.pack("<i", len(body) + 5) + body + b"\0"
    return document


def embed(name, value):
    """A find command whose field `filter` is these bytes, however broken."""
    head = bson.encode({"find": "c", "$db": "test"})[4:-1]
    body = head + b"\x03" + name.encode() + b"\0" + value
    return struct.pack("<i", len(body) + 5) + body + b"\0"


BROKEN_DOCUMENTS = {
    "truncated": (bson.encode({"find": "c", "$db": "test", "filter": {"a": 1}})[:-6], 22),
    "length of the inner document too long": (embed("filter", struct.pack("<i", 1000) + b"\0"), 22),
    "length of the inner document 2^31-1": (embed("filter", struct.pack("<i", 2**31 - 1) + b"\0"), 22),
    "negative length of the inner document": (embed("filter", struct.pack("<i", -5) + b"\0"), 22),
    "string without its end": (embed("filter", b"\x0e\0\0\0\x02a\0\xff\0\0\0x\0\0"), 22),
    "unknown type": (embed("filter", b"\x0b\0\0\0\x66a\0xxx\0"), 22),
    "nesting of 10,000": (embed("filter", nested(10_000)), 15),
}


@pytest.mark.parametrize("name", BROKEN_DOCUMENTS)
def test_a_broken_document_is_an_error_reply(server, name):
    document, code = BROKEN_DOCUMENTS[name]
    with WireSocket(server.address) as wire:
        reply = bson.decode(wire.exchange(document))
        assert (reply["ok"], reply["code"]) == (0, code), reply
        assert len(reply["errmsg"]) > 10
        # The connection is still good: the message was whole, only its document was not.
        assert bson.decode(wire.command("test", bson.encode({"ping": 1})))["ok"] == 1
    is_healthy(server)


def refused(path, *says, user=None, command=("serve", "--port", "0"), binary=MULTIFORA):
    """The command must fail with one line that names the path and says why."""
    verb, *options = command
    done = subprocess.run([binary, verb, path, *options], capture_output=True, text=True, timeout=60, user=user)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode not in (0, 101) and done.returncode > 0, (done.returncode, done.stderr)
    assert len(lines) == 1, done.stderr
    assert str(path) in lines[0], lines
    assert any(re.search(word, lines[0], re.I) for word in says), lines
    return lines[0]


def test_a_path_that_is_a_directory(tmp_path):
    refused(tmp_path, "directory")


def test_a_folder_that_does_not_exist(tmp_path):
    refused(tmp_path / "nowhere" / "x.mfdb", "no such file", "does not exist", "not found")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("size", [1, 100, 4096, 1 << 20])
def test_a_file_of_random_bytes(tmp_path, size):
    path = tmp_path / "random.bin"
    content = bytes((i * i * 31 + i * 7 + 5) % 251 for i in range(size))
    path.write_bytes(content)
    refused(path, "not a multifora", "not a database")
    refused(path, "not a multifora", "not a database", command=("check",))
    assert path.read_bytes() == content, "a foreign file must not be touched"


def test_a_file_cut_short_loses_nothing_silently(tmp_path):
    """Half of a file: either refused with its name, or opened with what is undamaged and nothing else."""
    path = tmp_path / "cut.mfdb"
    with Server(path) as server:
        with WireSocket(server.address) as wire:
            for i in range(50):
                wire.command("test", bson.encode({"insert": "c", "documents": [{"_id": i, "x": "y" * 5000}]}))
        assert server.stop() == 0
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    done = subprocess.run([MULTIFORA, "check", path], capture_output=True, text=True, timeout=60)
    assert done.returncode not in (0, 101) and done.returncode > 0, done.stdout + done.stderr
    assert "cut.mfdb" in done.stderr + done.stdout


def test_a_read_only_folder():
    folder = Path(tempfile.mkdtemp(prefix="multifora-ro-"))
    try:
        folder.chmod(0o755)
        binary = shutil.copy(MULTIFORA, folder / "multifora")
        (folder / "data").mkdir(mode=0o555)
        user = "nobody" if os.geteuid() == 0 else None  # permissions do not stop root
        refused(folder / "data" / "x.mfdb", "permission denied", "read-only", user=user, binary=binary)
        assert list((folder / "data").iterdir()) == []
        assert stat.S_IMODE((folder / "data").stat().st_mode) == 0o555
    finally:
        (folder / "data").chmod(0o755)
        shutil.rmtree(folder)


def test_a_file_that_is_open_elsewhere(server):
    path = Path(server.process.args[2])
    line = refused(path, "locked")
    assert str(server.process.pid) in line, line
    is_healthy(server)


def test_sigterm_ends_with_status_0_and_leaves_nothing_to_replay(tmp_path):
    path = tmp_path / "term.mfdb"
    with Server(path) as server:
        with WireSocket(server.address) as wire:
            for i in range(100):
                wire.command("test", bson.encode({"insert": "c", "documents": [{"_id": i}]}))
            assert server.stop() == 0
    assert [p.name for p in tmp_path.iterdir()] == ["term.mfdb"]
    with Server(path) as server, WireSocket(server.address) as wire:
        status = bson.decode(wire.command("admin", bson.encode({"serverStatus": 1})))
        assert status["multifora"]["replayedCommits"] == 0
        assert bson.decode(wire.command("test", bson.encode({"count": "c"})))["n"] == 100
        assert server.stop() == 0
