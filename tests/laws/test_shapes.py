"""Shapes of the functions on tensors: one table, which calls each of them; and no seed's result depends on another's.

A row says what goes in and what comes out, in the letters of the code: S seeds, T steps, N lanes, B rows of a batch, D
features, H inputs of a layer, A actions, P parameters of a net, M minibatches. A `?` marks masks; a number stands for
itself. Functions of agents, batches and rollouts have their own tests.
"""

import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any, get_type_hints

import pytest
import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.ladder import FILES

SIZES = {"S": 3, "T": 5, "N": 2, "B": 7, "D": 6, "H": 4, "A": 8, "P": 11, "M": 9, "1": 1, "3": 3}
SHAPES = {
    "core.returns.reward_to_go": "STN STN? 0.9 -> STN",
    "core.returns.discounted_sum": "STN STN -> STN",
    "core.reductions.mean": "SB SB? -> S",
    "core.layers.affine": "SBD SDH S1H -> SBH",
    "core.policies.log_softmax": "SBA -> SBA",
    "core.seeds.argsort": "SB -> SB",
    "core.faults.observed": "STN? -> S6N",
    "baseline.squared_error": "SB SB -> SB",
    "baseline.explained_variance": "STN STN STN? -> S",
    "reuse.importance_ratio": "SB SB -> SB",
    "reuse.drift": "SB SB? -> S S",
    "clip.clipped_surrogate": "SB SB S -> SB",
    "clip.clip_fraction": "SB S SB? -> S",
    "gae.gae": "STN STN STN STN? STN? 0.9 0.95 -> STN",
    "advantage_norm.standardize": "SB SB? -> SB",
    "grad_clip.shorten": "SP S 0.5 -> SP",
    "entropy.entropy_bonus": "SB SB? 0.01 -> S",
    "action_mask.mask_logits": "SBA SBA? -> SBA",
    "bootstrap.value_at_cut": "STN? STN STN? 0.9 -> STN",
    "value_clip.clipped_error": "SB SB SB S1 -> SB",
    "annealing.linear_decay": "S S -> S",
    "annealing.following_decay": "S S 1 -> S",
    "kl_stop.near_enough": "SB SB? 0.1 -> S",
    "kl_stop.reached": "MS -> MS",
    "reward_scaling.running_sums": "STN STN? SN 0.9 -> STN",
    "reward_scaling.variance_so_far": "STN STN? S3 -> ST S3",
    "dual_clip.bounded_below": "SB SB 3.0 -> SB",
    "dual_clip.bounded_fraction": "SB SB 3.0 SB? -> S",
    "huber.linear_beyond": "SB 1.0 -> SB",
    "squash.log_slope": "SBA -> SBA",
    "squash.mean_log_slope": "SBA SBA -> SBA",
}
ON_TENSORS = (Tensor, float, bool, PerSeed, float | Tensor, dict[str, Tensor], tuple[Tensor, Tensor])


def function(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(import_module(f"tricks.{module}"), own)


def given(name: str) -> tuple[list[Any], list[tuple[int, ...]]]:
    """Arguments of a row's shapes, positive numbers and masks of all sorts; and the shapes that it promises."""
    generator = torch.Generator().manual_seed(0)
    into, out = (side.split() for side in SHAPES[name].split("->"))
    arguments: list[Any] = []
    for word in into:
        if word[0].isdigit():
            arguments.append(float(word))
        else:
            x = torch.rand([SIZES[letter] for letter in word.rstrip("?")], generator=generator) + 0.5
            arguments.append(x > 1 if word.endswith("?") else x)
    return arguments, [tuple(SIZES.get(letter) or int(letter) for letter in word) for word in out]


def tensors(found: Any) -> list[Tensor]:
    return [found] if isinstance(found, Tensor) else list(found.values() if isinstance(found, dict) else found)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_those_of_the_table_and_no_seed_s_result_depends_on_the_others(name: str) -> None:
    arguments, promised = given(name)
    stacked = tensors(function(name)(*arguments))
    assert [tuple(x.shape) for x in stacked] == promised
    axis = 1 if SHAPES[name].startswith("M") else 0
    for k in range(SIZES["S"]):
        alone = function(name)(*(x.narrow(axis, k, 1) if isinstance(x, Tensor) else x for x in arguments))
        for one, all_ in zip(tensors(alone), stacked, strict=True):
            torch.testing.assert_close(one, all_.narrow(axis, k, 1), equal_nan=True)


def on_tensors(modules: Iterable[str]) -> Iterable[str]:
    """The functions of these modules that take tensors and numbers only, and return tensors."""
    for module in modules:
        for name, each in vars(import_module(module)).items():
            if inspect.isfunction(each) and each.__module__ == module and not name.startswith("_"):
                hints = get_type_hints(each)
                if "Tensor" in str(hints["return"]) and all(kind in ON_TENSORS for kind in hints.values()):
                    yield f"{module.removeprefix('tricks.')}.{name}"


def test_every_public_function_on_tensors_is_in_the_table() -> None:
    core = ("returns", "reductions", "moments", "layers", "policies", "seeds", "faults")
    modules = [f"tricks.{file}" for file in dict.fromkeys(FILES.values())] + [f"tricks.core.{name}" for name in core]
    assert set(on_tensors(modules)) <= set(SHAPES)
