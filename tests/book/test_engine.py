"""The playground's engine computes what the library computes, for any legal set of its flags, in a real browser."""

import inspect
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.browsing import Browser
from support.random_settings import SMALL, drawn_from
from support.register import register
from support.replayed import Case, replayed
from support.restless import Restless

from chapters.book.site.playground import ENGINE, offered
from tricks import PPO, Config, Tricks, listing, loop, train
from tricks.ladder import EXCLUDES, NEEDS, REINFORCE, closed, named, switched
from tricks.runs.learning_curve import DIAGNOSTICS


class Outlying(Restless):
    """A lane's thirtieth observation is fifty times as large, when the statistics know only others."""

    seen = 0

    def observation(self) -> np.ndarray:
        self.seen += 1
        return super().observation() * np.float32(50 if self.seen == 30 else 1)


register("Restless-v0", Restless)
register("Outlying-v0", Outlying)
ONE = replace(SMALL, env="Restless-v0", seeds=(3,), adam_eps=1e-2)
STILL = replace(ONE, env="CartPole-v1", steps=400, gamma=0.0)
POPART = switched(closed(["popart"]))
DRAWN = (*range(15), 17)
EVERY_WAY = [*product((True, False), (True, False))]


def drawn(number: int) -> tuple[Config, Tricks]:
    """A legal set of the engine's flags, and numbers for one seed; its nets have tanh layers."""
    config, tricks = drawn_from(number, ["Restless-v0"], lambda _: offered())
    return replace(config.only(0), activation="tanh"), tricks


def all_but(name: str) -> Tricks:
    """Whatever needs that one is off, too. And kl_stop, which would end most batches at their first step."""
    return switched([each for each in offered() if name not in closed([each]) and each != "kl_stop"])


CASES = {f"drawn {number}": drawn(number) for number in DRAWN}
CASES |= {f"all but {name}": (drawn(k)[0], all_but(name)) for k, name in enumerate(offered())}
CASES |= {f"ppo and {name}": (ONE, named(name)) for name in offered() if not {*closed([name])} <= {*PPO.on}}
CASES |= {
    "no flag": (ONE, REINFORCE),
    "kl_stop alone": (ONE, switched(closed(["kl_stop"]))),
    "ppo with the usual epsilon of Adam": (replace(ONE, adam_eps=Config.adam_eps), PPO),
    "observations beyond ten standard deviations": (replace(ONE, env="Outlying-v0"), named("state_norm")),
}
for first in (False, True):  # targets that explain no variance, and whose standard deviation is the least there is
    still = replace(STILL, return_first_batch=first)
    CASES[f"targets that are all the same, {first}"] = still, POPART
    nearly = replace(still, env="tricks/CartPoleReward0.0001-v0", gamma=0.9)
    CASES[f"targets that are nearly the same, {first}"] = nearly, POPART


@pytest.mark.parametrize("name", CASES)
def test_the_engine_equals_the_library(engine: Browser, name: str) -> None:
    check(engine, *CASES[name])


@pytest.mark.parametrize("target", [1e-4, 3e-5])
def test_a_stop_in_the_middle_of_a_batch(engine: Browser, target: float) -> None:
    config = replace(ONE, lr=0.01, epochs=3, target_kl=target)
    check(engine, config, named("kl_stop"))
    assert 0 < train(config, named("kl_stop")).curve.steps_taken[0] < 1


def check(engine: Browser, config: Config, tricks: Tricks, limit: float = 1e-4) -> None:
    """Every gradient, every weight after every step, and every row of the curve."""
    case, place = Case(config, tricks), 0
    for update, made in enumerate(replayed(engine, case)):
        for k, step in enumerate(made["steps"]):
            gradient, weights = (np.concatenate(step[name]) for name in ("gradient", "weights"))
            off = {
                "gradient": apart(gradient, case.in_engine_order(case.gradients[place])),
                "weights": apart(weights, case.weights_after(update, k)),
            }
            assert max(off.values()) < limit, f"{off} in update {update}, minibatch {k}, under {', '.join(tricks.on)}"
            place += 1
        row = case.run.curve.iloc[update]
        for name in ("step", *(each for each in DIAGNOSTICS if each in made["row"])):
            mine = np.nan if made["row"][name] is None else made["row"][name]
            said = f"{name} is {mine}, not {row[name]}, in update {update} under {', '.join(tricks.on)}"
            assert apart(np.array(mine), np.array(row[name])) < limit, said
    assert place == len(case.gradients) > 3
    missing = [name for name in DIAGNOSTICS if name not in made["row"] and not case.run.curve[name].isna().all()]
    assert missing == ["reward"]  # per step: for tasks that never end, and the playground has none


def apart(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The largest distance, relative to the largest entry."""
    if np.isnan(mine).all() and np.isnan(theirs).all():
        return 0.0
    distance = np.abs(mine - theirs).max() / max(np.abs(theirs).max(), 1e-3)
    return 1.0 if np.isnan(distance) else float(distance)


def test_the_sets_have_any_two_flags_in_every_way_that_is_legal() -> None:
    for a, b in product(offered(), offered()):
        illegal = {(x, y) for x, y in EVERY_WAY if (x > y and b in closed([a])) or (x < y and a in closed([b]))}
        found = {(a in tricks.on, b in tricks.on) for _, tricks in CASES.values()}
        assert found == {*EVERY_WAY} - illegal, (a, b)


def test_the_loop_calls_the_library_s_functions_in_its_order() -> None:
    """In camel case. Of two branches, the listing has one, and loop.js has the other as an `else` that is left out."""
    text = (ENGINE / "loop.js").read_text(encoding="utf-8")
    called = re.findall(r"(\w+)\(", str(listing(switched(offered()))))
    theirs = [in_camel_case(name) for name in called if inspect.isfunction(getattr(loop, name, None))]
    mine = re.findall(r"(\w+)\(", re.sub(r"\} else \{[^}]*\}", "", text[text.index("export function") :]))
    assert {*theirs} - {*mine} == {
        "training",
        "build",
        "perTask",
        "perSeed",
    }  # of one task, one seed
    inner = {*mine} & {*theirs} - {"train", "buildAgent"}
    assert [name for name in mine if name in inner] == [name for name in theirs if name in inner]
    for name, line in re.findall(r'yield "(\w+)";[^\n]*\n([^\n]*)', text):
        assert f"{in_camel_case(name)}(" in line


def in_camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name.strip("_"))


def test_these_flags_of_the_library_the_engine_does_not_offer() -> None:
    assert set(NEEDS) - set(offered()) == {
        *("shared_trunk", "ppg", "ppg_buffers", "recurrent"),  # other nets, and memories of many rollouts
        *("reward_scaling", "recompute", "separate_optimizers"),
        "squash",  # its worlds' actions are one choice from a few
    }
    assert not any(set(EXCLUDES[name]) & set(offered()) for name in offered())  # of which faults.js knows nothing
