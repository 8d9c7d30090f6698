"""The playground as two classic scripts, the engine and the page: their modules, and what the library's fields say."""

import json
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from tricks import Config, Tricks
from tricks.ladder import HYPERPARAMETERS, NEEDS, PRESETS, rungs

ENGINE = Path(__file__).parent / "static" / "playground"
MADE = "ladder.js"  # a module that is made here
SHARED_NUMBERS = ("lanes", "horizon", "steps", "lr", "adam_eps", "gamma", "imitate_steps")  # that belong to no trick
OF_REPLIES = [*NEEDS][[*NEEDS].index("imitate") :]  # flags that are shown where agents reply to prompts
FROM = re.compile(r'^(import|export) \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


def offered() -> tuple[str, ...]:
    """The flags that the engine's loop has, in ladder order."""
    said = set(re.findall(r"\btricks\.(\w+)", (ENGINE / "loop.js").read_text(encoding="utf-8")))
    return tuple(name for name in NEEDS if name in said)


def ladder() -> dict[str, Any]:
    """The tricks with their facts, the numbers with their defaults, and the presets and rungs by name."""
    metadata, names = {f.name: f.metadata for f in fields(Tricks)}, offered()
    kept = ("adds", "color", "beyond", "needs", "excludes", "numbers")
    numbers = dict.fromkeys([*SHARED_NUMBERS, *(number for name in names for number in HYPERPARAMETERS[name])])
    defaults = asdict(Config())
    return {
        "tricks": [
            {"name": name, "replies": name in OF_REPLIES, **{key: metadata[name][key] for key in kept}}
            for name in names
        ],
        "numbers": [{"name": name, "value": defaults[name]} for name in numbers],
        "presets": {name: on for name, on in sets().items() if set(on) <= set(names)},
    }


def sets() -> dict[str, tuple[str, ...]]:
    """The flags of every preset, and of every rung but REINFORCE by its last trick, as the shell has it."""
    return {name: tricks.on for name, tricks in PRESETS.items()} | {each.on[-1]: each.on for each in rungs()[1:]}


def engine() -> str:
    """A script that defines `Playground`, with its own text as `Session.source` for workers."""
    body = "".join(modules(ENGINE / "playground.js").values())
    return (
        f'var Playground = (() => {{\nfunction engine() {{\n"use strict";\nconst modules = {{}};\n{body}'
        'return modules["playground.js"];\n}\n'
        "const made = engine();\nmade.Session.source = `(${engine})().serve(self);`;\nreturn made;\n})();\n"
    )


def page() -> str:
    """A script with what pages have of the playground; it needs `Playground`, `Book` and the data of `train_here`."""
    body = "".join(modules(ENGINE / "page" / "main.js").values())
    return f'(() => {{\n"use strict";\nconst modules = {{}};\n{body}}})();\n'


def modules(path: Path, before: dict[Path, str] | None = None) -> dict[Path, str]:
    """A module and all that it imports, those first that others need, each as a function's body of its own."""
    made = {} if before is None else before
    is_facts = path.name == MADE
    text = f"export const LADDER = {json.dumps(ladder())};\n" if is_facts else path.read_text(encoding="utf-8")
    exported = [found[1] for found in EXPORT.finditer(text)]
    for kind, names, source in FROM.findall(text):
        other = (path.parent / source).resolve()
        if other not in made:
            modules(other, made)
        exported += [name.strip() for name in names.split(",")] if kind == "export" else []
    body = FROM.sub(lambda found: f'const {{{found[2]}}} = modules["{_named(path.parent / found[3])}"];', text)
    body = EXPORT.sub("", body)
    made[path.resolve()] = f'modules["{_named(path)}"] = (() => {{\n{body}return {{ {", ".join(exported)} }};\n}})();\n'
    return made


def _named(path: Path) -> str:
    return path.resolve().relative_to(ENGINE.resolve()).as_posix()
