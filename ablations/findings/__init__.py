"""What this project found out with its own harness, which knows nothing of this room.

Importing it puts our designs, suites, trials and remarks where the harness looks for such things.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ablations.findings import our_designs, our_suites, stories, trials
from ablations.report.remarks import ON_ARMS, ON_EFFECTS, SECTIONS

if TYPE_CHECKING:
    import pandas as pd

    from ablations.analysis.studies import Study

__all__ = ["our_designs", "our_suites", "stories", "trials"]


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
