"""Show the library's own source in a chapter."""

import inspect
import re
import textwrap
from typing import Any

from tricks.errors import InputError

FASTER = re.compile(r"^ *@faster\(.*\)\n", re.M)  # how a CPU computes a formula


class Code(str):
    """Source text: `print` shows it as plain text, a notebook with syntax highlighting."""

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
    """The source of the given functions, classes or modules, one after another, without `@faster` lines.

    Raises InputError for an object without Python source, such as a number, a tensor or a C function.
    """
    try:
        text = "\n\n".join(textwrap.dedent(inspect.getsource(each)) for each in objects)
    except (TypeError, OSError) as error:
        raise InputError(f"source shows functions, classes and modules: {' '.join(str(error).split())}") from error
    return Code(FASTER.sub("", text))
