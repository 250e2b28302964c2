"""Runs the composition under the wasmtime of PyPI, with its data in a folder.

python run.py [--component FILE] [--dir FOLDER]
"""

import argparse
import sys
from pathlib import Path

import wasmtime
from wasmtime import component

HERE = Path(__file__).resolve().parent


def export(store, instance, interface, name):
    """A function of an interface that the component exports."""
    interface = instance.get_export_index(store, interface)
    return instance.get_func(store, instance.get_export_index(store, name, interface))


def run(file, folder):
    folder.mkdir(exist_ok=True)
    wasi = wasmtime.WasiConfig()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(str(folder), "data")
    config = wasmtime.Config()
    # Python within WebAssembly takes a while to compile: once.
    config.cache = True
    engine = wasmtime.Engine(config)
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    linker = component.Linker(engine)
    linker.add_wasip2()
    instance = linker.instantiate(store, component.Component.from_file(engine, str(file)))
    outcome = export(store, instance, "wasi:cli/run@0.2.0", "run")(store)
    # So that the next process need not wait until the claim on the folder has run out.
    export(store, instance, "orbweaver:plugins/lifetime@0.1.0", "close")(store)
    return 0 if getattr(outcome, "tag", "ok") == "ok" else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--component", type=Path, default=HERE / "build/visits.wasm")
    parser.add_argument("--dir", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    sys.exit(run(arguments.component, arguments.dir))


main()
