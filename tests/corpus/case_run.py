"""Runs one case: its setup, the index of the variant, its steps, and tidying up."""
import json
import time
import uuid

from extended_json import INT, LONG
from matching import MISSING, differs, documents_differ, number

EVENT_WAIT_SECS = 5


class Failure(Exception):
    """A step whose answer is not what the case wants."""

    def __init__(self, where, want, got, why):
        super().__init__(why)
        self.where, self.want, self.got, self.why = where, want, got, why

    def line(self):
        got = self.got
        if isinstance(got, dict):
            got = {k: v for k, v in got.items() if k not in ("$clusterTime", "operationTime")}
        return f"{self.where}: {self.why} | want {_short(self.want)} | got {_short(got)}"


def _short(value, limit=600):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[:limit] + "…"


def _lookup(document, path):
    for part in path.split("."):
        if isinstance(document, list) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        elif isinstance(document, dict) and part in document:
            document = document[part]
        else:
            raise KeyError(path)
    return document


def _fill(value, saved):
    """`{"$saved": name}` and `{"$saved": name, "$suffix": text}` become the saved value."""
    if isinstance(value, list):
        return [_fill(x, saved) for x in value]
    if not isinstance(value, dict):
        return value
    if "$saved" in value and set(value) <= {"$saved", "$suffix"}:
        found = saved[value["$saved"]]
        return found + value["$suffix"] if "$suffix" in value else found
    return {k: _fill(x, saved) for k, x in value.items()}


def variants(case):
    """(label, indexes) of every run of a case: without an index, with each, with all."""
    yield "", ()
    if case.get("indexes") == "any":
        each = case.get("index_variants", [])
        for i, index in enumerate(each):
            yield f"index {i}", (index,)
        if len(each) > 1:
            yield "all indexes", tuple(each)


class Run:
    """One run of one case against one door, in a database of its own."""

    def __init__(self, door, case, timeout_secs):
        self.door, self.case = door, case
        self.deadline = time.monotonic() + timeout_secs
        self.db = "t" + uuid.uuid4().hex[:12]
        self.saved = {"db": self.db}
        self.open_transactions = {}

    def execute(self, indexes):
        self.door.begin()
        try:
            for i, command in enumerate(self.case.get("setup", [])):
                reply = self.send(self.db, _fill(command, self.saved))
                if number(reply.get("ok")) != 1 or reply.get("writeErrors"):
                    raise Failure(f"setup {i}", "ok: 1", reply, "setup failed")
            for i, index in enumerate(indexes):
                self.create_index(i, *index)
            for i, step in enumerate(self.case["steps"]):
                self.step(f"step {i}", _fill(step, self.saved))
        finally:
            self.tidy()

    def send(self, db, command, session="default"):
        if command.get("autocommit") is False:
            self.open_transactions[session] = command["txnNumber"]
        if time.monotonic() > self.deadline:
            raise Failure("time", "in time", "still running", "time-out")
        return self.door.command(db, command, session)

    def tidy(self):
        for session, txn_number in self.open_transactions.items():
            abort = {"abortTransaction": {INT: "1"}, "txnNumber": txn_number, "autocommit": False}
            self.door.command("admin", abort, session)
        self.door.command(self.db, {"dropDatabase": {INT: "1"}}, "cleanup")

    def create_index(self, i, key, options, collection="c"):
        spec = {"key": key, "name": f"v{i}_" + "_".join(key), **options}
        reply = self.send(self.db, {"createIndexes": collection, "indexes": [spec]})
        if number(reply.get("ok")) != 1:
            raise Failure("index", "ok: 1", reply, f"index {spec['name']} failed")

    def step(self, where, step):
        session, db = step.get("session", "default"), step.get("db", self.db)
        reply = self.send(db, step["command"], session)
        self.check_outcome(where, step, reply)
        if "reply" in step:
            self.check_reply(where, step, reply)
        if "events" in step:
            reply = dict(reply, events=self.events(where, step, db, reply, session))
        if "docs" in step or "count" in step:
            self.check_documents(where, step, self.drain(where, db, reply, session))
        for name, path in step.get("save", {}).items():
            try:
                self.saved[name] = _lookup(reply, path)
            except KeyError:
                raise Failure(where, path, reply, f"nothing to save at {path}") from None

    @staticmethod
    def check_outcome(where, step, reply):
        """ok, `error` and `fails`."""
        ok = number(reply.get("ok")) == 1
        write_errors = reply.get("writeErrors") or []
        for kind, failed, found in (("fails", not ok or write_errors, (write_errors or [reply])[0]),
                                    ("error", not ok, reply)):
            if kind in step:
                why = differs(step[kind], found, subset=True, order=False) if failed else "no error"
                if why:
                    raise Failure(where, {kind: step[kind]}, reply, why)
                return
        if not ok:
            want = {k: step[k] for k in ("docs", "count", "reply", "events") if k in step} or "ok: 1"
            raise Failure(where, want, reply, "error reply")

    @staticmethod
    def check_reply(where, step, reply):
        """A part of the reply, except that `values` and `value` are compared whole."""
        order = step.get("field_order", True)
        want = dict(step["reply"])
        if not step.get("ordered", False) and isinstance(want.get("values"), list):
            values, have = want.pop("values"), reply.get("values")
            if not isinstance(have, list):
                raise Failure(where, values, reply, "values: missing")
            why = documents_differ(values, have, ordered=False, order=order)
            if why:
                raise Failure(where, values, have, why)
        why = differs(want, reply, subset=True, order=False)
        if not why and "value" in want:
            why = differs(want["value"], reply.get("value", MISSING), subset=False, order=order, path="value")
        if why:
            raise Failure(where, want, reply, why)

    @staticmethod
    def check_documents(where, step, docs):
        if "count" in step and len(docs) != step["count"]:
            raise Failure(where, f"{step['count']} documents", docs, f"{len(docs)} documents")
        if "docs" in step:
            why = documents_differ(step["docs"], docs, ordered=step.get("ordered", False),
                                   order=step.get("field_order", True))
            if why:
                raise Failure(where, step["docs"], docs, why)

    def drain(self, where, db, reply, session):
        """All documents of a reply's cursor."""
        cursor = reply.get("cursor")
        if not isinstance(cursor, dict) or "firstBatch" not in cursor:
            raise Failure(where, "a cursor", reply, "no cursor in the reply")
        docs = list(cursor["firstBatch"])
        collection = cursor.get("ns", ".").split(".", 1)[1]
        while number(cursor["id"]) != 0:
            more = {"getMore": {LONG: str(number(cursor["id"]))}, "collection": collection}
            reply = self.send(db, more, session)
            if number(reply.get("ok")) != 1:
                raise Failure("getMore", "ok: 1", reply, "getMore failed")
            cursor = reply["cursor"]
            docs += cursor["nextBatch"]
        return docs

    def events(self, where, step, db, reply, session):
        """The change events of a stream, waited for."""
        want, seen = step["events"], []
        stop = time.monotonic() + EVENT_WAIT_SECS
        while True:
            cursor = reply.get("cursor", {})
            seen += cursor.get("nextBatch", cursor.get("firstBatch", []))
            if len(seen) >= len(want) or time.monotonic() > stop:
                break
            command = dict(step["command"])
            if "getMore" not in command:
                command = {"getMore": {LONG: str(number(cursor["id"]))},
                           "collection": cursor["ns"].split(".", 1)[1]}
            reply = self.send(db, command, session)
            if number(reply.get("ok")) != 1:
                raise Failure(where, want, reply, "getMore failed")
        why = documents_differ(want, seen, ordered=True, subset=True, order=False)
        if why:
            raise Failure(where, want, seen, why)
        return seen
