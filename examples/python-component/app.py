"""Counts visits in wasi:keyvalue. Nothing here knows Orbweaver."""

import struct

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import atomics, batch, store

VISITS = 1500


def list_keys(bucket):
    """All keys of a bucket, and on how many pages they came."""
    keys, pages, cursor = [], 0, None
    while pages == 0 or cursor is not None:
        page = bucket.list_keys(cursor)
        keys += page.keys
        cursor = page.cursor
        pages += 1
    return keys, pages


def record_visits(run):
    """Each visit is a key; its value is the number of seconds as four bytes."""
    visits = store.open("visits")
    batch.set_many(visits, [(f"{run:03}/{number:04}", struct.pack(">I", number * 1000)) for number in range(VISITS)])
    keys, pages = list_keys(visits)
    seconds = sum(struct.unpack(">I", value)[0] for _, value in batch.get_many(visits, keys))
    print(f"{len(keys)} visits on {pages} pages, {seconds} seconds")


def append(cas, text):
    """Appends to the value that a handle has seen."""
    atomics.swap(cas, (cas.current() or b"") + text)


def write_notes():
    """Two who append at the same time: the second one is told so, and begins again with what the first has written."""
    notes = store.open("notes")
    first, second = atomics.Cas.new(notes, "today"), atomics.Cas.new(notes, "today")
    append(first, b"first\n")
    try:
        append(second, b"second\n")
    except Err as error:
        print("conflict")
        append(error.value.value, b"second\n")
    print(f"notes: {notes.get('today')}")


class Run(exports.Run):
    def run(self):
        run = atomics.increment(store.open("counters"), "runs", 1)
        print(f"run {run}")
        record_visits(run)
        write_notes()
