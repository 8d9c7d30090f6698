"""The library's own source, to be read in a chapter: what is shown is what runs."""

import inspect
import textwrap
from typing import Any


class Code(str):
    """Source text: `print` gives it as it is, and a notebook shows it with highlighting."""

    language: str

    def __new__(cls, text: str, language: str = "python") -> "Code":
        code = super().__new__(cls, text)
        code.language = language
        return code

    def _repr_markdown_(self) -> str:
        return f"```{self.language}\n{self.rstrip()}\n```"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def source(*objects: Any) -> Code:
    """The source of functions, classes or modules of the library, one after the other.

    Raises TypeError for what has no source: a number, a tensor, a function of C.
    """
    return Code("\n\n".join(textwrap.dedent(inspect.getsource(each)) for each in objects))
