"""What studies say, in sentences. The README quotes them; a test makes them anew from the stored runs."""

from collections.abc import Sequence

import pandas as pd

from ablations.effects import effects
from ablations.report import distinct, table
from ablations.runs import Study


def of(study: Study) -> list[str]:
    """What the ladder, and adding and leaving out, say about one environment; nothing where there are too few seeds."""
    return [sentence for sentence in (_ladder(study), _alone_and_together(study)) if sentence]


def _effects(study: Study, name: str) -> pd.DataFrame:
    frames = [effects(study, design) for design in study.designs if design.name == name]
    return frames[0] if frames else pd.DataFrame()


def _ladder(study: Study) -> str:
    """How far the ladder goes, and on which steps."""
    steps = _effects(study, "ladder")
    if steps.empty or steps.p.isna().all() or any(study.missing(design) for design in study.designs):
        return ""
    (ladder,) = (design for design in study.designs if design.name == "ladder")
    areas = table(study, ladder).area
    up, down = (_named(steps[steps.detected == sign], sizes=True) for sign in (1, -1))
    seen = [f"up with {up}"] * bool(up) + [f"down with {down}"] * bool(down)
    return (
        f"On {study.env} ({_seeds(study)}), the ladder takes the area under the curve from {areas.iloc[0]:.0f} to "
        f"{areas.iloc[-1]:.0f}. Detected among its {len(steps)} steps: {', '.join(seen) or 'none'}."
    )


def _alone_and_together(study: Study) -> str:
    """What helps or hurts alone, and what is missed when it is taken out of the full set."""
    alone, full = _effects(study, "add-one-in"), _effects(study, "leave-one-out")
    if alone.empty or full.empty or alone.p.isna().all() or any(study.missing(design) for design in study.designs):
        return ""
    helps, hurts = (_named(alone[alone.detected == sign]) or "none" for sign in (1, -1))
    missed, better = (_named(full[full.detected == sign]) or "none" for sign in (1, -1))
    return (
        f"On {study.env} ({_seeds(study)}), detected when a trick is alone: {helps} helping, {hurts} hurting. Detected "
        f"when it is taken out of the full set, with what needs it: {missed} missed, {better} better left out."
    )


def across(studies: Sequence[Study]) -> str:
    """Which tricks help in one environment and hurt in another; empty with fewer than two environments."""
    frames = [
        frame
        for study in distinct(studies)
        for name in ("add-one-in", "leave-one-out")
        if len(frame := _effects(study, name))
    ]
    if len({frame.env.iloc[0] for frame in frames}) < 2:
        return ""
    both = pd.concat(frames)
    signs = {trick: set(both.detected[both.trick == trick]) for trick in dict.fromkeys(both.trick)}
    mixed = [f"`{trick}`" for trick, seen in signs.items() if {1, -1} <= seen]
    never = [f"`{trick}`" for trick, seen in signs.items() if seen == {0}]
    return (
        f"In {both.env.nunique()} environments, alone or taken out of the full set, detected as helping in one place "
        f"and hurting in another: {_listed(mixed) or 'none'}. Detected neither alone nor when taken out: "
        f"{_listed(never) or 'none'}."
    )


def _named(rows: pd.DataFrame, sizes: bool = False) -> str:
    return _listed([f"`{r.trick}`" + (f" ({r.difference:+.2f})" if sizes else "") for r in rows.itertuples()])


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)


def _seeds(study: Study) -> str:
    return f"{study.runs.seed.nunique()} seeds"
