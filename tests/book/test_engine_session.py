"""Sessions of the playground: agents of a seed come out the same however they are spread, and messages are complete."""

from typing import Any

from support.browsing import Browser

from chapters.book.site.playground import offered

SETTING = {"world": "CartPole-v1", "tricks": ["baseline", "reuse", "clip"], "numbers": {"steps": 4000}, "hidden": [8]}
RUN = """
const [setting, done] = arguments, rows = {};
const run = new Playground.Session(setting);
run.on("error", done).on("end", () => { run.stop(); done(rows); });
run.on("update", (some) => some.forEach((row) => {
  for (const name of Object.keys(row)) if (Number.isNaN(row[name])) row[name] = null;
  (rows[row.seed] ??= []).push(row);
}));
"""


def curves(engine: Browser, **setting: Any) -> dict[str, list[dict[str, Any]]]:
    """Each seed's rows."""
    found: dict[str, list[dict[str, Any]]] = engine.driver.execute_async_script(RUN, SETTING | setting)
    assert engine.complaints() == []
    return {
        seed: [{k: row[k] for k in row if k not in ("agent", "seed")} for row in rows] for seed, rows in found.items()
    }


def test_an_agent_learns_the_same_alone_or_with_others_in_workers_or_not(engine: Browser) -> None:
    together = curves(engine, seeds=[3, 8, 5], workers=2)
    assert {seed: rows[-1]["active"] for seed, rows in together.items()} == {"3": False, "5": False, "8": False}
    assert together["3"] != together["5"] != together["8"] != together["3"]
    for seed in (3, 5, 8):
        assert curves(engine, seeds=[seed], workers=0) == {str(seed): together[str(seed)]}


def test_a_trick_that_changes_nothing_shifts_no_random_numbers(engine: Browser) -> None:
    apart = curves(engine, seeds=[3], numbers={"steps": 4000, "max_grad_norm": 1e9})
    assert (
        curves(
            engine, seeds=[3], tricks=[*SETTING["tricks"], "grad_clip"], numbers={"steps": 4000, "max_grad_norm": 1e9}
        )
        == apart
    )


def test_paused_it_takes_one_update_at_a_time(engine: Browser) -> None:
    script = """
    const [setting, done] = arguments, run = new Playground.Session({ ...setting, paused: true }), updates = [];
    run.on("update", (rows) => updates.push(...rows.map((row) => row.update)));
    const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const until = async (count) => { while (updates.length < count) await later(20); await later(200); };
    (async () => {
      await later(200);
      const counts = [updates.length];
      for (const count of [2, 4]) {
        run.stepOneUpdate();
        await until(count);
        counts.push(updates.length);
      }
      run.stop();
      done(counts);
    })();
    """
    for workers in (0, 2):
        counts = engine.driver.execute_async_script(script, SETTING | {"seeds": 2, "workers": workers})
        assert counts == [0, 2, 4]


def test_the_watched_agent_shows_its_lane_its_ratios_and_its_lines(engine: Browser) -> None:
    script = """
    const [setting, done] = arguments, run = new Playground.Session({ ...setting, paused: true }), phases = [];
    run.watch(1);
    run.setSpeed(4);
    run.on("phase", (what) => phases.push(what));
    run.on("watched", ({ agent, film: { states, actions, starts }, ratios }) => {
      run.stop();
      const told = phases.map(({ phase, minibatch, film }) => [phase, minibatch, film?.states.length]);
      done([agent, states.length, actions.length, starts[0], ratios.length, states[0].length, told]);
    });
    run.stepOneUpdate();
    """
    agent, states, actions, first, ratios, size, phases = engine.driver.execute_async_script(
        script, SETTING | {"seeds": 2, "workers": 2}
    )
    assert (agent, first, size) == (1, 0, 4)
    assert states == actions > 100
    assert 8 * 128 / 4 <= ratios < 2 * 8 * 128 / 4
    assert phases[:2] == [["play_episodes", 0, None], ["values", 0, states]]
    assert [k for phase, k, _ in phases if phase == "clipped_surrogate"] == list(range(1, 17))


def test_memory_stays_flat(engine: Browser) -> None:
    """Of what all flags need, nothing is left behind by an update but a row, which the page gets."""
    script = """
    const [setting, done] = arguments, later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const run = (window.run = new Playground.Session({ ...setting, paused: true }));
    let updates = 0;
    run.on("update", (rows) => (updates += rows.length));
    window.after = async (count) => {
      run.resume();
      while (updates < count) await later(20);
      run.pause();
      await later(200);
    };
    done();
    """
    numbers = {"steps": 1e9, "lanes": 2, "horizon": 16, "epochs": 1, "target_kl": 10}
    setting = SETTING | {"tricks": offered(), "numbers": numbers, "seeds": 2, "workers": 0}
    engine.driver.execute_async_script(script, setting)
    sizes = []  # bytes, once everything is compiled and later
    for count in (1000, 3000):
        engine.driver.execute_async_script("after(arguments[0]).then(arguments[1])", count)
        engine.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        used = engine.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
        sizes.append(used["usedSize"] + used.get("backingStorageSize", 0))
    engine.run("run.stop()")
    assert sizes[1] - sizes[0] < 250_000  # one number for each row of experience would be 500,000


def test_an_impossible_set_of_tricks_says_what_is_missing(engine: Browser) -> None:
    script = "try { new Playground.Session(arguments[0]); } catch (error) { return error.message; }"
    for tricks, text in {
        ("clip", "popart"): "clip needs reuse; popart needs return_norm",
        ("magic",): f"unknown trick magic; there are {', '.join(offered())}",
    }.items():
        assert engine.run(script, SETTING | {"tricks": tricks}) == text
    assert "unknown trick magic; " in engine.run(
        "try { Playground.closed(['magic']); } catch (error) { return error.message; }"
    )
    assert engine.run("return Playground.closed(['popart', 'clip'])") == [
        "baseline",
        "reuse",
        "clip",
        "return_norm",
        "popart",
    ]
    assert "unknown world Chess; " in engine.run(script, SETTING | {"world": "Chess"})
    assert "unknown number learning_rate; " in engine.run(script, SETTING | {"numbers": {"learning_rate": 1}})
