"""Cursors: batches fetched as they are needed, documents decoded as the collection's codec options say."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import bson
from bson.codec_options import CodecOptions
from bson.int64 import Int64
from bson.raw_bson import RawBSONDocument
from pymongo.collation import Collation
from pymongo.cursor import CursorType
from pymongo.errors import InvalidOperation

from multiforadb import _errors

if TYPE_CHECKING:
    from multiforadb.collection import Collection
    from multiforadb.session import ClientSession

_RAW_OPTIONS: CodecOptions[Any] = CodecOptions(document_class=RawBSONDocument)


class _Batches:
    """Runs a cursor command and its getMores; shared by all cursor classes."""

    _raw = False

    def __init__(self, collection: Collection, session: ClientSession | None) -> None:
        self._collection = collection
        self._session = session
        self._options: CodecOptions[Any] = collection.codec_options
        self._data: deque[Any] = deque()
        self._id: int | None = None
        self._get_more_name = collection.name
        self._retrieved = 0
        self._killed = False
        self._comment: Any = None
        self._batch_size = 0
        self._max_await_time_ms: int | None = None

    # -- talking to the engine

    def _send(self, command: dict[str, Any], batch_name: str) -> None:
        client = self._collection.database.client
        reply = client._run_raw(
            self._collection.database.name, command, self._options, self._session
        )
        if self._raw:
            self._take_raw(reply, batch_name)
            return
        plain = self._options.document_class is dict and not self._options.type_registry.codecs
        if plain:
            decoded: Mapping[str, Any] = bson.decode(reply, self._options)
        else:
            decoded = bson.decode(reply, _RAW_OPTIONS)
        _errors.check_reply(decoded)
        cursor = decoded["cursor"]
        documents = cursor[batch_name]
        if not plain:
            documents = [bson.decode(d.raw, self._options) for d in documents]
        self._data.extend(documents)
        self._retrieved += len(documents)
        self._settle(cursor)

    def _take_raw(self, reply: bytes, batch_name: str) -> None:
        decoded = bson.decode(reply, _RAW_OPTIONS)
        _errors.check_reply(decoded)
        cursor = decoded["cursor"]
        documents = cursor[batch_name]
        if documents:
            self._data.append(b"".join(d.raw for d in documents))
        self._retrieved += len(documents)
        self._settle(cursor)

    def _settle(self, cursor: Mapping[str, Any]) -> None:
        self._id = int(cursor["id"])
        self._get_more_name = cursor["ns"].split(".", 1)[1]
        if self._id == 0:
            self._killed = True

    def _start_command(self) -> dict[str, Any]:
        raise NotImplementedError

    def _refresh(self) -> int:
        """Fetch the next batch when there is one; the number of items at hand."""
        if self._data or self._killed:
            return len(self._data)
        if self._id is None:
            self._send(self._start_command(), "firstBatch")
        else:
            command: dict[str, Any] = {"getMore": Int64(self._id), "collection": self._get_more_name}
            size = self._next_batch_size()
            if size:
                command["batchSize"] = size
            if self._max_await_time_ms is not None:
                command["maxTimeMS"] = self._max_await_time_ms
            if self._comment is not None:
                command["comment"] = self._comment
            self._send(command, "nextBatch")
        return len(self._data)

    def _next_batch_size(self) -> int:
        return self._batch_size

    # -- the iterator

    def __iter__(self) -> Iterator[Any]:
        return self

    def next(self) -> Any:
        """The next document."""
        while not self._data:
            if self._killed or (self._refresh() == 0 and not self._waits_for_more()):
                raise StopIteration
        return self._data.popleft()

    __next__ = next

    def _waits_for_more(self) -> bool:
        """An empty batch of an open cursor means: ask again (batchSize 0 comes to this too)."""
        return self._id not in (None, 0)

    def to_list(self, length: int | None = None) -> list[Any]:
        """All remaining documents, or at most ``length``."""
        if length is not None and length < 1:
            raise ValueError("to_list() length must be greater than 0")
        out: list[Any] = []
        for document in self:
            out.append(document)
            if length is not None and len(out) >= length:
                break
        return out

    @property
    def alive(self) -> bool:
        """Whether there may be more documents."""
        return bool(self._data) or not self._killed

    @property
    def cursor_id(self) -> int | None:
        """The engine's cursor id; 0 when it is exhausted."""
        return self._id

    @property
    def retrieved(self) -> int:
        """How many documents have been fetched so far."""
        return self._retrieved

    @property
    def session(self) -> ClientSession | None:
        """The session the cursor runs in."""
        return self._session

    def close(self) -> None:
        """Free what the engine holds for this cursor."""
        if self._id and not self._killed and not self._collection.database.client.closed:
            self._collection.database.client._run(
                self._collection.database.name,
                {"killCursors": self._get_more_name, "cursors": [Int64(self._id)]},
                check=False,
            )
        self._killed = True

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # noqa: BLE001 - the interpreter may be shutting down
            pass

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class CommandCursor(_Batches):
    """A cursor over the result of a command (aggregate, listIndexes, …)."""

    _command: dict[str, Any]

    @classmethod
    def _start(
        cls, collection: Collection, command: dict[str, Any], session: ClientSession | None = None
    ) -> Any:
        cursor = cls(collection, session)
        cursor._command = command
        cursor._comment = command.get("comment")
        options = command.get("cursor")
        if isinstance(options, Mapping):
            cursor._batch_size = options.get("batchSize", 0)
        cursor._send(command, "firstBatch")
        return cursor

    @classmethod
    def _of_documents(cls, collection: Collection, documents: Iterable[Any]) -> CommandCursor:
        cursor = cls(collection, None)
        cursor._data.extend(documents)
        cursor._retrieved = len(cursor._data)
        cursor._id, cursor._killed = 0, True
        return cursor

    def batch_size(self, batch_size: int) -> CommandCursor:
        """Documents per batch from the next getMore on."""
        if not isinstance(batch_size, int):
            raise TypeError(f"batch_size must be an integer, not {type(batch_size)}")
        if batch_size < 0:
            raise ValueError("batch_size must be >= 0")
        self._batch_size = batch_size
        return self

    def try_next(self) -> Any:
        """The next document, or None when there is none at the moment."""
        if not self._data and not self._killed:
            self._refresh()
        return self._data.popleft() if self._data else None


class Cursor(_Batches):
    """A query, shaped like ``pymongo.cursor.Cursor``: chain options, then iterate."""

    def __init__(
        self,
        collection: Collection,
        filter: Mapping[str, Any] | None = None,
        projection: Mapping[str, Any] | Iterable[str] | None = None,
        skip: int = 0,
        limit: int = 0,
        no_cursor_timeout: bool = False,
        cursor_type: int = CursorType.NON_TAILABLE,
        sort: Any = None,
        allow_partial_results: bool = False,
        batch_size: int = 0,
        collation: Any = None,
        hint: Any = None,
        max_time_ms: int | None = None,
        max: Any = None,
        min: Any = None,
        return_key: bool | None = None,
        show_record_id: bool | None = None,
        comment: Any = None,
        session: ClientSession | None = None,
        allow_disk_use: bool | None = None,
        let: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(collection, session)
        if filter is not None and not isinstance(filter, (Mapping, RawBSONDocument)):
            raise TypeError(f"filter must be an instance of dict, bson.son.SON, or any other type that inherits from "
                            f"collections.abc.Mapping, not {type(filter)}")
        self._filter: Mapping[str, Any] = {} if filter is None else filter
        self._projection = _projection(projection)
        self._skip = _whole("skip", skip)
        self._limit = _integer("limit", limit)
        self._sort = sort_document(sort)
        self._hint = hint
        self._comment = comment
        self._collation = collation_document(collation)
        self._max_time_ms = max_time_ms
        self._min, self._max = _bounds(min), _bounds(max)
        self._batch_size = _whole("batch_size", batch_size)
        self._let = let
        tailable = cursor_type in (CursorType.TAILABLE, CursorType.TAILABLE_AWAIT)
        self._tailable = tailable
        self._flags: dict[str, Any] = {
            "noCursorTimeout": no_cursor_timeout or None,
            "tailable": tailable or None,
            "awaitData": (cursor_type == CursorType.TAILABLE_AWAIT) or None,
            "allowPartialResults": allow_partial_results or None,
            "returnKey": return_key,
            "showRecordId": show_record_id,
            "allowDiskUse": allow_disk_use,
        }

    # -- the command

    def _start_command(self) -> dict[str, Any]:
        from multiforadb.client import _with

        command: dict[str, Any] = {"find": self._collection.name, "filter": self._filter}
        limit, batch_size = self._limit, self._batch_size
        return _with(
            command,
            projection=self._projection,
            sort=self._sort,
            skip=self._skip or None,
            limit=abs(limit) or None,
            singleBatch=(limit < 0 or limit == 1) or None,
            batchSize=self._first_batch_size(limit, batch_size),
            hint=self._hint_value(),
            comment=self._comment,
            collation=self._collation,
            maxTimeMS=self._max_time_ms,
            min=self._min,
            max=self._max,
            let=self._let,
            **self._flags,
        )

    @staticmethod
    def _first_batch_size(limit: int, batch_size: int) -> int | None:
        if not batch_size:
            return None
        # A batch that fills the limit exactly would leave the cursor open for an empty one.
        return batch_size + 1 if limit == batch_size else batch_size

    def _hint_value(self) -> Any:
        return self._hint if self._hint is None or isinstance(self._hint, str) else sort_document(self._hint)

    def _next_batch_size(self) -> int:
        left = abs(self._limit) - self._retrieved if self._limit else 0
        return min(self._batch_size, left) if self._batch_size and left > 0 else self._batch_size

    def _waits_for_more(self) -> bool:
        return not self._tailable and super()._waits_for_more()

    # -- options

    def _unstarted(self) -> None:
        if self._id is not None or self._killed:
            raise InvalidOperation("cannot set options after executing query")

    def sort(self, key_or_list: Any, direction: int | str | None = None) -> Cursor:
        """Sort by a field, or by a list of (field, direction)."""
        self._unstarted()
        if isinstance(key_or_list, str):
            self._sort = {key_or_list: 1 if direction is None else direction}
        else:
            if direction is not None:
                raise TypeError("direction goes with a single field name only")
            self._sort = sort_document(key_or_list)
        return self

    def skip(self, skip: int) -> Cursor:
        """Leave out the first documents."""
        self._unstarted()
        self._skip = _whole("skip", skip)
        return self

    def limit(self, limit: int) -> Cursor:
        """At most this many documents; 0 is no limit."""
        self._unstarted()
        self._limit = _integer("limit", limit)
        return self

    def batch_size(self, batch_size: int) -> Cursor:
        """Documents per batch."""
        self._unstarted()
        self._batch_size = _whole("batch_size", batch_size)
        return self

    def hint(self, index: Any) -> Cursor:
        """Use this index: a name, or its key."""
        self._unstarted()
        self._hint = index
        return self

    def comment(self, comment: Any) -> Cursor:
        """Attach a comment to the query."""
        self._unstarted()
        self._comment = comment
        return self

    def collation(self, collation: Any) -> Cursor:
        """Compare strings by this collation."""
        self._unstarted()
        self._collation = collation_document(collation)
        return self

    def max_time_ms(self, max_time_ms: int | None) -> Cursor:
        """Fail with ExecutionTimeout after this many milliseconds."""
        self._unstarted()
        if max_time_ms is not None and not isinstance(max_time_ms, int):
            raise TypeError(f"max_time_ms must be an integer or None, not {type(max_time_ms)}")
        self._max_time_ms = max_time_ms
        return self

    def max_await_time_ms(self, max_await_time_ms: int | None) -> Cursor:
        """How long a getMore of a tailable cursor waits for documents."""
        self._unstarted()
        self._max_await_time_ms = max_await_time_ms
        return self

    def min(self, spec: Any) -> Cursor:
        """Lower bound of an index scan, inclusive; goes with hint."""
        self._unstarted()
        self._min = _bounds(spec)
        return self

    def max(self, spec: Any) -> Cursor:
        """Upper bound of an index scan, exclusive; goes with hint."""
        self._unstarted()
        self._max = _bounds(spec)
        return self

    def allow_disk_use(self, allow_disk_use: bool) -> Cursor:
        """Let a large sort use temporary files."""
        self._unstarted()
        self._flags["allowDiskUse"] = allow_disk_use
        return self

    # -- other results

    @property
    def collection(self) -> Collection:
        """The collection the query is for."""
        return self._collection

    def explain(self) -> dict[str, Any]:
        """The plan, with execution figures."""
        command = {"explain": self._start_command(), "verbosity": "allPlansExecution"}
        return self._collection.database.command(command, session=self._session)

    def distinct(self, key: str) -> list[Any]:
        """The distinct values of a field among the documents of this query."""
        return self._collection.distinct(key, self._filter, session=self._session, hint=self._hint_value())

    def rewind(self) -> Cursor:
        """Back to the start, as if it had not been iterated."""
        self.close()
        self._data.clear()
        self._id, self._retrieved, self._killed = None, 0, False
        return self

    def clone(self) -> Cursor:
        """A fresh cursor with the same query and options."""
        return self._cloned(deep=False)

    def _cloned(self, deep: bool) -> Cursor:
        other = object.__new__(type(self))
        for name, value in self.__dict__.items():
            shared = name in ("_collection", "_session", "_options")
            other.__dict__[name] = copy.deepcopy(value) if deep and not shared else value
        other._flags = dict(self._flags)
        other._data, other._id, other._retrieved, other._killed = deque(), None, 0, False
        return other

    __copy__ = clone

    def __deepcopy__(self, memo: Any) -> Cursor:
        return self._cloned(deep=True)

    def __getitem__(self, index: int | slice) -> Any:
        self._unstarted()
        if isinstance(index, slice):
            if index.step is not None:
                raise IndexError("Cursor instances do not support slice steps")
            start = index.start or 0
            if start < 0 or (index.stop is not None and index.stop < start):
                raise IndexError(f"stop index must be greater than start index for slice {index!r}")
            self._skip = start
            self._limit = 0 if index.stop is None else index.stop - start
            if index.stop == start:
                self._killed = True
            return self
        if index < 0:
            raise IndexError("Cursor instances do not support negative indices")
        one = self.clone()
        one._skip, one._limit = index + self._skip, -1
        for document in one:
            return document
        raise IndexError("no such item for Cursor instance")


class RawBatchCursor(Cursor):
    """A query that gives each batch as the bytes of its documents, one after the other."""

    _raw = True


class RawBatchCommandCursor(CommandCursor):
    """A command cursor that gives each batch as bytes."""

    _raw = True


# -- arguments


def sort_document(spec: Any) -> dict[str, Any] | None:
    """``[("a", 1)]``, ``["a"]``, ``"a"`` or a mapping, as the document that commands take."""
    if spec is None:
        return None
    if isinstance(spec, str):
        return {spec: 1}
    if isinstance(spec, Mapping):
        return dict(spec)
    if not isinstance(spec, Sequence):
        raise TypeError(f"if no direction is specified, key_or_list must be an instance of list, not {type(spec)}")
    if not spec:
        raise ValueError("key_or_list must not be empty")
    pairs = [(item, 1) if isinstance(item, str) else item for item in spec]
    return dict(pairs)


def collation_document(collation: Any) -> Mapping[str, Any] | None:
    """A ``pymongo.collation.Collation`` or mapping as the document that commands take."""
    if collation is None:
        return None
    if isinstance(collation, Collation):
        return collation.document
    if isinstance(collation, Mapping):
        return collation
    raise TypeError(f"collation must be a dict, bson.SON, or pymongo.collation.Collation, not {type(collation)}")


def _bounds(spec: Any) -> dict[str, Any] | None:
    if spec is None:
        return None
    if not isinstance(spec, (list, tuple, Mapping)):
        raise TypeError(f"spec must be an instance of list or tuple, not {type(spec)}")
    return dict(spec)


def _projection(projection: Any) -> Mapping[str, Any] | None:
    if projection is None or isinstance(projection, Mapping):
        return projection
    fields = list(projection)
    if not all(isinstance(f, str) for f in fields):
        raise TypeError("projection must be a list of field names, or a dict")
    # An empty list of fields means: nothing but the _id.
    return {f: 1 for f in fields} or {"_id": 1}


def _integer(name: str, value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{name} must be an instance of int, not {type(value)}")
    return value


def _whole(name: str, value: Any) -> int:
    if _integer(name, value) < 0:
        raise ValueError(f"{name} must be >= 0")
    return value
