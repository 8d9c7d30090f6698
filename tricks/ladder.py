"""The ladder: one flag per trick, in teaching order; and the flags beyond it, which each start from PPO.

A field of `Tricks` carries everything that is said about its trick anywhere: command-line switches, ablation
arms, tables, chapters and tests are all derived from these fields.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from tricks.errors import InputError


def trick(
    adds: str,
    paper: str,
    needs: tuple[str, ...] = (),
    file: str = "",
    beyond: bool = False,
    excludes: str = "",
    chapter: str = "",
) -> Any:
    """A flag, off by default: what it `adds`, its `paper`, the flags it `needs`, its `file` if not its name.

    beyond: it is no rung of the ladder, but a way on from PPO. excludes: a flag that it cannot go with. chapter: whose
    chapter it is in, if not its own.
    """
    about = {"adds": adds, "paper": paper, "needs": needs, "file": file, "beyond": beyond, "excludes": excludes}
    return field(default=False, metadata=about | {"chapter": chapter or file})


@dataclass(frozen=True)
class Tricks:
    """Which tricks are on. With none of them, the loop is REINFORCE (Williams 1992).

    Raises InputError if a trick is on without what it needs, `popart needs return_norm`, or with what it excludes.
    """

    baseline: bool = trick("a learned V(s) is subtracted from the return", "Williams 1992, 10.1007/BF00992696")
    reuse: bool = trick(
        "several epochs of minibatches per batch, with the importance ratio, unclipped",
        "Kakade & Langford 2002; Schulman et al. 2017, arXiv:1707.06347, eq. 6",
    )
    clip: bool = trick("PPO's clipped surrogate", "Schulman et al. 2017, arXiv:1707.06347, eq. 7", needs=("reuse",))
    gae: bool = trick(
        "λ-weighted advantages and TD(λ) value targets",
        "Schulman et al. 2015, arXiv:1506.02438, eq. 16",
        needs=("baseline",),
    )
    orthogonal_init: bool = trick(
        "orthogonal weights, zero bias, a policy head that starts near uniform",
        "Saxe et al. 2013, arXiv:1312.6120; Andrychowicz et al. 2020, arXiv:2006.05990",
    )
    advantage_norm: bool = trick("advantages standardized per minibatch", "Andrychowicz et al. 2020, arXiv:2006.05990")
    state_norm: bool = trick(
        "observations standardized by running statistics", "Andrychowicz et al. 2020, arXiv:2006.05990"
    )
    return_norm: bool = trick(
        "the value net learns standardized returns (ART)",
        "van Hasselt et al. 2016, arXiv:1602.07714",
        needs=("baseline",),
    )
    grad_clip: bool = trick("the gradient's norm is limited", "Pascanu et al. 2012, arXiv:1211.5063")
    entropy: bool = trick("a bonus for keeping the policy's entropy", "Mnih et al. 2016, arXiv:1602.01783")
    action_mask: bool = trick("illegal actions get probability 0", "Huang & Ontañón 2020, arXiv:2006.14171")
    popart: bool = trick(
        "the value net's outputs are preserved when the return statistics move (POP)",
        "van Hasselt et al. 2016, arXiv:1602.07714, proposition 1",
        needs=("return_norm",),
    )
    segments: bool = trick(
        "rollouts of a fixed length, bootstrapped where they are cut",
        "Mnih et al. 2016, arXiv:1602.01783",
        needs=("baseline",),
    )
    bootstrap: bool = trick(
        "a time limit is a cut, not a death: V(s) of the state it cut off",
        "Pardo et al. 2018, arXiv:1712.00378",
        needs=("baseline",),
    )
    value_clip: bool = trick(
        "the value net may move only so far from its old prediction",
        "Schulman et al. 2017, openai/baselines ppo2; Engstrom et al. 2020, arXiv:2005.12729",
        needs=("baseline", "reuse"),
    )
    lr_anneal: bool = trick(
        "the learning rate falls to zero in a line",
        "Engstrom et al. 2020, arXiv:2005.12729",
        file="annealing",
    )
    clip_anneal: bool = trick(
        "the clip range falls to zero in a line",
        "Schulman et al. 2017, arXiv:1707.06347, table 5",
        needs=("clip",),
        file="annealing",
    )
    shared_trunk: bool = trick(
        "policy and value are two heads of one body",
        "Mnih et al. 2016, arXiv:1602.01783, sec. 4",
        needs=("baseline",),
        beyond=True,
    )
    ppg: bool = trick(
        "Phasic Policy Gradient: now and then the policy net learns values, too, and keeps its policy",
        "Cobbe et al. 2020, arXiv:2009.04416",
        needs=("baseline", "segments"),
        beyond=True,
        excludes="shared_trunk",
    )
    ppg_buffers: bool = trick(
        "policy and value net learn from buffers of older rollouts, each of its own size",
        "Cobbe et al. 2020, arXiv:2009.04416, on reusing samples for either net apart",
        needs=("reuse", "ppg"),
        beyond=True,
        chapter="ppg",
    )

    def __post_init__(self) -> None:
        unmet = [f"{name} needs {need}" for name in self.on for need in NEEDS[name] if not getattr(self, need)]
        unmet += [f"{name} cannot go with {EXCLUDES[name]}" for name in self.on if EXCLUDES[name] in self.on]
        if unmet:
            raise InputError("; ".join(unmet))

    @property
    def on(self) -> tuple[str, ...]:
        """The names of the tricks that are on, in ladder order."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name))


def switched(names: Sequence[str]) -> Tricks:
    """`Tricks` with exactly these flags on. Raises InputError for a name that is no flag, or flags that do not fit."""
    unknown = [name for name in names if name not in NEEDS]
    if unknown:
        raise InputError(f"unknown trick {', '.join(unknown)}; the tricks are {', '.join(NEEDS)}")
    return Tricks(**dict.fromkeys(names, True))


def closed(names: Iterable[str]) -> tuple[str, ...]:
    """The tricks with all that they need, in ladder order."""
    on = set(names)
    while more := {need for name in on for need in NEEDS[name]} - on:
        on |= more
    return tuple(name for name in NEEDS if name in on)


def rungs() -> list[Tricks]:
    """Every rung of the ladder from REINFORCE up; rung k has the first k tricks on."""
    return [switched(LADDER[:k]) for k in range(len(LADDER) + 1)]


def named(name: str) -> Tricks:
    """A preset; or the ladder up to and including the trick of this name; or PPO with a trick from beyond the ladder.

    Raises InputError for any other name.
    """
    if name in PRESETS:
        return PRESETS[name]
    if name in LADDER:
        return switched(LADDER[: LADDER.index(name) + 1])
    if name in NEEDS:
        return switched(closed([*PPO.on, name]))
    raise InputError(f"unknown rung {name!r}; choose {', '.join(PRESETS)}, or one of {', '.join(NEEDS)}")


def described() -> dict[str, str]:
    """What each trick adds, what it needs, and its paper, by name."""
    need = {name: f" (needs {', '.join(needs)})" if needs else "" for name, needs in NEEDS.items()}
    return {f.name: f"{f.metadata['adds']}{need[f.name]}. {f.metadata['paper']}." for f in fields(Tricks)}


def table(markdown: bool = False) -> str:
    """The ladder, and what is beyond it, as two tables: flag, what it adds, what it needs, paper."""
    rows = [(f.name, f.metadata["adds"], " ".join(NEEDS[f.name]), f.metadata["paper"]) for f in fields(Tricks)]
    rows = [("flag", "adds", "needs", "paper"), *rows]
    if markdown:
        lines = [f"| {' | '.join([flag if flag == 'flag' else f'`{flag}`', *rest])} |" for flag, *rest in rows]
        head = [lines[0], "|---|---|---|---|"]
    else:
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*(c.ljust(w) for c, w in zip(row[:3], widths, strict=True)), row[3]]) for row in rows]
        head = lines[:1]
    last = 1 + len(LADDER)
    return "\n".join([*head, *lines[1:last], "", BEYOND, "", *(head if markdown else []), *lines[last:]])


BEYOND = "Beyond the ladder, each on top of `ppo` and what it needs:"
NEEDS: dict[str, tuple[str, ...]] = {f.name: f.metadata["needs"] for f in fields(Tricks)}
FILES: dict[str, str] = {f.name: f.metadata["file"] or f.name for f in fields(Tricks)}
EXCLUDES: dict[str, str] = {f.name: f.metadata["excludes"] for f in fields(Tricks)}
LADDER = tuple(f.name for f in fields(Tricks) if not f.metadata["beyond"])

REINFORCE = Tricks()
PPO = Tricks(  # what CleanRL's ppo.py does
    baseline=True,
    reuse=True,
    clip=True,
    gae=True,
    orthogonal_init=True,
    advantage_norm=True,
    grad_clip=True,
    entropy=True,
    segments=True,
    value_clip=True,
    lr_anneal=True,
)
EVERY = switched(LADDER)
PPG = switched([*PPO.on, "ppg"])
ATARI = switched([*PPO.on, "clip_anneal", "shared_trunk"])
PRESETS = {"reinforce": REINFORCE, "ppo": PPO, "every": EVERY, "ppg": PPG, "atari": ATARI}
