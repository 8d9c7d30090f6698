"""What this project found out with its own harness, which knows nothing of this room.

Importing it puts our designs, suites, trials and remarks where the harness looks for such things.
"""

from typing import TYPE_CHECKING

from ablations.findings import our_designs, our_suites, stories, trials
from ablations.lazy import attached
from ablations.question.story import ON_ARMS, ON_EFFECTS

if TYPE_CHECKING:
    from ablations.findings.claims import EVALUATED, PUBLISHED, claim_verdicts, mean_score
    from ablations.findings.take_home import stored_random, stored_sweeps, subject_of, takeaways

__getattr__, __dir__, __all__ = attached(__file__)

ON_EFFECTS.append("ablations.findings.claims:claims_text")
ON_ARMS.append("ablations.findings.claims:published_text")
