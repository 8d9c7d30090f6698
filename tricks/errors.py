"""One exception for every error that the user can fix."""


class InputError(Exception):
    """An invalid request. The message says in one line what is wrong and how to fix it.

    The command line prints it and exits with status 2. `fault` is the message without the `advice` after the colon.
    """

    def __init__(self, fault: str, advice: str = "") -> None:
        super().__init__(f"{fault}: {advice}" if advice else fault)
        self.fault = fault


def said(error: BaseException) -> str:
    """What an exception says, in one line; its type's name if that is nothing, or fails in turn."""
    try:
        words = " ".join(str(error).split())
    except Exception:
        words = ""
    return words or type(error).__name__
