"""One fresh file (or memory) database per test."""

import pytest

import multiforadb


@pytest.fixture(params=["file", "memory"])
def client(request, tmp_path):
    path = ":memory:" if request.param == "memory" else tmp_path / "test.mfdb"
    with multiforadb.open(path) as client:
        yield client


@pytest.fixture
def db(client):
    return client["test"]


@pytest.fixture
def coll(db):
    return db["c"]
