"""What `python -m tricks train` prints at its end."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # whatever needs torch is imported on use, so that --help does not wait for it
    from tricks.runs.run import Run


def _where(run: "Run") -> str:
    """` in Room-v0 size=3`, of evaluations with an environment of their own."""
    config = run.as_evaluated().config
    return "" if config is run.config else f" in {' '.join([config.env, *config.env_args])}"


def summary(run: "Run") -> str:
    """The return over the last 10% of the budget, per seed and on average, and the last greedy evaluation's mean.

    Where no episode ended there, the reward per step. Also what was recorded, and how many steps were taken, if that
    isn't the budget.
    """
    from tricks.runs.learning_curve import late_return, over
    from tricks.texts import recorded

    late = run.late()
    known = late.dropna()
    lines, recent = [], run.curve[run.curve["step"] > 0.9 * run.config.steps]
    reward = recent.groupby("seed")["reward"].mean().reindex(run.config.seed_list)
    for seed in run.config.seed_list:
        if seed in run.diverged:
            outcome = f"diverged at step {run.diverged[seed]}: {run.reasons[seed]}"
        elif seed not in known:
            outcome = f"no episode ended in the last 10% of the budget; mean reward per step there {reward[seed]:.3g}"
        else:
            outcome = f"return {known[seed]:.1f}"
        lines.append(f"seed {seed}: {outcome}")
    taken = run.curve[~run.curve["seed"].isin(list(run.diverged))].groupby("seed")["step"].last()
    if (taken != run.config.steps).any():
        fewest, most = f"{taken.min():,}", f"{taken.max():,}"
        between = fewest if fewest == most else f"{fewest} to {most}"
        lines.append(f"steps taken per seed: {between} (the last batch is always completed)")
    if len(known):
        lines.append(f"mean return over the last 10% of {run.config.steps:,} steps of {run.config.env}: {over(late)}")
    for name in recorded(run.config.record):
        numbers = late_return(run.curve, run.config.steps, column=name).reindex(run.config.seed_list)
        mean = f"{numbers.mean():.3g}" if len(numbers.dropna()) else "no episode gave it"
        lines.append(f"mean {name} over the last 10%: {mean}")
    lines += [f"{line}; --as-vector takes it as a vector" for line in run.agent.spaces.seen]
    judged = run.curve.dropna(subset="eval_return").groupby("seed")["eval_return"].last()
    if len(judged):
        lines.append(
            f"mean return of the last greedy evaluation{_where(run)}: {over(judged.reindex(run.config.seed_list))}"
        )
    by = None if run.evaluation is None else run.evaluation.keep_best
    if run.best is not None and isinstance(by, str):
        lines.append(f"each agent's best evaluation is the one with the highest mean {by}")
    elif run.best is not None:
        best = run.curve.groupby("seed")["eval_return"].max().reindex(run.config.seed_list)
        lines.append(f"mean return of each agent's best one: {over(best)}; as the best of several, a little too good")
    return "\n".join(lines)
