"""What studies say, in sentences. The README quotes them; a test makes them anew from the stored runs."""

from collections.abc import Sequence

import pandas as pd

from ablations.analysis.effects import effects
from ablations.analysis.studies import Study
from ablations.figures.style import parts, signed
from ablations.report.tables import arms_table, distinct


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
    areas = arms_table(study, ladder).area
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


def beyond(studies: Sequence[Study]) -> list[str]:
    """What is detected of the tricks beyond the ladder, on top of PPO and of PPO with `return_norm`.

    Nothing where there are too few seeds, or runs are missing.
    """
    said = []
    whole = [study for study in distinct(studies) if not any(study.missing(design) for design in study.designs)]
    for design, base in (("beyond", "`ppo`"), ("beyond-normed", "`ppo` with `return_norm`")):
        found = [frame for study in whole if len(frame := _effects(study, design))]
        frames = [frame for frame in found if frame.p.notna().all()]
        if frames:
            rows = pd.concat(frames)
            tricks = "; ".join(_where(label, rows[rows.label == label]) for label in dict.fromkeys(rows.label))
            seeds = " or ".join(f"{count}" for count in sorted(set(rows.seeds)))
            where = "1 environment" if len(frames) == 1 else f"{len(frames)} environments"
            said.append(f"On top of {base}, in {where} ({seeds} seeds): {tricks}.")
    return said


def _where(label: str, rows: pd.DataFrame) -> str:
    """Where a comparison's trick is detected as helping or hurting, and by how much."""
    _, trick, others = parts(label)
    on = [f"`{other}`" for other in others if other != "return_norm"]
    name, found = f"`{trick}`" + (f" (on {_listed(on)})" if on else ""), []
    for sign, verb in ((1, "helps"), (-1, "hurts")):
        seen = rows[rows.detected == sign]
        if len(seen):
            places = zip(seen.env, seen.difference, strict=True)
            found.append(f"{verb} on {_listed([f'{env} ({signed(size)})' for env, size in places])}")
    return f"{name} {' and '.join(found) or 'is detected nowhere'}"


def spoken(seconds: float) -> str:
    """`40 seconds`, `4.5 minutes`, `3.5 hours`."""
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def _named(rows: pd.DataFrame, sizes: bool = False) -> str:
    return _listed(
        [f"`{r['trick']}`" + (f" ({signed(r['difference'])})" if sizes else "") for r in rows.to_dict("records")]
    )


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)


def _seeds(study: Study) -> str:
    return f"{study.runs.seed.nunique()} seeds"
