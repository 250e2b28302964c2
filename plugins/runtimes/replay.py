"""Replays requests on wasmtime from PyPI, clock and randomness held still, and writes what they leave behind.

python replay.py sqlite|composition COMPONENT FOLDER CLOCK_MS SEED < REQUESTS

A request is a line of hexadecimal digits. FOLDER gets the files replies, dump and records, beside those of the store."""

import json
import os
import sys
from pathlib import Path

import wasmtime
from wasmtime.component import Component, Variant

from host import KV, LOG, Instance, record, split, store_functions
from store import SqliteStore

# The keyspaces of the engine's own layout (docs/format.md).
KEYSPACES = ["data", "expiry", "field-expiry", "garbage", "meta", "rank", "score", "system"]
PAGE = (1000, 1 << 20)


class Random:
    """The numbers of the engine's `HeldEnvironment`: SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def draw(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31


def held(clock_ms, random):
    """Clock and randomness, by the interface's name without its version."""
    now = {"seconds": clock_ms // 1000, "nanoseconds": clock_ms % 1000 * 1_000_000}
    resolution = {"seconds": 0, "nanoseconds": 1}
    return {
        "wasi:clocks/wall-clock": {"now": lambda: record(now), "resolution": lambda: record(resolution)},
        "wasi:random/random": {"get-random-u64": random.draw, "get-random-bytes": os.urandom},
    }


def imported(component, functions):
    """The functions under the names, with versions, by which the component imports them."""
    engine = wasmtime.Engine()
    names = Component.from_file(engine, component).type.imports(engine)
    return {name: functions[name.partition("@")[0]] for name in names if name.partition("@")[0] in functions}


def replay(instance, requests, out):
    resp = "orbweaver:engine/resp@0.1.0"
    instance.call(resp, "connect", 1, "exec", None)
    for request in requests:
        outcome = instance.call(resp, "exchange", request, [record({"connection": 1, "end": len(request)})])
        if outcome.answers[0].consumed != len(request):
            sys.exit(f"a request is not done: {request!r}")
        out.write(outcome.output)


def dump(instance, out):
    start = None
    while True:
        chunk = instance.call("orbweaver:engine/maintenance@0.1.0", "dump", start, 1 << 20)
        out.write(chunk.lines)
        start = chunk.next
        if start is None:
            return


def records(call, out):
    """Lists the store through the functions of the contract."""
    for name in KEYSPACES:
        keyspace = call("open-keyspace", name, "bytes")
        call("begin", Variant("read"))
        bounds = {"start": b"", "after-start": False, "end": None}
        more = True
        while more:
            page = call("scan", keyspace, record(bounds), "forward", *PAGE)
            pieces = split(page.records)
            for key, value in zip(pieces[::2], pieces[1::2]):
                out.write(json.dumps({"keyspace": name, "k": key.hex(), "v": value.hex()}, separators=(",", ":")) + "\n")
                bounds = {"start": key, "after-start": True, "end": None}
            more = page.more
        call("rollback")


def main():
    kind, component, folder, clock_ms, seed = sys.argv[1:]
    folder = Path(folder)
    random = Random(int(seed))
    imports = imported(component, held(int(clock_ms), random))
    if kind == "sqlite":
        functions = store_functions(SqliteStore(folder / "store.db"))
        instance = Instance(component, imports | {KV: functions, LOG: {"panicked": sys.exit}})
        call = lambda name, *arguments: functions[name](*arguments)
    else:
        (folder / "store").mkdir()
        wasi = wasmtime.WasiConfig()
        wasi.preopen_dir(str(folder / "store"), "data")
        wasi.inherit_stderr()
        instance = Instance(component, imports, wasi)
        call = lambda name, *arguments: instance.call(KV, name, *arguments)
    instance.call("orbweaver:engine/control@0.1.0", "open", [])
    # The store of a composition may have drawn numbers for itself when it opened. The engine draws its first one for a command.
    random.state = int(seed)
    with open(folder / "replies", "wb") as out:
        replay(instance, map(bytes.fromhex, sys.stdin), out)
    with open(folder / "dump", "wb") as out:
        dump(instance, out)
    with open(folder / "records", "w") as out:
        records(call, out)


main()
