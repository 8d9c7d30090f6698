"""Arms in words, as `python -m tricks train` takes them; functions from files; and what can act where."""

import inspect
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import cloudpickle

from ablations.question.arms import NUMBERS, SHARED, Arm, flags, own_numbers
from tricks.config import ATARI_CONFIG, CONTINUOUS_CONFIG, LANGUAGE_CONFIGS, Config
from tricks.errors import InputError
from tricks.ladder import HYPERPARAMETERS, LADDER, NEEDS, PRESETS, Tricks, check_known
from tricks.own_trick import module_from

WITH_NUMBERS = ATARI_CONFIG, CONTINUOUS_CONFIG, *LANGUAGE_CONFIGS.values()  # presets which may set any number
ALSO = {"value_epochs": "reuse", "max_value_grad_norm": "grad_clip"}  # flags that these numbers need, too


def tricks_named(text: str) -> list[str]:
    """The tricks in a comma-separated list, in ladder order. Raises InputError for an unknown trick."""
    wanted = [name.strip() for name in text.split(",")]
    check_known(wanted)
    return [name for name in NEEDS if name in wanted]


def usable(config: Config, beyond: bool = False) -> list[str]:
    """The flags of the ladder, or beyond it, that can have an effect in the environment. It is opened to find out."""
    from gymnasium.spaces import Box

    from tricks.envs.make import make_env  # slow to load

    with closing(make_env(replace(config.only(0), lanes=1, device="cpu", compile=False))) as env:
        masks, space, shows = env.masks, env.spaces.action, getattr(env, "demonstrate", None) is not None
    acts = {"action_mask": masks, "squash": isinstance(space, Box) and space.is_bounded(), "imitate": shows}
    return [name for name in NEEDS if (name not in LADDER) == beyond and acts.get(name, True)]


def missing_for(number: str, tricks: Tricks) -> list[str]:
    """Flags of which one must be on, too, before a number has an effect; empty if it has one."""
    owners = [flag for flag, numbers in HYPERPARAMETERS.items() if number in numbers]
    groups = [owners, [ALSO[number]] if number in ALSO else []]
    return next((flags for flags in groups if flags and not {*flags} & {*tricks.on}), [])


def idle(number: str, tricks: Tricks) -> str:
    """Why a number has no effect with these flags: `target_kl has no effect without kl_stop`; empty if it has one."""
    if flags := missing_for(number, tricks):
        return f"{number} has no effect without {' or '.join(flags)}"
    if number == "value_epochs" and tricks.ppg_buffers:
        return "value_epochs has no effect with ppg_buffers, which have value_uses instead"
    return ""


def function_from(text: str) -> Callable[..., Any]:
    """The function that `path.py:name` means. Raises InputError if there is no such file, it fails, or lacks the name.

    Its module goes to worker processes by value, so that they need not find the file.
    """
    place, _, name = text.rpartition(":")
    if not place or not name.isidentifier():
        raise InputError(f"{text!r} names no function in a file; for example: my.py:three_arms")
    home = f"own_{Path(place).stem}"  # never the name of another module
    module = sys.modules[home] = module_from(Path(place), home)
    cloudpickle.register_pickle_by_value(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise InputError(f"{place} has no function {name!r}")
    return found  # type: ignore[no-any-return]


def file_of(function: Callable[..., Any]) -> str | None:
    """The file that a function or a class is written in; None if there is none."""
    with suppress(TypeError, OSError):
        return inspect.getsourcefile(inspect.unwrap(getattr(function, "func", function)))
    return None


def replaced_in_words(functions: Mapping[str, Callable[..., Any]]) -> str:
    """`Adam replaced by mine.py:sgd`: which of our functions give way, and to what; `sgd` alone if it has no file."""

    def place(function: Callable[..., Any]) -> str:
        code = inspect.unwrap(getattr(function, "func", function))
        file, name = file_of(code), getattr(code, "__name__", type(code).__name__)
        return f"{Path(file).name}:{name}" if file else name

    return " and ".join(f"{name} replaced by {place(function)}" for name, function in functions.items())


Asked = Arm | Tricks | str
SWITCHES = tuple(field.name for field in fields(Config) if field.type is bool)


def arm_from(text: str, given: Collection[str] = (), flags: Sequence[str] = (), name: str = "") -> Arm:
    """The arm that a text means: `ppo+kl_stop --target-kl 0.02`, or `mine=ppo --no-gae`, which gives it a name.

    given: numbers that a preset does not set, because they were given for all arms. flags: options such as `--no-gae`
    that hold for all arms, too. name: the arm's name, in place of the text. Raises InputError, with that name.
    """
    from tricks.cli.shell import parse

    said, rung, words = _split(text)
    name = name or said
    own = [option_name(word) for word in words if word.startswith("--")]
    try:
        if shared := [each for each in own if each in SHARED]:
            raise InputError(f"{shared[0]} is the same for all arms: put --{shared[0]} outside the quotes")
        tricks, (config,) = parse([rung, *flags, *words], "train", Config)
        if faults := [fault for each in own if each in NUMBERS and (fault := idle(each, tricks))]:
            raise InputError(faults[0])
        others = own_numbers(config).keys() - {*given}  # which a preset sets
        return Arm(name, tricks, {each: getattr(config, each) for each in NUMBERS if each in {*own} | others})
    except InputError as error:
        raise InputError(f"arm {name!r}: {error}") from None


def _split(text: str) -> tuple[str, str, list[str]]:
    """The name, the rung and the other words. Raises InputError for an arm without a rung, or with an empty name."""
    try:
        first, *words = shlex.split(text) or [""]
    except ValueError as error:
        raise InputError(f"arm {text!r}: {error}") from None
    named = "=" in first and not first.startswith("-")
    name, rung = first.split("=", 1) if named else (" ".join([first, *words]), first)
    if not rung or rung.startswith("-"):
        raise InputError(f"arm {text!r} starts with no rung; for example: 'ppo --no-gae'")
    if not name:
        raise InputError(f"arm {text!r} has an empty name")
    return name, rung, words


def option_name(word: str) -> str:
    """The field that an option sets: `target_kl` for `--target-kl=0.02`; `gae` for `--no-gae`."""
    name = word.split("=")[0].removeprefix("--").replace("-", "_")
    name = "env_args" if name == "env_arg" else name
    off = name.removeprefix("no_")
    return off if off in NEEDS or off in SWITCHES else name


def arms_of(asked: Sequence[Asked] | Mapping[str, Asked], base: Config, free: Collection[str] = ()) -> list[Arm]:
    """The arms as asked for in Python, each an Arm, Tricks, or a text; a mapping gives their names. Raises InputError.

    base: what all arms share; presets don't set its numbers that are not the defaults. free: nor these.
    """
    given = [*free, *own_numbers(base)]

    def made(name: str | None, each: Any) -> Arm:
        if isinstance(each, str):
            return arm_from(each, given, name=name or "")
        if isinstance(each, Tricks):
            preset = next((preset for preset, tricks in PRESETS.items() if tricks == each), flags(each))
            return Arm(preset if name is None else name, each)
        if isinstance(each, Arm):
            return each if name is None else each.like(name)
        raise InputError(f"an arm is an Arm, Tricks or a text such as 'ppo --no-gae', not {type(each).__name__}")

    return [made(*each) for each in (asked.items() if isinstance(asked, Mapping) else ((None, each) for each in asked))]


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
        presets = [getattr(config, number) for config in WITH_NUMBERS]
        if all(idle(number, arm.tricks) and value not in presets for arm, value in setting):
            raise InputError(f"arm {setting[0][0].name!r}: {idle(number, setting[0][0].tricks)}")


def refuse_idle(arms: Sequence[Arm], given: Collection[str]) -> None:
    """Raise InputError for a number that was given for all arms and has no effect in any."""
    for number in given:
        if all(faults := [idle(number, arm.tricks) for arm in arms]):
            raise InputError(f"{number} has no effect in any arm: {faults[0]}")
