"""Which version wrote a file. One that is whole, but not as this version writes it, is another version's."""

import json
from collections.abc import Mapping

from tricks.errors import InputError
from tricks.runs.provenance import provenance
from tricks.version import ALGORITHM, DISTRIBUTION, __version__

MadeWith = dict[str, str | bool | int | None]
Made = Mapping[str, str | bool | int | None]


def made_with(about: str | bytes) -> MadeWith | None:
    """What the JSON about a run says of the version that wrote it, even if the rest is unknown; {} if it says nothing.

    None if this is no JSON about a run.
    """
    try:
        found = json.loads(about)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not {"config", "tricks"} <= found.keys():
        return None
    said = found.get("made_with")
    return said if isinstance(said, dict) else {}


def unknown_to_us(where: str, made: Made | None, reason: str, anew: str = "train it anew") -> InputError | None:
    """The refusal of a file of another version, which was `made` with that; None if it is one of this version's own."""
    who = of_another(where, made)
    version = made and made.get("tricks")
    advice = f"install {DISTRIBUTION} {version} to open it, or {anew}" if version else anew
    return InputError(f"{who}: {advice} ({reason})") if who else None


def of_another(where: str, made: Made | None) -> str:
    """Whose file this is, `made` with that, if this version can't read it; empty if it is one of its own."""
    if made is None or is_ours(made):
        return ""
    return f"{where} was saved by {named(made)}; this is {named(ours())}, which can't read it"


def wrote(made: Made) -> str:
    """Who wrote what doesn't fit, in a sentence's end."""
    if is_ours(made):
        return "another version of this package wrote it"
    return f"{named(made)} wrote it; this is {named(ours())}"


def refuse_other_numbers(where: str, made: Made) -> None:
    """Raise InputError if this version computes other numbers than the one that began a training."""
    if made.get("algorithm") != ALGORITHM:
        who = f"was begun by {named(made)}; this is {named(ours())}, which computes other numbers"
        raise InputError(f"{where} {who}: continue it with that version, or train it anew")


def is_ours(made: Made) -> bool:
    """Whether this very version made it."""
    return all(made.get(name) == mine for name, mine in ours().items())


def ours() -> Made:
    """What names this version."""
    return {"tricks": __version__, "algorithm": ALGORITHM, "commit": provenance()["commit"]}


def named(made: Made) -> str:
    """`ppo-tricks 0.1.0 (ALGORITHM 4, commit 1a2b3c4)`."""
    if not made.get("tricks"):
        return f"an early version of {DISTRIBUTION}, which doesn't say its number"
    algorithm, commit = made.get("algorithm"), made.get("commit")
    parts = [f"ALGORITHM {algorithm}"] if algorithm is not None else []
    parts += [f"commit {str(commit)[:7]}"] if commit else []
    return f"{DISTRIBUTION} {made['tricks']}" + (f" ({', '.join(parts)})" if parts else "")
