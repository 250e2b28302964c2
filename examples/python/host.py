"""Orbweaver under wasmtime: what crosses the boundary of the component, and what it is called there."""

import secrets
import sqlite3
import sys
import time

import wasmtime
from wasmtime import component
from wasmtime.component import OptionType, Record, Variant

from store import Failure

KV = "orbweaver:kv/store@0.1.0"
CLOCK = "wasi:clocks/wall-clock@0.2.0"
RANDOM = "wasi:random/random@0.2.0"
LOG = "orbweaver:engine/log@0.1.0"

# wasmtime tells the cases of a result by their classes, and takes an object of any class for an option: `get`, whose result holds
# an option, could never fail. None has a class of its own.
OptionType.add_classes = lambda self, classes: (classes.add(type(None)), self.payload.add_classes(classes))


class Rejected(Exception):
    """A call of the engine failed; nothing is changed. The cases are those of `error` in wit/engine/types.wit."""


class Orbweaver:
    """The engine on a store, for one thread."""

    def __init__(self, path, store):
        wall_clock = {"now": lambda: record({"seconds": time.time_ns() // 10**9, "nanoseconds": time.time_ns() % 10**9})}
        imports = {
            KV: store_functions(store),
            CLOCK: wall_clock,
            RANDOM: {"get-random-u64": lambda: secrets.randbits(64)},
            LOG: {"panicked": lambda text: print(text, file=sys.stderr)},
        }
        self.instance = Instance(path, imports)
        self.call("control", "open", [])
        self.instance.call("orbweaver:engine/resp@0.1.0", "connect", 1, "in-process", None)

    def call(self, interface, function, *arguments):
        """A function of a typed interface (wit/engine). Records are objects of `Record`, variants of `Variant`."""
        return self.instance.call(f"orbweaver:engine/{interface}@0.1.0", function, *arguments)

    def command(self, *words):
        """A command in Redis' protocol; the reply as bytes of the protocol."""
        words = [word.encode() if isinstance(word, str) else word for word in words]
        request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)
        return self.call("resp", "exchange", request, [record({"connection": 1, "end": len(request)})]).output


class Instance:
    """An instance of a component. `imports` holds the functions of each imported interface."""

    def __init__(self, path, imports, wasi=None):
        config = wasmtime.Config()
        config.cache = True  # Compiled once for all runs.
        engine = wasmtime.Engine(config)
        self.store = wasmtime.Store(engine)
        linker = component.Linker(engine)
        if wasi:
            self.store.set_wasi(wasi)
            linker.allow_shadowing = True
            linker.add_wasip2()
        with linker.root() as root:
            for interface, functions in imports.items():
                with root.add_instance(interface) as instance:
                    for name, function in functions.items():
                        instance.add_func(name, lambda _, *arguments, function=function: function(*arguments))
        code = component.Component.from_file(engine, path)
        self.exports = list(code.type.exports(engine))
        self.instance = linker.instantiate(self.store, code)

    def call(self, interface, function, *arguments):
        interface = self.instance.get_export_index(self.store, interface)
        index = self.instance.get_export_index(self.store, function, interface)
        outcome = self.instance.get_func(self.store, index)(self.store, *arguments)
        # Where the classes of the two cases of a result differ, wasmtime leaves `ok` and `err` out: `err` is a text or a variant.
        if isinstance(outcome, Variant) and outcome.tag == "ok":
            return outcome.payload
        if isinstance(outcome, (str, Variant)):
            raise Rejected(outcome if isinstance(outcome, str) else (outcome.tag, outcome.payload))
        return outcome


def store_functions(store):
    """The store's methods as the functions of `orbweaver:kv/store`: lists of byte strings cross as one buffer and their ends."""

    def begin(scope):
        return store.begin(scope.tag, split(scope.payload) if scope.tag == "keys" else [])

    def get_many(keyspaces, keys):
        values = store.get_many(keyspaces, split(keys))
        absent = [position for position, value in enumerate(values) if value is None]
        return record({"values": join([value or b"" for value in values]), "absent": absent})

    def scan(keyspace, key_range, direction, max_items, max_bytes):
        start, after_start = key_range.start, getattr(key_range, "after-start")
        page, more = store.scan(keyspace, start, after_start, key_range.end, direction == "reverse", max_items, max_bytes)
        return record({"records": join(page), "more": more})

    functions = {
        "open-keyspace": store.open_keyspace,
        "begin": begin,
        "get": store.get,
        "get-many": get_many,
        "scan": scan,
        "revisions": lambda lock_keys: store.revisions(split(lock_keys)),
        "commit": store.commit,
    }
    infallible = {"get-limits": lambda: record(store.get_limits()), "rollback": store.rollback}
    return infallible | {name: fallible(function) for name, function in functions.items()}


def fallible(function):
    """The function with its exceptions as errors of the contract. An exception that got out would be a trap."""

    def call(*arguments):
        try:
            return function(*arguments)
        except Failure as failure:
            return Variant(failure.case, record(failure.detail) if isinstance(failure.detail, dict) else failure.detail)
        except sqlite3.OperationalError as error:
            # Another process has been writing for longer than SQLite waits.
            return Variant("conflict") if error.sqlite_errorcode == sqlite3.SQLITE_BUSY else Variant("io", str(error))
        except Exception as error:
            return Variant("io", repr(error))

    return call


def record(fields):
    made = Record()
    made.__dict__.update(fields)
    return made


def join(strings):
    ends, end = [], 0
    for string in strings:
        end += len(string)
        ends.append(end)
    return record({"bytes": b"".join(strings), "ends": ends})


def split(pieces):
    return [pieces.bytes[start:end] for start, end in zip([0, *pieces.ends], pieces.ends)]
