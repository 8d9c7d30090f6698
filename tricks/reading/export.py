"""One file to take home: the training loop with its flags decided, and all that it calls.

An export is the library's own source. The loop is decided as in a listing; other modules give the definitions that are
then still reached, and classes the members that are used. What one file does not need is taken out: devices,
checkpoints, listeners, other backends. `skeleton/` holds what an export has of its own. Executing it defines a
`train(config)` with the same curve, to the last bit, as the library's on the backend `gymnasium` with plain layers.
"""

import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from graphlib import TopologicalSorter

import libcst as cst

from tricks.config import Config, PerSeed
from tricks.envs.lane import CHANGES
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import FILES, Tricks
from tricks.reading.decide import reads
from tricks.reading.one_file import decided, is_trick, modules
from tricks.reading.parts import Definition, Mentions, Part, defined, definitions, imports, parsed
from tricks.reading.shake import shaken
from tricks.reading.source import Code
from tricks.values import checked

DEFAULTS = Config()
RUNNING = {"as_vector", "backend", "device", "compile", "reward_sign", "life_ends", "episode_limit"}  # how it is played
RUNNING |= {*CHANGES}
ERRORS = r"\s+Raises InputError(?:[^\"]*?(?=\n *\n)|[^\"]*(?=\"))"  # the library's own


@checked
def export(tricks: Tricks, config: Config = DEFAULTS, images: bool = False) -> Code:
    """One self-contained file that trains with these flags, on vectors or, with `images`, on images [C, H, W] of uint8.

    It imports torch, numpy and gymnasium only (and ale_py for an ALE game); `python FILE --env CartPole-v1 --seeds 4
    --steps 20000` trains, and prints how it goes. Its options are the numbers that it reads, with those of `config` as
    defaults. An environment that cannot be made, or that does not fit, is refused in one line. If config.env is an ALE
    game, the file is for images.

    Raises InputError for what such a file cannot have: a device, another backend, numbers that differ from seed to
    seed, or state_norm on images.
    """
    images = images or "ALE/" in config.env
    if images and tricks.state_norm:
        raise InputError("state_norm standardizes vectors, but these observations are images; leave it off")
    parts = decided(tricks, _single(config), images)
    left = shaken(parts, ["train", "main"])
    _refuse_left_out(config, cst.ensure_type(left["Config"], cst.ClassDef))
    body = _joined("".join(_section(module, nodes, tricks) for module, nodes in _in_order(parts, left)))
    body = re.sub(ERRORS, "", re.sub("  # type: ignore.*", "", body))
    named = ", ".join(tricks.on) or "none: this is REINFORCE"
    about = textwrap.fill(f"Deep reinforcement learning in one file, with these tricks: {named}.", 116)
    call = f"To train: python FILE --env {config.env} --seeds 4 --steps 20000"
    head = f'"""{about}\n\n{LETTERS}{call}\n"""\n\n{_imports(list(left.values()))}'
    return Code(f'{head}{body}\n\nif __name__ == "__main__":\n    main(train)\n')


def _single(config: Config) -> Config:
    """The same numbers, with seeds by their count. Raises InputError if a number differs from seed to seed."""
    if config.seed_list != tuple(range(len(config.seed_list))):
        raise InputError(f"an export trains seeds 0, 1, ...: give their count as --seeds, not {config.seeds}")
    for f in fields(config):
        if f.type == PerSeed and isinstance(getattr(config, f.name), tuple):
            raise InputError(f"an export has one {switch(f.name)} for all seeds, not {getattr(config, f.name)}")
    return replace(config, seeds=len(config.seed_list))


def _refuse_left_out(config: Config, numbers: cst.ClassDef) -> None:
    """Raise InputError for a number of no trick that is not as by default, and that the file does not have."""
    kept = {defined(member) for member in numbers.body.body}
    for name in RUNNING - kept:
        own = getattr(config, name)
        if own != getattr(Config, name) and not (name == "backend" and own == "gymnasium"):
            raise InputError(f"an export has no {switch(name)}, so it cannot be {own}")


LETTERS = """All seeds train at once: every tensor leads with S, and seeds share nothing. In shapes, S is seeds,
T steps, N lanes, B rows of a batch, D features of an observation, and A actions or action dimensions.
"""


def _in_order(parts: Mapping[str, Part], left: Mapping[str, Definition]) -> list[tuple[str, list[Definition]]]:
    """The modules with what is left of them, each after those that it uses."""
    home = {name: parts[name].module for name in left}
    uses: dict[str, set[str]] = {module: set() for module in home.values()}
    for name, node in left.items():
        uses[home[name]] |= {home[other] for other in Mentions.of([node]).names if other in home} - {home[name]}
    sorter = TopologicalSorter(uses)
    sorter.prepare()
    ranks = {module: rank for rank, module in enumerate(modules())}
    ready, order = set[str](), []
    while sorter.is_active():
        ready |= set(sorter.get_ready())
        order.append(min(ready, key=ranks.__getitem__))
        ready.remove(order[-1])
        sorter.done(order[-1])
    within = {name: place for module in order for place, name in enumerate(definitions(module))}
    return [
        (module, [left[name] for name in sorted(left, key=within.__getitem__) if home[name] == module])
        for module in order
    ]


def _section(module: str, nodes: Sequence[Definition], tricks: Tricks) -> str:
    """The definitions of one module, under the first paragraph of its docstring and the sources of its tricks."""
    said = (parsed(module).get_docstring() or "").split("\n\n")[0].split()
    known = [f.metadata["paper"] for f in fields(tricks) if f"tricks.{FILES[f.name]}" == module and f.name in tricks.on]
    said += [f"{'; '.join(known)}."] if known else []
    title = textwrap.fill(" ".join(said), 118, initial_indent="# ", subsequent_indent="# ")
    lines = ["\n\n", title, "\n"] if is_trick(module) else ["\n\n"]
    for before, node in zip((None, *nodes), nodes, strict=False):
        constants = isinstance(before, cst.SimpleStatementLine) and isinstance(node, cst.SimpleStatementLine)
        gap = "" if constants or before is None else "\n\n"
        lines.append(gap + cst.Module([node.with_changes(leading_lines=[])]).code)
    return "".join(lines)


def _joined(code: str) -> str:
    """Brackets that were opened because a line was too long, closed where it no longer is."""
    lines: list[str] = []
    for line in code.split("\n"):
        lines.append(line)
        if len(lines) > 2 and line.strip()[:1] in (")", "]", "}") and lines[-3].endswith(("(", "[", "{")):
            one = lines[-3] + lines[-2].strip() + line.strip()
            if len(one) <= 120 and not lines[-2].endswith(",") and "#" not in lines[-2]:
                lines[-3:] = [one]
    return "\n".join(lines)


def _imports(nodes: Sequence[Definition]) -> str:
    """The imports that these need, in the order of isort: first the standard library's, then the others."""
    known = {name: source for module in (*modules(), "tricks.config") for name, source in imports(module).items()}
    used = {(*known[name], name) for node in nodes for name in reads(node) if name in known}
    plain = [(module, f"import {module}" + f" as {name}" * (name != module)) for module, of, name in used if not of]
    named: dict[str, list[str]] = {}
    for module, of, _ in used:
        if of and not module.startswith("tricks"):
            named.setdefault(module, []).append(of)
    froms = [(module, f"from {module} import {', '.join(sorted(of, key=_kind))}") for module, of in named.items()]
    lines = [*sorted(plain), *sorted(froms)]
    blocks = [
        [line for module, line in lines if (module.split(".")[0] in sys.stdlib_module_names) is ours]
        for ours in (True, False)
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _kind(name: str) -> tuple[int, str]:
    """isort's order of names: CONSTANTS, Classes, functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name
