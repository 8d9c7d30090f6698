"""The parts of the code that mutation testing goes through, and the tests that hold each of them."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NO_TRICKS = ("__init__", "__main__", "config", "errors", "flags", "ladder", "loop", "one_agent", "restore", "values")
NO_NUMBERS = ("__init__", "asked", "compiler", "devices", "env", "extras", "memory", "orphans")
SLOW = " or ".join(  # tests whose laws quicker ones hold, too
    (
        *("solves_cartpole", "ruins_the_policy", "within_a_hundredth", "a_time_limit_of_one_step"),
        *("any_size_are_all_learned", "learns_from_images", "falls_on_the_time_limit", "trains_what_is_drawn"),
        "is_measured_again",
    )
)


class Room(NamedTuple):
    """A part of the code: its name on the command line, its title, its files, and its tests."""

    name: str
    title: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


def within(folder: str, *but: str) -> tuple[str, ...]:
    """The files of a folder, but for those of these names."""
    paths = sorted((ROOT / folder).glob("*.py"))
    return tuple(f"{folder}/{path.name}" for path in paths if path.stem not in (*but, "__init__"))


LADDER = (*within("tests/ladder", "test_ladder", "test_values"), "tests/laws/test_reference.py")
ROOMS = (
    Room(
        "loop",
        "`tricks/loop.py`, `tricks/training.py`",
        ("tricks/loop.py", "tricks/training.py"),
        (
            *("tests/laws/test_reference.py", "tests/laws/test_laws.py", "tests/ladder/test_reuse.py"),
            *("tests/laws/test_empty_minibatches.py", "tests/laws/test_one_seed_fails.py"),
            *("tests/ladder/test_shared_trunk.py", "tests/ladder/test_action_mask.py", "tests/ladder/test_ppg.py"),
            *(
                "tests/ladder/test_separate_optimizers.py",
                "tests/ladder/test_clip.py",
                "tests/runs/test_folder.py",
            ),
            *("tests/runs/test_checkpoint.py", "tests/runs/test_evaluation.py", "tests/runs/test_listeners.py"),
            *("tests/laws/test_owners.py", "tests/ladder/test_squash.py"),
        ),
    ),
    Room("one_agent", "`tricks/one_agent.py`", ("tricks/one_agent.py",), ("tests/laws/test_one_agent.py",)),
    Room("tricks", "the trick files", within("tricks", *NO_TRICKS), LADDER),
    Room(
        "core",
        "`tricks/core`, what computes",
        (*within("tricks/core", *NO_NUMBERS), "tricks/fast/passes.py"),
        (
            *within("tests/core", "test_orphans", "test_devices"),
            *("tests/laws/test_reference.py", "tests/laws/test_laws.py", "tests/laws/test_one_seed_fails.py"),
            *("tests/envs/test_contract.py", "tests/envs/test_faults.py", "tests/runs/test_run.py"),
            *("tests/runs/test_doors.py", "tests/runs/test_evaluation.py", "tests/runs/test_checkpoint.py"),
            *("tests/ladder/test_action_mask.py", "tests/ladder/test_reuse.py", "tests/ladder/test_tasks.py"),
            *("tests/ladder/test_state_norm.py", "tests/ladder/test_reward_scaling.py"),
            "tests/ladder/test_shared_trunk.py",
        ),
    ),
    Room(
        "compiled",
        "`tricks/fast` and `tricks/fused`, what is compiled",
        tuple(  # Python can't run `compiled_product`, which writes machine code
            str(file.relative_to(ROOT))
            for file in sorted((ROOT / "tricks").glob("*/compiled_*.py"))
            if file.stem != "compiled_product"
        ),
        ("tests/laws/test_interpreted.py", "tests/laws/test_kernels.py"),
    ),
    Room(
        "fast",
        "the same, what calls it",
        (
            *(f"tricks/fast/{name}.py" for name in ("dense", "dispatch", "formulas", "recurrence", "rows", "rules")),
            *(f"tricks/fused/{name}.py" for name in ("guard", "losses", "minibatch", "playing")),
        ),
        (
            *("tests/core/test_fast.py", "tests/core/test_contracts.py", "tests/core/test_recurrence.py"),
            *("tests/core/test_formulas.py", "tests/laws/test_fused_guards.py"),
            *("tests/core/test_editions.py", "tests/laws/test_learning_contracts.py", "tests/laws/test_fused.py"),
            *("tests/laws/test_fused_playing.py", "tests/laws/test_fused_segments.py"),
            *("tests/laws/test_stepping_aside.py", "tests/laws/test_interpreted.py"),
        ),
    ),
    Room(
        "analysis",
        "`ablations/analysis`",
        within("ablations/analysis"),
        (
            *within("tests/analysis"),
            *("tests/findings/test_claims.py", "tests/findings/test_results.py", "tests/findings/test_trials.py"),
            *("tests/training/test_stored_files.py", "tests/experiments/test_run_commands.py"),
        ),
    ),
    Room(
        "training",
        "`ablations/training`: rates, tuning, table, plan",
        tuple(f"ablations/training/{name}.py" for name in ("plan", "rate_table", "rates", "tuning")),
        ("tests/training/test_plan.py",),
    ),
    Room(
        "worlds",
        "`ablations/experiments/worlds.py`",
        ("ablations/experiments/worlds.py",),
        ("tests/experiments/test_run_commands.py",),
    ),
)
