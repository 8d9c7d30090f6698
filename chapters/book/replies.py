"""Replies of language models: played once more, drawn as text, and colored by their advantage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ablations import style
from tricks import Run
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.tensor import TensorEnv
from tricks.worlds import LANGUAGE
from tricks.worlds.replies import text


@dataclass(frozen=True)
class Replies:
    """What agents answer, once per lane. windows [S, N, (K + L)·V]; length and score [S, N]."""

    world: str
    windows: Tensor
    length: Tensor
    score: Tensor

    def said(self, seed: int, lane: int) -> str:
        """A prompt and the reply to it, in words."""
        return text(LANGUAGE[self.world], self.windows[seed, lane])


def replies(run: Run, lanes: int = 1000, group: int = 1, seed: int = 10_000) -> Replies:
    """One reply per lane of each agent of a finished run; lanes of a group answer the same prompt."""
    count = len(run.config.seed_list)
    config = replace(run.config, lanes=lanes, group=group, seeds=tuple(range(seed, seed + count)))
    player = Player(TensorEnv(LANGUAGE[config.env], config), 1)
    player.family = run.agent.family
    with torch.no_grad():
        play = play_episodes(player, run.agent.policy, 1, torch.ones(count, dtype=torch.bool))
    length = play.valid.sum(1)  # [S, N]: each lane plays one episode
    last = length[:, None, :, None].expand(-1, 1, -1, play.obs[0, 0, 0].numel())
    windows = play.obs.flatten(3).gather(1, last).squeeze(1)
    return Replies(run.config.env, windows, length, (play.score * play.valid).sum(1))


def shifted(by: float) -> Any:
    """`play_episodes`, with this on top of what each reply is paid."""

    def played(*arguments: Any) -> Rollout:
        rollout = play_episodes(*arguments)
        return replace(rollout, reward=rollout.reward + by * (rollout.done & rollout.valid))

    return played


def draw_replies(found: Sequence[tuple[str, Replies]], lanes: Sequence[int], advantage: Sequence[Tensor]) -> Figure:
    """The first agent's replies in some lanes, a column for each of `found`: green if its advantage is positive."""
    figure, axes = plt.subplots(1, len(found), figsize=(7.4, 0.24 * len(lanes) + 0.5), squeeze=False)
    told = list[str]()
    for axis, (title, each), worth in zip(axes[0], found, advantage, strict=True):
        axis.set_title(title)
        told.append(f"{title}:")
        axis.set(xlim=(0, 1), ylim=(len(lanes) - 0.4, -0.8))
        axis.axis("off")
        for row, lane in enumerate(lanes):
            a = worth[0, lane].item()
            color = style.COLORS["gae"] if a > 0 else style.FAULT if a < 0 else style.SOFT
            said = f"{each.said(0, lane)}   {a:+.2f}".replace("-", "−")
            axis.text(0, row, said, color=color, family="monospace", va="center", size=8)
            told.append(f"{said};")
    figure.set_label(f"Prompts, replies, and advantages. {' '.join(told)}")
    return figure
