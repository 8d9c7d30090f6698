"""An arm in words: a rung, flags and numbers, as `python -m tricks train` takes them."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ablations.design.arms import NUMBERS, Arm
from ablations.design.choice import idle
from ablations.design.flag_sets import SHARED
from tricks.config import ATARI_CONFIG, CONTINUOUS_CONFIG, Config
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import NEEDS, PRESETS, Tricks, named

Asked = Arm | Tricks | str
LISTS = ("hidden", "env_args", "wrap", "record")  # fields that take several words
SWITCHES = tuple(field.name for field in fields(Config) if field.type is bool)


def arm_from(text: str, given: Collection[str] = (), flags: Sequence[str] = (), name: str = "") -> Arm:
    """The arm that a text means: `ppo+kl_stop --target-kl 0.02`, or `mine=ppo --no-gae`, which gives it a name.

    given: numbers that a preset does not set, because they were given for all arms. flags: options such as `--no-gae`
    that hold for all arms, too. name: the arm's name, in place of the text. Raises InputError, with that name.
    """
    from tricks.cli.shell import parse

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
        numbers = [each for each in NUMBERS if each in own or _is_a_preset_s(config, each, given)]
        return Arm(name, tricks, {each: getattr(config, each) for each in numbers})
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


def _is_a_preset_s(config: Config, number: str, given: Collection[str]) -> bool:
    """Whether a number is one of a preset's own, and was not given for all arms."""
    return number not in given and bool(getattr(config, number) != getattr(Config, number))


def option_name(word: str) -> str:
    """The field that an option sets: `target_kl` for `--target-kl=0.02`; `gae` for `--no-gae`."""
    name = word.split("=")[0].removeprefix("--").replace("-", "_")
    name = "env_args" if name == "env_arg" else name
    off = name.removeprefix("no_")
    return off if off in NEEDS or off in SWITCHES else name


def idle_switch(text: str) -> str:
    """`: --no-gae changes nothing, ...`, of an arm in words that switches what its rung has so already; or empty."""
    rung, *words = text.split() or [""]
    for word in words if rung in (*PRESETS, *NEEDS) else ():
        name, off = option_name(word), word.startswith("--no-")
        if word.startswith("--") and name in NEEDS and (name in named(rung).on) != off:
            other = switch(name) if off else f"--no-{switch(name)[2:]}"
            return f": {word} changes nothing, since {name} is already {'off' if off else 'on'} in {rung}; try {other}"
    return ""


def arms_of(asked: Sequence[Asked] | Mapping[str, Asked], base: Config, free: Collection[str] = ()) -> list[Arm]:
    """The arms as asked for in Python, each an Arm, Tricks, or a text; a mapping gives their names.

    base: what all arms share; presets don't set its numbers that are not the defaults. free: nor these. Raises
    InputError.
    """
    given = [*free, *(each for each in NUMBERS if getattr(base, each) != getattr(Config, each))]

    def made(name: str | None, each: Any) -> Arm:
        if isinstance(each, str):
            each = arm_from(each, given, name=name or "")
        elif isinstance(each, Tricks):
            each = Arm(name or "", each)
        elif not isinstance(each, Arm):
            raise InputError(f"an arm is an Arm, Tricks or a text such as 'ppo --no-gae', not {type(each).__name__}")
        return each if name is None else Arm(name, each.tricks, each.numbers, each.functions)

    pairs: list[tuple[str | None, Any]]
    pairs = [*asked.items()] if isinstance(asked, Mapping) else [(None, each) for each in asked]
    return [made(name, each) for name, each in pairs]


def refuse_unfit(arms: Sequence[Arm], given: Collection[str] = ()) -> None:
    """Raise InputError for fewer than two arms, for names that don't tell them apart, and for numbers without effect.

    given: numbers for all arms.
    """
    if len(arms) < 2:
        raise InputError(f"a comparison needs at least two arms, such as 'ppo' 'ppo --no-gae', not {len(arms)}")
    names = [arm.name for arm in arms]
    if not all(names):
        raise InputError("an arm has no name: Arm(name, tricks, numbers)")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"two arms have the name {twice[0]!r}")
    refuse_idle(arms, given)
    for number in {name for arm in arms for name, _ in arm.numbers}:
        setting = [(arm, value) for arm in arms for name, value in arm.numbers if name == number]
        if all(idle(number, arm.tricks) and not _in_a_preset(number, value) for arm, value in setting):
            raise InputError(f"arm {setting[0][0].name!r}: {idle(number, setting[0][0].tricks)}")


def refuse_idle(arms: Sequence[Arm], given: Collection[str]) -> None:
    """Raise InputError for a number that was given for all arms and has no effect in any."""
    for number in given:
        faults = [idle(number, arm.tricks) for arm in arms]
        if all(faults):
            raise InputError(f"{number} has no effect in any arm: {faults[0]}")


def _in_a_preset(number: str, value: Any) -> bool:
    """Whether this is a preset's value of a number: a preset may set what none of its flags needs."""
    return any(getattr(config, number) == value for config in (ATARI_CONFIG, CONTINUOUS_CONFIG))
