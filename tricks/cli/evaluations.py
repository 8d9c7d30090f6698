"""The options of `python -m tricks train` for greedy episodes during training."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tricks.errors import InputError
from tricks.flags import switch

if TYPE_CHECKING:  # it needs torch
    from tricks.runs.evaluation import Evaluation


@dataclass(frozen=True)
class Evaluations:
    """When and where to play greedy episodes, and what to keep."""

    eval_every: int | None = None
    """Play greedy episodes, with all statistics frozen, each time a seed has taken this many more environment steps.
    Their mean return is the curve's column eval_return. They don't count as steps and don't affect training."""
    eval_episodes: int = 10
    """Number of full episodes per seed in each evaluation."""
    eval_env: str | None = None
    """Another environment to play them in, named as in --env, with the same spaces; `play` then plays in it, too. It
    takes no --env-arg, and every other option of the training, such as --wrap."""
    eval_env_args: tuple[str, ...] = ()
    """Arguments of that environment, one name=value each. Without --eval-env, they are changes to those of the
    training's environment."""
    keep_best: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Also keep each seed's agent at its best evaluation (needs --eval-every); `play --best` plays it."""
    keep_best_by: str | None = None
    """The same, but the best is the one whose episodes have the highest mean of this number of --record, such as
    is_success."""

    def asked(self) -> "Evaluation | None":
        """The requested evaluations, or None. Raises InputError for options that need --eval-every."""
        from tricks.runs.evaluation import Evaluation

        if self.eval_env == "":
            raise InputError("--eval-env is empty; it takes an environment, named as in --env")
        if self.eval_every is not None:
            env = self.eval_env or ""
            best = self.keep_best if self.keep_best_by is None else self.keep_best_by
            return Evaluation(self.eval_every, self.eval_episodes, best, env, self.eval_env_args)
        for name in ("keep_best", "keep_best_by", "eval_env", "eval_env_args", "eval_episodes"):
            if getattr(self, name) != getattr(Evaluations, name):
                option = switch(name.replace("env_args", "env_arg"))
                raise InputError(f"{option} needs --eval-every, the steps between two evaluations")
        return None
