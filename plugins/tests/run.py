"""Runs a WASI command under the wasmtime of PyPI, as `wasmtime run` does.

python run.py [--dir FOLDER] [--env NAME=VALUE]... COMPONENT [ARGUMENT]...
"""

import argparse
import sys

import wasmtime
from command import Command


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("component")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    sys.exit(Command(arguments.component).run(configured(arguments)))


main()
