"""Our classes against PyMongo's: names and parameters that exist there exist here in the same order."""

import inspect

import pymongo.collection
import pymongo.cursor
import pymongo.database
import pytest

from multiforadb.collection import Collection
from multiforadb.cursor import Cursor
from multiforadb.database import Database

# What needs features that do not exist yet, or that only a server has.
LATER = {
    Collection: {
        "create_search_index", "create_search_indexes", "drop_search_index", "list_search_indexes",
        "update_search_index", "watch", "read_concern", "write_concern", "read_preference", "next",
    },
    Database: {"watch", "read_concern", "write_concern", "read_preference", "next"},
    Cursor: {"add_option", "remove_option", "max_scan", "where", "address"},
}
# Read preferences, concerns and client-side encryption mean nothing for one file in one process.
NO_PARAMETERS = {"read_preference", "write_concern", "read_concern", "encrypted_fields", "background"}


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (Collection, pymongo.collection.Collection),
        (Database, pymongo.database.Database),
        (Cursor, pymongo.cursor.Cursor),
    ],
)
def test_methods_and_parameters_are_pymongos(ours, theirs):
    problems = []
    for name, member in inspect.getmembers(theirs):
        if name.startswith("_") or name in LATER[ours]:
            continue
        mine = getattr(ours, name, None)
        if mine is None:
            problems.append(f"{name} is missing")
        elif inspect.isfunction(member):
            want = [p for p in inspect.signature(member).parameters if p not in NO_PARAMETERS]
            have = list(inspect.signature(mine).parameters)
            if want != have:
                problems.append(f"{name}{have} is not {want}")
    assert problems == []
