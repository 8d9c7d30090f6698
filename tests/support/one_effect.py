"""A row of `ablations.analysis.effects`, made up."""

from typing import Any

import numpy as np

from ablations.design.labels import Label, added


def effect(
    design: str, env: str, trick: str, difference: float, p: float, label: Label | None = None
) -> dict[str, Any]:
    """One comparison, its interval 0.1 to either side; detected if p < 0.01, and not tried again."""
    detected = int(np.sign(difference) * (p < 0.01))
    row: dict[str, Any] = {"design": design, "env": env, "trick": trick, "label": label or added([trick])}
    row |= {
        "difference": difference,
        "low": difference - 0.1,
        "high": difference + 0.1,
        "p": p,
        "p_holm": p,
        "detected": detected,
    }
    row |= {"without": 0.5, "with": 0.5 + difference}
    row |= {"verdict": "unknown", "seeds": 9, "tuned": "", "choosing": np.nan}
    return row | dict.fromkeys(("again", "again_low", "again_high", "confirmed"), np.nan)
