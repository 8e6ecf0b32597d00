"""Canonical Extended JSON <-> BSON without loss.

Values stay canonical Extended JSON (plain JSON objects) on both sides of a comparison, so that no number
meets a host-language type. Only the exact wrapper shapes are special; `{"$regex": …}` and its like are ordinary
documents. This is a test's own reading of BSON: it shares no code with what it checks.
"""
import base64
import math
import struct

from bson.decimal128 import Decimal128

INT, LONG, DOUBLE, DECIMAL = "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal"


def _is_text(x):
    return isinstance(x, str)


def _has_keys(*names):
    return lambda x: isinstance(x, dict) and set(x) == set(names)


# Wrapper name -> what its value must look like.
_SHAPES = {
    "$oid": _is_text, "$symbol": _is_text, "$code": _is_text,
    INT: _is_text, LONG: _is_text, DOUBLE: _is_text, DECIMAL: _is_text,
    "$date": lambda x: wrapper(x) == LONG,
    "$binary": _has_keys("base64", "subType"),
    "$timestamp": _has_keys("t", "i"),
    "$regularExpression": _has_keys("pattern", "options"),
    "$dbPointer": _has_keys("$ref", "$id"),
    "$minKey": lambda x: x == 1 and x is not True,
    "$maxKey": lambda x: x == 1 and x is not True,
    "$undefined": lambda x: x is True,
}


def wrapper(value):
    """The wrapper that an object is, or None for a plain document."""
    if not isinstance(value, dict):
        return None
    if set(value) == {"$code", "$scope"}:
        return "$code"
    if len(value) != 1:
        return None
    (name, inner), = value.items()
    shape = _SHAPES.get(name)
    return name if shape and shape(inner) else None


# ---------------------------------------------------------------- to BSON

def _cstring(text):
    raw = text.encode("utf-8", "surrogatepass")
    if b"\0" in raw:
        raise ValueError(f"NUL in a name or regular expression: {text!r}")
    return raw + b"\0"


def _string(text):
    raw = text.encode("utf-8", "surrogatepass") + b"\0"
    return struct.pack("<i", len(raw)) + raw


def _binary(x, _):
    raw, subtype = base64.b64decode(x["base64"]), int(x["subType"], 16)
    if subtype == 2:
        raw = struct.pack("<i", len(raw)) + raw
    return 0x05, struct.pack("<iB", len(raw), subtype) + raw


def _code(x, whole):
    if "$scope" not in whole:
        return 0x0D, _string(x)
    body = _string(x) + encode(whole["$scope"])
    return 0x0F, struct.pack("<i", len(body) + 4) + body


_WRITERS = {
    INT: lambda x, _: (0x10, struct.pack("<i", int(x))),
    LONG: lambda x, _: (0x12, struct.pack("<q", int(x))),
    DOUBLE: lambda x, _: (0x01, struct.pack("<d", float(x))),
    DECIMAL: lambda x, _: (0x13, Decimal128(x).bid),
    "$oid": lambda x, _: (0x07, bytes.fromhex(x)),
    "$date": lambda x, _: (0x09, struct.pack("<q", int(x[LONG]))),
    "$binary": _binary,
    "$timestamp": lambda x, _: (0x11, struct.pack("<II", x["i"], x["t"])),
    "$regularExpression": lambda x, _: (
        0x0B, _cstring(x["pattern"]) + _cstring("".join(sorted(x["options"])))),
    "$code": _code,
    "$symbol": lambda x, _: (0x0E, _string(x)),
    "$dbPointer": lambda x, _: (0x0C, _string(x["$ref"]) + bytes.fromhex(x["$id"]["$oid"])),
    "$minKey": lambda x, _: (0xFF, b""),
    "$maxKey": lambda x, _: (0x7F, b""),
    "$undefined": lambda x, _: (0x06, b""),
}


def _encode_value(value):
    if value is None:
        return 0x0A, b""
    if isinstance(value, bool):
        return 0x08, bytes([value])
    if isinstance(value, str):
        return 0x02, _string(value)
    if isinstance(value, list):
        return 0x04, encode({str(i): x for i, x in enumerate(value)})
    if isinstance(value, (int, float)):
        raise ValueError(f"bare number {value!r} in a command: canonical Extended JSON is needed")
    name = wrapper(value)
    return (0x03, encode(value)) if name is None else _WRITERS[name](value[name], value)


def encode(document):
    """A document as BSON bytes."""
    body = bytearray()
    for name, value in document.items():
        tag, raw = _encode_value(value)
        body += bytes([tag]) + _cstring(name) + raw
    return struct.pack("<i", len(body) + 5) + bytes(body) + b"\0"


# ---------------------------------------------------------------- from BSON

def double(f):
    """A double as canonical Extended JSON."""
    if math.isnan(f):
        return {DOUBLE: "NaN"}
    if math.isinf(f):
        return {DOUBLE: "Infinity" if f > 0 else "-Infinity"}
    return {DOUBLE: repr(f)}


class _Reader:
    """A position in BSON bytes."""

    def __init__(self, raw, at=0):
        self.raw, self.at = raw, at

    def unpack(self, layout):
        got = struct.unpack_from(layout, self.raw, self.at)
        self.at += struct.calcsize(layout)
        return got if len(got) > 1 else got[0]

    def take(self, n):
        got = bytes(self.raw[self.at:self.at + n])
        self.at += n
        return got

    def cstring(self):
        end = self.raw.index(b"\0", self.at)
        return self.take(end - self.at + 1)[:-1].decode("utf-8", "replace")

    def string(self):
        return self.take(self.unpack("<i"))[:-1].decode("utf-8", "replace")

    def document(self, array=False):
        end = self.at + self.unpack("<i") - 1
        items = []
        while self.at < end:
            tag = self.take(1)[0]
            name = self.cstring()
            if tag not in _READERS:
                raise ValueError(f"unknown BSON type 0x{tag:02x} at {name!r}")
            items.append((name, _READERS[tag](self)))
        self.at = end + 1
        return [value for _, value in items] if array else dict(items)

    def binary(self):
        n, subtype = self.unpack("<iB")
        raw = self.take(n)
        if subtype == 2:
            raw = raw[4:]
        return {"$binary": {"base64": base64.b64encode(raw).decode(), "subType": f"{subtype:02x}"}}

    def code_with_scope(self):
        self.unpack("<i")
        code = self.string()
        return {"$code": code, "$scope": self.document()}

    def timestamp(self):
        i, t = self.unpack("<II")
        return {"$timestamp": {"t": t, "i": i}}


_READERS = {
    0x01: lambda r: double(r.unpack("<d")),
    0x02: _Reader.string,
    0x03: _Reader.document,
    0x04: lambda r: r.document(array=True),
    0x05: _Reader.binary,
    0x06: lambda r: {"$undefined": True},
    0x07: lambda r: {"$oid": r.take(12).hex()},
    0x08: lambda r: r.take(1) == b"\1",
    0x09: lambda r: {"$date": {LONG: str(r.unpack("<q"))}},
    0x0A: lambda r: None,
    0x0B: lambda r: {"$regularExpression": {"pattern": r.cstring(), "options": r.cstring()}},
    0x0C: lambda r: {"$dbPointer": {"$ref": r.string(), "$id": {"$oid": r.take(12).hex()}}},
    0x0D: lambda r: {"$code": r.string()},
    0x0E: lambda r: {"$symbol": r.string()},
    0x0F: _Reader.code_with_scope,
    0x10: lambda r: {INT: str(r.unpack("<i"))},
    0x11: _Reader.timestamp,
    0x12: lambda r: {LONG: str(r.unpack("<q"))},
    0x13: lambda r: {DECIMAL: str(Decimal128.from_bid(r.take(16)))},
    0x7F: lambda r: {"$maxKey": 1},
    0xFF: lambda r: {"$minKey": 1},
}


def decode(raw):
    """BSON bytes as a document."""
    return _Reader(raw).document()
