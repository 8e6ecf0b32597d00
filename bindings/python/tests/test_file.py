import os
import subprocess
import sys
import threading

import pymongo
import pytest
from bson.codec_options import CodecOptions
from pymongo.errors import ConfigurationError, InvalidOperation, OperationFailure

import multiforadb


def test_reopen_finds_what_was_written(tmp_path):
    path = tmp_path / "x.mfdb"
    with multiforadb.open(path) as client:
        client.shop.orders.insert_many({"_id": i} for i in range(100))
        client.shop.gone.insert_one({})
        client.shop.gone.drop()
    assert os.listdir(tmp_path) == ["x.mfdb"]
    with multiforadb.open(path) as client:
        assert client.shop.orders.count_documents({}) == 100
        assert client.shop.list_collection_names() == ["orders"]
        assert os.listdir(tmp_path) == ["x.mfdb"]


def test_closed_client_refuses(tmp_path):
    client = multiforadb.open(tmp_path / "x.mfdb")
    client.close()
    client.close()
    with pytest.raises(InvalidOperation):
        client.test.command("ping")


def test_second_open_says_who_has_it(tmp_path):
    path = tmp_path / "x.mfdb"
    with multiforadb.open(path):
        code = f"import multiforadb; multiforadb.open({str(path)!r})"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert out.returncode != 0
        assert f"locked by pid {os.getpid()}" in out.stderr


@pytest.mark.parametrize(
    "prepare, words",
    [
        (lambda p: p.mkdir(), "directory"),
        (lambda p: p.write_bytes(os.urandom(64 * 1024)), "MultiforaDB"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path, prepare, words):
    path = tmp_path / "x.mfdb"
    prepare(path)
    with pytest.raises(OperationFailure) as caught:
        multiforadb.open(path)
    assert str(path) in str(caught.value) and words in str(caught.value)


def test_missing_file_without_create(tmp_path):
    with pytest.raises(OperationFailure) as caught:
        multiforadb.open(tmp_path / "none.mfdb", create=False)
    assert "none.mfdb" in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_read_only(tmp_path):
    path = tmp_path / "x.mfdb"
    with multiforadb.open(path) as client:
        client.t.c.insert_one({"_id": 1})
    with multiforadb.open(path, read_only=True) as client:
        assert client.t.c.find_one() == {"_id": 1}
        with pytest.raises(OperationFailure):
            client.t.c.insert_one({"_id": 2})


def test_reading_beside_a_writer(tmp_path):
    path = tmp_path / "x.mfdb"
    code = f"""
import multiforadb
with multiforadb.open({str(path)!r}, read_only=True) as client:
    for line in iter(input, ""):
        print(client.t.c.count_documents({{}}), flush=True)
"""
    with multiforadb.open(path) as client:
        reader = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for count in range(1, 20):
            client.t.c.insert_one({"_id": count})
            reader.stdin.write("look\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == f"{count}\n"
        reader.stdin.write("\n")
        reader.stdin.close()
        assert reader.wait(timeout=30) == 0


def test_options_reach_the_engine(tmp_path):
    def options(**given):
        with multiforadb.open(tmp_path / "x.mfdb", **given) as client:
            return client.admin.command("serverStatus")["multifora"]["options"]

    defaults = options()
    assert 0 < defaults.pop("cacheBytes") <= 1 << 30
    assert defaults == {"syncEveryMs": 0, "readOnly": False, "create": True, "compress": True, "ttlSweepSecs": 60}
    given = options(
        cache=8 << 20, durability="relaxed", sync_every_ms=20, compress=False, create=False, ttl_sweep_secs=0
    )
    assert given.pop("cacheBytes") == 8 << 20
    assert given == {"syncEveryMs": 20, "readOnly": False, "create": False, "compress": False, "ttlSweepSecs": 0}
    with pytest.raises(ConfigurationError):
        options(durability="relaxed", sync_every_ms=0)
    with pytest.raises(ValueError):
        options(durability="never")


def test_real_client_over_private_socket_and_tcp(tmp_path):
    with multiforadb.open(tmp_path / "x.mfdb") as client:
        client.t.c.insert_one({"_id": 1})
        assert client.client().t.c.find_one() == {"_id": 1}
        listener = client.serve()
        with pymongo.MongoClient(listener.uri) as remote:
            remote.t.c.insert_one({"_id": 2})
        assert client.t.c.count_documents({}) == 2
        listener.stop()
        listener.stop()


def test_threads_share_a_client_and_run_at_once(tmp_path):
    with multiforadb.open(tmp_path / "x.mfdb") as client:
        def work(n):
            for i in range(50):
                client.t.c.insert_one({"_id": n * 1000 + i})
                client.t.c.update_one({"_id": "sum"}, {"$inc": {"n": 1}}, upsert=True)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert client.t.c.count_documents({}) == 201
        assert client.t.c.find_one("sum")["n"] == 200


def test_interrupt_from_another_thread(tmp_path):
    with multiforadb.open(":memory:") as client:
        client.t.c.insert_many({"_id": i, "a": list(range(20))} for i in range(20000))
        with pytest.raises(OperationFailure) as caught:
            client.t.c.count_documents({"a": {"$regex": "x"}}, maxTimeMS=1)
        assert caught.value.code == 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_handle_is_refused_after_fork(tmp_path):
    with multiforadb.open(tmp_path / "x.mfdb") as client:
        pid = os.fork()
        if pid == 0:
            try:
                client.t.command("ping")
            except InvalidOperation:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert client.t.command("ping") == {"ok": 1.0}


def test_sessions():
    with multiforadb.open(":memory:") as client, client.start_session() as session:
        client.t.c.insert_one({"_id": 1}, session=session)
        assert client.t.c.find_one(session=session) == {"_id": 1}
        session.end_session()
        with pytest.raises(InvalidOperation):
            client.t.c.find_one(session=session)


def test_uuid_representation_reaches_replies():
    import uuid

    from bson.binary import UuidRepresentation

    options = CodecOptions(uuid_representation=UuidRepresentation.STANDARD)
    with multiforadb.open(":memory:", codec_options=options) as client:
        u = uuid.uuid4()
        client.t.c.insert_one({"_id": u})
        assert client.t.c.find_one(u) == {"_id": u}
        assert client.t.c.distinct("_id") == [u]


def test_backup_while_another_thread_writes(tmp_path):
    copy = tmp_path / "copy.mfdb"
    with multiforadb.open(tmp_path / "x.mfdb") as client:
        orders = client.shop.orders
        orders.insert_many({"_id": i, "text": "x" * 500} for i in range(5000))
        stop = threading.Event()

        def write():
            n = 5000
            while not stop.is_set():
                orders.insert_one({"_id": n})
                n += 1

        writer = threading.Thread(target=write)
        writer.start()
        seen = []
        try:
            client.backup(copy, progress=lambda done, total: seen.append((done, total)))
        finally:
            stop.set()
            writer.join()
        assert len(seen) > 2 and seen == sorted(seen) and seen[-1][0] == seen[-1][1] >= 10000
        with pytest.raises(OperationFailure, match="copy.mfdb"):
            client.backup(copy)
    with multiforadb.open(copy) as copied:
        ids = [d["_id"] for d in copied.shop.orders.find().sort("_id")]
        assert len(ids) >= 5000 and ids == list(range(len(ids)))


def test_what_stops_a_backup_leaves_no_file(tmp_path):
    copy = tmp_path / "copy.mfdb"
    with multiforadb.open(":memory:") as client:
        client.shop.orders.insert_many({"_id": i} for i in range(5000))

        def fail(done, total):
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            client.backup(copy, fail)
        with pytest.raises(OperationFailure) as caught:
            client.backup(copy, lambda done, total: client.interrupt())
        assert caught.value.code == 11601
        assert not copy.exists()
        client.backup(copy)
        assert copy.exists()
    with pytest.raises(InvalidOperation):
        client.backup(tmp_path / "late.mfdb")
