"""Standard output and error that can take any text, wherever they lead."""

import io
import os
import sys


class Output(io.TextIOWrapper):
    """A standard stream that never stops a command, so that what has been trained is also saved.

    Characters that the terminal's encoding lacks are escaped. Text that cannot be written (a full disk, a reader that
    has exited) is dropped. `failure` is the first reason why.
    """

    failure: OSError | None = None

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Send the rest, with what is still buffered, nowhere."""
        self.failure = self.failure or error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def open_missing() -> None:
    """Connect each closed standard stream to nowhere. Otherwise the next file that is opened would get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # opens as the lowest free number: this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def as_output(stream: io.TextIOWrapper) -> Output:
    """The same stream as an `Output`."""
    stream.flush()
    return Output(
        stream.buffer,
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
