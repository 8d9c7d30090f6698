"""segments: fixed-length rollouts, cut in mid-episode if need be, instead of whole episodes."""

from torch import Tensor

from tricks.core.rollout import Player, Policy, Rollout
from tricks.fast.dispatch import faster


@faster("tricks.fused.playing")
def play_segment(player: Player, policy: Policy, length: int, active: Tensor) -> Rollout:
    """Play `length` rows in every lane of the active seeds [S]; episodes continue from one segment to the next.

    Mnih et al. 2016, arXiv:1602.01783, sec. 4.
    """
    playing = active.unsqueeze(1).expand(-1, player.env.lanes)
    for _ in range(length):
        player.step(policy, playing)
    return player.rollout()
