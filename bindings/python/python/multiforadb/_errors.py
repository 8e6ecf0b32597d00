"""From error replies to PyMongo's exceptions, so that users' ``except`` clauses keep working."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from pymongo import errors

_DUPLICATE_KEY_CODES = (11000, 11001, 12582)
_BY_CODE: dict[int, type[errors.OperationFailure]] = {
    43: errors.CursorNotFound,
    50: errors.ExecutionTimeout,
    **{code: errors.DuplicateKeyError for code in _DUPLICATE_KEY_CODES},
}
# Options that cannot be (BadValue, InvalidOptions) are PyMongo's ConfigurationError; what opening, locking and the
# disk report is an OperationFailure with its code.
_CONFIGURATION_CODES = (2, 72)


def check_reply(reply: Mapping[str, Any], allowable: Any = None) -> None:
    """Raise what PyMongo raises for this reply; nothing when it is ``ok``."""
    if reply.get("ok"):
        return
    code, message = reply.get("code"), reply.get("errmsg", "")
    if allowable and (code in allowable or (code is None and message in allowable)):
        return
    kind = _BY_CODE.get(code or 0, errors.OperationFailure)
    raise kind(message, code, dict(reply))


def raise_write_error(reply: Mapping[str, Any]) -> None:
    """Raise the last write error of a single write's reply, if there is one."""
    write_errors = reply.get("writeErrors")
    if write_errors:
        error = write_errors[-1]
        kind = errors.DuplicateKeyError if error.get("code") in _DUPLICATE_KEY_CODES else errors.WriteError
        raise kind(error.get("errmsg"), error.get("code"), error)
    concern = reply.get("writeConcernError")
    if concern:
        raise errors.WriteConcernError(concern.get("errmsg"), concern.get("code"), concern)


def raise_engine_error(error: Exception) -> NoReturn:
    """Raise what opening, serving or closing reported."""
    code, name, message = error.args
    if code in _CONFIGURATION_CODES:
        raise errors.ConfigurationError(message) from None
    raise errors.OperationFailure(message, code, {"ok": 0.0, "code": code, "codeName": name, "errmsg": message}) from None
