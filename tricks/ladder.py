"""The ladder: one flag per trick, in teaching order, and beyond it the flags that each extend PPO.

Each field of `Tricks` is the single source of facts about its trick: command-line switches, ablation arms, tables,
chapters and tests are all derived from these fields.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from tricks.errors import InputError
from tricks.flags import meant, switch
from tricks.values import Checked, checked


def trick(
    adds: str,
    paper: str,
    color: str,
    *,
    needs: tuple[str, ...] = (),
    numbers: tuple[str, ...] = (),
    diagnostics: tuple[str, ...] = (),
    file: str = "",
    beyond: bool = False,
    excludes: tuple[str, ...] = (),
    chapter: str = "",
) -> Any:
    """A flag, off by default: what it `adds`, its `paper`, its `color` in every figure, and the flags it `needs`.

    numbers: its fields in Config. diagnostics: the columns it adds to the curve. file: its module, if not named after
    the flag. beyond: it extends PPO and is not a rung of the ladder. excludes: flags that it cannot be combined with.
    chapter: the chapter that covers it, if not its own.

    No palette this large is fully distinct to a color-blind reader, so figures label every line by name. But neighbors
    in the ladder, and names that share a word, differ clearly even to a deuteranope, and every color is dark enough
    for text on white.
    """
    given = locals()  # the first line: what it was called with
    return field(default=False, metadata=given | {"chapter": chapter or file})


extension = partial(trick, beyond=True)  # of PPO; a rung of the ladder is a plain `trick`


@dataclass(frozen=True)
class Tricks(Checked):
    """Which tricks are on. With all of them off, the loop is REINFORCE (Williams 1992).

    Raises InputError for a value that is no bool, an unmet need (`popart needs return_norm`) or an excluded trick.
    """

    baseline: bool = trick(
        "a learned V(s) is subtracted from the return",
        "Williams 1992, 10.1007/BF00992696",
        "#E465A7",
        numbers=("value_coef",),
        diagnostics=("value_loss", "explained_variance"),
    )
    reuse: bool = trick(
        "several epochs of minibatches per batch, with the unclipped importance ratio",
        "Kakade & Langford 2002; Schulman et al. 2017, arXiv:1707.06347, eq. 6",
        "#A70019",
        numbers=("epochs", "minibatches"),
        diagnostics=("approx_kl", "max_ratio"),
    )
    clip: bool = trick(
        "PPO's clipped surrogate",
        "Schulman et al. 2017, arXiv:1707.06347, eq. 7",
        "#B86FFD",
        needs=("reuse",),
        numbers=("clip_range",),
        diagnostics=("clip_fraction", "clip_range"),
    )
    gae: bool = trick(
        "λ-weighted advantages and TD(λ) value targets",
        "Schulman et al. 2015, arXiv:1506.02438, eq. 16",
        "#40A200",
        needs=("baseline",),
        numbers=("gae_lambda",),
    )
    orthogonal_init: bool = trick(
        "orthogonal weights, zero bias, a policy head that starts near uniform",
        "Saxe et al. 2013, arXiv:1312.6120; Andrychowicz et al. 2020, arXiv:2006.05990",
        "#0079A8",
    )
    advantage_norm: bool = trick(
        "advantages standardized per minibatch", "Andrychowicz et al. 2020, arXiv:2006.05990", "#004F00"
    )
    state_norm: bool = trick(
        "observations standardized by running statistics",
        "Andrychowicz et al. 2020, arXiv:2006.05990",
        "#B38B43",
        numbers=("obs_decay",),
    )
    return_norm: bool = trick(
        "the value net learns standardized returns (ART)",
        "van Hasselt et al. 2016, arXiv:1602.07714",
        "#0090FF",
        needs=("baseline",),
        numbers=("return_beta", "return_first_batch"),
        diagnostics=("return_mean", "return_std"),
    )
    grad_clip: bool = trick(
        "the gradient norm is limited", "Pascanu et al. 2012, arXiv:1211.5063", "#63007B", numbers=("max_grad_norm",)
    )
    entropy: bool = trick(
        "a bonus for the policy's entropy", "Mnih et al. 2016, arXiv:1602.01783", "#31A38D", numbers=("entropy_coef",)
    )
    action_mask: bool = trick("illegal actions get probability 0", "Huang & Ontañón 2020, arXiv:2006.14171", "#2251CB")
    popart: bool = trick(
        "the value net's outputs are preserved when the return statistics move (POP)",
        "van Hasselt et al. 2016, arXiv:1602.07714, proposition 1",
        "#457700",
        needs=("return_norm",),
    )
    segments: bool = trick(
        "fixed-length rollouts, bootstrapped where they are cut",
        "Mnih et al. 2016, arXiv:1602.01783",
        "#8B8ACE",
        needs=("baseline",),
    )
    bootstrap: bool = trick(
        "a time limit is a cut, not a death: bootstrap V(s) of the last state",
        "Pardo et al. 2018, arXiv:1712.00378",
        "#32249C",
        needs=("baseline",),
    )
    value_clip: bool = trick(
        "the value loss is clipped around the old prediction",
        "Schulman et al. 2017, openai/baselines ppo2; Engstrom et al. 2020, arXiv:2005.12729",
        "#713900",
        needs=("baseline", "reuse"),
        numbers=("value_clip_range", "value_clip_anneals"),
    )
    lr_anneal: bool = trick(
        "the learning rate decays linearly to zero",
        "Engstrom et al. 2020, arXiv:2005.12729",
        "#AF47BA",
        file="annealing",
    )
    clip_anneal: bool = trick(
        "the clip range decays linearly to zero",
        "Schulman et al. 2017, arXiv:1707.06347, table 5",
        "#F36412",
        needs=("clip",),
        numbers=("value_clip_anneals",),
        file="annealing",
    )
    shared_trunk: bool = extension(
        "policy and value are two heads on one body",
        "Mnih et al. 2016, arXiv:1602.01783, sec. 4",
        "#76053D",
        needs=("baseline",),
    )
    ppg: bool = extension(
        "Phasic Policy Gradient: auxiliary phases teach the policy net values without changing its policy",
        "Cobbe et al. 2020, arXiv:2009.04416",
        "#7660E5",
        needs=("baseline", "segments"),
        numbers=("aux_every", "aux_epochs", "clone_coef", "aux_value_clip"),
        diagnostics=("auxiliary_loss", "clone_kl"),
        excludes=("shared_trunk",),
    )
    ppg_buffers: bool = extension(
        "policy and value net train on buffers of recent rollouts, each with its own size",
        "Cobbe et al. 2020, arXiv:2009.04416, on separate sample reuse for policy and value function",
        "#B95100",
        needs=("reuse", "ppg"),
        numbers=("policy_rollouts", "policy_uses", "value_rollouts", "value_uses"),
        diagnostics=("policy_age", "value_age"),
    )
    kl_stop: bool = extension(
        "a batch's steps end when approx_kl exceeds 1.5 times its target",
        "Achiam 2018, Spinning Up's ppo; Raffin et al. 2021, stable-baselines3's target_kl",
        "#D911C6",
        needs=("reuse",),
        numbers=("target_kl",),
        diagnostics=("steps_taken",),
    )
    reward_scaling: bool = extension(
        "rewards are divided by the running deviation of the discounted return",
        "Engstrom et al. 2020, arXiv:2005.12729; Dhariwal et al. 2017, openai/baselines VecNormalize",
        "#18486C",
        diagnostics=("reward_std",),
    )
    recompute: bool = extension(
        "advantages and value targets are computed anew before each epoch but the first",
        "Andrychowicz et al. 2020, arXiv:2006.05990",
        "#9000F0",
        needs=("reuse", "gae"),
        excludes=("ppg_buffers",),
    )
    separate_optimizers: bool = extension(
        "policy and value net each have their own Adam, learning rate, gradient norm and epochs",
        "Achiam 2018, Spinning Up's ppo",
        "#FC0060",
        needs=("baseline",),
        numbers=("value_lr_factor", "max_value_grad_norm", "value_epochs"),
        diagnostics=("value_grad_norm",),
        excludes=("shared_trunk",),
    )
    dual_clip: bool = extension(
        "the objective of a bad action is bounded from below, too",
        "Ye et al. 2020, arXiv:1912.09729",
        "#0000FC",
        needs=("clip",),
        numbers=("dual_clip_limit",),
        diagnostics=("bounded_fraction",),
    )
    huber: bool = extension(
        "far from its target, the value loss grows linearly",
        "Huber 1964, 10.1214/aoms/1177703732; Andrychowicz et al. 2020, arXiv:2006.05990",
        "#784884",
        needs=("baseline",),
        numbers=("huber_delta",),
    )
    squash: bool = extension(
        "Box actions are tanh of a Gaussian, stretched to their bounds, and log π is corrected for that",
        "Haarnoja et al. 2018, arXiv:1801.01290, appendix C; Andrychowicz et al. 2020, arXiv:2006.05990",
        "#FF0FFF",
        chapter="continuous_actions",
    )
    recurrent: bool = extension(
        "policy and value net remember: an LSTM or GRU between body and head",
        "Hochreiter & Schmidhuber 1997, 10.1162/neco.1997.9.8.1735; Huang et al. 2022, details 33 to 37",
        "#00807A",
        needs=("segments",),
        numbers=("recurrent_size", "recurrent_cell"),
        excludes=("ppg", "separate_optimizers"),
    )
    imitate: bool = extension(
        "the world's demonstrations are played, and every action in them is made likelier",
        "Pomerleau 1991, 10.1162/neco.1991.3.1.88; Williams 1992, 10.1007/BF00992696",
        "#000026",
        excludes=("reuse", "advantage_norm"),
        chapter="language",
    )
    group_baseline: bool = extension(
        "the mean return of the group's other replies is subtracted from the return (RLOO)",
        "Kool et al. 2019, Buy 4 REINFORCE samples; Ahmadian et al. 2024, arXiv:2402.14740",
        "#40260D",
        numbers=("group",),
        excludes=("baseline", "advantage_norm", "imitate"),  # some minibatches of replies have only one advantage
        chapter="language",
    )
    group_norm: bool = extension(
        "advantages are divided by the group's standard deviation",
        "Shao et al. 2024, arXiv:2402.03300",
        "#150080",
        needs=("group_baseline",),
        chapter="grpo",
    )
    mixed_groups: bool = extension(
        "groups whose replies all earned the same are left out",
        "Yu et al. 2025, arXiv:2503.14476, sec. 3.2",
        "#A6006F",
        needs=("group_baseline",),
        diagnostics=("mixed_share",),
        chapter="grpo",
    )
    clip_higher: bool = extension(
        "the ratio has an upper limit of its own",
        "Yu et al. 2025, arXiv:2503.14476, eq. 10",
        "#260006",
        needs=("clip",),
        numbers=("clip_high",),
        diagnostics=("clip_high_fraction",),
        chapter="limits",
    )
    kl_penalty: bool = extension(
        "a price for leaving the policy that the training began with",
        "Ouyang et al. 2022, arXiv:2203.02155; Shao et al. 2024, arXiv:2402.03300, eq. 4; Schulman 2020",
        "#515928",
        numbers=("kl_coef", "kl_in", "kl_estimator"),
        diagnostics=("reference_kl",),
        excludes=("recompute", "recurrent"),
        chapter="limits",
    )
    reply_mean: bool = extension(
        "the loss is a mean over replies of a mean over each one's tokens, or of a sum divided by a constant",
        "Shao et al. 2024, arXiv:2402.03300, eq. 3; Liu et al. 2025, arXiv:2503.20783",
        "#6600CC",
        needs=("group_baseline",),
        numbers=("reply_divisor",),
        chapter="limits",
    )
    reply_ratio: bool = extension(
        "one importance ratio per reply",
        "Zheng et al. 2025, arXiv:2507.18071, eq. 7",
        "#808019",
        needs=("reuse", "group_baseline"),
        chapter="limits",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        on = self.on
        both = [f"{a} cannot be combined with {b}" for a in on for b in EXCLUDES[a] if b in on]
        lacks = {name: [need for need in closed([name]) if need not in on] for name in on}
        unmet = [f"{name} needs {', '.join(needs)}" for name, needs in lacks.items() if needs]
        missing = [switch(name) for name in closed(on) if name not in on]
        if faults := [*both, *unmet]:
            raise InputError("; ".join(faults), f"add {' '.join(missing)}" if missing else "")

    @property
    def on(self) -> tuple[str, ...]:
        """The names of the tricks that are on, in ladder order."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name))


@checked
def switched(names: Iterable[str]) -> Tricks:
    """`Tricks` with exactly these flags on. Raises InputError for an unknown flag or an invalid combination."""
    on = dict.fromkeys(names, True)
    check_known(on)
    return Tricks(**on)


def own_files(tricks: Tricks | None = None) -> list[str]:
    """The flags that came from files of the user's, each with its file and its digest; of `tricks`, those on."""
    names = OWN if tricks is None else [name for name in tricks.on if name in OWN]
    return [f"{name} ({OWN[name][0].name} {OWN[name][1]})" for name in names]


def check_known(names: Iterable[str]) -> None:
    """Raise InputError, with suggestions, if one of these is not the name of a flag."""
    if unknown := [name for name in names if name not in NEEDS]:
        said = ", ".join(f"{name}{meant(name, NEEDS)}" for name in unknown)
        raise InputError(f"unknown trick {said}; the tricks are {', '.join(NEEDS)}")


def closed(names: Iterable[str]) -> tuple[str, ...]:
    """These tricks and everything they need, in ladder order."""
    on = set(names)
    while more := {need for name in on for need in NEEDS[name]} - on:
        on |= more
    return tuple(name for name in NEEDS if name in on)


def rungs() -> list[Tricks]:
    """All rungs of the ladder, starting with REINFORCE; rung k has the first k tricks on."""
    return [switched(LADDER[:k]) for k in range(len(LADDER) + 1)]


@checked
def named(name: str) -> Tricks:
    """A preset, or the ladder up to and including this trick, or PPO plus this trick from beyond the ladder.

    PPO is then without what the trick, or one that it needs, cannot be combined with, and without what needs that.
    `ppg+kl_stop` is a name and a flag on top, with what it needs. Raises InputError for any other name.
    """
    name, *more = name.split("+")
    if more:
        check_known(more)
        return switched(closed([*named(name).on, *more]))
    if name in PRESETS:
        return PRESETS[name]
    if name in LADDER:
        return switched(LADDER[: LADDER.index(name) + 1])
    if name in NEEDS:
        gone = {other for each in closed([name]) for other in EXCLUDES[each]}
        return switched(closed([*(each for each in PPO.on if gone.isdisjoint(closed([each]))), name]))
    hint = meant(name, [*PRESETS, *NEEDS])
    raise InputError(f"unknown rung {name!r}{hint}; choose {', '.join(PRESETS)} or one of {', '.join(NEEDS)}")


LISTS: dict[str, dict[str, tuple[str, ...]]] = {
    key: {f.name: f.metadata[key] for f in fields(Tricks)} for key in ("needs", "excludes", "numbers", "diagnostics")
}
NEEDS, EXCLUDES = LISTS["needs"], LISTS["excludes"]
HYPERPARAMETERS, DIAGNOSTICS = LISTS["numbers"], LISTS["diagnostics"]
COLORS: dict[str, str] = {f.name: f.metadata["color"] for f in fields(Tricks)}
FILES: dict[str, str] = {f.name: f.metadata["file"] or f.name for f in fields(Tricks)}
OWN: dict[str, tuple[Path, str]] = {}  # flags that `load_trick` added: each one's file, and the digest of that
LADDER = tuple(f.name for f in fields(Tricks) if not f.metadata["beyond"])

REINFORCE = Tricks()
IN_CLEANRL = "baseline reuse clip gae orthogonal_init advantage_norm grad_clip entropy segments value_clip lr_anneal"
CLEANRL = switched(IN_CLEANRL.split())  # what CleanRL's ppo.py does
SB3 = replace(CLEANRL, entropy=False, value_clip=False, lr_anneal=False, bootstrap=True)  # stable-baselines3's defaults
# the smallest of the sets that learned most in the classic five: docs/internal/presets.md
PPO = replace(CLEANRL, value_clip=False, lr_anneal=False, return_norm=True, bootstrap=True)
EVERY = switched(LADDER)
PPG = switched([*PPO.on, "ppg"])
ATARI = switched([*CLEANRL.on, "clip_anneal", "shared_trunk"])  # what openai/baselines' ppo2 does
CONTINUOUS = replace(CLEANRL, entropy=False, state_norm=True, reward_scaling=True)  # CleanRL's ppo_continuous_action.py
PRESETS = {"reinforce": REINFORCE, "ppo": PPO, "every": EVERY, "cleanrl": CLEANRL, "sb3": SB3, "ppg": PPG}
PRESETS |= {"atari": ATARI, "continuous": CONTINUOUS}

# Language models. Ahmadian et al. 2024: leave-one-out, the KL in the reward, a reply as a single action (reply_mean)
RLOO = Tricks(group_baseline=True, kl_penalty=True, reply_mean=True)
# Shao et al. 2024: eq. 3 (reply_mean, reuse, clip, kl_penalty), eq. 4 (k3), sec. 4.1.2 (group_baseline, group_norm)
GRPO = replace(RLOO, group_norm=True, reuse=True, clip=True)
# Liu et al. 2025, sec. 3.2: without σ, and by a constant, not by the reply's length; in their runs, without the KL
DR_GRPO = replace(GRPO, group_norm=False, kl_penalty=False)
# Yu et al. 2025: sec. 2.3 (without the KL), 3.1 (clip_higher), 3.2 (mixed_groups), 3.3 (the mean over all tokens). Its
# fourth part, a soft punishment of overlong replies (3.4), is a matter of the reward.
DAPO = replace(GRPO, kl_penalty=False, clip_higher=True, mixed_groups=True, reply_mean=False)
# Zheng et al. 2025: eq. 5 (reply_mean, reuse, clip), 6 (group_baseline, group_norm), 7 (reply_ratio); sec. 5.1
# (clip_higher); its formulas leave out the KL for brevity
GSPO = replace(GRPO, kl_penalty=False, clip_higher=True, reply_ratio=True)
PRESETS |= {"rloo": RLOO, "grpo": GRPO, "dr_grpo": DR_GRPO, "dapo": DAPO, "gspo": GSPO}
