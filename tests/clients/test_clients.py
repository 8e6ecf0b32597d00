"""Unmodified clients over TCP, then every other door on the same file: the same documents, byte for byte."""
import json
import os
import subprocess
import time

import bson
import pymongo
import pytest
import workload
from bson import Int64
from bson.raw_bson import RawBSONDocument
from pymongo import monitoring
from retry_proxy import ReplyLosingProxy
from serving import BIN, ROOT, Server

HERE = ROOT / "tests" / "clients"
CLIENTS = ("mongosh", "pymongo", "node")
COLLECTIONS = ("kept", "many")
WANTED = {
    "inserted": 1, "found": [4, 5], "modified": 1, "deleted": 1, "index": "at_1", "ttl": 3600,
    "groups": {"a": 6, "b": 24}, "streamed": 10_000, "duplicate": [11000, True], "drop": True,
    "collections": ["kept", "many"],
}
MODES = {"plain": (), "replica-set": ("--replica-set", "rs0")}


@pytest.fixture(params=MODES)
def server(request, tmp_path):
    """A server on a new file, once plain and once as a one-member replica set."""
    with Server(tmp_path / "clients.mfdb", *MODES[request.param]) as server:
        server.path = tmp_path / "clients.mfdb"
        server.mode = request.param
        yield server
        assert server.stop() == 0 if server.process.poll() is None else True


def client_run(command, client_modules, uri, name, tmp_path):
    """Runs a client's own program; gives the JSON in its last line."""
    environment = dict(os.environ, MULTIFORA_CLIENTS=str(client_modules), WORKLOAD_URI=uri, WORKLOAD_DB=name,
                       HOME=str(tmp_path))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_workload(client, server, client_modules, tmp_path):
    name = f"from_{client}"
    if client == "pymongo":
        return workload.run(server.uri, name)
    mongosh = [client_modules / "node_modules" / ".bin" / "mongosh", server.uri, "--quiet", "--norc",
               "--file", HERE / "workload.js"]
    command = mongosh if client == "mongosh" else ["node", HERE / "workload.mjs"]
    return client_run(command, client_modules, server.uri, name, tmp_path)


def over_the_wire(uri):
    """Every kept document of every client's database, as bytes."""
    options = bson.CodecOptions(document_class=RawBSONDocument)
    with pymongo.MongoClient(uri) as client:
        return {(f"from_{name}", c): [d.raw for d in client[f"from_{name}"].get_collection(c, options).find().sort("_id", 1)]
                for name in CLIENTS for c in COLLECTIONS}


def in_process(path):
    """The same through the Python package, and the names of the collections."""
    import multiforadb
    options = bson.CodecOptions(document_class=RawBSONDocument)
    with multiforadb.open(path) as client:
        documents = {}
        for name in CLIENTS:
            db = client[f"from_{name}"]
            assert sorted(db.list_collection_names()) == sorted(COLLECTIONS), "a dropped collection came back"
            for c in COLLECTIONS:
                found = db.get_collection(c, codec_options=options).find().sort("_id", 1)
                documents[f"from_{name}", c] = [d.raw for d in found]
        return documents


def through_a_program(command, path):
    """The same through a program that prints hex."""
    documents = {}
    for name in CLIENTS:
        for c in COLLECTIONS:
            done = subprocess.run([*command, path, f"from_{name}", c], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            documents[f"from_{name}", c] = [bytes.fromhex(line) for line in done.stdout.split()]
    return documents


def test_every_client_then_every_door(server, client_modules, tmp_path):
    for client in CLIENTS:
        seen = run_workload(client, server, client_modules, tmp_path)
        assert seen == WANTED, client
    wire = over_the_wire(server.uri)
    assert all(len(wire[f"from_{c}", "kept"]) == 5 and len(wire[f"from_{c}", "many"]) == 10_000 for c in CLIENTS)
    types = bson.encode(workload.types())
    assert wire["from_pymongo", "kept"][-1] == types, "a document of every type has changed"
    assert server.stop() == 0
    assert [p.name for p in server.path.parent.glob("clients.mfdb*")] == ["clients.mfdb"], "one file, always"

    doors = {
        "python": in_process(server.path),
        "c": through_a_program([BIN / "c_dump"], server.path),
        "node": through_a_program(["node", HERE / "dump.mjs"], server.path),
    }
    for door, documents in doors.items():
        for place in wire:
            assert documents[place] == wire[place], f"{door} reads other bytes from {place}"


class Counts(monitoring.ServerHeartbeatListener, monitoring.ConnectionPoolListener):
    """Counts heartbeats and what happens to connections."""

    def __init__(self):
        self.heartbeats = self.failures = self.opened = self.ended = self.cleared = 0

    def succeeded(self, event):
        self.heartbeats += 1

    def failed(self, event):
        self.failures += 1

    def connection_created(self, event):
        self.opened += 1

    def connection_closed(self, event):
        self.ended += 1

    def pool_cleared(self, event):
        self.cleared += 1

    def started(self, event): pass
    def pool_created(self, event): pass
    def pool_ready(self, event): pass
    def pool_closed(self, event): pass
    def connection_ready(self, event): pass
    def connection_check_out_started(self, event): pass
    def connection_check_out_failed(self, event): pass
    def connection_checked_out(self, event): pass
    def connection_checked_in(self, event): pass


def test_idle_pymongo_survives_ten_heartbeats(server):
    counts = Counts()
    with pymongo.MongoClient(server.uri, heartbeatFrequencyMS=500, maxPoolSize=1, event_listeners=[counts]) as client:
        client.admin.command("ping")
        before = client.admin.command("serverStatus")["connections"]["totalCreated"]
        deadline = time.monotonic() + 30
        while counts.heartbeats < 11 and time.monotonic() < deadline:
            time.sleep(0.1)
        after = client.admin.command("serverStatus")["connections"]["totalCreated"]
        assert (counts.heartbeats >= 11, counts.failures, counts.opened, counts.ended, counts.cleared) == (
            True, 0, 1, 0, 0)
        # The driver measures the round trip on a connection of its own, opened once.
        assert after - before <= 1


def test_idle_node_driver_survives_ten_heartbeats(server, client_modules, tmp_path):
    seen = client_run(["node", HERE / "idle.mjs"], client_modules, server.uri, "admin", tmp_path)
    assert seen.pop("heartbeats") >= 11
    assert seen == {"failed": 0, "created": 1, "closed": 0, "cleared": 0}


def test_a_write_that_is_sent_twice_applies_once(server):
    with pymongo.MongoClient(server.uri) as client, client.start_session() as session:
        client.test.c.insert_one({"_id": 1, "n": 0})
        # The driver may hand the insert's session on to this one: a number it has not used.
        update = {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}], "txnNumber": Int64(1000)}
        first = client.test.command(update, session=session)
        again = client.test.command(update, session=session)
        assert (first["n"], again["n"]) == (1, 1)
        assert client.test.c.find_one() == {"_id": 1, "n": 1}


def test_a_driver_retries_a_write_whose_reply_was_lost(server):
    with pymongo.MongoClient(server.uri) as client:
        client.test.c.insert_one({"_id": 1, "n": 0})
    proxy = ReplyLosingProxy(server.address, b"\x02update\0")
    try:
        with pymongo.MongoClient("127.0.0.1", proxy.port, directConnection=True) as client:
            if server.mode == "plain":
                with pytest.raises(pymongo.errors.AutoReconnect):
                    client.test.c.update_one({"_id": 1}, {"$inc": {"n": 1}})
            else:
                client.test.c.update_one({"_id": 1}, {"$inc": {"n": 1}})
            assert proxy.lost == 1
            assert client.test.c.find_one() == {"_id": 1, "n": 1}
    finally:
        proxy.close()
