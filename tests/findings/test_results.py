"""The stored results are complete, were made as they say, and support every sentence about them."""

from collections.abc import Iterable
from functools import cache

import pandas as pd
import pytest
from support.pages import PAGES, check

from ablations.analysis.by_rate import AT_BEST, OVER_ALL, effects_by_rate
from ablations.analysis.effects import effects, scores
from ablations.analysis.estimates import LEVEL
from ablations.analysis.outcomes import trial_table_of
from ablations.analysis.scales import SCALES
from ablations.analysis.studies import Study
from ablations.analysis.study_files import RESULTS, load_all
from ablations.design.registry import SUITES
from ablations.figures.cells import told_apart
from ablations.findings.calibrate import in_words
from ablations.findings.claims import claims_text
from ablations.findings.game_scores import mean_score
from ablations.findings.games_section import games_in_words
from ablations.findings.one_screen import summary
from ablations.findings.our_designs import SB3
from ablations.findings.published import PUBLISHED, published_text
from ablations.findings.replication import EARLIER, replication_text
from ablations.findings.stored_choices import stored_random, stored_sweeps, takeaways
from ablations.findings.take_home import take_home
from ablations.report import sentences, tables
from ablations.report.sweep_words import ranges
from ablations.report.trials_section import by_trick, tally
from ablations.training.rate_table import GRID, best_of, rows_of
from tricks.ladder import LADDER, REINFORCE, named, switched

EVERY = load_all(RESULTS)
DESIGNED = [study for study in EVERY if study.designs]
PLAYED = [study for study in EVERY if "games" in study.about]
LADDERS, BEYOND, ROBOTS = (
    [study for study in DESIGNED if study.subject == subject] for subject in ("ladder", "beyond", "continuous")
)
WHOLE = {s.env: s for s in DESIGNED if any(design.name == "ladder" for design in s.designs)}


@cache
def trials() -> pd.DataFrame:
    return trial_table_of(EVERY)


def found_in(studies: Iterable[Study]) -> pd.DataFrame:
    return pd.concat([effects(study, design) for study in studies for design in study.designs])


def listed(said: Iterable[str]) -> str:
    return "".join(f"- {sentence}\n" for sentence in said if sentence)


@pytest.mark.parametrize("study", DESIGNED, ids=lambda study: study.name)
def test_a_stored_study_is_complete_and_every_arm_ran_at_a_rate_tuned_for_it(study: Study) -> None:
    assert study.designs and [study.missing(design) for design in study.designs] == [[]] * len(study.designs)
    suites = {(s.config.env, s.config.steps) for suite in SUITES.values() for s in suite.settings}
    assert (study.env, study.steps) in suites and set(study.runs.tuned) <= {"", "fixed"}
    assert study.runs.lr.groupby(study.runs.tricks).nunique().eq(1).all()
    assert study.runs.seed.max() < 1000  # none of those that chose the rates
    if study.subject == "ladder" and study.seeds >= 30:  # by today's protocol
        arms = study.runs[["numbers", "tricks", "lr"]].drop_duplicates().itertuples(index=False)
        assert all(best_of(rows_of(study.env, study.steps, given, on)) == lr for given, on, lr in arms)
    for design in study.designs:
        path = RESULTS / study.name / f"{design.name}.md"
        if path.exists():
            assert path.read_text() == tables.arms_text(tables.arms_table(study, design), study) + "\n"


def test_the_pages_say_of_the_results_what_they_say() -> None:
    swept, drawn = stored_sweeps(RESULTS), stored_random(RESULTS)
    home = take_home(EVERY, trials(), swept, drawn)
    texts = {
        "sentences": listed([*sentences.of(WHOLE["CartPole-v1"]), sentences.across(LADDERS)]),
        **{env.split("-")[0].lower(): listed(sentences.of(WHOLE[env])) for env in ("Acrobot-v1", "Pendulum-v1")},
        **{name: listed(sentences.of(WHOLE[env])) for name, env in (("taxi", "Taxi-v4"), ("lander", "LunarLander-v3"))},
        "worlds": tally(trials()) + "\n",
        "tricks": by_trick(trials()) + "\n",
        "beyond": listed(sentences.beyond(BEYOND)),
        "games": listed(games_in_words(study) for study in PLAYED if study.env.startswith("ALE/")),
        "evaluated": listed(games_in_words(study) for study in PLAYED if not study.env.startswith("ALE/")),
        "robots": listed([*(said for study in ROBOTS for said in sentences.of(study)), sentences.across(ROBOTS)]),
        "claims": claims_text(found_in(ROBOTS)) + "\n",
        "replication": replication_text(found_in(DESIGNED)) + "\n",
        "published": published_text(DESIGNED) + "\n",
        "sweeps": listed(ranges(runs) for runs in swept),
        "random": listed(said for found in drawn for said in takeaways(*found)),
        "take-home": "".join(f"{k}. {sentence}\n" for k, sentence in enumerate(home, 1)),
        "summary": summary(DESIGNED, trials(), swept, [choices for choices, _ in drawn]) + "\n",
        "calibration": in_words(pd.read_csv(RESULTS / "calibration.csv")) + "\n",
    }
    for name, text in texts.items():
        check(name, text)
    assert "On CartPole most tricks look alike" in PAGES["docs/results/trials.md"]


def test_what_is_written_by_hand_of_the_ladders_holds() -> None:
    cartpole, acrobot, pendulum, taxi, lander = (
        WHOLE[env] for env in ("CartPole-v1", "Acrobot-v1", "Pendulum-v1", "Taxi-v4", "LunarLander-v3")
    )
    found = found_in([acrobot])
    assert (found.confirmed[found.detected != 0] == 1).all()
    rungs = next(design for design in acrobot.designs if design.name == "ladder")
    clip = effects_by_rate(acrobot, rungs).set_index(["trick", "at"]).loc["clip"]
    assert clip.low[AT_BEST] < 0 < min(clip.low["0.01"], clip.low["0.03"])
    every = found_in(WHOLE.values())
    by_env = {key: rows.set_index("env") for key, rows in every.groupby(["design", "trick"])}
    for name in ("ladder", "leave-one-out"):
        assert by_env[name, "return_norm"].difference.idxmax() == "Pendulum-v1"
    steps, centered = by_env["ladder", "clip"].difference, by_env["ladder", "advantage_norm"]
    assert 2.5 < steps["Pendulum-v1"] / steps["CartPole-v1"] < 3.5
    assert centered.detected[["CartPole-v1", "Acrobot-v1", "Pendulum-v1"]].tolist() == [1, 1, -1]
    assert centered.confirmed["Pendulum-v1"] == 1
    (alone,) = (design for design in pendulum.designs if design.name == "add-one-in")
    areas = [scores(pendulum, arm.tricks).area.mean() for arm in alone.arms]
    assert max(areas) < SCALES["Pendulum-v1"].random + 30
    late = {name: scores(taxi, named(name)).late.mean() for name in LADDER}
    assert max(late[name] for name in LADDER[: LADDER.index("state_norm")]) < -199 < -190 < late["state_norm"]
    assert -25 < late["action_mask"] < -10
    unmasked = switched([name for name in LADDER if name != "action_mask"])
    assert -180 < scores(taxi, unmasked).late.mean() < -165
    assert by_env["ladder", "action_mask"].difference["Taxi-v4"] == max(  # chapter 11
        rows.difference.get("Taxi-v4", 0) for (design, _), rows in by_env.items() if design == "ladder"
    )
    found = every[(every.env == "Taxi-v4") & (every.detected != 0)]
    assert (len(found), found.confirmed.sum(), found.trick[found.confirmed == 0].tolist()) == (9, 8, ["clip"])
    at_rates = told_apart(effects_by_rate(taxi, taxi.designs[0]))
    sure = at_rates[(at_rates.p_fdr < LEVEL) & (at_rates["at"] != OVER_ALL)].set_index("trick")
    assert sure["at"]["action_mask"].tolist() == [f"{lr:g}" for lr in GRID] + [AT_BEST]
    assert sure.difference["action_mask"].min() > 0 > sure.difference["clip"].max()
    assert sure["at"]["clip"].tolist() == ["0.001", "0.003", "0.01", "0.03"]
    found = every[(every.env == "LunarLander-v3") & (every.detected != 0)]
    assert (len(found), found.confirmed.sum()) == (12, 9)
    helping = found[(found.design == "add-one-in") & (found.confirmed == 1)].sort_values("difference").trick
    assert (len(helping), helping.iloc[-1]) == (4, "advantage_norm")
    assert found.trick[found.design == "leave-one-out"].tolist() == ["gae"]
    upward, full, _ = lander.designs
    last = {arm.name: scores(lander, arm.tricks).late.mean() for arm in upward.arms}
    highest = max(last, key=lambda name: last[name])
    assert (highest, round(last[highest]), round(last["+ clip_anneal"])) == ("+ lr_anneal", 88, 27)
    assert [lander.of(named(name)).lr.iloc[0] for name in ("reuse", "clip")] == [0.001, 0.01]
    rung, taken = (effects_by_rate(lander, d).set_index(["trick", "at"]).difference.round(2) for d in (upward, full))
    assert rung["clip", "0.01"] > -rung["reuse", "0.01"] > 0.5  # more than a baseline is above a random policy
    assert rung["clip", "own best"] < steps["CartPole-v1"]
    assert [rung["gae", "0.01"], taken["gae", "0.001"], taken["gae", "0.003"]] == [-0.13, -0.11, -0.13]
    assert abs(taken["gae", "0.01"]) < 0.01
    assert lander.of(full.shared[0]).lr.iloc[0] == 0.01
    ladder = effects(cartpole, next(design for design in cartpole.designs if design.name == "ladder"))
    assert (ladder.detected == 0).mean() > 0.5


def test_what_is_written_by_hand_of_worlds_games_earlier_claims_and_what_is_beyond_the_ladder_holds() -> None:
    own = trials()[trials().rate.isna()].set_index(["trick", "world"])
    assert (len(trials()) - len(own), (own.score == "late").sum(), own.choosing.isna().sum()) == (7, 2, 2)
    lost = own.loc[
        [("lr_anneal", "tricks/Tightrope-v0"), *((x, "tricks/OffsetReward-v0") for x in ("baseline", "value_clip"))]
    ]
    before = pd.concat([lost, trials()[trials().numbers.str.endswith("return_beta=0.5")]])
    assert before.seen.eq(0).all() and (before.low * before.high > 0).sum() == 3
    assert 3 * lost.lr_without.iloc[0] == pytest.approx(lost.lr_with.iloc[0])
    (greedy,) = (study for study in PLAYED if study.about["greedy"])
    published, mean = PUBLISHED[greedy.env, greedy.steps], mean_score(greedy, "trained")
    assert published.score - published.spread < mean.low < mean.high < published.score + published.spread
    assert set(greedy.runs.tricks) == {" ".join(SB3.on)}
    sizes = found_in(BEYOND).set_index(["design", "env", "trick"]).difference
    for env in ("CartPole-v1", "Acrobot-v1"):  # more than half of the harm is gone
        for trick in ("shared_trunk", "ppg"):
            assert sizes["beyond", env, trick] < 2 * min(sizes["beyond-normed", env, trick], 0)
    found = found_in(DESIGNED)
    old = [found[(found.trick == e.trick) & (found.env == e.env) & (found.design == e.design)] for e in EARLIER]
    assert [len(rows) for rows in old] == [1] * 6  # one row for each claim
    said = [(e.trick, e.env) for e, rows in zip(EARLIER, old, strict=True) if rows.detected.item() == 0]
    assert said == [("return_norm", "Acrobot-v1")]
    assert all((rows.difference.item() > 0) == (e.rerun[0] == "+") for e, rows in zip(EARLIER, old, strict=True))


def test_the_pages_say_how_often_intervals_and_verdicts_are_wrong() -> None:
    frame = pd.read_csv(RESULTS / "calibration.csv")
    alarms = frame[frame.what.str.contains("false alarms")].set_index("what")["mean"]
    assert alarms[alarms.index.str.endswith("arms alike")].max() < 0.06  # below 0.05, but for the noise of 500 draws
    assert alarms[alarms.index.str.endswith("as they are")].max() > 0.1
    taxi = next(study for study in DESIGNED if study.env == "Taxi-v4")
    stuck = taxi.of(REINFORCE).late
    assert (len(stuck), (stuck < -1100).sum(), (stuck > -320).sum()) == (60, 3, 57)
    missed = (stuck > -1100).mean()
    assert (missed**30, missed**10) == pytest.approx((1 / 5, 3 / 5), abs=0.05)
    again = frame[frame.what.str.contains("false alarms: .*confirmed")].set_index(["env", "seeds"])["mean"]
    assert again.drop("Taxi-v4").max() < 0.02
    assert again["Taxi-v4", 30].max() <= 0.03 < 0.2 < again["Taxi-v4", 10].max()
