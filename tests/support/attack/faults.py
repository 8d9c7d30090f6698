"""What an environment can do wrong: what it raises, pays, shows, and says."""

from typing import Any

import numpy as np


class Own(Exception):
    """An exception of an environment's own."""


class OwnExit(SystemExit):
    """A way out that no `except Exception` catches."""


class OwnInterrupt(KeyboardInterrupt):
    """The same, like Ctrl-C."""


class Unprintable(Exception):
    """It fails again when somebody asks what it says."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


ERRORS: dict[str, BaseException] = {
    "Exception": Exception(),
    "two lines": ValueError("one\ntwo"),
    "own": Own("γ"),
    "unprintable": Unprintable(),
    "SystemExit": SystemExit(0),
    "own exit": OwnExit("bye"),
    "own interrupt": OwnInterrupt(),
    "StopIteration": StopIteration(),
    "GeneratorExit": GeneratorExit(),
    "MemoryError": MemoryError(),
    "RecursionError": RecursionError("maximum"),
    "OSError": OSError(28, "No space left on device"),
    "AssertionError": AssertionError(),
    "AttributeError": AttributeError("none"),
}
REWARDS: dict[str, Any] = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "1e300": 1e300,
    "None": None,
    "'1'": "1",
    "'x'": "x",
    "[1.0]": np.array([1.0]),
    "[1, 2]": np.array([1.0, 2.0]),
    "[]": np.array([]),
    "True": True,
    "np.int8": np.int8(3),
    "1j": 1j,
    "{}": {},
}
OBSERVATIONS: dict[str, Any] = {
    "nan": np.full(3, np.nan, np.float32),
    "inf": np.full(3, np.inf, np.float32),
    "1e30": np.full(3, 1e30, np.float32),
    "out of range": np.full(3, 7, np.float32),
    "too short": np.zeros(2, np.float32),
    "too long": np.zeros(4, np.float32),
    "scalar": np.float32(0),
    "[3, 3]": np.zeros((3, 3), np.float32),
    "float64": np.zeros(3),
    "int": np.zeros(3, int),
    "strings": np.array(["a", "b", "c"]),
    "objects": np.array([None, None, None]),
    "list": [0.0, 0.0, 0.0],
    "ragged": [0.0, [0.0], 0.0],
    "None": None,
    "'x'": "x",
    "{}": {},
    "empty": np.zeros(0, np.float32),
}
MASKS: dict[str, Any] = {
    "too short": [1],
    "too long": [1, 1, 1],
    "all False": [0, 0],
    "None": None,
    "'x'": "x",
    "2": [2, 0],
    "nan": [float("nan"), 1.0],
    "scalar": 1,
    "[2, 2]": [[1, 1], [1, 1]],
    "fine": np.array([1, 0], np.int8),
}
INFOS: dict[str, Any] = {"None": None, "[]": [], "'x'": "x", "5": 5, "()": ()}
ENDINGS: dict[str, Any] = {
    "both": (True, True),
    "np.bool_": (np.bool_(True), np.bool_(False)),
    "1": (1, 0),
    "None": (None, None),
    "'no'": ("no", "no"),
    "[True]": ([True], [False]),
    "[True, False]": (np.array([True, False]), False),
    "nan": (float("nan"), False),
}
RETURNS: dict[str, Any] = {"None": None, "four": (0, 0.0, False, {}), "six": (0, 0.0, False, False, {}, 0), "5": 5}
FAULTS: dict[str, dict[str, Any]] = {
    "reward": REWARDS,
    "observation": OBSERVATIONS,
    "first observation": OBSERVATIONS,
    "mask": MASKS,
    "info": INFOS,
    "ending": ENDINGS,
    "returns": RETURNS,
    "reset returns": RETURNS,
    "raises in step": ERRORS,
    "raises in reset": ERRORS,
    "raises in close": ERRORS,
    "raises in the constructor": ERRORS,
    "never ends": {"": None},
    "nothing": {"": None},
}
