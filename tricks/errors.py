"""One exception for every error that the user can fix."""

import traceback
from pathlib import Path


class InputError(Exception):
    """An invalid request. The message says in one line what is wrong and how to fix it.

    The command line prints it and exits with status 2. `fault` is the message without the `advice` after the colon.
    """

    def __init__(self, fault: str, advice: str = "") -> None:
        super().__init__(f"{fault}: {advice}" if advice else fault)
        self.fault = fault


def said(error: BaseException) -> str:
    """What an exception says, in one line; if that is nothing, or fails in turn, its type's name and where it arose."""
    try:
        words = " ".join(str(error).split())
    except Exception:
        words = ""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return words or type(error).__name__ + place
