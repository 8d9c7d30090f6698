"""An arm in words: a rung, flags and numbers, as `python -m tricks train` takes them."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ablations.design.choice import idle
from ablations.design.story import NUMBERS, SHARED, Arm
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import NEEDS, Tricks

Asked = Arm | Tricks | str
SWITCHES = tuple(field.name for field in fields(Config) if field.type is bool)


def spoken_arm(text: str, base: Config, given: Collection[str] = (), flags: Sequence[str] = (), name: str = "") -> Arm:
    """The arm that a text means: `ppo+kl_stop --target-kl 0.02`, or `mine=ppo --no-gae`, which gives it a name.

    base: the numbers of all arms. given: those of them that hold whatever a preset has; flags: options such as
    `--no-gae` that hold for all arms, too. name: instead of the text. Raises InputError, with the arm's name, for what
    cannot be.
    """
    from tricks.cli.parsing import parse  # tyro takes a while

    said, words = _split(text)
    name = name or said
    own = [option_name(word) for word in words[1:] if word.startswith("--")]
    try:
        if shared := [each for each in own if each in SHARED]:
            raise InputError(f"{shared[0]} is the same for all arms: put --{shared[0]} outside the quotes")
        tricks, (config,) = parse([*words[:1], *flags, *words[1:]], "train", Config)
        for each in own:
            if each in NUMBERS and (fault := idle(each, tricks)):
                raise InputError(fault)
        numbers = {each: getattr(config, each) for each in NUMBERS if each in own or _preset(config, each, given)}
        return Arm(name, tricks, {each: x for each, x in numbers.items() if x != getattr(base, each)})
    except InputError as error:
        raise InputError(f"arm {name!r}: {error}") from None


def _split(text: str) -> tuple[str, list[str]]:
    """The name and the words. Raises InputError for an arm without a rung."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"arm {text!r}: {error}") from None
    first = words[0] if words else ""
    named = "=" in first and not first.startswith("-")
    if named:
        name, _, words[0] = first.partition("=")
    if not words or not words[0] or words[0].startswith("-"):
        raise InputError(f"arm {text!r} starts with no rung; for example: 'ppo --no-gae'")
    if named and not name:
        raise InputError(f"arm {text!r} has an empty name")
    return (name if named else " ".join(words)), words


def _preset(config: Config, number: str, given: Collection[str]) -> bool:
    """Whether a number is one of a preset's own, and was not given for all arms."""
    return number not in given and bool(getattr(config, number) != getattr(Config, number))


def option_name(word: str) -> str:
    """The field that an option sets: `target_kl` for `--target-kl=0.02`; `gae` for `--no-gae`."""
    name = word.split("=")[0].removeprefix("--").replace("-", "_")
    off = name.removeprefix("no_")
    return off if off in NEEDS or off in SWITCHES else name


def arms_of(asked: Sequence[Asked] | Mapping[str, Asked], base: Config, free: Collection[str] = ()) -> list[Arm]:
    """The arms as asked for in Python, each an Arm, Tricks, or a text; a mapping gives their names.

    Numbers of `base` that are not the defaults hold in all arms that don't set them. free: numbers that presets don't
    set, either. Raises InputError.
    """
    given = [*free, *(each for each in NUMBERS if getattr(base, each) != getattr(Config, each))]

    def made(name: str | None, each: Any) -> Arm:
        if isinstance(each, str):
            each = spoken_arm(each, base, given, name=name or "")
        elif isinstance(each, Tricks):
            each = Arm(name or "", each)
        elif not isinstance(each, Arm):
            raise InputError(f"an arm is an Arm, Tricks or a text such as 'ppo --no-gae', not {type(each).__name__}")
        return each if name is None else Arm(name, each.tricks, each.numbers, each.functions)

    pairs: list[tuple[str | None, Any]]
    pairs = [*asked.items()] if isinstance(asked, Mapping) else [(None, each) for each in asked]
    return [made(name, each) for name, each in pairs]


def refuse_unfit(arms: Sequence[Arm]) -> None:
    """Raise InputError for fewer than two arms, for one without a name, and for two that are alike."""
    if len(arms) < 2:
        raise InputError(f"a comparison needs at least two arms, such as 'ppo' 'ppo --no-gae', not {len(arms)}")
    seen: dict[Any, str] = {}
    for arm in arms:
        if not arm.name:
            raise InputError("an arm has no name: Arm(name, tricks, numbers)")
        if arm.name in seen.values():
            raise InputError(f"two arms have the name {arm.name!r}")
        what = (arm.tricks, tuple(sorted(arm.numbers)), tuple(sorted((name, id(each)) for name, each in arm.functions)))
        if what in seen:
            raise InputError(f"arms {seen[what]!r} and {arm.name!r} are the same, with the same flags and numbers")
        seen[what] = arm.name
