"""The small playgrounds in the chapters: for each trick the setting that shows it, and what one sees.

A key is a chapter's name, or a trick to which a chapter goes further.
"""

from dataclasses import dataclass
from urllib.parse import parse_qsl


@dataclass(frozen=True)
class TrainHere:
    """Agents without a trick against as many with it, on the same seeds: ten each, unless the setting has `agents`."""

    says: str
    """What one sees in most starts."""
    setting: str
    """Its address in the playground: the world, the tricks of the arms a and b (if there are two), and numbers."""
    verdict: str = "B"
    """Which arm is better in most starts; empty if neither, or if there is only one."""
    least: int = 8
    """In how many of ten starts the verdict is that, at least; the slow test counts them."""

    @property
    def adds(self) -> list[str]:
        """The tricks of arm b on top of those of a; none for one arm alone."""
        asked = dict(parse_qsl(self.setting, keep_blank_values=True))
        return [name for name in asked.get("b", "").split(",") if name and name not in asked["a"].split(",")]


HERE = {
    "reinforce": TrainHere(
        "Ten agents of REINFORCE, equal in everything but their luck. By the end, the best of them balances the pole "
        "at least twice as long as the worst. Whichever one you had trained, you would have believed it.",
        "world=CartPole-v1&a=&lr=0.01&steps=30000&hidden=16,16",
        verdict="",
    ),
    "baseline": TrainHere(
        "A loan of 6 comes and goes in every episode; the actions earn 0.1 each. Without a baseline, most agents learn "
        "little more than chance, which is 0.5. With it, nearly all approach 1.",
        "world=tricks/Loan6Pay0.1-v0&a=&b=baseline&lr=0.01&steps=40000&lanes=8&horizon=10&hidden=16,16",
    ),
    "reuse": TrainHere(
        "One small step per batch gets nowhere in 25,000 steps of play. Take sixteen steps from each batch, at the "
        "same rate, and the agents learn.",
        "world=CartPole-v1&a=baseline&b=baseline,reuse&lr=0.001&steps=25000&hidden=16,16",
    ),
    "clip": TrainHere(
        "A bold learning rate, four epochs. Without the clip, agents fall back to a few steps, often for good. With it "
        "they climb.",
        "world=CartPole-v1&a=baseline,reuse&b=baseline,reuse,clip&lr=0.03&steps=30000&hidden=16,16",
    ),
    "gae": TrainHere(
        "The pay for an action comes one step late, under noise. With λ = 0.9, agents learn it sooner than from Monte "
        "Carlo returns, which add up the noise of two hundred steps.",
        "world=tricks/Mail1-v0&a=baseline,reuse,clip,advantage_norm&b=baseline,reuse,clip,advantage_norm,gae"
        "&lr=0.003&steps=20000&gamma=0.995&gae_lambda=0.9&hidden=16,16",
    ),
    "orthogonal_init": TrainHere(
        "Eight hidden layers. The default weights shrink the signal from layer to layer, and those agents start late.",
        "world=CartPole-v1&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,orthogonal_init"
        "&lr=0.001&steps=12000&horizon=64&hidden=16,16,16,16,16,16,16,16",
    ),
    "advantage_norm": TrainHere(
        "Every step pays 0.0001. Next to that, the entropy bonus, which pays the policy for staying random, is huge. "
        "Standardized advantages are as large as ever, so those agents begin to learn.",
        "world=tricks/CartPoleReward0.0001-v0&a=baseline,reuse,clip,gae,entropy"
        "&b=baseline,reuse,clip,gae,entropy,advantage_norm&lr=0.01&steps=25000&hidden=16,16",
    ),
    "state_norm": TrainHere(
        "The cart's position is in millimeters, the pole's angle in turns. Without standardized observations, hardly "
        "any agent learns.",
        "world=tricks/CartPoleOddUnits-v0&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,state_norm&lr=0.003&steps=20000&hidden=16,16",
    ),
    "return_norm": TrainHere(
        "Every step pays 0.0001. The value net's first guesses are a thousand times too large, and drown what the "
        "actions earned. Standardized returns put it right with the first batch.",
        "world=tricks/CartPoleReward0.0001-v0&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,return_norm"
        "&lr=0.003&steps=20000&return_first_batch=true&hidden=16,16",
    ),
    "grad_clip": TrainHere(
        "Now and then a step pays 100,000 and the next one takes it back. Adam remembers such a gradient for a "
        "thousand steps. With the limit, it passes.",
        "world=tricks/CartPoleShockPairs100000-v0&a=baseline,reuse,clip,gae&b=baseline,reuse,clip,gae,grad_clip"
        "&lr=0.003&steps=40000&hidden=16,16",
    ),
    "entropy": TrainHere(
        "A small reward is one step to the left, ten times as much far to the right. Without the bonus, all but a few "
        "agents settle for the small one. With it, about half of them find the other. How many do is a matter of luck, "
        "so it takes thirty agents to tell.",
        "world=tricks/Corridor1-v0&a=baseline,reuse,clip,gae&b=baseline,reuse,clip,gae,entropy"
        "&lr=0.02&steps=24000&horizon=16&epochs=2&entropy_coef=0.05&agents=30&hidden=16,16",
        least=7,
    ),
    "action_mask": TrainHere(
        "Twenty of 24 actions do nothing. With the mask, the agents cross the grid almost at once.",
        "world=tricks/Grid20-v0&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,action_mask&lr=0.003&steps=16000&hidden=16,16",
    ),
    "popart": TrainHere(
        "CartPole, where the returns grow as the agents learn. PopArt preserves the value net's outputs. Ten agents "
        "can't show a difference.",
        "world=CartPole-v1&a=baseline,reuse,clip,gae,advantage_norm,return_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,return_norm,popart"
        "&lr=0.003&steps=16000&return_beta=0.5&hidden=16,16",
        verdict="",
    ),
    "segments": TrainHere(
        "Episodes of 500 steps. Whole ones fill the budget with five updates; segments of 64 steps make forty.",
        "world=tricks/Marathon500-v0&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,segments&lr=0.003&steps=20000&horizon=64&hidden=16,16",
    ),
    "bootstrap": TrainHere(
        "A time limit of four steps that the agent can't see. Treat it as a death and the agents never find the paying "
        "cell far away; bootstrap from V of the last state and they walk there.",
        "world=tricks/Shuttle4-v0&a=baseline,reuse,clip,gae,advantage_norm,segments"
        "&b=baseline,reuse,clip,gae,advantage_norm,segments,bootstrap"
        "&lr=0.003&steps=20000&lanes=32&horizon=32&hidden=16,16",
    ),
    "value_clip": TrainHere(
        "A loan of 30 comes and goes, and V has to learn it, in steps of 0.2 or freely. Both arms get there too slowly "
        "for ten agents to tell them apart.",
        "world=tricks/Loan30Pay0.3-v0&a=baseline,reuse,clip,gae&b=baseline,reuse,clip,gae,value_clip"
        "&lr=0.01&steps=20000&lanes=32&horizon=32&epochs=8&hidden=16,16",
        verdict="",
    ),
    "annealing": TrainHere(
        "One wrong step in twelve, and you fall. The learning rate falls, but over so short a run, ten agents can't "
        "show a difference.",
        "world=tricks/Tightrope12-v0&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,lr_anneal&lr=0.01&steps=16000&horizon=32&hidden=16,16",
        verdict="",
    ),
    "kl_stop": TrainHere(
        "Ten epochs with no clip. Stopping them when the KL gets large costs steps and saves agents. Ten agents can't "
        "show whether it pays.",
        "world=CartPole-v1&a=baseline,reuse&b=baseline,reuse,kl_stop&lr=0.003&steps=20000&epochs=10&hidden=16,16",
        verdict="",
    ),
    "dual_clip": TrainHere(
        "Fifty right steps in a row, at a learning rate that is far too high. Some ratios go beyond 100, but only a "
        "few rows in ten thousand reach the floor.",
        "world=tricks/Tightrope50-v0&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,dual_clip"
        "&lr=0.1&steps=16000&lanes=32&horizon=32&epochs=10&hidden=16,16",
        verdict="",
    ),
    "huber": TrainHere(
        "The lottery again: 0.5 for sure, or a ticket that is worth 1. With the squared error, nearly every agent ends "
        "with the ticket. Under Huber's loss they settle for the sure pay.",
        "world=tricks/Lottery20-v0&a=baseline,reuse,clip,gae,advantage_norm"
        "&b=baseline,reuse,clip,gae,advantage_norm,huber"
        "&lr=0.01&steps=16000&lanes=32&horizon=32&gae_lambda=0&hidden=16,16",
        verdict="A",
    ),
    "language": TrainHere(
        "A language model of one word: `yes` pays 11, `no` pays 10. Without a baseline, what both pay, ten times their "
        "difference, drowns it. The mean of the other replies to the same prompt takes it out.",
        "world=tricks/OddsPlus10-v0&a=&b=group_baseline&hidden=8",
    ),
    "grpo": TrainHere(
        "`no` always pays 1; `yes` pays 20 one time in ten, twice as much on average, which is the score. Most groups "
        "of eight replies have no win. Once a win is divided by its group's σ, it is hardly larger than a loss, so "
        "agents learn the worse word.",
        "world=tricks/Stakes-v0&a=group_baseline&b=group_baseline,group_norm&hidden=8",
        verdict="A",
    ),
    "limits": TrainHere(
        "`good` is wanted and pays 1. `flattery` is not, and pays 1.2. Without a leash, the model learns first one and "
        "then the other; under a KL penalty it stays with the first.",
        "world=tricks/Loophole-v0&a=&b=kl_penalty&kl_coef=0.3&kl_estimator=k2&hidden=8",
    ),
}
