"""What `python -m tricks train` prints at its end."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # whatever needs torch is imported on use, so that --help does not wait for it
    from tricks.runs.run import Run


def summary(run: "Run") -> str:
    """The return over the last 10% of the budget, per seed and on average, and the last greedy evaluation's mean.

    Where no episode ended there, the reward per step. Also what was recorded, and how many steps were taken, if that
    isn't the budget.
    """
    from tricks.record import recorded
    from tricks.runs.intervals import over
    from tricks.runs.learning_curve import late_return

    curve, steps, seeds, late = run.curve, run.config.steps, run.config.seed_list, run.late()
    reward = curve[curve["step"] > 0.9 * steps].groupby("seed")["reward"].mean().reindex(seeds)
    lines = [f"seed {seed}: return {late[seed]:.1f}" for seed in seeds]
    for k, seed in enumerate(seeds):
        if seed in run.diverged:
            lines[k] = f"seed {seed}: diverged at step {run.diverged[seed]}: {run.reasons[seed]}"
        elif late.isna()[seed]:
            why = "no episode ended in the last 10% of the budget"
            lines[k] = f"seed {seed}: {why}; mean reward per step there {reward[seed]:.3g}"
    taken = curve[~curve["seed"].isin(list(run.diverged))].groupby("seed")["step"].last()
    if (taken != steps).any():
        between = " to ".join(f"{count:,}" for count in sorted({taken.min(), taken.max()}))
        lines.append(f"steps taken per seed: {between} (the last batch is always completed)")
    if late.notna().any():
        lines.append(f"mean return over the last 10% of {steps:,} steps of {run.config.env}: {over(late)}")
    for name in recorded(run.config.record):
        numbers = late_return(curve, steps, column=name)
        mean = f"{numbers.mean():.3g}" if numbers.notna().any() else "no episode gave it"
        lines.append(f"mean {name} over the last 10%: {mean}")
    lines += [f"{line}; --as-vector takes it as a vector" for line in run.agent.spaces.seen]
    judged = curve.dropna(subset="eval_return").groupby("seed")["eval_return"]
    if len(judged):
        place = run.as_evaluated().config
        where = "" if place is run.config else f" in {' '.join([place.env, *place.env_args])}"
        lines.append(f"mean return of the last greedy evaluation{where}: {over(judged.last().reindex(seeds))}")
    if run.best is not None and run.evaluation is not None and isinstance(run.evaluation.keep_best, str):
        lines.append(f"each agent's best evaluation is the one with the highest mean {run.evaluation.keep_best}")
    elif run.best is not None:
        best = over(curve.groupby("seed")["eval_return"].max().reindex(seeds))
        lines.append(f"mean return of each agent's best one: {best}; as the best of several, a little too good")
    return "\n".join(lines)
