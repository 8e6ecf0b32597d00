"""A database: its collections, and commands."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from bson.codec_options import CodecOptions
from bson.dbref import DBRef
from pymongo.errors import CollectionInvalid

if TYPE_CHECKING:
    from multiforadb.client import Client
    from multiforadb.collection import Collection
    from multiforadb.cursor import CommandCursor
    from multiforadb.session import ClientSession


class Database:
    """A database, shaped like ``pymongo.database.Database``."""

    def __init__(self, client: Client, name: str, codec_options: CodecOptions[Any] | None = None) -> None:
        from multiforadb.client import check_database_name

        self._client = client
        self._name = name if name == "$external" else check_database_name(name)
        self._codec_options = codec_options or client.codec_options

    @property
    def client(self) -> Client:
        """The open file."""
        return self._client

    @property
    def name(self) -> str:
        """The database's name."""
        return self._name

    @property
    def codec_options(self) -> CodecOptions[Any]:
        """How documents become Python objects."""
        return self._codec_options

    def with_options(self, codec_options: CodecOptions[Any] | None = None) -> Database:
        """The same database with other codec options."""
        return Database(self._client, self._name, codec_options or self._codec_options)

    def __getattr__(self, name: str) -> Collection:
        if name.startswith("_"):
            raise AttributeError(
                f"Database has no attribute {name!r}. To access the {name} collection, use database[{name!r}]."
            )
        return self[name]

    def __getitem__(self, name: str) -> Collection:
        from multiforadb.collection import Collection

        return Collection(self, name)

    def get_collection(self, name: str, codec_options: CodecOptions[Any] | None = None) -> Collection:
        """A collection by name, with codec options of its own."""
        from multiforadb.collection import Collection

        return Collection(self, name, codec_options)

    def command(
        self,
        command: str | MutableMapping[str, Any],
        value: Any = 1,
        check: bool = True,
        allowable_errors: Sequence[str | int] | None = None,
        codec_options: CodecOptions[Any] | None = None,
        session: ClientSession | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run any database command and give its reply."""
        document: dict[str, Any] = {command: value} if isinstance(command, str) else dict(command)
        document.update(kwargs)
        if comment is not None:
            document["comment"] = comment
        return self._client._run(
            self._name, document, codec_options=codec_options, session=session, check=check, allowable=allowable_errors
        )

    def cursor_command(
        self,
        command: str | MutableMapping[str, Any],
        value: Any = 1,
        codec_options: CodecOptions[Any] | None = None,
        session: ClientSession | None = None,
        comment: Any = None,
        max_await_time_ms: int | None = None,
        **kwargs: Any,
    ) -> CommandCursor:
        """Run a command whose reply is a cursor."""
        from multiforadb.cursor import CommandCursor

        document: dict[str, Any] = {command: value} if isinstance(command, str) else dict(command)
        document.update(kwargs)
        if comment is not None:
            document["comment"] = comment
        cursor: CommandCursor = CommandCursor._start(self["$cmd"].with_options(codec_options), document, session)
        cursor._max_await_time_ms = max_await_time_ms
        return cursor

    def create_collection(
        self,
        name: str,
        codec_options: CodecOptions[Any] | None = None,
        session: ClientSession | None = None,
        check_exists: bool = True,
        **kwargs: Any,
    ) -> Collection:
        """Create a collection explicitly; raises CollectionInvalid when it exists."""
        if check_exists and name in self.list_collection_names(session=session, filter={"name": name}):
            raise CollectionInvalid(f"collection {name} already exists")
        self._client._run(self._name, {"create": name, **kwargs}, session=session)
        return self.get_collection(name, codec_options)

    def list_collections(
        self,
        session: ClientSession | None = None,
        filter: Mapping[str, Any] | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> CommandCursor:
        """One document per collection: name, type, options, info, idIndex."""
        from multiforadb.client import _with
        from multiforadb.cursor import CommandCursor

        command = _with({"listCollections": 1, "cursor": {}}, filter=filter, comment=comment, **kwargs)
        return CommandCursor._start(self["$cmd"], command, session)

    def list_collection_names(
        self,
        session: ClientSession | None = None,
        filter: Mapping[str, Any] | None = None,
        comment: Any = None,
        **kwargs: Any,
    ) -> list[str]:
        """The names of the collections (those that match the filter)."""
        if filter is None or set(filter) <= {"name"}:
            kwargs["nameOnly"] = True
        return [c["name"] for c in self.list_collections(session, filter, comment, **kwargs)]

    def drop_collection(
        self, name_or_collection: str | Collection, session: ClientSession | None = None, comment: Any = None
    ) -> dict[str, Any]:
        """Drop a collection; it is no error when it does not exist."""
        from multiforadb.client import _with
        from multiforadb.collection import Collection

        name = name_or_collection.name if isinstance(name_or_collection, Collection) else name_or_collection
        if not isinstance(name, str):
            raise TypeError(f"name_or_collection must be an instance of str or a Collection, not {type(name)}")
        command = _with({"drop": name}, comment=comment)
        return self._client._run(self._name, command, session=session, allowable=["ns not found", 26])

    def validate_collection(
        self,
        name_or_collection: str | Collection,
        scandata: bool = False,
        full: bool = False,
        session: ClientSession | None = None,
        comment: Any = None,
    ) -> dict[str, Any]:
        """Run ``validate`` on a collection."""
        from multiforadb.client import _with
        from multiforadb.collection import Collection

        name = name_or_collection.name if isinstance(name_or_collection, Collection) else name_or_collection
        command = _with({"validate": name, "scandata": scandata, "full": full}, comment=comment)
        result = self._client._run(self._name, command, session=session)
        if not result.get("valid", False):
            raise CollectionInvalid(f"{name} invalid: {result!r}")
        return result

    def aggregate(
        self, pipeline: Sequence[Mapping[str, Any]], session: ClientSession | None = None, **kwargs: Any
    ) -> CommandCursor:
        """Run a pipeline that needs no collection."""
        from multiforadb.cursor import CommandCursor

        cursor = {"batchSize": kwargs.pop("batchSize")} if "batchSize" in kwargs else {}
        command = {"aggregate": 1, "pipeline": list(pipeline), "cursor": cursor, **kwargs}
        return CommandCursor._start(self["$cmd.aggregate"], command, session)

    def dereference(
        self, dbref: DBRef, session: ClientSession | None = None, comment: Any = None, **kwargs: Any
    ) -> Any:
        """The document a DBRef points to, or None."""
        if not isinstance(dbref, DBRef):
            raise TypeError(f"cannot dereference a {type(dbref)}")
        if dbref.database is not None and dbref.database != self._name:
            raise ValueError(
                f"trying to dereference a DBRef that points to another database ({dbref.database!r} not {self._name!r})"
            )
        return self[dbref.collection].find_one({"_id": dbref.id}, session=session, comment=comment, **kwargs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Database):
            return self._client == other._client and self._name == other._name
        return NotImplemented

    def __hash__(self) -> int:
        return hash((id(self._client), self._name))

    def __bool__(self) -> bool:
        raise NotImplementedError(
            "Database objects do not implement truth value testing or bool(). Please compare with None instead"
        )

    def __repr__(self) -> str:
        return f"Database({self._client!r}, {self._name!r})"
