"""state_norm: merging batches gives the moments of all rows, also far from zero; nothing seen changes nothing."""

import pytest
import torch

from tricks import Config
from tricks.core.agent import Agent
from tricks.core.moments import Moments
from tricks.core.rollout import Batch
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import named
from tricks.runs.opening import open_env
from tricks.state_norm import add_obs_stats_, follow_observations_, merge_moments


def test_merging_batches_gives_the_moments_of_all_valid_rows() -> None:
    rows = torch.randn(2, 60, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 1e6
    valid = torch.rand(2, 60, generator=torch.Generator().manual_seed(1)) < 0.7
    moments = Moments.empty(2, 3)
    for start, stop in ((0, 7), (7, 8), (8, 60)):
        moments = merge_moments(moments, rows[:, start:stop], valid[:, start:stop])
    for seed in range(2):
        seen = rows[seed][valid[seed]]
        torch.testing.assert_close(moments.mean[seed], seen.mean(0))
        torch.testing.assert_close(moments.variance[seed], seen.var(0, correction=0), rtol=1e-6, atol=0)


def test_with_a_decay_the_moments_become_a_moving_average() -> None:
    moments, everyone = Moments.empty(1, 1), torch.ones(1, 4, dtype=torch.bool)
    for x in range(200):
        before, moments = moments, merge_moments(moments, torch.full((1, 4, 1), float(x)), everyone, decay=0.25)
    torch.testing.assert_close(moments.rows, torch.tensor([[4 / 0.25]]).double())
    torch.testing.assert_close(moments.mean, 0.75 * before.mean + 0.25 * 199)
    between = 0.75 * 0.25 * (199 - before.mean).square()  # the variance of a mixture
    torch.testing.assert_close(moments.variance, 0.75 * before.variance + between)
    alone = merge_moments(moments, torch.full((1, 4, 1), 7.0), everyone, decay=1.0)
    assert (alone.mean.item(), alone.variance.item()) == (7, 0)  # everything earlier is forgotten


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_a_seed_without_new_rows_keeps_its_moments_and_another_s_move(decay: float) -> None:
    rows, valid = torch.randn(2, 20, 3), torch.tensor([[True], [False]]).expand(2, 20)
    before = merge_moments(Moments.empty(2, 3), rows, torch.ones_like(valid))
    after = merge_moments(before, rows + 1, valid, decay)
    for name, old, new in zip(Moments._fields, before, after, strict=True):
        assert torch.equal(old[1], new[1])
        assert not torch.equal(old[0], new[0]) or (name, decay) == ("rows", 1.0)


def test_an_agent_that_has_seen_nothing_sees_observations_as_they_are() -> None:
    config = Config(seeds=2, lanes=1)
    agent = Agent(make_env(config).spaces, config)
    add_obs_stats_(agent)
    obs = torch.tensor([[[1e5, -3.0, 0.1, 1e-9]]]).expand(2, -1, -1)
    assert torch.equal(agent.standardized(obs), obs)
    follow_observations_(agent, Batch(obs=torch.randn(2, 50, 4), valid=torch.ones(2, 50, dtype=torch.bool)), decay=0.0)
    far = torch.tensor([1e5, -1e5, 0.1, -30.0]).expand(2, 1, -1)
    assert agent.standardized(far)[0, 0, [0, 1, 3]].tolist() == [10, -10, -10]  # and then clips at ten deviations


def test_images_are_refused() -> None:
    with pytest.raises(InputError, match="state_norm standardizes vectors, but these observations are images"):
        open_env(Config("tricks/Bricks-v0", seeds=1, lanes=1), named("ppo+state_norm"))  # before anything is played
