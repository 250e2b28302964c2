"""The contract `orbweaver:kv` (wit/kv/store.wit) over SQLite: nine functions in plain Python."""

import sqlite3
import struct
import zlib

# An operation of a batch: kind, keyspace, and the lengths of the two byte strings behind it.
OPERATION = struct.Struct("<BIII")
PUT, DELETE, DELETE_RANGE = 1, 2, 3

# Lock keys share this many counters. A shared one is at worst a false alarm.
STRIPES = 4096
EPOCH = -1

# SQLite's own limit is 10^9 bytes for a whole row.
MAX_BYTES = 500_000_000


class Failure(Exception):
    """A case of the contract's variant `error`, and what the case holds."""

    def __init__(self, case, detail=None):
        super().__init__(case, detail)
        self.case, self.detail = case, detail


class SqliteStore:
    """A store in the file `path`; ":memory:" is one that is gone with the process."""

    def __init__(self, path):
        # Transactions are begun by the engine, not by Python.
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript("""
            PRAGMA journal_mode = WAL;  -- A reader keeps the state that it began with while another process writes.
            PRAGMA synchronous = FULL;  -- A commit is on the disk before it is acknowledged.
            CREATE TABLE IF NOT EXISTS revision (stripe INTEGER PRIMARY KEY, count INTEGER);
            -- SQLite orders blobs as the contract wants it: by unsigned bytes, the shorter one first.
            CREATE TABLE IF NOT EXISTS record (keyspace TEXT, key BLOB, value BLOB, PRIMARY KEY (keyspace, key)) WITHOUT ROWID;
        """)
        self.keyspaces = []
        self.is_in_doubt = False

    def get_limits(self):
        unlimited = 2**64 - 1
        return {"max-key-bytes": MAX_BYTES, "max-value-bytes": MAX_BYTES, "max-batch-ops": unlimited,
                "max-batch-bytes": unlimited, "read-only": False}

    def open_keyspace(self, name, order):
        if order != "bytes":
            raise Failure("unsupported-order", order)
        self.keyspaces.append(name)
        return len(self.keyspaces) - 1

    def begin(self, scope, lock_keys):
        """`scope` is "read", "keys" or "exclusive"; only "keys" has lock keys."""
        if self.db.in_transaction:
            raise Failure("io", "a transaction is open")
        if self.is_in_doubt and scope != "read":
            raise Failure("unknown-outcome", "an earlier commit has failed: open the store anew")
        # One writer at a time, in this process and in others: nothing gets in between, and so no commit meets a conflict.
        self.db.execute("BEGIN" if scope == "read" else "BEGIN IMMEDIATE")
        self.scope, self.lock_keys = scope, lock_keys
        return self.revision(EPOCH)

    def get(self, keyspace, key):
        query = "SELECT value FROM record WHERE keyspace = ? AND key = ?"
        row = self.db.execute(query, [self.within(keyspace), key]).fetchone()
        return row and row[0]

    def get_many(self, keyspaces, keys):
        return [self.get(keyspace, key) for keyspace, key in zip(keyspaces, keys, strict=True)]

    def scan(self, keyspace, start, after_start, end, reverse, max_items, max_bytes):
        """Keys and values in turn, and whether there are more of them."""
        query = f"SELECT key, value FROM record WHERE keyspace = ? AND key {'>' if after_start else '>='} ?"
        bounds = [self.within(keyspace), start]
        if end is not None:
            query += " AND key < ?"
            bounds.append(end)
        query += f" ORDER BY key {'DESC' if reverse else 'ASC'} LIMIT ?"
        page, size, max_items = [], 0, max(max_items, 1)
        # One record more than asked for tells whether there are more.
        for key, value in self.db.execute(query, [*bounds, max_items + 1]):
            if len(page) == 2 * max_items or (page and size >= max_bytes):
                return page, True
            page += [key, value]
            size += len(key) + len(value)
        return page, False

    def revisions(self, lock_keys):
        return [self.revision(zlib.crc32(key) % STRIPES) for key in lock_keys]

    def commit(self, batch, changed):
        try:
            self.demand_transaction()
            # Everything is checked before anything is written.
            operations = list(self.operations(batch))
            if operations and self.scope == "read":
                raise Failure("read-only")
            for kind, keyspace, a, b in operations:
                if kind == PUT:
                    self.db.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", [keyspace, a, b])
                elif kind == DELETE:
                    self.db.execute("DELETE FROM record WHERE keyspace = ? AND key = ?", [keyspace, a])
                else:
                    condition, bounds = (" AND key < ?", [b]) if b else ("", [])
                    self.db.execute("DELETE FROM record WHERE keyspace = ? AND key >= ?" + condition, [keyspace, a, *bounds])
            if self.scope == "exclusive":
                self.count(EPOCH)
            for position in changed:
                self.count(zlib.crc32(self.lock_keys[position]) % STRIPES)
            try:
                self.db.execute("COMMIT")
            except sqlite3.Error as error:
                self.is_in_doubt = True
                raise Failure("unknown-outcome", str(error)) from error
        finally:
            self.rollback()

    def rollback(self):
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def within(self, keyspace):
        """The keyspace's name, where a transaction is open. Of a keyspace that is not open, the IndexError says enough."""
        self.demand_transaction()
        return self.keyspaces[keyspace]

    def demand_transaction(self):
        if not self.db.in_transaction:
            raise Failure("io", "no transaction is open")

    def operations(self, batch):
        at = 0
        while at < len(batch):
            kind, keyspace, a_length, b_length = OPERATION.unpack_from(batch, at)
            middle = at + OPERATION.size + a_length
            a, b = batch[at + OPERATION.size:middle], batch[middle:middle + b_length]
            if not a and kind != DELETE_RANGE:
                raise Failure("io", "the empty key is not allowed")
            if max(a_length, b_length) > MAX_BYTES:
                raise Failure("too-large", {"what": "a key or a value", "limit": MAX_BYTES})
            yield kind, self.within(keyspace), a, b
            at = middle + b_length

    def revision(self, stripe):
        row = self.db.execute("SELECT count FROM revision WHERE stripe = ?", [stripe]).fetchone()
        return row[0] if row else 0

    def count(self, stripe):
        self.db.execute("INSERT INTO revision VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1", [stripe])
