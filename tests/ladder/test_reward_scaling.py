"""reward_scaling: each reward is divided by the deviation, up to its step, of the discounted return so far."""

from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from tricks import CONTINUOUS, Checkpoints, Config, load, resume, train
from tricks.ladder import switched
from tricks.reward_scaling import RewardScale, running_sums, variance_so_far
from tricks.runs.log import Rows


def column(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64).view(1, -1, 1)


def test_a_running_sum_by_hand_starts_anew_where_an_episode_does_and_goes_on_from_the_last_rollout() -> None:
    ten, fresh = torch.tensor([[10.0]]).double(), column(0, 0, 1, 0).bool()
    found = running_sums(column(1, 2, 3, 4), fresh, ten, 0.5)
    torch.testing.assert_close(found, column(1 + 5, 2 + 3, 3, 4 + 1.5))
    torch.testing.assert_close(running_sums(column(1, 2), column(1, 0).bool(), ten, 0.5), column(1, 2.5))


def test_the_deviation_that_it_shows_is_that_of_the_last_step_and_never_below_the_root_of_epsilon() -> None:
    assert RewardScale(2, 3).std.tolist() == [1, 1]  # before the first reward, nothing is divided by
    scale, no = RewardScale(1, 1), torch.zeros(1, 4, 1).bool()
    found = scale(column(1, -2, 3, 0.5), no, ~no, 0.5)
    assert scale.std.item() == pytest.approx(0.5 / found[0, -1, 0].item())
    scale.moments = torch.tensor([[1e9, 0, 0]]).double()
    scale.sums.zero_()
    assert scale(column(0), no[:, :1], ~no[:, :1], 0.5).item() == 0
    assert scale.std.item() == pytest.approx(1e-4)


def test_the_variance_by_hand_counts_all_rows_so_far_and_only_valid_ones() -> None:
    found, moments = variance_so_far(column(1, 3, 100, 5), column(1, 1, 0, 1).bool(), torch.zeros(1, 3).double())
    torch.testing.assert_close(found, torch.tensor([[0, 1, 1, 8 / 3]]).double())
    torch.testing.assert_close(moments, torch.tensor([[3.0, 3.0, 8.0]]).double())
    again, _ = variance_so_far(column(7), column(1).bool(), moments)  # 1, 3, 5, 7
    torch.testing.assert_close(again, torch.tensor([[5.0]]).double())


def test_the_scale_of_the_rewards_does_not_matter_and_scaled_rewards_are_clipped_at_ten() -> None:
    """Unlike return_norm, it removes the scale from the advantages as well."""
    reward, done = 2 + 3 * torch.randn(1, 60, 3).double(), torch.rand(1, 60, 3) < 0.2
    small, large = (RewardScale(1, 3)(size * reward, done, torch.ones_like(done), 0.9) for size in (1.0, 1000.0))
    torch.testing.assert_close(small[:, 9:], large[:, 9:], rtol=1e-2, atol=1e-4)  # once the prior is outweighed
    for sign in (1, -1):
        reward = torch.cat([0.01 * torch.ones(1, 999, 1), torch.full((1, 1, 1), sign * 1e6)], 1).double()
        done = torch.ones_like(reward).bool()
        assert RewardScale(1, 1)(reward, done, done, 0.9)[0, -1, 0] == sign * 10


def test_curves_report_the_rewards_as_they_were() -> None:
    config = Config("ShortCartPole-v0", seeds=2, steps=200, lanes=2, horizon=16)
    curve = train(config, switched(["reward_scaling"])).curve
    assert curve["return"].dropna().between(1, 15).all()
    assert (curve["return"] == curve["length"]).all()
    assert (curve["reward_std"] > 0).all()
    assert (curve["reward_std"] != 1).all()


def interrupted(config: Config, folder: Path, after: int) -> None:
    def interrupt(rows: Rows) -> None:
        if rows[0]["step"] > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, CONTINUOUS, checkpoints=Checkpoints(folder, every=64), on_update=interrupt)


def test_the_statistics_survive_a_checkpoint_and_a_saved_run(tmp_path: Path) -> None:
    config = Config("Pendulum-v1", seeds=2, steps=1200, lanes=2, horizon=32, minibatches=2)
    whole = train(config, CONTINUOUS)
    interrupted(config, tmp_path / "a", 600)
    assert resume(tmp_path / "a").curve.equals(whole.curve)
    whole.save(tmp_path / "b")
    again = load(tmp_path / "b").agent
    loaded, saved, second = (cast(RewardScale, agent.reward_scale) for agent in (again, whole.agent, again[1]))
    torch.testing.assert_close(loaded.state_dict(), saved.state_dict())
    assert second.moments.shape == (1, 3)


def test_a_resumed_run_that_starts_new_episodes_starts_their_sums_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(
        Config("Pendulum-v1", "gymnasium", seeds=2, steps=400, lanes=2, horizon=32, minibatches=2), tmp_path, 200
    )
    before, scaled = list[Tensor](), RewardScale.forward

    def watching(self: RewardScale, *arguments: Any) -> Tensor:
        before.append(self.sums.clone())
        return scaled(self, *arguments)

    monkeypatch.setattr(RewardScale, "forward", watching)
    resume(tmp_path)
    assert not before[0].any()
    assert before[1].all()
