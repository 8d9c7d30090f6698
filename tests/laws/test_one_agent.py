"""The one agent that fits in a file learns as the library's does, update by update, with each set of tricks."""

import random
from dataclasses import fields, replace

import numpy as np
import pytest

from tricks import Config, Tricks, one_agent, train
from tricks.fast.dispatch import plain
from tricks.ladder import LADDER, closed, rungs, switched

SETTINGS = {"steps": 400, "lanes": 3, "horizon": 16, "epochs": 2, "minibatches": 2, "gamma": 0.9}


def assert_alike(env: str, tricks: Tricks) -> None:
    with plain():
        theirs = train(Config(env, backend="gymnasium", seeds=(5,), **SETTINGS), tricks).curve  # type: ignore[arg-type]
    mine = one_agent.train(one_agent.Config(env, seed=5, **SETTINGS), tricks)[1]  # type: ignore[arg-type]
    assert len(mine) == len(theirs) > 1
    for name in mine[0]:
        np.testing.assert_allclose([row[name] for row in mine], theirs[name], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("tricks", rungs(), ids=["reinforce", *LADDER])
def test_each_rung(tricks: Tricks) -> None:
    assert_alike("ShortCartPole-v0", tricks)


@pytest.mark.parametrize("draw", range(40))
def test_sets_of_the_ladder_s_flags(draw: int) -> None:
    rng, box = random.Random(draw), draw % 2 > 0
    names = {name for name in LADDER if rng.random() < 0.5} - ({"action_mask"} if box else set())
    assert_alike("ShortPendulum-v0" if box else "ShortCartPole-v0", switched(closed(names)))


def test_its_numbers_are_the_library_s() -> None:
    library = replace(Config(), hidden=(64, 64))
    for f in fields(one_agent.Config):
        if f.name not in ("seed", "hidden"):
            assert f.default == getattr(library, f.name)
