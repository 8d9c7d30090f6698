"""Which version wrote a file of results, as far as its first line says so, even if this version can't read the rest."""

import json
from typing import Any

from ablations.training.tagged_csv import check_sum
from tricks.runs.provenance import Made


def of_job(text: str) -> Made | None:
    """Which version wrote the text of a result, even if the rest is unknown; None if it isn't a whole result."""
    about = told_by(text)
    if "sha256" not in about:  # without one, it could have been cut off
        return None
    what = about.get("what")
    algorithm = what.get("algorithm") if isinstance(what, dict) else None
    return {"tricks": about.get("tricks"), "algorithm": algorithm, "commit": about.get("commit")}


def of_study(text: str) -> Made | None:
    """Which version wrote a study, even if the rest is unknown; None if it isn't whole or doesn't say.

    The first studies have no checksum of their own, but gzip's.
    """
    made = told_by(text).get("made with")
    if not isinstance(made, dict) or "tricks" not in made:
        return None
    said = {name: ", ".join(map(str, x)) if isinstance(x, list) else x for name, x in made.items()}
    algorithm = str(said.get("algorithm", ""))
    return said | {"algorithm": int(algorithm) if algorithm.isdecimal() else algorithm or None}


def told_by(text: str) -> dict[str, Any]:
    """What the first line of a whole file says, whether or not this version knows it; {} if the file isn't whole."""
    try:
        about: dict[str, Any] = json.loads(text.partition("\n")[0].removeprefix("# "))
        check_sum(text, about.get("sha256"))
    except (ValueError, RecursionError, AttributeError, TypeError):  # the last two: as no version writes it
        return {}
    return about
