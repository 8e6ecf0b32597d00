"""Bulk writes: runs of operations of one kind become one command each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import bson
from bson.raw_bson import RawBSONDocument
from pymongo.errors import BulkWriteError, InvalidOperation
from pymongo.operations import DeleteMany, DeleteOne, InsertOne, ReplaceOne, UpdateMany, UpdateOne
from pymongo.results import BulkWriteResult

from multiforadb.client import _with

if TYPE_CHECKING:
    from multiforadb.collection import Collection
    from multiforadb.session import ClientSession

# What one command may carry (hello says the same).
MAX_BATCH_OPERATIONS = 100_000
MAX_BATCH_BYTES = 48_000_000

Statement = tuple[str, Any]


def _insert(op: InsertOne[Any]) -> Statement:
    from multiforadb.collection import _check_document, _give_id

    _check_document("document", op._doc)
    _give_id(op._doc)
    return "insert", op._doc


def _update(multi: bool) -> Callable[[Any], Statement]:
    def statement(op: Any) -> Statement:
        from multiforadb.collection import check_update, update_statement

        check_update(op._doc)
        sort = getattr(op, "_sort", None)
        return "update", update_statement(
            op._filter, op._doc, multi, op._upsert, op._collation, op._array_filters, op._hint, sort
        )

    return statement


def _replace(op: ReplaceOne[Any]) -> Statement:
    from multiforadb.collection import check_replacement, update_statement

    check_replacement(op._doc)
    sort = getattr(op, "_sort", None)
    return "update", update_statement(op._filter, op._doc, False, op._upsert, op._collation, None, op._hint, sort)


def _delete(limit: int) -> Callable[[Any], Statement]:
    def statement(op: Any) -> Statement:
        from multiforadb.collection import delete_statement

        return "delete", delete_statement(op._filter, limit, op._collation, op._hint)

    return statement


_STATEMENTS: dict[type, Callable[[Any], Statement]] = {
    InsertOne: _insert,
    UpdateOne: _update(False),
    UpdateMany: _update(True),
    ReplaceOne: _replace,
    DeleteOne: _delete(1),
    DeleteMany: _delete(0),
}
_ARRAY = {"insert": "documents", "update": "updates", "delete": "deletes"}


def run_bulk(
    collection: Collection,
    requests: Sequence[Any],
    ordered: bool,
    bypass: bool | None,
    session: ClientSession | None,
    comment: Any,
    let: Mapping[str, Any] | None,
) -> BulkWriteResult:
    """Run the operations; raises BulkWriteError when any of them failed."""
    if not isinstance(requests, (list, tuple)):
        raise TypeError(f"requests must be a list, not {type(requests)}")
    if not requests:
        raise InvalidOperation("No operations to execute")
    statements = []
    for request in requests:
        make = _STATEMENTS.get(type(request))
        if make is None:
            raise TypeError(f"{request!r} is not a valid request")
        statements.append(make(request))
    result: dict[str, Any] = {
        "writeErrors": [], "writeConcernErrors": [],
        "nInserted": 0, "nUpserted": 0, "nMatched": 0, "nModified": 0, "nRemoved": 0, "upserted": [],
    }
    for kind, indexes, encoded in _batches(collection, statements, ordered):
        command = _with(
            {kind: collection.name, "ordered": ordered},
            bypassDocumentValidation=bypass if kind != "delete" else None,
            comment=comment,
            let=let if kind != "insert" else None,
        )
        reply = collection._run(command, session, sequences=[(_ARRAY[kind], encoded)])
        _merge(result, kind, reply, indexes, statements)
        if ordered and result["writeErrors"]:
            break
    if result["writeErrors"] or result["writeConcernErrors"]:
        result["writeErrors"].sort(key=lambda error: error["index"])
        raise BulkWriteError(result)
    return BulkWriteResult(result, True)


def _batches(
    collection: Collection, statements: list[Statement], ordered: bool
) -> Iterator[tuple[str, list[int], list[bytes]]]:
    """(kind, positions in the request, encoded statements) for each command to send."""
    order = range(len(statements))
    if not ordered:
        # Operations of one kind travel together; within a kind they keep their order.
        order = sorted(order, key=lambda i: list(_ARRAY).index(statements[i][0]))  # type: ignore[assignment]
    kind, indexes, encoded, size = "", [], [], 0  # type: ignore[var-annotated]
    for i in order:
        one = bson.encode(statements[i][1], codec_options=collection.codec_options)
        full = size + len(one) > MAX_BATCH_BYTES or len(encoded) >= MAX_BATCH_OPERATIONS
        if encoded and (statements[i][0] != kind or full):
            yield kind, indexes, encoded
            indexes, encoded, size = [], [], 0
        kind = statements[i][0]
        indexes.append(i)
        encoded.append(one)
        size += len(one)
    if encoded:
        yield kind, indexes, encoded


def _merge(
    result: dict[str, Any], kind: str, reply: Mapping[str, Any], indexes: list[int], statements: list[Statement]
) -> None:
    n = reply.get("n", 0)
    if kind == "insert":
        result["nInserted"] += n
    elif kind == "delete":
        result["nRemoved"] += n
    else:
        upserted = reply.get("upserted", [])
        result["nUpserted"] += len(upserted)
        result["nMatched"] += n - len(upserted)
        result["nModified"] += reply.get("nModified", 0)
        result["upserted"] += [{**u, "index": indexes[u["index"]]} for u in upserted]
    for error in reply.get("writeErrors", []):
        index = indexes[error["index"]]
        statement = statements[index][1]
        op = statement if not isinstance(statement, RawBSONDocument) else dict(statement)
        result["writeErrors"].append({**error, "index": index, "op": op})
    if reply.get("writeConcernError"):
        result["writeConcernErrors"].append(reply["writeConcernError"])
