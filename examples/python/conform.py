"""The test-suite of the contract on the store of this example. Usage: python conform.py SUITE DATABASE [leave | find | contend NUMBER OF]

SUITE is orbweaver-conform.wasm. DATABASE is a file that does not exist yet, or that `leave` has written, or
that other participants of `contend` use."""

import sys

import wasmtime

from host import KV, Instance, store_functions
from store import SqliteStore

suite, database, *arguments = sys.argv[1:]
wasi = wasmtime.WasiConfig()
wasi.argv = ["orbweaver-conform", *arguments]
wasi.inherit_stdout()
wasi.inherit_stderr()
instance = Instance(suite, {KV: store_functions(SqliteStore(database))}, wasi)
run = next(name for name in instance.exports if name.startswith("wasi:cli/run@"))
try:
    instance.call(run, "run")
except wasmtime.ExitTrap as trap:
    sys.exit(trap.code)
