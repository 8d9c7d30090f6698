"""What this project found out with its own harness, which knows nothing of this room.

Importing it puts our designs, suites, trials and remarks where the harness looks for such things.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ablations.findings import our_designs, our_suites, stories, trials
from ablations.lazy import attached
from ablations.question.story import ON_ARMS, ON_EFFECTS

if TYPE_CHECKING:
    from ablations.findings.claims import EVALUATED, PUBLISHED, claim_verdicts, mean_score
    from ablations.findings.take_home import stored_random, stored_sweeps, subject_of, takeaways

__getattr__, __dir__, __all__ = attached(__file__)


def _called(module: str, function: str, *given: Any) -> Any:
    """Call a function, importing its module only now."""
    return getattr(import_module(f"ablations.{module}"), function)(*given)


ON_EFFECTS.append(partial(_called, "findings.claims", "claims_text"))
ON_ARMS.append(partial(_called, "findings.claims", "published_text"))
