"""Runs participants of `orbweaver-conform.wasm contend` at the same time on one store, and prints what each of them says.

Each has a process of its own, and the store another one: wasmtime's Python cannot run instances on several threads.

python contend.py COMPONENT PARTICIPANTS [FLAW]
"""

import multiprocessing
import sys
import tempfile
from multiprocessing.managers import BaseManager
from pathlib import Path

import wasmtime
from command import Command
from shared_store import Conversation, Shared

FUNCTIONS = ["get-limits", "open-keyspace", "begin", "get", "get-many", "scan", "revisions", "commit", "rollback"]


def define(linker, conversation):
    with linker.root() as root, root.add_instance("orbweaver:kv/store@0.1.0") as store:
        for name in FUNCTIONS:
            method = getattr(conversation, name.replace("-", "_"))
            store.add_func(name, lambda _, *arguments, method=method: method(*arguments))


def take_part(path, number, participants, conversation, output):
    wasi = wasmtime.WasiConfig()
    wasi.argv = [path, "contend", str(number), participants]
    wasi.stdout_file = str(output)
    wasi.inherit_stderr()
    sys.exit(Command(path).run(wasi, lambda linker: define(linker, conversation)))


def main(path, participants, flaw=None):
    context, shared = multiprocessing.get_context("fork"), Shared(flaw)
    BaseManager.register("conversation", callable=lambda: Conversation(shared))
    with BaseManager(ctx=context) as host, tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder, str(number)) for number in range(int(participants))]
        # Kept here, too: the store forgets a conversation that nobody holds.
        conversations = [host.conversation() for _ in outputs]
        processes = [
            context.Process(target=take_part, args=[path, number, participants, conversation, output])
            for number, (conversation, output) in enumerate(zip(conversations, outputs))
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        for output in outputs:
            sys.stdout.write(output.read_text())
    sys.exit(any(process.exitcode for process in processes))


main(*sys.argv[1:])
