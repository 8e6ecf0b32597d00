"""Logical sessions: an ``lsid`` that commands carry."""

from __future__ import annotations

import uuid
from types import TracebackType
from typing import TYPE_CHECKING, Any

from bson.binary import Binary
from pymongo.errors import InvalidOperation

if TYPE_CHECKING:
    from multiforadb.client import Client


class ClientSession:
    """A session on an open file; a context manager, to be used by one thread at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lsid: dict[str, Any] = {"id": Binary.from_uuid(uuid.uuid4())}
        self._ended = False

    @property
    def client(self) -> Client:
        """The client this session was started from."""
        return self._client

    @property
    def session_id(self) -> dict[str, Any]:
        """The session's ``lsid`` document."""
        return self._lsid

    @property
    def has_ended(self) -> bool:
        """True once ``end_session`` was called."""
        return self._ended

    def end_session(self) -> None:
        """End the session; its cursors are closed."""
        if not self._ended and not self._client.closed:
            self._client.admin.command("endSessions", [self._lsid])
        self._ended = True

    def _lsid_for(self, client: Client) -> dict[str, Any]:
        if self._ended:
            raise InvalidOperation("Cannot use ended session")
        if client is not self._client:
            raise InvalidOperation("Can only use session with the client that started it")
        return self._lsid

    def __enter__(self) -> ClientSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_session()
