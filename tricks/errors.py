"""One exception for every error that the user can fix, and other exceptions in one line."""

import sys
import traceback
from contextlib import suppress
from pathlib import Path

NOT_THEIRS = {"tricks", "ablations", "gymnasium", "numpy", "torch", *sys.stdlib_module_names}  # no code of the user's


class InputError(Exception):
    """An invalid request. The message says in one line what is wrong (its `fault`) and how to fix it (`advice`)."""

    def __init__(self, fault: str, advice: str = "") -> None:
        super().__init__(f"{fault}: {advice}" if advice else fault)
        self.fault = fault


class StopTraining(Exception):
    """Raised by a listener to end a training. `train` then returns what was learned so far."""


def said(error: BaseException) -> str:
    """What an exception says, in one line; if that is nothing, or fails in turn, its type's name."""
    with suppress(Exception):
        if words := " ".join(str(error).split()):
            return words
    return type(error).__name__


def in_words(error: BaseException) -> str:
    """`ZeroDivisionError: division by zero, in my_env.py, line 12`; of an InputError only what it says."""
    if isinstance(error, InputError):
        return str(error)
    name, words = type(error).__name__, said(error)
    return (words if words.partition(" ")[0] == name else f"{name}: {words}") + place(error)


def place(error: BaseException) -> str:
    """`, in my_env.py, line 12`: the innermost line of code that the user can change; empty if there is none."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in NOT_THEIRS:
            path = Path(frame.f_code.co_filename)
            inner = path.name == "__init__.py"
            name = "a notebook's cell" if "ipykernel_" in str(path) else f"{path.parent.name}/" * inner + path.name
            return f", in {name}, line {line}"
    return ""
