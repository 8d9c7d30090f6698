"""One exception for everything that the user can put right."""


class InputError(Exception):
    """What was asked for cannot be done; the message says what is wrong and what would be right, in one line.

    The command lines print it and exit with status 2.
    """
