"""orbweaver:kv in memory, for several instances at the same time: snapshots that are checked when they commit."""

import struct
import threading
import time

from wasmtime.component import Record, Variant

PUT, DELETE = 1, 2
# Keys, values, operations, bytes: only memory limits them.
UNLIMITED = (1 << 64) - 1


def record(**fields):
    made = Record()
    made.__dict__.update((name.replace("_", "-"), value) for name, value in fields.items())
    return made


def cut(pieces):
    starts = [0, *pieces.ends]
    return [pieces.bytes[start:end] for start, end in zip(starts, pieces.ends)]


def joined(strings):
    ends, length = [], 0
    for string in strings:
        length += len(string)
        ends.append(length)
    return record(bytes=b"".join(strings), ends=ends)


def operations(batch):
    at = 0
    while at < len(batch):
        kind, keyspace, first, second = struct.unpack_from("<BIII", batch, at)
        at += 13
        yield kind, keyspace, batch[at : at + first], batch[at + first : at + first + second]
        at += first + second


def applied(state, changes):
    """A state with the changes; the old one stays as it is for those who read it."""
    state = {keyspace: dict(records) for keyspace, records in state.items()}
    for kind, keyspace, first, second in changes:
        records = state[keyspace]
        if kind == PUT:
            records[first] = second
        elif kind == DELETE:
            records.pop(first, None)
        else:
            for key in [key for key in records if key >= first and (not second or key < second)]:
                del records[key]
    return state


class Shared:
    """What the instances share. `flaw` is one of those of the engine's conformance suite, or None."""

    def __init__(self, flaw):
        self.flaw = flaw
        self.lock = threading.Lock()
        self.names, self.state = [], {}
        self.epoch, self.commits, self.revisions = 0, 0, {}

    def witness(self, scope):
        """What is the same at the commit unless somebody got in between."""
        if scope.tag == "keys":
            epoch = None if self.flaw == "SharesExclusive" else self.epoch
            return [] if self.flaw == "LosesUpdates" else [epoch, *map(self.revision, cut(scope.payload))]
        return [self.epoch, self.commits] if scope.tag == "exclusive" and self.flaw != "SharesExclusive" else []

    def revision(self, key):
        return self.revisions.get(key, 0)

    def count(self, scope, changed):
        self.commits += 1
        self.epoch += scope.tag == "exclusive"
        if scope.tag == "keys":
            keys = cut(scope.payload)
            for key in {keys[position] for position in changed}:
                self.revisions[key] = self.revision(key) + 1


class Conversation:
    """That of one instance."""

    def __init__(self, shared):
        self.shared = shared
        self.open = None

    def records(self, keyspace):
        snapshot = self.open[1]
        return (self.shared.state if self.shared.flaw == "ReadsTheLatest" else snapshot)[keyspace]

    def get_limits(self):
        names = ["max_key_bytes", "max_value_bytes", "max_batch_ops", "max_batch_bytes"]
        return record(**dict.fromkeys(names, UNLIMITED), read_only=False)

    def open_keyspace(self, name, order):
        if order != "bytes":
            return Variant("unsupported-order", order)
        with self.shared.lock:
            if name not in self.shared.names:
                self.shared.names.append(name)
                self.shared.state = {**self.shared.state, len(self.shared.names) - 1: {}}
            return self.shared.names.index(name)

    def begin(self, scope):
        with self.shared.lock:
            self.open = scope, self.shared.state, self.shared.witness(scope)
            return self.shared.epoch

    def get(self, keyspace, key):
        return self.records(keyspace).get(key)

    def get_many(self, keyspaces, keys):
        values = [self.get(keyspace, key) for keyspace, key in zip(keyspaces, cut(keys))]
        absent = [position for position, value in enumerate(values) if value is None]
        return record(values=joined([value or b"" for value in values]), absent=absent)

    def scan(self, keyspace, bounds, direction, max_items, max_bytes):
        records, start, end = self.records(keyspace), bounds.start, bounds.end
        keys = [key for key in records if key >= start and (end is None or key < end)]
        if getattr(bounds, "after-start"):
            keys = [key for key in keys if key != start]
        keys.sort(reverse=direction == "reverse")
        page, size = [], 0
        for key in keys:
            if page and (len(page) >= 2 * max_items or size >= max_bytes):
                break
            page += [key, records[key]]
            size += len(key) + len(records[key])
        return record(records=joined(page), more=len(page) < 2 * len(keys))

    def revisions(self, lock_keys):
        with self.shared.lock:
            return [self.shared.revision(key) for key in cut(lock_keys)]

    def commit(self, batch, changed):
        (scope, _, witness), self.open = self.open, None
        changes = list(operations(batch))
        halves = [changes]
        if self.shared.flaw == "TearsBatches":
            halves = [changes[: len(changes) // 2], changes[len(changes) // 2 :]]
        with self.shared.lock:
            if changes and witness != self.shared.witness(scope):
                return Variant("conflict")
            self.shared.state = applied(self.shared.state, halves[0])
            if changes:
                self.shared.count(scope, changed)
        for half in halves[1:]:
            time.sleep(0.002)
            with self.shared.lock:
                self.shared.state = applied(self.shared.state, half)

    def rollback(self):
        self.open = None
