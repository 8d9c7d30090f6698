"""What a large study would cost, at the rates at which the stored studies were trained."""

from collections.abc import Sequence

from ablations.analysis.studies import Study
from ablations.report.sentences import spoken
from ablations.report.tables import markdown

AGENTS = 250_000  # Andrychowicz et al. 2020, arXiv:2006.05990
BUDGETS = (100_000, 1_000_000)  # environment steps per agent
MACHINES, CORES = (1, 10, 100), 16
DAY = 24 * 3600


def rate(study: Study) -> float:
    """Environment steps per second of one worker, over all arms of the study, tables and figures not counted."""
    return study.about["steps"] / study.about["seconds"]


def core_seconds(agents: int, steps: int, per_second: float) -> float:
    """Seconds that one core takes: agents × steps / rate."""
    return agents * steps / per_second


def wall_seconds(work: float, machines: int) -> float:
    """Seconds until so many machines have done so many seconds of work, if no core is ever idle."""
    return work / (machines * CORES)


def cost_table(studies: Sequence[Study]) -> str:
    """Core-hours and time of AGENTS agents in each study's environment, as Markdown; the fastest first."""
    head = ("environment", "steps/s per core", "steps per agent", "core-hours")
    lines = [(*head, *(f"{n} machine{'s' * (n > 1)}" for n in MACHINES))]
    for study in sorted(studies, key=rate, reverse=True):
        for budget in BUDGETS:
            work = core_seconds(AGENTS, budget, rate(study))
            times = [_long(wall_seconds(work, n)) for n in MACHINES]
            lines.append((study.env, f"{rate(study):,.0f}", f"{budget:,}", f"{work / 3600:,.0f}", *times))
    return markdown(lines)


def _long(seconds: float) -> str:
    return f"{seconds / DAY:,.1f} days" if seconds >= 2 * DAY else spoken(seconds)
