"""An open file: databases, the listener, sessions."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import bson
from bson.codec_options import DEFAULT_CODEC_OPTIONS, CodecOptions
from pymongo.errors import InvalidName, InvalidOperation

from multiforadb import _errors, _native
from multiforadb.database import Database
from multiforadb.session import ClientSession

if TYPE_CHECKING:
    import pymongo
    from multiforadb.cursor import CommandCursor


def open(
    path: str | os.PathLike[str],
    *,
    cache: int | None = None,
    durability: Literal["sync", "relaxed"] = "sync",
    sync_every_ms: int = 100,
    read_only: bool = False,
    create: bool = True,
    compress: bool = True,
    ttl_sweep_secs: int | None = None,
    codec_options: CodecOptions[Any] | None = None,
) -> Client:
    """Open a file (or ``":memory:"``) and give a :class:`Client` on it.

    :param cache: bytes of memory the engine may use for data; default a quarter of memory, at most 1 GiB.
    :param durability: ``"sync"``: an acknowledged write survives power loss. ``"relaxed"``: it
        survives a crash or power loss after at most ``sync_every_ms`` milliseconds.
    :param read_only: refuse writes; works in folders that cannot be written.
    :param create: make the file when it is not there.
    :param compress: compress what is written from now on; every file can be read with either setting.
    :param ttl_sweep_secs: seconds between two sweeps for expired documents; default 60, 0 for never.
    :raises pymongo.errors.OperationFailure: the file is locked, damaged or cannot be opened; the
        message says which and what to do.
    """
    if durability not in ("sync", "relaxed"):
        raise ValueError(f"durability must be 'sync' or 'relaxed', not {durability!r}")
    try:
        engine = _native.Engine.open(
            os.fspath(path),
            cache_bytes=cache,
            relaxed_ms=sync_every_ms if durability == "relaxed" else None,
            read_only=read_only,
            create=create,
            compress=compress,
            ttl_sweep_secs=ttl_sweep_secs,
        )
    except _native.EngineError as error:
        _errors.raise_engine_error(error)
    return Client(engine, os.fspath(path), codec_options or DEFAULT_CODEC_OPTIONS)


class Client:
    """An open file, shaped like ``pymongo.MongoClient``. Thread-safe; a context manager.

    Get one from :func:`multiforadb.open`.
    """

    def __init__(self, engine: _native.Engine, path: str, codec_options: CodecOptions[Any]) -> None:
        self._engine = engine
        self._path = path
        self._codec_options = codec_options
        self._pid = os.getpid()
        self._cleanup = contextlib.ExitStack()
        self._private_socket: str | None = None
        self.closed = False

    # -- commands

    def _run(
        self,
        db: str,
        command: Mapping[str, Any],
        *,
        codec_options: CodecOptions[Any] | None = None,
        session: ClientSession | None = None,
        sequences: Sequence[tuple[str, Sequence[bytes]]] | None = None,
        check: bool = True,
        allowable: Any = None,
    ) -> dict[str, Any]:
        """Run one command; decode its reply and raise its error."""
        reply = bson.decode(
            self._run_raw(db, command, codec_options, session, sequences),
            # Replies are dictionaries whatever documents are to become; cursors decode theirs themselves.
            (codec_options or self._codec_options).with_options(document_class=dict),
        )
        if check:
            _errors.check_reply(reply, allowable)
        return reply

    def _run_raw(
        self,
        db: str,
        command: Mapping[str, Any],
        codec_options: CodecOptions[Any] | None = None,
        session: ClientSession | None = None,
        sequences: Sequence[tuple[str, Sequence[bytes]]] | None = None,
    ) -> bytes:
        self._check_open()
        if session is not None:
            command = {**command, "lsid": session._lsid_for(self)}
        return self._engine.command(
            db, bson.encode(command, codec_options=codec_options or self._codec_options), sequences
        )

    def _check_open(self) -> None:
        if self.closed:
            raise InvalidOperation("Cannot use Client after close")
        if os.getpid() != self._pid:
            raise InvalidOperation(
                f"{self._path} was opened by process {self._pid}, before a fork: open it again in this process"
            )

    # -- databases

    def __getattr__(self, name: str) -> Database:
        if name.startswith("_"):
            raise AttributeError(f"Client has no attribute {name!r}. To access the {name} database, use client[{name!r}].")
        return self[name]

    def __getitem__(self, name: str) -> Database:
        return Database(self, name)

    def get_database(self, name: str, codec_options: CodecOptions[Any] | None = None) -> Database:
        """A database by name, with codec options of its own."""
        return Database(self, name, codec_options)

    def list_databases(
        self, session: ClientSession | None = None, comment: Any = None, **kwargs: Any
    ) -> CommandCursor:
        """One document per database: ``name``, ``sizeOnDisk``, ``empty``."""
        from multiforadb.cursor import CommandCursor

        command = _with({"listDatabases": 1}, comment=comment, **kwargs)
        reply = self._run("admin", command, session=session)
        return CommandCursor._of_documents(self["admin"]["$cmd"], reply["databases"])

    def list_database_names(self, session: ClientSession | None = None, comment: Any = None) -> list[str]:
        """The names of all databases."""
        return [d["name"] for d in self.list_databases(session, comment, nameOnly=True)]

    def drop_database(
        self, name_or_database: str | Database, session: ClientSession | None = None, comment: Any = None
    ) -> None:
        """Drop a database and everything in it."""
        name = name_or_database.name if isinstance(name_or_database, Database) else name_or_database
        if not isinstance(name, str):
            raise TypeError(f"name_or_database must be an instance of str or a Database, not {type(name)}")
        self._run(name, _with({"dropDatabase": 1}, comment=comment), session=session)

    def server_info(self, session: ClientSession | None = None) -> dict[str, Any]:
        """What ``buildInfo`` says."""
        return self._run("admin", {"buildInfo": 1}, session=session)

    @property
    def codec_options(self) -> CodecOptions[Any]:
        """How documents become Python objects."""
        return self._codec_options

    # -- sessions, listener, life

    def start_session(self) -> ClientSession:
        """Start a logical session."""
        return ClientSession(self)

    def serve(
        self,
        port: int | None = 0,
        *,
        bind: str = "127.0.0.1",
        socket: str | os.PathLike[str] | None = None,
        replica_set: str | None = None,
        advertise: str | None = None,
    ) -> Listener:
        """Let MongoDB drivers and mongosh connect while the file is open.

        :param port: TCP port, 0 for any that is free, None for no TCP.
        :param socket: also (or only) listen on this Unix socket.
        :param replica_set: announce a one-member replica set of this name.
        """
        self._check_open()
        path = None if socket is None else os.fspath(socket)
        try:
            listener = Listener(self._engine.serve(bind, port, path, replica_set, advertise), path)
        except _native.EngineError as error:
            _errors.raise_engine_error(error)
        self._cleanup.callback(listener.stop)
        return listener

    def client(self, **kwargs: Any) -> pymongo.MongoClient[dict[str, Any]]:
        """A real ``pymongo.MongoClient`` on this file, through a private Unix socket.

        Keyword arguments are MongoClient's. It stops working when this client is closed.
        """
        import urllib.parse

        import pymongo

        if self._private_socket is None:
            folder = self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="multiforadb-"))
            path = os.path.join(folder, "multifora.sock")
            self.serve(None, socket=path)
            self._private_socket = path
        mongo: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
            "mongodb://" + urllib.parse.quote(self._private_socket, safe=""), **kwargs
        )
        self._cleanup.callback(mongo.close)
        return mongo

    def backup(
        self, path: str | os.PathLike[str], progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Write the database as it is now into a new file, while other threads go on reading and writing.

        What they commit later is not in it. When it fails, no file is left.

        :param path: the new file; it must not exist.
        :param progress: called now and then with the number of records that are copied, and of all. What it raises
            stops the backup; so do :meth:`interrupt` and Ctrl-C.
        """
        self._check_open()
        try:
            self._engine.backup(os.fspath(path), progress)
        except _native.EngineError as error:
            _errors.raise_engine_error(error)

    def interrupt(self) -> None:
        """Stop the commands that are running now, from another thread; they raise OperationFailure 11601."""
        self._engine.interrupt()

    def close(self) -> None:
        """Stop listeners, write a checkpoint and release the file. Closing twice is fine."""
        if self.closed:
            return
        self.closed = True
        if os.getpid() != self._pid:
            return
        try:
            self._cleanup.close()
        finally:
            try:
                self._engine.close()
            except _native.EngineError as error:
                _errors.raise_engine_error(error)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._path!r}{', closed' if self.closed else ''})"

    def __eq__(self, other: object) -> bool:
        return self is other if isinstance(other, Client) else NotImplemented

    def __hash__(self) -> int:
        return id(self)


class Listener:
    """A running listener; a context manager that stops it."""

    def __init__(self, native: _native.Listener, socket: str | None) -> None:
        self._native = native
        self.socket = socket

    @property
    def port(self) -> int | None:
        """The TCP port."""
        return self._native.port

    @property
    def uri(self) -> str:
        """A connection string for drivers and mongosh."""
        import urllib.parse

        if self._native.address is not None:
            return f"mongodb://{self._native.address}/"
        return "mongodb://" + urllib.parse.quote(self.socket or "", safe="")

    def stop(self) -> None:
        """Stop listening and close its connections."""
        self._native.stop()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _with(command: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """The command with those optional fields that are given."""
    command.update((k, v) for k, v in optional.items() if v is not None)
    return command


def check_database_name(name: Any) -> str:
    """Refuse names that cannot be a database's, with PyMongo's exceptions."""
    if not isinstance(name, str):
        raise TypeError(f"name must be an instance of str, not {type(name)}")
    if not name:
        raise InvalidName("database name cannot be the empty string")
    for bad in (" ", ".", "$", "/", "\\", "\x00", '"'):
        if bad in name:
            raise InvalidName(f"database names cannot contain the character {bad!r}")
    return name
