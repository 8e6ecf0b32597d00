"""kill -9 in the middle of writes, twenty times over on one file: every acknowledged insert is there afterwards."""
import random
import subprocess
import threading

import bson
import pytest
from serving import MULTIFORA, Server, WireSocket

CLIENTS = 8
ACKNOWLEDGED_AT_LEAST = 200
ROUNDS = 20


class Inserter(threading.Thread):
    """One client: inserts one document after the other until its connection breaks."""

    def __init__(self, address, round_, client, enough):
        super().__init__(daemon=True)
        self.address, self.round, self.client, self.enough = address, round_, client, enough
        self.acknowledged, self.failure = [], None

    def run(self):
        try:
            with WireSocket(self.address) as wire:
                for i in range(1_000_000):
                    key = f"{self.round}-{self.client}-{i}"
                    document = {"_id": key, "round": self.round, "padding": "x" * random.randrange(400)}
                    command = {"insert": "c", "documents": [document], "writeConcern": {"w": 1, "j": True}}
                    reply = bson.decode(wire.command("crash", bson.encode(command)))
                    if reply.get("ok") != 1 or reply.get("n") != 1:
                        self.failure = reply
                        return
                    self.acknowledged.append(key)
                    self.enough.release()
        except OSError:
            pass  # the server was killed: the insert that was under way is not acknowledged


def all_keys(address):
    """The _id of every document in the collection."""
    keys = set()
    with WireSocket(address) as wire:
        command, field = {"find": "c", "batchSize": 5000}, "firstBatch"
        while True:
            reply = bson.decode(wire.command("crash", bson.encode(command)))
            assert reply["ok"] == 1, reply
            keys.update(d["_id"] for d in reply["cursor"][field])
            if reply["cursor"]["id"] == 0:
                return keys
            command = {"getMore": bson.Int64(reply["cursor"]["id"]), "collection": "c"}
            field = "nextBatch"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One file for all rounds, and what was acknowledged on it so far."""
    return tmp_path_factory.mktemp("kill") / "kill.mfdb", []


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_acknowledged_inserts_survive_kill(place, round_):
    path, acknowledged = place
    enough = threading.Semaphore(0)
    with Server(path) as server:
        clients = [Inserter(server.address, round_, i, enough) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for _ in range(ACKNOWLEDGED_AT_LEAST):
            assert enough.acquire(timeout=60), [c.failure for c in clients]
        threading.Event().wait(random.uniform(0, 0.05))
        server.kill()
        for client in clients:
            client.join(60)
            assert client.failure is None
            acknowledged += client.acknowledged
    assert [p.name for p in path.parent.iterdir()] == [path.name], "one file, also after a crash"
    with Server(path) as server:
        missing = set(acknowledged) - all_keys(server.address)
        assert not missing, f"{len(missing)} of {len(acknowledged)} acknowledged inserts are lost"
        if round_ % 2:
            server.kill()
        else:
            assert server.stop() == 0
    check = subprocess.run([MULTIFORA, "check", path], capture_output=True, text=True, timeout=120)
    assert check.returncode == 0, check.stdout + check.stderr
