"""A collection: the documents, and what can be done with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import bson
from bson.codec_options import CodecOptions
from bson.objectid import ObjectId
from bson.raw_bson import RawBSONDocument
from pymongo.errors import InvalidName, OperationFailure
from pymongo.operations import IndexModel
from pymongo.results import BulkWriteResult, DeleteResult, InsertManyResult, InsertOneResult, UpdateResult

from multiforadb import _errors
from multiforadb.client import _with
from multiforadb.cursor import (
    CommandCursor,
    Cursor,
    RawBatchCommandCursor,
    RawBatchCursor,
    collation_document,
    sort_document,
)

if TYPE_CHECKING:
    from multiforadb.database import Database
    from multiforadb.session import ClientSession

_NAMESPACE_NOT_FOUND = 26


class Collection:
    """A collection, shaped like ``pymongo.collection.Collection``. Thread-safe."""

    def __init__(self, database: Database, name: str, codec_options: CodecOptions[Any] | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be an instance of str, not {type(name)}")
        if not name or ".." in name:
            raise InvalidName("collection names cannot be empty")
        if "$" in name and not name.startswith("$cmd"):
            raise InvalidName(f"collection names must not contain '$': {name!r}")
        if name.startswith(".") or name.endswith("."):
            raise InvalidName(f"collection names must not start or end with '.': {name!r}")
        if "\x00" in name:
            raise InvalidName("collection names must not contain the null character")
        self._database = database
        self._name = name
        self._codec_options = codec_options or database.codec_options

    # -- names

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._name

    @property
    def full_name(self) -> str:
        """``database.collection``."""
        return f"{self._database.name}.{self._name}"

    @property
    def database(self) -> Database:
        """The database it is in."""
        return self._database

    @property
    def codec_options(self) -> CodecOptions[Any]:
        """How documents become Python objects."""
        return self._codec_options

    def with_options(self, codec_options: CodecOptions[Any] | None = None) -> Collection:
        """The same collection with other codec options."""
        return Collection(self._database, self._name, codec_options or self._codec_options)

    def __getattr__(self, name: str) -> Collection:
        if name.startswith("_"):
            raise AttributeError(
                f"Collection has no attribute {name!r}. To access the {self._name}.{name} collection, "
                f"use database['{self._name}.{name}']."
            )
        return self[name]

    def __getitem__(self, name: str) -> Collection:
        return Collection(self._database, f"{self._name}.{name}", self._codec_options)

    def _run(
        self, command: dict[str, Any], session: ClientSession | None = None, **options: Any
    ) -> dict[str, Any]:
        options.setdefault("codec_options", self._codec_options)
        return self._database.client._run(self._database.name, command, session=session, **options)

    # -- insert

    def insert_one(
        self,
        document: MutableMapping[str, Any] | RawBSONDocument,
        bypass_document_validation: bool | None = None,
        session: ClientSession | None = None,
        comment: Any = None,
    ) -> InsertOneResult:
        """Insert a document; it gets an ``_id`` when it has none."""
        _check_document("document", document)
        _give_id(document)
        command = _with(
            {"insert": self._name, "ordered": True},
            bypassDocumentValidation=bypass_document_validation,
            comment=comment,
        )
        encoded = bson.encode(document, codec_options=self._codec_options)
        reply = self._run(command, session, sequences=[("documents", [encoded])])
        _errors.raise_write_error(reply)
        inserted = document.get("_id") if not isinstance(document, RawBSONDocument) else None
        return InsertOneResult(inserted, True)

    def insert_many(
        self,
        documents: Iterable[MutableMapping[str, Any] | RawBSONDocument],
        ordered: bool = True,
        bypass_document_validation: bool | None = None,
        session: ClientSession | None = None,
        comment: Any = None,
    ) -> InsertManyResult:
        """Insert documents; raises BulkWriteError when some could not be."""
        from pymongo.operations import InsertOne

        if isinstance(documents, (str, bytes, Mapping)) or not isinstance(documents, Iterable):
            raise TypeError("documents must be a non-empty list")
        operations = []
        ids = []
        for document in documents:
            _check_document("document", document)
            _give_id(document)
            ids.append(None if isinstance(document, RawBSONDocument) else document["_id"])
            operations.append(InsertOne(document))
        if not operations:
            raise TypeError("documents must be a non-empty list")
        self.bulk_write(operations, ordered, bypass_document_validation, session, comment)
        return InsertManyResult(ids, True)

    def bulk_write(
        self,
        requests: Sequence[Any],
        ordered: bool = True,
        bypass_document_validation: bool | None = None,
        session: ClientSession | None = None,
        comment: Any = None,
        let: Mapping[str, Any] | None = None,
    ) -> BulkWriteResult:
        """Run ``pymongo.InsertOne``, ``UpdateOne``, … in few commands."""
        from multiforadb.bulk import run_bulk

        return run_bulk(self, requests, ordered, bypass_document_validation, session, comment, let)

    # -- update and delete

    def _update(
        self,
        statement: dict[str, Any],
        bypass: bool | None,
        session: ClientSession | None,
        let: Any,
        comment: Any,
    ) -> UpdateResult:
        command = _with(
            {"update": self._name, "ordered": True, "updates": [statement]},
            bypassDocumentValidation=bypass,
            let=let,
            comment=comment,
        )
        reply = self._run(command, session)
        _errors.raise_write_error(reply)
        upserted = reply.get("upserted")
        # PyMongo's UpdateResult reads a single upserted id, and counts an upsert as no match.
        result = {"n": reply["n"], "nModified": reply.get("nModified", 0), "updatedExisting": not upserted and reply["n"] > 0}
        if upserted:
            result["upserted"] = upserted[0]["_id"]
        return UpdateResult(result, True)

    def update_one(
        self,
        filter: Mapping[str, Any],
        update: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        upsert: bool = False,
        bypass_document_validation: bool | None = None,
        collation: Any = None,
        array_filters: Sequence[Mapping[str, Any]] | None = None,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        sort: Any = None,
        comment: Any = None,
    ) -> UpdateResult:
        """Update the first document that matches."""
        check_update(update)
        statement = update_statement(filter, update, False, upsert, collation, array_filters, hint, sort)
        return self._update(statement, bypass_document_validation, session, let, comment)

    def update_many(
        self,
        filter: Mapping[str, Any],
        update: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        upsert: bool = False,
        array_filters: Sequence[Mapping[str, Any]] | None = None,
        bypass_document_validation: bool | None = None,
        collation: Any = None,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        comment: Any = None,
    ) -> UpdateResult:
        """Update all documents that match."""
        check_update(update)
        statement = update_statement(filter, update, True, upsert, collation, array_filters, hint)
        return self._update(statement, bypass_document_validation, session, let, comment)

    def replace_one(
        self,
        filter: Mapping[str, Any],
        replacement: Mapping[str, Any],
        upsert: bool = False,
        bypass_document_validation: bool | None = None,
        collation: Any = None,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        sort: Any = None,
        comment: Any = None,
    ) -> UpdateResult:
        """Replace the first document that matches."""
        check_replacement(replacement)
        statement = update_statement(filter, replacement, False, upsert, collation, None, hint, sort)
        return self._update(statement, bypass_document_validation, session, let, comment)

    def _delete(
        self,
        filter: Mapping[str, Any],
        limit: int,
        collation: Any,
        hint: Any,
        session: ClientSession | None,
        let: Any,
        comment: Any,
    ) -> DeleteResult:
        command = _with(
            {
                "delete": self._name,
                "ordered": True,
                "deletes": [delete_statement(filter, limit, collation, hint)],
            },
            let=let,
            comment=comment,
        )
        reply = self._run(command, session)
        _errors.raise_write_error(reply)
        return DeleteResult(reply, True)

    def delete_one(
        self,
        filter: Mapping[str, Any],
        collation: Any = None,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        comment: Any = None,
    ) -> DeleteResult:
        """Delete the first document that matches."""
        return self._delete(filter, 1, collation, hint, session, let, comment)

    def delete_many(
        self,
        filter: Mapping[str, Any],
        collation: Any = None,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        comment: Any = None,
    ) -> DeleteResult:
        """Delete all documents that match."""
        return self._delete(filter, 0, collation, hint, session, let, comment)

    # -- find

    def find(self, *args: Any, **kwargs: Any) -> Cursor:
        """Query; the arguments are those of :class:`Cursor`."""
        return Cursor(self, *args, **kwargs)

    def find_raw_batches(self, *args: Any, **kwargs: Any) -> RawBatchCursor:
        """Query; each batch comes as the bytes of its documents."""
        return RawBatchCursor(self, *args, **kwargs)

    def find_one(self, filter: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The first document that matches, or None."""
        if filter is not None and not isinstance(filter, Mapping):
            filter = {"_id": filter}
        for document in Cursor(self, filter, *args, **kwargs).limit(-1):
            return document
        return None

    def _find_and_modify(
        self,
        filter: Mapping[str, Any],
        projection: Any,
        sort: Any,
        hint: Any,
        session: ClientSession | None,
        let: Any,
        kwargs: dict[str, Any],
        **change: Any,
    ) -> Any:
        from multiforadb.cursor import _projection

        if not isinstance(filter, Mapping):
            raise TypeError(f"filter must be a mapping, not {type(filter)}")
        kwargs = dict(kwargs)
        collation = collation_document(kwargs.pop("collation", None))
        command = _with(
            {"findAndModify": self._name, "query": filter},
            fields=_projection(projection),
            sort=sort_document(sort),
            hint=hint_value(hint),
            let=let,
            collation=collation,
            **change,
            **kwargs,
        )
        reply = self._database.client._run_raw(self._database.name, command, self._codec_options, session)
        raw = bson.decode(reply, CodecOptions(document_class=RawBSONDocument))
        _errors.check_reply(raw)
        value = raw.get("value")
        return None if value is None else bson.decode(value.raw, self._codec_options)

    def find_one_and_delete(
        self,
        filter: Mapping[str, Any],
        projection: Any = None,
        sort: Any = None,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Delete the first document that matches and give it back."""
        return self._find_and_modify(
            filter, projection, sort, hint, session, let, kwargs, remove=True, comment=comment
        )

    def find_one_and_replace(
        self,
        filter: Mapping[str, Any],
        replacement: Mapping[str, Any],
        projection: Any = None,
        sort: Any = None,
        upsert: bool = False,
        return_document: bool = False,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Replace the first document that matches; gives the old one, or the new one."""
        check_replacement(replacement)
        return self._find_and_modify(
            filter, projection, sort, hint, session, let, kwargs,
            update=replacement, new=bool(return_document), upsert=upsert or None, comment=comment,
        )

    def find_one_and_update(
        self,
        filter: Mapping[str, Any],
        update: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        projection: Any = None,
        sort: Any = None,
        upsert: bool = False,
        return_document: bool = False,
        array_filters: Sequence[Mapping[str, Any]] | None = None,
        hint: Any = None,
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Update the first document that matches; gives the old one, or the new one."""
        check_update(update)
        return self._find_and_modify(
            filter, projection, sort, hint, session, let, kwargs,
            update=update, new=bool(return_document), upsert=upsert or None,
            arrayFilters=array_filters, comment=comment,
        )

    # -- counting, distinct, aggregate

    def count_documents(
        self,
        filter: Mapping[str, Any],
        session: ClientSession | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> int:
        """How many documents match (``skip``, ``limit``, ``hint``, ``collation``, ``maxTimeMS``)."""
        pipeline: list[dict[str, Any]] = [{"$match": filter}]
        for stage in ("skip", "limit"):
            if stage in kwargs:
                pipeline.append({f"${stage}": kwargs.pop(stage)})
        pipeline.append({"$group": {"_id": 1, "n": {"$sum": 1}}})
        if "hint" in kwargs:
            kwargs["hint"] = hint_value(kwargs["hint"])
        kwargs["collation"] = collation_document(kwargs.get("collation"))
        command = _with({"aggregate": self._name, "pipeline": pipeline, "cursor": {}}, comment=comment, **kwargs)
        batch = self._run(command, session)["cursor"]["firstBatch"]
        return batch[0]["n"] if batch else 0

    def estimated_document_count(self, comment: Any = None, **kwargs: Any) -> int:
        """How many documents there are, from the collection's own count."""
        return int(self._run(_with({"count": self._name}, comment=comment, **kwargs))["n"])

    def distinct(
        self,
        key: str,
        filter: Mapping[str, Any] | None = None,
        session: ClientSession | None = None,
        comment: Any = None,
        hint: Any = None,
        **kwargs: Any,
    ) -> list[Any]:
        """The distinct values of a field."""
        if not isinstance(key, str):
            raise TypeError(f"key must be an instance of str, not {type(key)}")
        kwargs["collation"] = collation_document(kwargs.get("collation"))
        command = _with(
            {"distinct": self._name, "key": key}, query=filter, comment=comment, hint=hint_value(hint), **kwargs
        )
        return self._run(command, session)["values"]

    def _aggregate_command(self, pipeline: Any, let: Any, comment: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(pipeline, (list, tuple)):
            raise TypeError(f"pipeline must be a list, not {type(pipeline)}")
        kwargs = dict(kwargs)
        cursor = {"batchSize": kwargs.pop("batchSize")} if "batchSize" in kwargs else {}
        kwargs["collation"] = collation_document(kwargs.get("collation"))
        if "hint" in kwargs:
            kwargs["hint"] = hint_value(kwargs["hint"])
        return _with(
            {"aggregate": self._name, "pipeline": list(pipeline), "cursor": cursor}, let=let, comment=comment, **kwargs
        )

    def aggregate(
        self,
        pipeline: Sequence[Mapping[str, Any]],
        session: ClientSession | None = None,
        let: Mapping[str, Any] | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> CommandCursor:
        """Run an aggregation pipeline."""
        return CommandCursor._start(self, self._aggregate_command(pipeline, let, comment, kwargs), session)

    def aggregate_raw_batches(
        self,
        pipeline: Sequence[Mapping[str, Any]],
        session: ClientSession | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> RawBatchCommandCursor:
        """Run a pipeline; each batch comes as the bytes of its documents."""
        command = self._aggregate_command(pipeline, None, comment, kwargs)
        return RawBatchCommandCursor._start(self, command, session)

    # -- indexes

    def create_index(
        self, keys: Any, session: ClientSession | None = None, comment: Any = None, **kwargs: Any
    ) -> str:
        """Create an index; options are those of ``pymongo.IndexModel``. Gives its name."""
        options = {k: kwargs.pop(k) for k in ("maxTimeMS", "commitQuorum") if k in kwargs}
        return self.create_indexes([IndexModel(keys, **kwargs)], session, comment, **options)[0]

    def create_indexes(
        self,
        indexes: Sequence[IndexModel],
        session: ClientSession | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> list[str]:
        """Create indexes from ``pymongo.IndexModel``; gives their names."""
        if not isinstance(indexes, list) or not all(isinstance(i, IndexModel) for i in indexes):
            raise TypeError("indexes must be a list of pymongo.operations.IndexModel")
        documents = [index.document for index in indexes]
        self._run(_with({"createIndexes": self._name, "indexes": documents}, comment=comment, **kwargs), session)
        return [d["name"] for d in documents]

    def drop_index(
        self, index_or_name: Any, session: ClientSession | None = None, comment: Any = None, **kwargs: Any
    ) -> None:
        """Drop an index by name or key."""
        name = index_or_name if isinstance(index_or_name, str) else IndexModel(index_or_name).document["name"]
        command = _with({"dropIndexes": self._name, "index": name}, comment=comment, **kwargs)
        self._run(command, session, allowable=["ns not found", _NAMESPACE_NOT_FOUND])

    def drop_indexes(self, session: ClientSession | None = None, comment: Any = None, **kwargs: Any) -> None:
        """Drop all indexes but the one on ``_id``."""
        self.drop_index("*", session, comment, **kwargs)

    def list_indexes(self, session: ClientSession | None = None, comment: Any = None) -> CommandCursor:
        """One document per index."""
        command = _with({"listIndexes": self._name, "cursor": {}}, comment=comment)
        try:
            return CommandCursor._start(self, command, session)
        except OperationFailure as error:
            if error.code != _NAMESPACE_NOT_FOUND:
                raise
            return CommandCursor._of_documents(self, [])

    def index_information(self, session: ClientSession | None = None, comment: Any = None) -> dict[str, Any]:
        """Name → key (as a list of pairs) and options."""
        information: dict[str, Any] = {}
        for index in self.list_indexes(session, comment):
            index = dict(index)
            index["key"] = list(index["key"].items())
            information[index.pop("name")] = index
        return information

    # -- the collection itself

    def drop(self, session: ClientSession | None = None, comment: Any = None) -> None:
        """Drop the collection."""
        self._database.drop_collection(self._name, session, comment)

    def rename(
        self, new_name: str, session: ClientSession | None = None, comment: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Give the collection another name."""
        if not isinstance(new_name, str):
            raise TypeError(f"new_name must be an instance of str, not {type(new_name)}")
        target = Collection(self._database, new_name).full_name
        command = _with({"renameCollection": self.full_name, "to": target}, comment=comment, **kwargs)
        return self._database.client._run("admin", command, session=session)

    def options(self, session: ClientSession | None = None, comment: Any = None) -> dict[str, Any]:
        """The options it was created with."""
        for info in self._database.list_collections(session, {"name": self._name}, comment):
            return dict(info.get("options", {}))
        return {}

    # -- Python

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Collection):
            return self._database == other._database and self._name == other._name
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self._database, self._name))

    def __bool__(self) -> bool:
        raise NotImplementedError(
            "Collection objects do not implement truth value testing or bool(). Please compare with None instead"
        )

    def __iter__(self) -> Any:
        raise TypeError("'Collection' object is not iterable")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"'Collection' object is not callable. There is no method {self._name.split('.')[-1]!r}.")

    def __repr__(self) -> str:
        return f"Collection({self._database!r}, {self._name!r})"


# -- statements and checks, shared with bulk writes


def update_statement(
    filter: Mapping[str, Any],
    update: Any,
    multi: bool,
    upsert: bool | None,
    collation: Any = None,
    array_filters: Any = None,
    hint: Any = None,
    sort: Any = None,
) -> dict[str, Any]:
    """One element of the update command's ``updates``."""
    if not isinstance(filter, Mapping):
        raise TypeError(f"filter must be a mapping, not {type(filter)}")
    return _with(
        {"q": filter, "u": update, "multi": multi, "upsert": bool(upsert)},
        collation=collation_document(collation),
        arrayFilters=array_filters,
        hint=hint_value(hint),
        sort=sort_document(sort),
    )


def delete_statement(filter: Mapping[str, Any], limit: int, collation: Any = None, hint: Any = None) -> dict[str, Any]:
    """One element of the delete command's ``deletes``."""
    if not isinstance(filter, Mapping):
        raise TypeError(f"filter must be a mapping, not {type(filter)}")
    return _with(
        {"q": filter, "limit": limit}, collation=collation_document(collation), hint=hint_value(hint)
    )


def hint_value(hint: Any) -> Any:
    """A hint as commands take it: a name, or a key document."""
    return hint if hint is None or isinstance(hint, str) else sort_document(hint)


def check_update(update: Any) -> None:
    """Refuse what cannot be an update, with PyMongo's exceptions."""
    if not isinstance(update, (Mapping, list, tuple)):
        raise TypeError(f"update must be a mapping or a list of pipeline stages, not {type(update)}")
    if not update:
        raise ValueError("update cannot be empty")
    if isinstance(update, Mapping) and not next(iter(update)).startswith("$"):
        raise ValueError("update only works with $ operators")


def check_replacement(replacement: Any) -> None:
    """Refuse what cannot be a replacement, with PyMongo's exceptions."""
    if not isinstance(replacement, Mapping):
        raise TypeError(f"replacement must be a mapping, not {type(replacement)}")
    if replacement and not isinstance(replacement, RawBSONDocument) and next(iter(replacement)).startswith("$"):
        raise ValueError("replacement can not include $ operators")


def _check_document(name: str, document: Any) -> None:
    if not isinstance(document, (MutableMapping, RawBSONDocument)):
        raise TypeError(
            f"{name} must be an instance of dict, bson.son.SON, bson.raw_bson.RawBSONDocument, or a type that "
            f"inherits from collections.MutableMapping, not {type(document)}"
        )


def _give_id(document: Any) -> None:
    if not isinstance(document, RawBSONDocument) and "_id" not in document:
        document["_id"] = ObjectId()
