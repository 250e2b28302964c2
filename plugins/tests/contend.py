"""Runs participants of `orbweaver-conform.wasm contend` at the same time on one store, and prints what each of them says.

python contend.py COMPONENT PARTICIPANTS [FLAW]
"""

import sys
import tempfile
import threading
from pathlib import Path

import wasmtime
from command import Command
from shared_store import Conversation, Shared


def main(path, participants, flaw=None):
    command, shared = Command(path), Shared(flaw)
    codes = {}
    with tempfile.TemporaryDirectory() as folder:

        def take_part(number):
            wasi = wasmtime.WasiConfig()
            wasi.argv = [path, "contend", str(number), participants]
            wasi.stdout_file = str(Path(folder, str(number)))
            wasi.inherit_stderr()
            codes[number] = command.run(wasi, Conversation(shared).define)

        threads = [threading.Thread(target=take_part, args=[number]) for number in range(int(participants))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(len(threads)):
            sys.stdout.write(Path(folder, str(number)).read_text())
    sys.exit(max(codes.get(number, 1) for number in range(len(threads))))


main(*sys.argv[1:])
