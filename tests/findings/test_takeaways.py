"""What is said of a random design, from a small table with known answers."""

import pandas as pd

from ablations.findings.stored_choices import takeaways


def level(
    choice: str, name: str, median: float, explained_low: float = 0.1, chance: float = 0.001
) -> dict[str, object]:
    """One level of a choice, whose quantiles are known to ±5."""
    spans = {f"{q}{end}": median + by for q in ("q0.5", "q0.95") for end, by in (("", 0), ("_low", -5), ("_high", 5))}
    share = {"explained": explained_low + 0.05, "explained_low": explained_low, "chance": chance}
    return {"choice": choice, "level": name, **share, **spans}


def test_flags_are_named_only_if_their_intervals_are_apart_and_numbers_with_their_ends() -> None:
    rows = [level("clip", "off", 10), level("clip", "on", 21), level("gae", "off", 30), level("gae", "on", 19)]
    rows += [level("entropy", "off", 10, -0.01), level("entropy", "on", 19, -0.01)]  # these intervals touch
    rows += [level("lanes", "8", 10, 0.001, 0.03), level("lanes", "32", 12, 0.001, 0.03)]  # as good as shuffled
    rows += [level("epochs", "1", 10), level("epochs", "4", 30), level("epochs", "10", 20)]
    agents = pd.DataFrame({"score": [float(x) for x in range(101)], "env": "CartPole-v1"})
    first, second, third, fourth, fifth = takeaways(pd.DataFrame(rows), agents)
    assert first == "Half of 101 random configurations on CartPole-v1 score below 50, one in twenty above 95."
    assert "`entropy`" not in second
    assert third == "Medians on CartPole-v1 at the best and at the worst level: `epochs` 30 at 4, 10 at 1."
    assert "the median is higher with `clip`, and lower with `gae`;" in fourth
    assert fifth.endswith("anything: `lanes`, `entropy`.")
