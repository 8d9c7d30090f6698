"""What to take away from beyond the ladder: from other tricks, from robots, and from what is published about both."""

from collections.abc import Sequence

import pandas as pd

from ablations.analysis.effects import HELPS, HURTS, NOTHING, effects
from ablations.analysis.studies import Study
from ablations.design.arms import Design
from ablations.design.story import story_of
from ablations.figures.style import signed
from ablations.findings.claims import AGREES, DISAGREES, UNCLEAR, claim_verdicts
from ablations.report.markup import plain
from ablations.report.sentences import alike, with_base
from ablations.training.rates import FIXED


def having(studies: Sequence[Study], name: str) -> list[tuple[Study, Design]]:
    """The studies that have a design of this name, each with it."""
    return [(study, design) for study in studies for design in study.designs if design.name == name]


def seen(frame: pd.DataFrame, sign: int) -> pd.DataFrame:
    """The effects that are detected with this sign, without those that other seeds did not confirm."""
    return frame[(frame.detected == sign) & frame.confirmed.ne(0)]


def on_top_of_ppo(studies: Sequence[Study]) -> str:
    """In how many tasks each trick beyond the ladder helps and hurts, and what `return_norm` changes about it."""
    parts = [_counted(kept, seeds) for (seeds, _), kept in alike(studies).items() if having(kept, "beyond")]
    if not parts:
        return ""
    text = f"Beyond the ladder, on top of `ppo`, detected as helping and as hurting, {'; '.join(parts)}"
    normed = [_based(*each) for each in having(studies, "beyond-normed")]
    also = []
    for frame in normed:
        rows = frame[frame.index.isin(seen(frame, 1).index) | frame.index.isin(seen(frame, -1).index)]
        names = [f"{row['based']} ({signed(row['difference'])})" for row in rows.to_dict("records")]
        also += [f"on {plain(frame.env.iloc[0])} {listed(names)}"] if names else []
    more = f"; with `return_norm` as well, in {len(also)} of {len(normed)}: {', '.join(also)}" if also else ""
    return f"{text}{more}."


def _counted(studies: Sequence[Study], seeds: int) -> str:
    """In how many tasks each trick helps and hurts. studies: with equally many seeds."""
    tried, said = having(studies, "beyond"), []
    for based, own in pd.concat([_based(*each) for each in tried]).groupby("based", sort=False):
        up, down = len(seen(own, 1)), len(seen(own, -1))
        said.append(f"{based} in {up or 'none'} and {down or 'none'}")
    return f"of {len(tried)} task{'s' * (len(tried) > 1)} ({seeds} seeds): {', '.join(said)}"


def _based(study: Study, design: Design) -> pd.DataFrame:
    """A design's effects, each with the name of its trick and what it was put on."""
    frame = effects(study, design)
    return frame.assign(based=[with_base(design, label) for label in frame.label])


def robot(study: Study, design: Design) -> str:
    """What each trick does in or on top of a preset on a robot, by verdict."""
    frame = effects(study, design)
    kinds = {verdict: frame[frame.verdict == verdict] for verdict in (HELPS, HURTS, NOTHING)}
    rate = ", all at its learning rate" if set(study.runs.tuned) == {FIXED} else ""
    around = story_of(design).around
    return (
        f"In or on top of `{around}` on {plain(study.env)} ({study.seeds} seeds, {study.steps:,} steps{rate}), "
        f"{_sized(kinds[HELPS])} help, {_sized(kinds[HURTS])} hurt, "
        f"{listed([f'`{trick}`' for trick in kinds[NOTHING].trick])} do practically nothing, and of the other "
        f"{len(frame) - sum(map(len, kinds.values()))} we can't tell."
    )


def _sized(rows: pd.DataFrame) -> str:
    """Tricks with the sizes of their effects; one that was taken out of the preset went with what needs it."""
    words = []
    for row in rows.to_dict("records"):
        company = " with what needs it" if row["label"].sign == "−" else " with what it needs"
        words.append(f"`{row['trick']}`{company * bool(row['label'].others)} ({signed(row['difference'])})")
    return listed(words)


def published(studies: Sequence[Study]) -> str:
    """How many published statements about tricks on robots our results support."""
    rows = [effects(study, design) for study in studies for design in study.designs]
    found = claim_verdicts(pd.concat(rows)) if rows else pd.DataFrame()
    if found.empty:
        return ""
    agree, against, unclear = (found[found.verdict == verdict] for verdict in (AGREES, DISAGREES, UNCLEAR))
    named = listed([f"`{row['trick']}` on {plain(row['env'])}" for row in against.to_dict("records")])
    where = listed([plain(env) for env in found.env.unique()])
    return (
        f"Of {len(found)} published statements about tricks on {where}, our results support {len(agree) or 'none'}, "
        f"contradict {len(against) or 'none'}{f' ({named})' if len(against) else ''}, and leave "
        f"{len(unclear) or 'none'} open."
    )


def listed(words: Sequence[str]) -> str:
    """The words, or `none`."""
    return ", ".join(words) or "none"
