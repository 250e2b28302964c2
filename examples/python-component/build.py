"""Makes a component of app.py, and one of it and Orbweaver over redb: build/visits.wasm.

python build.py [--out FOLDER]

The release is looked for in ../../dist (`cargo xtask package`), or in the folder that ORBWEAVER_DIST names.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
DIST = Path(os.environ.get("ORBWEAVER_DIST", REPOSITORY / "dist"))


def componentize(out):
    """The application alone. It imports wasi:keyvalue."""
    wit = ["-d", DIST / "wit/wasi-keyvalue-0.2.0-draft2", "-d", HERE / "wit", "-w", "example:visits/visits"]
    tool = Path(sys.executable).with_name("componentize-py")
    subprocess.run([tool, *wit, "componentize", "-p", HERE, "app", "-o", out], check=True)


def compose(app, out):
    """The application on top of the store, in one file."""
    cargo = ["cargo", "run", "--quiet", "--manifest-path", REPOSITORY / "plugins/Cargo.toml", "--package", "orbweaver-package"]
    parts = [DIST / "orbweaver-keyvalue-on-redb.wasm", app]
    subprocess.run([*cargo, "--", "compose", out, *parts], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE / "build")
    out = parser.parse_args().out
    out.mkdir(exist_ok=True)
    componentize(out / "app.wasm")
    compose(out / "app.wasm", out / "visits.wasm")


main()
