"""What studies show, in sentences. `python -m ablations pages` writes them into the docs, and a test checks them."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ablations.analysis.effects import effects
from ablations.analysis.outcomes import outcomes
from ablations.analysis.records import Study
from ablations.question.arms import Design, Label
from ablations.question.story import by_rank, story_of
from ablations.report.markup import plain
from ablations.report.style import signed
from ablations.report.tables import arms_table, distinct
from tricks.version import ALGORITHM


def of(study: Study) -> list[str]:
    """What our designs show about a study's environment; empty with too few seeds or if runs are missing."""
    if study.own or not study.is_whole:
        return []
    said, shared = list[str](), list[str]()  # a sentence each, and what several designs say in one text
    for design in by_rank(study.designs):
        if (frame := effects(study, design)).empty or frame.p.isna().all():
            continue
        phrases, found = story_of(design).phrases, [frame[frame.detected == sign] for sign in (1, -1)]
        if phrases.climb:
            areas = arms_table(study, design).area
            up, down = (_named(rows, sizes=True) for rows in found)
            seen = [f"up with {up}"] * bool(up) + [f"down with {down}"] * bool(down)
            count = "only step" if len(frame) == 1 else f"{len(frame)} steps"
            ends = {"first": f"{areas.iloc[0]:.0f}", "last": f"{areas.iloc[-1]:.0f}"}
            said.append(phrases.climb.format(**ends, steps=count, seen=", ".join(seen) or "none"))
        if phrases.detected:
            up, down = (_named(rows) or "none" for rows in found)
            words = phrases.detected.format(a_trick="it" if shared else "a trick", up=up, down=down)
            shared.append(f"{'Detected' if shared else 'detected'} {words}.")
    said += [" ".join(shared)] * bool(shared)
    both = [design for design in study.again.designs if design.name == "together"] if study.again else []
    said += [taken_out(row) for design in both for _, row in effects(study.again, design).iterrows()]
    return [f"On {plain(study.env)} ({study.seeds} seeds), {sentence}" for sentence in said]


def taken_out(row: Any) -> str:
    """What several tricks that do practically nothing do together, seen from the full set. row: an effect of theirs."""
    names = ", ".join(f"`{name}`" for name in (row.label.trick, *row.label.others))
    return (
        f"{names} each do practically nothing in the full set; taking them all out, at the set's own rate, changes "
        f"the normalized area by {-row.difference:+.3f} [{-row.high:+.3f}, {-row.low:+.3f}], on other seeds."
    )


def made(studies: Sequence[Study]) -> str:
    """Which of these studies this version's algorithm trained; the others are by earlier ones."""
    found, current = dict[str, list[str]](), [study for study in studies if not study.stale]
    for study in (study for study in current if study.designs):
        found.setdefault(f"`{study.designs[0].name}` on", []).append(plain(study.env))
    said = [f"{what} {', '.join(dict.fromkeys(names))}" for what, names in found.items()]
    count = len(outcomes(current))
    fresh = "; ".join(said + [f"{count} trial{'s' * (count != 1)}"] * bool(count))
    older = f"{sum(study.stale for study in studies) or 'none'} of {len(studies)} studies"
    return f"By this code (ALGORITHM {ALGORITHM}): {fresh or 'nothing'}. By earlier versions: {older}."


def across(studies: Sequence[Study]) -> str:
    """Which tricks help in one environment and hurt in another; empty with fewer than two environments.

    Environments with other numbers of seeds get a sentence of their own, since with more seeds more is detected; and
    so do those with a second try, where what wasn't confirmed doesn't count.
    """
    return " ".join(filter(None, (_tally(kept, *key) for key, kept in alike(distinct(studies)).items())))


def alike(studies: Sequence[Study]) -> dict[tuple[int, bool], list[Study]]:
    """Studies with equally many seeds, and with or without a second try, together; those with the most seeds first."""
    keys = [(study.seeds, study.again is not None) for study in studies]
    return {key: [s for s, at in zip(studies, keys, strict=True) if at == key] for key in sorted({*keys}, reverse=True)}


def _tally(kept: Sequence[Study], seeds: int, tried_again: bool) -> str:
    asked = [(study, design) for study in kept for design in by_rank(study.designs) if story_of(design).phrases.place]
    frames = [frame for study, design in asked if not study.own and len(frame := effects(study, design))]
    if len({frame.env.iloc[0] for frame in frames}) < 2:
        return ""
    both = pd.concat(frames)
    if tried_again:
        both["detected"] = both.detected.where(both.confirmed == 1, 0)
    signs = {f"`{trick}`": {*found} for trick, found in both.groupby("trick", sort=False).detected}
    mixed = [trick for trick, seen in signs.items() if {1, -1} <= seen]
    never = [trick for trick, seen in signs.items() if seen == {0}]
    told = dict.fromkeys(story_of(design).phrases for design in by_rank(design for _, design in asked))
    verb, nowhere = "confirmed" if tried_again else "detected", [each.nowhere for each in told]
    many = f"{verb.capitalize()} neither {' nor '.join(nowhere)}"
    silent = many if len(nowhere) > 1 else f"Never {verb} {nowhere[0]}"
    return (
        f"In {both.env.nunique()} environments ({seeds} seeds), {' or '.join(each.place for each in told)}, {verb} as "
        f"helping in one place and hurting in another: {', '.join(mixed) or 'none'}. {silent}: "
        f"{', '.join(never) or 'none'}."
    )


def beyond(studies: Sequence[Study]) -> list[str]:
    """What is detected beyond the ladder, a sentence for each base that it was tried on, and number of seeds."""
    said, whole = [], [study for study in distinct(studies) if study.is_whole and not study.own]
    every = [design for study in whole for design in study.designs if story_of(design).phrases.base]
    for key, design in {(each.name, each.arms[0].name): each for each in by_rank(every)}.items():
        for (seeds, _), kept in alike(whole).items():
            same = [(study, own) for study in kept for own in study.designs if (own.name, own.arms[0].name) == key]
            if frames := [frame for pair in same if len(frame := effects(*pair)) and frame.p.notna().all()]:
                rows = pd.concat(frames)
                tricks = "; ".join(_where(design, label, rows[rows.label == label]) for label in rows.label.unique())
                where = f"{len(frames)} environment{'s' * (len(frames) > 1)}"
                said.append(f"On top of `{design.arms[0].name}`, in {where} ({seeds} seeds): {tricks}.")
    return said


def _where(design: Design, label: Label, rows: pd.DataFrame) -> str:
    """A comparison's trick, with what it was put on beyond the first arm: where it helps or hurts, and by how much."""
    on, found = [f"`{other}`" for other in label.others if not getattr(design.arms[0].tricks, other)], list[str]()
    for verb, seen in (("helps", rows[rows.detected == 1]), ("hurts", rows[rows.detected == -1])):
        places = [plain(row["env"]) + _small_print(row, True) for row in seen.to_dict("records")]
        found += [f"{verb} on {', '.join(places)}"] * bool(places)
    name = f"`{label.trick}`" + (f" (on {', '.join(on)})" if on else "")
    return f"{name} {' and '.join(found) or 'is detected nowhere'}"


def spoken(seconds: float) -> str:
    """`40 seconds`, `4.5 minutes`, `3.5 hours`."""
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def _named(rows: pd.DataFrame, sizes: bool = False) -> str:
    """The tricks of detected effects, with their sizes if asked for, and with what became of them on other seeds."""
    return ", ".join(dict.fromkeys(f"`{row['trick']}`" + _small_print(row, sizes) for row in rows.to_dict("records")))


def _small_print(row: dict[Any, Any], sizes: bool) -> str:
    said = [signed(row["difference"])] * sizes
    said += [f"again {signed(row['again'])}"] * (sizes and pd.notna(row["again"]))
    said += ["not confirmed"] * (row["confirmed"] == 0)
    return f" ({', '.join(said)})" if said else ""
