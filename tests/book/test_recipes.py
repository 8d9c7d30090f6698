"""The recipes run as they are written, where the tool is installed."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from support import pages

PARTS = pages.PAGES["docs/recipes.md"].split("\n## ")[1:]
INSTALLS = {part.split("\n")[0]: "".join(pages.blocks_of("sh", part)).partition("#")[0].strip() for part in PARTS}
RECIPES = {part.split("\n")[0]: "".join(pages.blocks_of("python", part)) for part in PARTS}
NEEDS = {
    "Weights & Biases": "wandb",
    "MLflow": "mlflow",
    "TensorBoard": "tensorboard",
    "Optuna": "optuna",
    "rliable": "rliable.library",
}
LEAVES = {"Weights & Biases": "wandb", "MLflow": "mlflow.db", "TensorBoard": "runs/board"}
SAYS = {"Stop when it's solved": "solved after", "Optuna": "on new seeds", "rliable": "the whole ladder: interquartile"}
SMALLER = [(r"steps=[\d_]+", "steps=2000"), (r"Solved\(475\)", "Solved(15)"), (r"n_trials=\d+", "n_trials=3")]


def test_every_recipe_leaves_or_says_something() -> None:
    assert {*RECIPES} == {*LEAVES, *SAYS}
    assert {name for name, line in INSTALLS.items() if line.startswith("pip install ")} == {*NEEDS}
    assert all(RECIPES.values())


@pytest.mark.filterwarnings("ignore")  # the tools' own
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        import_module(NEEDS.get(name, "tricks"))
    except Exception as error:  # rliable raises a TypeError beside pandas 3
        pytest.skip(f"the recipe {name} needs {INSTALLS[name]} ({type(error).__name__}: {error})")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    code = RECIPES[name]
    for long, short in SMALLER:
        code = re.sub(long, short, code)
    exec(compile(code, name, "exec"), {"__name__": "__main__"})
    assert (tmp_path / LEAVES.get(name, ".")).exists() and SAYS.get(name, "") in capsys.readouterr().out
