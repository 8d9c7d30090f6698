"""`python -m tricks save-policy`: one agent of a saved run, for use without this package."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tricks.cli.shell import options
from tricks.errors import InputError


@dataclass(frozen=True)
class Saving:
    """Which agent, and where it goes."""

    folder: tyro.conf.Positional[Path | None] = None
    """Folder of a saved run."""
    out: Path | None = None
    """The file to write: weights (.pt), with the code that loads them beside it, or a graph (.onnx)."""
    format: str = ""
    """torch or onnx (default: onnx for a file .onnx, otherwise torch)."""
    seed: int | None = None
    """Seed of the agent. Default: the run's first seed."""
    best: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """The agent at its best greedy evaluation instead of the last one (of a run trained with --keep-best)."""
    noise: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Let an ONNX graph take the noise of its actions as an input; without it, actions are the most likely ones."""
    env: str | None = None
    """The run's own environment as module:Id or module:function: names the module that may be imported, and that
    registers the id. For a run of `train(env=...)`, name what makes its environment."""
    wrap: tuple[str, ...] = ()
    """The run's own wrappers, module:Wrapper each: name the modules that may be imported. Gymnasium's always may."""


def save(arguments: list[str]) -> None:
    """Write the policy and say what it takes."""
    asked = options(Saving, arguments, "python -m tricks save-policy DIR")
    if asked.folder is None or asked.out is None:
        raise InputError(
            "save-policy takes a saved run and a file: python -m tricks save-policy runs/x --out policy.pt"
        )
    from tricks.restore import load
    from tricks.runs.files import as_path
    from tricks.runs.save_policy import STATE, save_policy

    format = asked.format or ("onnx" if asked.out.suffix == ".onnx" else "torch")
    run = load(as_path(asked.folder), env=asked.env, wrap=asked.wrap).only(asked.seed)
    run = run.at_best() if asked.best else run
    files = save_policy(run, asked.out, format, noise=asked.noise)
    print(f"wrote {' and '.join(map(str, files))}")
    if run.agent.state_size:
        torch_way = "policy.act takes begins=True in the first step of each episode"
        print(f"the input state is {STATE.format(run.agent.state_size)}" if format == "onnx" else torch_way)
