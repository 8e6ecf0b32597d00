"""Lets every test folder import what the tests share (serving.py), and tells where the tools are."""
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def client_modules():
    """The folder with the real clients' node_modules (see clients/package.json)."""
    folder = Path(os.environ.get("MULTIFORA_CLIENTS", HERE.parent / "build" / "clients"))
    assert (folder / "node_modules" / "mongodb").is_dir(), f"{folder} has no mongodb package: use tests/run clients"
    return folder
