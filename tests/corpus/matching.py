"""Compares a reply with what a case expects.

Expectations are canonical Extended JSON with two liberties: a bare JSON number matches a number of any type, and
matchers (`$$exists`, `$$type`, `$$contains`, `$$size`, `$$between`) stand where a value would.
"""
from bson.decimal128 import Decimal128

from extended_json import DECIMAL, DOUBLE, INT, LONG, double, wrapper

MISSING = object()

_TYPE_NAMES = {
    "$oid": "objectId", "$symbol": "symbol", INT: "int", LONG: "long", DOUBLE: "double", DECIMAL: "decimal",
    "$date": "date", "$binary": "binData", "$timestamp": "timestamp", "$regularExpression": "regex",
    "$dbPointer": "dbPointer", "$minKey": "minKey", "$maxKey": "maxKey", "$undefined": "undefined",
}


def number(value):
    """What a BSON number is worth, None for anything else."""
    name = wrapper(value)
    if name in (INT, LONG):
        return int(value[name])
    if name in (DOUBLE, DECIMAL):
        try:
            return float(value[name])
        except ValueError:
            return None
    return None


def type_name(value):
    """The name of a value's type, as $type has it."""
    for kind, name in ((bool, "bool"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    if value is None:
        return "null"
    name = wrapper(value)
    if name == "$code":
        return "javascriptWithScope" if "$scope" in value else "javascript"
    return _TYPE_NAMES.get(name, "object")


def _match_exists(want, got):
    if (got is not MISSING) == want:
        return None
    return "missing" if want else "present"


def _match_type(want, got):
    kinds = want if isinstance(want, list) else [want]
    return None if got is not MISSING and type_name(got) in kinds else "type is not " + "/".join(kinds)


def _match_contains(want, got):
    return None if isinstance(got, str) and want in got else f"text lacks {want!r}"


def _match_size(want, got):
    have = len(got) if isinstance(got, list) else None
    return None if have == want else f"{have} elements, wanted {want}"


def _match_between(want, got):
    have = None if got is MISSING else number(got)
    return None if have is not None and want[0] <= have <= want[1] else f"not in {want[0]}..{want[1]}"


_MATCHERS = {
    "$$exists": _match_exists, "$$type": _match_type, "$$contains": _match_contains,
    "$$size": _match_size, "$$between": _match_between,
}


def _normal(value):
    """One spelling for values that may be written in several ways."""
    name = wrapper(value)
    if name == DOUBLE:
        return double(float(value[name]))
    if name == DECIMAL:
        return {DECIMAL: str(Decimal128(value[name]))}
    if name == "$regularExpression":
        parts = value[name]
        return {name: {"pattern": parts["pattern"], "options": "".join(sorted(parts["options"]))}}
    return value


def differs(want, got, *, subset, order, path=""):
    """None when `got` agrees with `want`, else where and why not.

    subset: documents in `got` may have further fields. order: the order of fields counts."""
    here = path or "(top)"
    if isinstance(want, dict) and len(want) == 1 and next(iter(want)) in _MATCHERS:
        (name, argument), = want.items()
        why = _MATCHERS[name](argument, got)
        return why and f"{here}: {why}"
    if got is MISSING:
        return f"{here}: missing"
    if want is None or isinstance(want, (bool, str)):
        return None if type(want) is type(got) and want == got else f"{here}: value"
    if isinstance(want, (int, float)):
        have = number(got)
        return None if have is not None and have == want else f"{here}: number"
    if isinstance(want, list):
        return _array_differs(want, got, subset, order, path, here)
    name = wrapper(want)
    if name:
        return None if wrapper(got) == name and _normal(want) == _normal(got) else f"{here}: value or type"
    return _document_differs(want, got, subset, order, path, here)


def _array_differs(want, got, subset, order, path, here):
    if not isinstance(got, list):
        return f"{here}: not an array"
    if len(want) != len(got):
        return f"{here}: {len(got)} elements, wanted {len(want)}"
    pairs = enumerate(zip(want, got))
    reasons = (differs(w, g, subset=subset, order=order, path=f"{path}[{i}]") for i, (w, g) in pairs)
    return next(filter(None, reasons), None)


def _document_differs(want, got, subset, order, path, here):
    if not isinstance(got, dict) or wrapper(got):
        return f"{here}: not a document"
    if not subset:
        expected = [k for k, v in want.items() if v != {"$$exists": False}]
        extra = [k for k in got if k not in expected]
        if extra:
            return f"{here}: unexpected field {extra[0]!r}"
        if order and set(expected) == set(got) and expected != list(got):
            return f"{here}: field order {list(got)}, wanted {expected}"
    fields = ((w, got.get(k, MISSING), f"{path}.{k}" if path else k) for k, w in want.items())
    reasons = (differs(w, g, subset=subset, order=order, path=p) for w, g, p in fields)
    return next(filter(None, reasons), None)


def documents_differ(want, got, *, ordered, order, subset=False):
    """Like `differs` for lists of documents, as a multiset unless `ordered`."""
    if len(want) != len(got):
        return f"{len(got)} documents, wanted {len(want)}"
    if ordered:
        return differs(want, got, subset=subset, order=order, path="docs")
    left = list(got)
    for i, wanted in enumerate(want):
        for j, candidate in enumerate(left):
            if differs(wanted, candidate, subset=subset, order=order) is None:
                del left[j]
                break
        else:
            return f"wanted document {i} is not among the results"
    return None
