"""The reference: a page for each room of public names, made by Sphinx from their docstrings."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from itertools import chain
from types import ModuleType
from typing import Any

import ablations
import tricks
from tricks.ladder import NEEDS, PRESETS
from tricks.reading.ladder_table import described

FOLDER = "reference"
CORE_MODULES = ("moments", "reductions", "policies", "adam", "seeds", "sequences")
TOGETHER = {"clip_anneal": "annealing", "lr_anneal": "annealing"}  # tricks whose file has another name
PRESETS_IN_PYTHON = [name.upper() for name in PRESETS]
MANY = 10  # fields of a dataclass, too many for one line
TEXT = re.compile(r"(`[^`]*`)")


def pages() -> dict[str, str]:
    """The Markdown of each page, by the name of its file."""
    files = dict.fromkeys(TOGETHER.get(name, name) for name in NEEDS)
    tasks = [_module(f"tricks.{name}") for name in files]
    core = [_module(f"tricks.core.{name}") for name in CORE_MODULES]
    return {
        "tricks": _page("tricks", "What `from tricks import ...` offers.", [_presets(), *_names(tricks)]),
        "ablations": _page("ablations", "What `from ablations import ...` offers.", _names(ablations)),
        "each-trick": _page("Each trick's functions", "Pure functions, one file per trick.", tasks),
        "core": _page("The core's formulas", "What every rung shares, from `tricks.core`.", core),
    }


def as_rst(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Rewrite a docstring: `code` as code, and characters that reStructuredText would act upon as themselves."""
    parts = TEXT.split("\n".join(lines))
    text = [re.sub(r"([\\*|]|(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
    code = [f"`{' '.join(part.split())}`" for part in parts[1::2]]  # one may go on in the next line
    lines[:] = "".join(chain(*zip(text, [*code, ""], strict=True))).split("\n")


def of_fields(
    app: Any, what: str, name: str, obj: Any, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """A checked dataclass takes its fields, whatever its `__init__` says; many of them are listed below it instead."""
    if what != "class" or not is_dataclass(obj) or "*values" not in (signature or ""):
        return signature, returns
    given = [each.name if each.default is MISSING else f"{each.name}={each.default!r}" for each in fields(obj)]
    return (f"({', '.join(given)})" if len(given) < MANY else ""), returns


def leave_out(app: Any, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out the fields of named tuples, about which Python only says their number."""
    return True if (inspect.getdoc(obj) or "").startswith("Alias for field number") else None


def _page(title: str, about: str, parts: Sequence[str]) -> str:
    return "\n\n".join([f"# {title}", about, *parts]) + "\n"


def _names(module: ModuleType) -> list[str]:
    """The classes and functions that a package offers, and then its values by name."""
    public = {name: getattr(module, name) for name in module.__all__}
    functions = {name: one for name, one in public.items() if inspect.isfunction(one)}
    classes = {name: one for name, one in public.items() if inspect.isclass(one)}
    rest = [f"`{name}`" for name in public if name not in (*functions, *classes, *PRESETS_IN_PYTHON)]
    parts = ["## Functions", *_directives("autofunction", module, functions)]
    parts += ["## Classes", *_directives("autoclass", module, classes)]
    return [*parts, *([f"Values and modules: {', '.join(rest)}."] if rest else [])]


def _presets() -> str:
    on = {name.upper(): " ".join(f"`{flag}`" for flag in found.on) or "none" for name, found in PRESETS.items()}
    rows = [f"| `{name}` | {flags} |" for name, flags in on.items()]
    flags = [f"| `{name}` | {text} |" for name, text in described().items()]
    tables = ["## Presets", "\n".join(["| preset | flags that are on |", "|---|---|", *rows])]
    return "\n\n".join([*tables, "## Flags of `Tricks`", "\n".join(["| flag | adds |", "|---|---|", *flags])])


def _directives(kind: str, module: ModuleType, names: Mapping[str, Any]) -> list[str]:
    members = "   :members:\n" if kind == "autoclass" else ""
    return [f"```{{eval-rst}}\n.. {kind}:: {module.__name__}.{name}\n{members}```" for name in names]


def _module(name: str) -> str:
    return f"## `{name}`\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```"


SETTINGS = {
    "autodoc_member_order": "bysource",
    "autodoc_typehints_format": "short",
    "autodoc_preserve_defaults": True,
    "python_use_unqualified_type_names": True,
    "add_module_names": False,
}
