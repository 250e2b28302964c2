"""Runs the composition under the wasmtime of PyPI: host.py COMPONENT FOLDER"""

import sys

import wasmtime
from wasmtime import component


def export(store, instance, interface, name):
    """A function of an interface that the component exports."""
    interface = instance.get_export_index(store, interface)
    return instance.get_func(store, instance.get_export_index(store, name, interface))


def run(file, folder):
    wasi = wasmtime.WasiConfig()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(folder, "data")
    config = wasmtime.Config()
    # Python within WebAssembly takes a while to compile: once.
    config.cache = True
    engine = wasmtime.Engine(config)
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    linker = component.Linker(engine)
    linker.add_wasip2()
    instance = linker.instantiate(store, component.Component.from_file(engine, file))
    outcome = export(store, instance, "wasi:cli/run@0.2.0", "run")(store)
    # So that the next process need not wait until the claim on the folder has run out.
    export(store, instance, "orbweaver:plugins/lifetime@0.1.0", "close")(store)
    return 0 if getattr(outcome, "tag", "ok") == "ok" else 1


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
