"""What this project found out with its own harness, which knows nothing of this room.

Importing it puts our designs, suites, trials and remarks where the harness looks for such things.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablations.findings import our_designs, our_suites, stories, trials
from ablations.report.asides import ON_ARMS, ON_EFFECTS, SECTIONS

if TYPE_CHECKING:
    import pandas as pd

    from ablations.analysis.studies import Study
    from ablations.findings.claims import claim_verdicts
    from ablations.findings.game_curve import draw_games
    from ablations.findings.games_section import games_in_words
    from ablations.findings.published import PUBLISHED
    from ablations.findings.stored_choices import stored_random, stored_sweeps, takeaways

__all__ = [
    "PUBLISHED",
    "claim_verdicts",
    "draw_games",
    "games_in_words",
    "our_designs",
    "our_suites",
    "stored_random",
    "stored_sweeps",
    "stories",
    "takeaways",
    "trials",
]
HOMES = {
    "published": ("PUBLISHED",),
    "claims": ("claim_verdicts",),
    "game_curve": ("draw_games",),
    "games_section": ("games_in_words",),
    "stored_choices": ("stored_random", "stored_sweeps", "takeaways"),
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: most need pandas and matplotlib."""
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"ablations.findings.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _claims(effects: "pd.DataFrame") -> str:
    from ablations.findings.claims import claims_text

    return claims_text(effects)


def _published(study: "Study") -> str:
    from ablations.findings.published import published_text

    return published_text([study])


def _games(study: "Study", folder: Path, brief: bool) -> tuple[str, list[Path]]:
    from ablations.findings.games_section import section

    return section(study, folder)


ON_EFFECTS.append(_claims)
ON_ARMS.append(_published)
SECTIONS["games"] = _games
