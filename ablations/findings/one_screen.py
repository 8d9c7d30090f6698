"""All results on one screen: a question, the page that answers it, and the answer in one sentence."""

from collections.abc import Sequence

import pandas as pd

from ablations.analysis.effects import effects
from ablations.analysis.outcomes import tallied
from ablations.analysis.studies import Study
from ablations.analysis.sweeps import varied
from ablations.findings.claims import AGREES, DISAGREES, UNCLEAR, claim_verdicts
from ablations.findings.take_home_beyond import having
from ablations.report.tables import markdown

MANY = 30  # seeds of an arm


def summary(
    studies: Sequence[Study], trials: pd.DataFrame, sweeps: Sequence[pd.DataFrame], drawn: Sequence[pd.DataFrame]
) -> str:
    """The table as Markdown. studies: with designs. drawn: the choices of each random design."""
    rows = [
        ("Which tricks help on the ladder, and where?", "ladders", _ladders(studies)),
        ("Does each trick do what it is for?", "trials", _trials(trials)),
        ("How much do the numbers matter?", "numbers", _numbers(sweeps, drawn)),
        ("Do the tricks beyond the ladder help?", "beyond", _beyond(studies)),
        ("What about robots, and what others found?", "robots", _robots(studies)),
    ]
    linked = [(f"[{question}](results/{page}.md)", answer) for question, page, answer in rows]
    return markdown([("question", "answer in brief"), *linked])


def _ladders(studies: Sequence[Study]) -> str:
    """How often each trick was confirmed as the next rung."""
    rungs = [(study, design) for study, design in having(studies, "ladder") if study.seeds >= MANY]
    found = pd.concat([effects(*each) for each in rungs])
    sure = found[found.confirmed == 1]
    said = {sign: sure.trick[sure.detected == sign].value_counts() for sign in (1, -1)}
    often, once = said[1][said[1] > 1], said[1][said[1] == 1]
    never = len(set(found.trick) - set(sure.trick))
    return (
        f"In {len(rungs)} environments, with each arm at its own best rate, confirmed as helping as the next rung: "
        f"{_counted(often)}; {len(once)} more in one; as hurting: {_counted(said[-1])}. "
        f"Of {found.trick.nunique()} tricks, {never} are confirmed nowhere."
    )


def _trials(trials: pd.DataFrame) -> str:
    found = tallied(trials)
    return (
        f"Of {found.trials} trials in which theory says what a trick must do, {found.right} came out as predicted, "
        f"{found.other_way or 'none'} the other way, and in {found.undetected} nothing is detected."
    )


def _numbers(sweeps: Sequence[pd.DataFrame], drawn: Sequence[pd.DataFrame]) -> str:
    first = drawn[0].drop_duplicates("choice").nlargest(3, "explained")
    swept = {name for runs in sweeps for name in varied(runs)}
    return (
        f"Among random configurations on CartPole, {_listed(first.choice)} explain most. {len(swept)} numbers were "
        "swept, each together with the learning rate."
    )


def _beyond(studies: Sequence[Study]) -> str:
    tried = [found for found in having(studies, "beyond") if found[0].seeds >= MANY]
    found = pd.concat([effects(*each) for each in tried])
    said = {sign: found.trick[(found.confirmed == 1) & (found.detected == sign)].value_counts() for sign in (1, -1)}
    return (
        f"On top of `ppo` in {len(tried)} environments with {MANY} seeds, confirmed as helping: {_counted(said[1])}; "
        f"as hurting: {_counted(said[-1])}."
    )


def _robots(studies: Sequence[Study]) -> str:
    found = pd.concat([effects(*each) for each in having(studies, "around-continuous")])
    claims = claim_verdicts(found)
    agree, against, unclear = (int((claims.verdict == verdict).sum()) for verdict in (AGREES, DISAGREES, UNCLEAR))
    taken = found[[label.sign == "−" for label in found.label]]
    everywhere = taken.trick[taken.detected == 1].value_counts()
    always = everywhere[everywhere == found.env.nunique()]
    return (
        f"On each of {found.env.nunique()} robots, the preset `continuous` is worse without any of these and what "
        f"needs them: {_listed(always.index)}. Of {len(claims)} published statements about tricks, our results "
        f"support {agree}, contradict {against}, and leave {unclear} open."
    )


def _counted(times: pd.Series) -> str:
    return ", ".join(f"`{trick}` ({count})" for trick, count in times.items()) or "none"


def _listed(names: Sequence[str] | pd.Series | pd.Index) -> str:
    return ", ".join(f"`{name}`" for name in names)
