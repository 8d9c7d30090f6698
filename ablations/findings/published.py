"""Published scores of PPO, and our own beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ablations.analysis.studies import Study
from ablations.design.story import story_of
from ablations.report.tables import arms_table, markdown, spanned
from ablations.training.rates import FIXED


@dataclass(frozen=True)
class Published:
    """A published score of PPO: the mean return at the end of training, with its published spread."""

    score: float
    spread: float
    source: str


BY_CLEANRL = "CleanRL's documentation, ppo_continuous_action.py"
PUBLISHED = {
    ("CartPole-v1", 500_000): Published(490, 6, "CleanRL's documentation, ppo.py"),
    ("Acrobot-v1", 500_000): Published(-86.4, 1.3, "CleanRL's documentation, ppo.py"),
    ("LunarLander-v3", 1_000_000): Published(242, 32, "stable-baselines3's zoo, ppo on LunarLander-v2"),
    ("Hopper-v5", 1_000_000): Published(2383, 272, f"{BY_CLEANRL} on Hopper-v4"),
    ("Walker2d-v5", 1_000_000): Published(2288, 572, f"{BY_CLEANRL} on Walker2d-v4"),
    ("HalfCheetah-v5", 1_000_000): Published(1443, 46, f"{BY_CLEANRL} on HalfCheetah-v4"),
}


def published_text(studies: Sequence[Study]) -> str:
    """The last 10% at the numbers of a published score, next to that score; empty if no design is about one."""
    lines = [("environment", "flags", "last 10% here", "seeds", "published", "by")]
    for study in studies:
        known = PUBLISHED.get((study.env, study.steps))
        ours = next((design for design in study.designs if story_of(design).published), None)
        if known and ours and set(study.runs.tuned) == {FIXED}:
            score, where = f"{known.score:g} ± {known.spread:g}", f"{study.env}, {study.steps:,} steps"
            for row in arms_table(study, ours).to_dict("records"):
                here = spanned(row, "last_10%", "{:.1f}")
                lines.append((where, row["arm"], here, f"{row['seeds']}", score, known.source))
    return markdown(lines) if len(lines) > 1 else ""
