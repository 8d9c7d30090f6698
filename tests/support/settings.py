"""The sets of flags that most laws are tried with."""

from tricks.ladder import NEEDS, PRESETS, REINFORCE, Tricks, closed, switched


def alone(name: str) -> Tricks:
    return switched(closed([name]))


SETTINGS = {"reinforce": REINFORCE} | {name: alone(name) for name in NEEDS} | PRESETS
