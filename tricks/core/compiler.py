"""The C++ compiler that torch.compile needs on a CPU."""

import os
import shlex
import shutil
import sys

from tricks.errors import InputError


def find_compiler(device: str) -> None:
    """Raise InputError if torch.compile would find no C++ compiler for this device; a GPU needs none.

    Like PyTorch, it looks for the program that the environment variable CXX names, or else the platform's usual one.
    """
    usual = {"win32": "cl", "darwin": "clang++"}.get(sys.platform, "g++")
    name = os.environ.get("CXX") or usual
    if not device.startswith("cuda") and shutil.which(name) is None and shutil.which(shlex.split(name)[0]) is None:
        raise InputError(f"compile needs the C++ compiler {name}, which is not installed: install it, or set CXX")
