"""The small playgrounds in the chapters: for each trick the world and the two arms that show it, and what one sees.

A key is a chapter's name, or a trick to which a chapter goes further.
"""

from dataclasses import dataclass, field
from urllib.parse import urlencode

PLAIN = ("baseline", "reuse", "clip", "gae")
NORMED = (*PLAIN, "advantage_norm")


@dataclass(frozen=True)
class TrainHere:
    """Agents without a trick against as many with it, on the same seeds: ten each, or `agents` of the numbers."""

    says: str
    """What one sees in most starts."""
    without: tuple[str, ...]
    adds: tuple[str, ...] = ()
    """The tricks of the second arm on top; none for one arm alone."""
    world: str = "CartPole-v1"
    numbers: dict[str, float | bool] = field(default_factory=dict)
    verdict: str = "B"
    """Which arm is better in most starts; empty if neither, or if there is only one."""
    hidden: tuple[int, ...] = (16, 16)
    least: int = 8
    """In how many of ten starts the verdict is that, at least; the slow test counts them."""

    @property
    def setting(self) -> str:
        """The address of this setting in the playground."""
        asked = {"world": self.world, "a": ",".join(self.without)}
        if self.adds:
            asked["b"] = ",".join([*self.without, *self.adds])
        numbers = {name: str(x).lower() if isinstance(x, bool) else f"{x:g}" for name, x in self.numbers.items()}
        return urlencode(asked | numbers | {"hidden": ",".join(map(str, self.hidden))}, safe=",/")


SMALL_BATCH = {"lanes": 8, "horizon": 10}
TINY_PAY = "tricks/CartPoleReward0.0001-v0"
HERE = {
    "reinforce": TrainHere(
        "Ten agents of REINFORCE, equal in everything but their luck. By the end, the best of them balances the "
        "pole at least twice as long as the worst. Whichever one you had trained, you would have believed it.",
        (),
        numbers={"lr": 0.01, "steps": 30_000},
        verdict="",
    ),
    "baseline": TrainHere(
        "A loan of 6 comes and goes in every episode; the actions earn 0.1 each. Without a baseline, most agents "
        "learn little more than chance, which is 0.5. With it, nearly all approach 1.",
        (),
        ("baseline",),
        "tricks/Loan6Pay0.1-v0",
        {"lr": 0.01, "steps": 40_000, **SMALL_BATCH},
    ),
    "reuse": TrainHere(
        "One small step per batch gets nowhere in 25,000 steps of play. Take sixteen steps from each batch, at the "
        "same rate, and the agents learn.",
        ("baseline",),
        ("reuse",),
        numbers={"lr": 0.001, "steps": 25_000},
    ),
    "clip": TrainHere(
        "A bold learning rate, four epochs. Without the clip, agents fall back to a few steps, often for good. "
        "With it they climb.",
        ("baseline", "reuse"),
        ("clip",),
        numbers={"lr": 0.03, "steps": 30_000},
    ),
    "gae": TrainHere(
        "The pay for an action comes one step late, under noise. With λ = 0.9, agents learn it sooner than from Monte "
        "Carlo returns, which add up the noise of two hundred steps.",
        ("baseline", "reuse", "clip", "advantage_norm"),
        ("gae",),
        "tricks/Mail1-v0",
        {"lr": 0.003, "steps": 20_000, "gamma": 0.995, "gae_lambda": 0.9},
    ),
    "orthogonal_init": TrainHere(
        "Eight hidden layers. The default weights shrink the signal from layer to layer, and those agents start late.",
        NORMED,
        ("orthogonal_init",),
        numbers={"lr": 0.001, "steps": 12_000, "horizon": 64},
        hidden=(16,) * 8,
    ),
    "advantage_norm": TrainHere(
        "Every step pays 0.0001. Next to that, the entropy bonus, which pays the policy for staying random, is huge. "
        "Standardized advantages are as large as ever, so those agents begin to learn.",
        (*PLAIN, "entropy"),
        ("advantage_norm",),
        TINY_PAY,
        {"lr": 0.01, "steps": 25_000},
    ),
    "state_norm": TrainHere(
        "The cart's position is in millimeters, the pole's angle in turns. Without standardized observations, "
        "hardly any agent learns.",
        NORMED,
        ("state_norm",),
        "tricks/CartPoleOddUnits-v0",
        {"lr": 0.003, "steps": 20_000},
    ),
    "return_norm": TrainHere(
        "Every step pays 0.0001. The value net's first guesses are a thousand times too large, and drown what the "
        "actions earned. Standardized returns put it right with the first batch.",
        NORMED,
        ("return_norm",),
        TINY_PAY,
        {"lr": 0.003, "steps": 20_000, "return_first_batch": True},
    ),
    "grad_clip": TrainHere(
        "Now and then a step pays 100,000 and the next one takes it back. Adam remembers such a gradient for a "
        "thousand steps. With the limit, it passes.",
        PLAIN,
        ("grad_clip",),
        "tricks/CartPoleShockPairs100000-v0",
        {"lr": 0.003, "steps": 40_000},
    ),
    "entropy": TrainHere(
        "A small reward is one step to the left, ten times as much far to the right. Without the bonus, all but a few "
        "agents settle for the small one. With it, about half of them find the other. How many do is a matter of luck, "
        "so it takes thirty agents to tell.",
        PLAIN,
        ("entropy",),
        "tricks/Corridor1-v0",
        {"lr": 0.02, "steps": 24_000, "horizon": 16, "epochs": 2, "entropy_coef": 0.05, "agents": 30},
        least=7,
    ),
    "action_mask": TrainHere(
        "Twenty of 24 actions do nothing. With the mask, the agents cross the grid almost at once.",
        NORMED,
        ("action_mask",),
        "tricks/Grid20-v0",
        {"lr": 0.003, "steps": 16_000},
    ),
    "popart": TrainHere(
        "CartPole, where the returns grow as the agents learn. Preserving the value net's outputs makes no "
        "difference that ten agents could show you.",
        (*NORMED, "return_norm"),
        ("popart",),
        numbers={"lr": 0.003, "steps": 16_000, "return_beta": 0.5},
        verdict="",
    ),
    "segments": TrainHere(
        "Episodes of 500 steps. Whole ones fill the budget with five updates; segments of 64 steps make forty.",
        NORMED,
        ("segments",),
        "tricks/Marathon500-v0",
        {"lr": 0.003, "steps": 20_000, "horizon": 64},
    ),
    "bootstrap": TrainHere(
        "A time limit of four steps that the agent can't see. Taken for a death, it hides the far cell that pays; "
        "with V of the last state, the agents walk there.",
        (*NORMED, "segments"),
        ("bootstrap",),
        "tricks/Shuttle4-v0",
        {"lr": 0.003, "steps": 20_000, "lanes": 32, "horizon": 32},
    ),
    "value_clip": TrainHere(
        "A loan of 30 comes and goes, and V has to learn it, in steps of 0.2 or freely. Both arms get there too "
        "slowly for ten agents to tell them apart.",
        PLAIN,
        ("value_clip",),
        "tricks/Loan30Pay0.3-v0",
        {"lr": 0.01, "steps": 20_000, "lanes": 32, "horizon": 32, "epochs": 8},
        verdict="",
    ),
    "annealing": TrainHere(
        "One wrong step in twelve, and you fall. Over so short a run, a falling learning rate makes no difference "
        "that ten agents could show you.",
        NORMED,
        ("lr_anneal",),
        "tricks/Tightrope12-v0",
        {"lr": 0.01, "steps": 16_000, "horizon": 32},
        verdict="",
    ),
    "kl_stop": TrainHere(
        "Ten epochs with no clip. Stopping them when the KL gets large costs steps and saves agents: ten agents "
        "can't tell you whether it pays.",
        ("baseline", "reuse"),
        ("kl_stop",),
        numbers={"lr": 0.003, "steps": 20_000, "epochs": 10},
        verdict="",
    ),
    "dual_clip": TrainHere(
        "Fifty right steps in a row, at a learning rate that is far too high. Some ratios go beyond 100, but only a "
        "few rows in ten thousand reach the floor. It makes no difference that ten agents could show you.",
        NORMED,
        ("dual_clip",),
        "tricks/Tightrope50-v0",
        {"lr": 0.1, "steps": 16_000, "lanes": 32, "horizon": 32, "epochs": 10},
        verdict="",
    ),
    "huber": TrainHere(
        "The lottery again: 0.5 for sure, or a ticket that is worth 1. With the squared error, nearly every agent ends "
        "with the ticket. Under Huber's loss they settle for the sure pay.",
        NORMED,
        ("huber",),
        "tricks/Lottery20-v0",
        {"lr": 0.01, "steps": 16_000, "lanes": 32, "horizon": 32, "gae_lambda": 0},
        verdict="A",
    ),
}
