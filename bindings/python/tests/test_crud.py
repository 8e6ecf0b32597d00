import pytest
from bson.codec_options import CodecOptions
from bson.objectid import ObjectId
from bson.raw_bson import RawBSONDocument
from bson.son import SON
from pymongo import ASCENDING, DESCENDING, DeleteMany, InsertOne, ReplaceOne, ReturnDocument, UpdateOne
from pymongo.errors import (
    BulkWriteError,
    CursorNotFound,
    DuplicateKeyError,
    InvalidOperation,
    OperationFailure,
    WriteError,
)


def test_insert_one_gives_an_object_id_and_keeps_the_document(coll):
    document = {"a": 1}
    result = coll.insert_one(document)
    assert isinstance(result.inserted_id, ObjectId)
    assert result.acknowledged
    assert document["_id"] == result.inserted_id
    assert coll.find_one() == {"_id": result.inserted_id, "a": 1}


def test_insert_many_and_find_in_batches(coll):
    result = coll.insert_many({"_id": i, "k": i % 7} for i in range(1000))
    assert result.inserted_ids == list(range(1000))
    assert [d["_id"] for d in coll.find().batch_size(64).sort("_id", DESCENDING)] == list(range(999, -1, -1))
    assert [d["_id"] for d in coll.find({"k": 3}, {"_id": 1}, sort=[("_id", 1)], limit=3)] == [3, 10, 17]
    assert [d["_id"] for d in coll.find(sort=[("_id", ASCENDING)])[5:8]] == [5, 6, 7]
    assert coll.find().sort("_id", 1)[2]["_id"] == 2


def test_batch_size_equal_to_limit(coll):
    coll.insert_many({"_id": i} for i in range(20))
    assert len(coll.find().limit(5).batch_size(5).to_list()) == 5
    assert len(coll.find().limit(7).batch_size(3).to_list()) == 7


def test_duplicate_key_is_pymongos_exception(coll):
    coll.insert_one({"_id": 1})
    with pytest.raises(DuplicateKeyError) as caught:
        coll.insert_one({"_id": 1})
    assert caught.value.code == 11000
    assert caught.value.details["keyValue"] == {"_id": 1}
    assert "E11000 duplicate key error collection: test.c index: _id_ dup key: { _id: 1 }" in str(caught.value)


def test_bulk_errors_carry_index_and_operation(coll):
    with pytest.raises(BulkWriteError) as caught:
        coll.insert_many([{"_id": 1}, {"_id": 1}, {"_id": 2}])
    details = caught.value.details
    assert details["nInserted"] == 1
    assert [e["index"] for e in details["writeErrors"]] == [1]
    assert details["writeErrors"][0]["op"] == {"_id": 1}
    with pytest.raises(BulkWriteError) as caught:
        coll.insert_many([{"_id": 5}, {"_id": 5}, {"_id": 6}], ordered=False)
    assert caught.value.details["nInserted"] == 2
    assert coll.count_documents({}) == 3


def test_bulk_write_mixes_operations(coll):
    result = coll.bulk_write(
        [
            InsertOne({"_id": 1, "a": 1}),
            UpdateOne({"_id": 1}, {"$inc": {"a": 5}}),
            UpdateOne({"_id": 2}, {"$set": {"a": 9}}, upsert=True),
            ReplaceOne({"_id": 2}, {"b": 1}),
            DeleteMany({"a": 6}),
        ]
    )
    assert (result.inserted_count, result.matched_count, result.modified_count) == (1, 2, 2)
    assert (result.upserted_count, result.upserted_ids, result.deleted_count) == (1, {2: 2}, 1)
    assert list(coll.find()) == [{"_id": 2, "b": 1}]


def test_updates_report_what_pymongo_reports(coll):
    coll.insert_many([{"_id": i, "a": 1} for i in range(3)])
    result = coll.update_one({"a": 1}, {"$set": {"a": 2}})
    assert (result.matched_count, result.modified_count, result.upserted_id) == (1, 1, None)
    result = coll.update_many({}, {"$set": {"a": 2}})
    assert (result.matched_count, result.modified_count) == (3, 2)
    result = coll.update_one({"_id": 9}, {"$inc": {"n": 1}}, upsert=True)
    assert (result.matched_count, result.modified_count, result.upserted_id) == (0, 0, 9)
    result = coll.replace_one({"_id": 9}, {"x": 1})
    assert result.modified_count == 1
    assert coll.find_one(9) == {"_id": 9, "x": 1}
    assert coll.delete_one({"a": 2}).deleted_count == 1
    assert coll.delete_many({}).deleted_count == 3


def test_write_error_that_is_no_duplicate(coll):
    coll.insert_one({"_id": 1, "a": "text"})
    with pytest.raises(WriteError) as caught:
        coll.update_one({"_id": 1}, {"$inc": {"a": 1}})
    assert caught.value.code == 14
    with pytest.raises(ValueError):
        coll.update_one({}, {"a": 1})
    with pytest.raises(ValueError):
        coll.replace_one({}, {"$set": {"a": 1}})


def test_find_one_and_modify(coll):
    coll.insert_many([{"_id": i, "n": 0} for i in range(2)])
    assert coll.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}}) == {"_id": 1, "n": 0}
    after = coll.find_one_and_update(
        {"_id": 1}, {"$inc": {"n": 1}}, projection={"_id": 0}, return_document=ReturnDocument.AFTER
    )
    assert after == {"n": 2}
    assert coll.find_one_and_replace({"_id": 0}, {"m": 1}, return_document=True) == {"_id": 0, "m": 1}
    assert coll.find_one_and_delete({}, sort=[("_id", -1)]) == {"_id": 1, "n": 2}
    assert coll.find_one_and_delete({"_id": 77}) is None


def test_counts_distinct_and_aggregate(coll):
    coll.insert_many([{"_id": i, "k": i % 3, "tags": ["a", "b"]} for i in range(9)])
    assert coll.count_documents({"k": 1}) == 3
    assert coll.count_documents({}, skip=2, limit=4) == 4
    assert coll.estimated_document_count() == 9
    assert coll.distinct("tags") == ["a", "b"]
    groups = coll.aggregate([{"$group": {"_id": "$k", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}])
    assert list(groups) == [{"_id": k, "n": 3} for k in range(3)]
    assert len(list(coll.aggregate([{"$match": {}}], batchSize=2))) == 9


def test_indexes(coll):
    assert coll.create_index([("a", 1), ("b", -1)], unique=True) == "a_1_b_-1"
    coll.insert_one({"a": 1, "b": 1})
    with pytest.raises(DuplicateKeyError):
        coll.insert_one({"a": 1, "b": 1})
    assert coll.index_information()["a_1_b_-1"]["key"] == [("a", 1), ("b", -1)]
    assert coll.create_index("when", expireAfterSeconds=60) == "when_1"
    coll.drop_index("when_1")
    coll.drop_indexes()
    assert set(coll.index_information()) == {"_id_"}
    assert coll.database["nothing"].index_information() == {}


def test_names_of_collections_and_databases(client, db):
    db.create_collection("made")
    db["other"].insert_one({})
    assert sorted(db.list_collection_names()) == ["made", "other"]
    assert "test" in client.list_database_names()
    db.drop_collection("made")
    db["other"].drop()
    db["never"].drop()
    assert db.list_collection_names() == []
    db["again"].insert_one({})
    client.drop_database("test")
    assert "test" not in client.list_database_names()


def test_documents_as_the_codec_options_say(coll):
    coll.insert_one(SON([("_id", 1), ("z", SON([("y", 1), ("a", 2)]))]))
    as_son = coll.with_options(CodecOptions(document_class=SON)).find_one()
    assert isinstance(as_son, SON) and isinstance(as_son["z"], SON)
    raw = coll.with_options(CodecOptions(document_class=RawBSONDocument))
    document = raw.find_one()
    assert isinstance(document, RawBSONDocument)
    coll.delete_many({})
    raw.insert_one(document)
    assert raw.find_one().raw == document.raw
    assert b"".join(coll.find_raw_batches()) == document.raw
    assert b"".join(coll.aggregate_raw_batches([])) == document.raw


def test_cursor_life(client, coll):
    coll.insert_many({"_id": i} for i in range(300))
    cursor = coll.find().batch_size(10)
    assert next(cursor)["_id"] == 0
    with pytest.raises(InvalidOperation):
        cursor.limit(3)
    client["test"].command("killCursors", "c", cursors=[cursor.cursor_id])
    with pytest.raises(CursorNotFound):
        list(cursor)
    cursor = coll.find().batch_size(10)
    assert cursor.clone().to_list(3) == cursor.to_list(3)
    assert len(cursor.rewind().to_list()) == 300
    cursor.close()
    assert not cursor.alive


def test_command_errors(db):
    with pytest.raises(OperationFailure) as caught:
        db.command("noSuchCommand")
    assert caught.value.code == 59
    assert db.command("ping") == {"ok": 1.0}
    assert db.command("noSuchCommand", check=False)["codeName"] == "CommandNotFound"
    with pytest.raises(OperationFailure) as caught:
        list(db["c"].find({"a": {"$frobnicate": 1}}))
    assert caught.value.code == 2
