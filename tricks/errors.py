"""One exception for everything that the user can put right."""


class InputError(Exception):
    """What was asked for cannot be done; the message says what is wrong and what would be right, in one line.

    The command lines print it and exit with status 2. `fault` is what is wrong, without the `advice` after the colon.
    """

    def __init__(self, fault: str, advice: str = "") -> None:
        super().__init__(f"{fault}: {advice}" if advice else fault)
        self.fault = fault
