"""The workload with PyMongo: the same steps and answers as in workload.js and workload.mjs."""
import datetime
import re

import pymongo
from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from pymongo import monitoring


class GetMores(monitoring.CommandListener):
    """Counts getMore commands."""

    def __init__(self):
        self.count = 0

    def started(self, event):
        self.count += event.command_name == "getMore"

    def succeeded(self, event):
        pass

    def failed(self, event):
        pass


def run(uri, name):
    """Runs the workload in database `name`; gives what was observed."""
    get_mores = GetMores()
    with pymongo.MongoClient(uri, event_listeners=[get_mores]) as client:
        db, seen = client[name], {}
        kept = db.kept
        seen["inserted"] = kept.insert_one({"_id": 1, "kind": "a", "n": 1}).inserted_id
        kept.insert_many([{"_id": n, "kind": "a" if n % 2 else "b", "n": n} for n in (2, 3, 4, 5)])
        seen["found"] = [d["_id"] for d in kept.find({"n": {"$gt": 3}}).sort("_id", 1)]
        seen["modified"] = kept.update_one({"_id": 2}, {"$set": {"n": 20}}).modified_count
        seen["deleted"] = kept.delete_one({"_id": 3}).deleted_count
        seen["index"] = kept.create_index([("at", 1)], expireAfterSeconds=3600)
        seen["ttl"] = kept.index_information()[seen["index"]]["expireAfterSeconds"]
        groups = kept.aggregate([{"$group": {"_id": "$kind", "sum": {"$sum": "$n"}}}])
        seen["groups"] = {d["_id"]: d["sum"] for d in groups}
        kept.insert_one(types())

        db.many.insert_many([{"_id": i, "text": f"document {i}"} for i in range(10_000)])
        seen["streamed"] = sum(1 for _ in db.many.find(batch_size=500))
        assert get_mores.count >= 19, get_mores.count

        try:
            kept.insert_one({"_id": 1})
        except pymongo.errors.DuplicateKeyError as error:
            seen["duplicate"] = [error.code, "E11000 duplicate key error" in str(error)]

        db.dropped.insert_one({"_id": 1})
        db.dropped.drop()
        seen["drop"] = True
        seen["collections"] = sorted(db.list_collection_names())
        return seen


def types():
    """One document with a value of every type that all three clients can write."""
    return {
        "_id": "types", "double": 1.5, "string": "ä€𝄞", "document": {"b": 1, "a": [None, True]},
        "binary": Binary(b"\0\1\2\3"), "oid": ObjectId("0123456789abcdef01234567"),
        "date": datetime.datetime(2024, 2, 29, 12, 34, 56, 789000), "regex": re.compile("^a.b", re.I), "int": 7,
        "long": Int64(9007199254740993), "decimal": Decimal128("1.10"), "timestamp": Timestamp(5, 6),
        "min": MinKey(), "max": MaxKey(), "code": Code("x"),
    }
