"""Components that export wasi:cli/run, under the wasmtime of PyPI."""

import wasmtime
from wasmtime import component


class Command:
    """A component, compiled; it can be run several times, also at the same time."""

    def __init__(self, path):
        config = wasmtime.Config()
        # Compiled once for all the tests that run the same component.
        config.cache = True
        self.engine = wasmtime.Engine(config)
        self.component = component.Component.from_file(self.engine, path)

    def run(self, wasi, define=None):
        """Runs a new instance to its end; its exit code. `define` adds to the linker what the component imports beside WASI."""
        store = wasmtime.Store(self.engine)
        store.set_wasi(wasi)
        linker = component.Linker(self.engine)
        linker.add_wasip2()
        if define:
            define(linker)
        exports = self.component.type.exports(self.engine)
        name = next(name for name in exports if name.startswith("wasi:cli/run@"))
        instance = linker.instantiate(store, self.component)
        interface = instance.get_export_index(store, name)
        function = instance.get_func(store, instance.get_export_index(store, "run", interface))
        try:
            outcome = function(store)
        except wasmtime.ExitTrap as trap:
            return trap.code
        return 0 if getattr(outcome, "tag", "ok") == "ok" else 1
