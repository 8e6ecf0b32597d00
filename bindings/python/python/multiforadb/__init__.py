"""MultiforaDB: documents in one file, with PyMongo's names, results and exceptions.

>>> import multiforadb
>>> with multiforadb.open(":memory:") as client:
...     client.shop.orders.insert_one({"_id": 1, "item": "lamp"}).inserted_id
1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multiforadb._native import __version__

if TYPE_CHECKING:
    from multiforadb.client import Client, Listener, open
    from multiforadb.collection import Collection
    from multiforadb.cursor import CommandCursor, Cursor, RawBatchCursor
    from multiforadb.database import Database
    from multiforadb.session import ClientSession

__all__ = [
    "Client",
    "ClientSession",
    "Collection",
    "CommandCursor",
    "Cursor",
    "Database",
    "Listener",
    "RawBatchCursor",
    "__version__",
    "open",
]

_HOMES = {
    "Client": "client",
    "ClientSession": "session",
    "Collection": "collection",
    "CommandCursor": "cursor",
    "Cursor": "cursor",
    "Database": "database",
    "Listener": "client",
    "RawBatchCursor": "cursor",
    "open": "client",
}


def __getattr__(name: str) -> Any:
    # PyMongo takes a tenth of a second to import: it is loaded when a file is opened, not before.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'multiforadb' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"multiforadb.{home}"), name)
