"""`PYTHONPATH=tests python -m support.digests` says that every compiled form fits its formula as it is now."""

from pathlib import Path

import tricks.loop  # noqa: F401 - which imports every formula
from tricks.fast import digests
from tricks.fast.formulas import FORMULAS


def text() -> str:
    """What the file of digests has to be."""
    lines = [f'    "{name}": "{FORMULAS[name].reading().digest}",\n' for name in sorted(FORMULAS)]
    return f'"""{digests.__doc__}"""\n\nDIGESTS: dict[str, str] = {{\n{"".join(lines)}}}\n'


if __name__ == "__main__":
    Path(digests.__file__).write_text(text(), encoding="utf-8")
