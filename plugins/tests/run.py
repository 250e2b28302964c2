"""Runs a WASI command under the wasmtime of PyPI, as `wasmtime run` does.

python run.py [--dir FOLDER] [--env NAME=VALUE]... COMPONENT [ARGUMENT]...
"""

import argparse
import sys

import wasmtime
from wasmtime import component


def configured(arguments):
    wasi = wasmtime.WasiConfig()
    wasi.argv = [arguments.component, *arguments.arguments]
    wasi.env = [tuple(pair.split("=", 1)) for pair in arguments.env]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    if arguments.dir:
        wasi.preopen_dir(arguments.dir, "data")
    return wasi


def run(arguments):
    config = wasmtime.Config()
    # Compiled once for all the tests that run the same component.
    config.cache = True
    engine = wasmtime.Engine(config)
    store = wasmtime.Store(engine)
    store.set_wasi(configured(arguments))
    linker = component.Linker(engine)
    linker.add_wasip2()
    command = component.Component.from_file(engine, arguments.component)
    exports = command.type.exports(engine)
    name = next(name for name in exports if name.startswith("wasi:cli/run@"))
    instance = linker.instantiate(store, command)
    interface = instance.get_export_index(store, name)
    function = instance.get_func(store, instance.get_export_index(store, "run", interface))
    outcome = function(store)
    return 0 if getattr(outcome, "tag", "ok") == "ok" else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("component")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    try:
        sys.exit(run(parser.parse_args()))
    except wasmtime.ExitTrap as trap:
        sys.exit(trap.code)


main()
