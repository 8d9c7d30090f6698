"""Learning rates: each arm at its own, tuned on seeds that are never reported."""

from ablations.design.choice import usable
from ablations.design.designs import ladder
from ablations.design.flag_sets import flags
from ablations.training import rate_table, rates
from tricks import REINFORCE, Config


def test_every_arm_of_the_main_job_has_its_own_tuned_rate_inside_the_grid() -> None:
    scores = rate_table.table()
    for arm in ladder(list(usable(Config("CartPole-v1")))).arms:
        mine = scores[(scores.env == "CartPole-v1") & (scores.tricks == flags(arm.tricks))]
        assert set(mine.lr) >= set(rate_table.GRID)
        best = mine[mine.seeds == mine.seeds.max()].set_index("lr").area.idxmax()
        assert rates.best_rate(Config(), arm.tricks) == (best, "")
        assert rates.best_rate(Config(steps=9), arm.tricks) == (best, "tuned at 100,000 steps")
    assert rates.best_rate(Config(env="Nowhere-v0"), REINFORCE) == (rates.UNTUNED, "not tuned")
