"""A trained policy to take elsewhere: a plain torch module with a file of code, or an ONNX graph."""

import inspect
import keyword
import logging
import pprint
import re
import sys
import warnings
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor

from tricks.core.extras import extra
from tricks.core.nets import KERNEL, NATURE, Dense, Joined, Nature, Shallow, UnitNature
from tricks.core.spaces import Leaf, Spaces
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.runs import plain_policy
from tricks.runs.about import tensor_bytes
from tricks.runs.files import as_path, make_folder, write_whole
from tricks.runs.plain_policy import Policy
from tricks.runs.run import Run

SAMPLES = 16  # observations on which a graph is checked
STEPS = 8  # on which a recurrent policy's graph is checked
STATE = "[batch, {}]: zeros where an episode begins, and next_state of the step before everywhere else"
FORMATS = ("torch", "onnx")
PLAIN_BODIES = (Dense, Joined, Nature, UnitNature, Shallow)


def save_policy(
    run: Run, path: str | Path, format: str = "torch", seed: int | None = None, noise: bool = False
) -> list[Path]:
    """Write one agent of a run as a policy that needs nothing of this package. Returns the files.

    torch: weights at `path`, and beside them the module that loads them, of the same name as far as Python can import
    that: my_policy.py for my-policy.pt. onnx: a graph, checked with onnxruntime, whose inputs are the observation's
    parts, `state` if the agent is recurrent, `legal` if it learned with masks, and with `noise` that of its actions.
    Raises InputError for a run with a body of its own, and for files that are there.
    """
    path = as_path(path)
    if format not in FORMATS:
        raise InputError(f"format must be torch or onnx, not {format!r}")
    if noise and format == "torch":
        raise InputError("a torch policy takes noise when it is called; leave out noise")
    if path.suffix == ".py":
        raise InputError(f"{path} would be the code; name the weights, such as {path.with_suffix('.pt')}")
    code = path.with_name(f"{_module_name(path.stem)}.py")
    if there := next((file for file in [path, code][: 1 + (format == "torch")] if file.exists()), None):
        raise InputError(f"{there} exists; name another file")
    policy = plain_module(run.only(seed))
    if format == "torch":
        weights = {name: x.detach() for name, x in policy.weights.items()}
        files = {path: tensor_bytes(weights), code: _as_file(policy.plan, path, code.stem).encode()}
    else:
        files = {path: as_graph(policy, _some_observations(run.agent.spaces), run.agent.mask is not None, noise)}
    make_folder(path.parent)
    for file, content in files.items():
        write_whole(file, content)
    return list(files)


def plain_module(run: Run) -> Policy:
    """The policy of a run's only agent as a plain module. Raises InputError for a body of the user's own."""
    agent, body = run.agent, run.agent.policy_net.body
    cell: Any = getattr(body, "cell", None)
    body = body.body if cell else body  # type: ignore[attr-defined]
    if type(body) not in PLAIN_BODIES:
        raise InputError(f"only this package's own nets become a plain module, not {type(body).__name__}")
    if agent.obs_stats is not None and agent.spaces.images:
        raise InputError("state_norm on images beside vectors does not become a plain module")
    action, stats = _own_action(run), agent.obs_stats
    weights: dict[str, Any] = {}
    for k, (weight, bias) in enumerate([*body.layers, agent.policy_net.head.layer]):
        weights |= {f"weight{k}": weight[0], f"bias{k}": bias[0, 0]}
    if cell:
        weights |= {"inward": cell.inward[0], "onward": cell.onward[0], "gates": cell.bias[0, 0]}
    if getattr(stats, "mean", None) is not None:
        weights |= {name: getattr(stats, name).flatten() for name in ("mean", "scale")}
    if not agent.spaces.discrete:
        bounds = {name: torch.from_numpy(getattr(action, name).ravel()) for name in ("low", "high")}
        weights |= {"log_std": agent.log_std.flatten(), **bounds}
    copies = {name: x.detach().float().clone() for name, x in weights.items()}
    return Policy(plan_of(run, body, cell, action), copies).eval()


def plan_of(run: Run, body: Any, cell: Any, action: Any) -> dict[str, Any]:
    """What observations and actions of a run's agent are, and what its weights don't say, as plain values.

    action: the environment's own action space.
    """
    spaces = run.agent.spaces
    shown = [k for k, leaf in enumerate(spaces.leaves) if leaf.axes]
    nets = [] if isinstance(body, Dense) else getattr(body, "bodies", [body])
    last = getattr(body, "dense", body)
    return {
        "env": spaces.env,
        "parts": [_part(leaf) for leaf in spaces.leaves],
        "images": [_image(net, k) for net, k in zip(nets, shown, strict=True)],
        "dense": len(last.layers) if isinstance(last, Dense) else 0,
        "activation": run.config.activation,
        "cell": run.config.recurrent_cell if cell else "",
        "counts": list(spaces.components) or [spaces.actions],
        "starts": _starts(action),
        "shape": list(action.shape or ()),
        "dtype": str(np.dtype(action.dtype)),
        "rescaled": run.config.rescale_actions,
        "squashed": run.tricks.squash,
    }


def _own_action(run: Run) -> Any:
    """The environment's own action space, before it was rescaled."""
    if not run.config.rescale_actions:
        return run.agent.spaces.action
    config = replace(run.config.only(0), lanes=1, device="cpu", compile=False, rescale_actions=False)
    env = make_env(config, make=run.env)
    env.close()
    return env.spaces.action


def _part(leaf: Leaf) -> dict[str, Any]:
    """What a part of an observation is; counts, starts: of the choices, if it is one of choices."""
    space: Any = leaf.space
    hot = isinstance(space, Discrete | MultiDiscrete)
    counts = np.ravel(getattr(space, "n", getattr(space, "nvec", ()))).tolist() if hot else []
    dtype, shapes = np.dtype(space.dtype).name, {"space": list(space.shape or ()), "shape": list(leaf.shape)}
    starts = _starts(space) if hot else []
    return {"path": list(leaf.path), "dtype": dtype, "axes": leaf.axes, **shapes, "counts": counts, "starts": starts}


def _starts(space: Any) -> list[int]:
    return [int(start) for start in np.ravel(space.start)] if isinstance(space, Discrete | MultiDiscrete) else [0]


def _image(net: Any, part: int) -> dict[str, Any]:
    """The kernels and strides of an image's net, and what its pixels are divided by."""
    if isinstance(net, Shallow):
        return {"part": part, "divisor": net.brightest, "convolutions": [(KERNEL, 1)]}
    divisor = 1.0 if isinstance(net, UnitNature) else 255.0
    return {"part": part, "divisor": divisor, "convolutions": [(kernel, stride) for _, kernel, stride in NATURE]}


def _module_name(stem: str) -> str:
    """The stem as a name that Python can import, and that hides no other module: `my_policy` for my-policy."""
    name = re.sub(r"\W", "_", stem)
    taken = {"torch", "numpy", *sys.stdlib_module_names, *keyword.kwlist}
    return name if name.isidentifier() and name not in taken else f"policy_{name}"


def _as_file(plan: dict[str, Any], weights: Path, name: str) -> str:
    """The module `name` that loads the weights, as a file of its own."""
    about = plain_policy.__doc__ or ""
    code = inspect.getsource(plain_policy).replace(
        about,
        f"{about.splitlines()[0]}\n\n`python {name}.py` says what it takes. In Python:\n\n"
        f"    from {name} import PLAN, load\n"
        f'    policy = load("{weights.name}", PLAN)\n'
        f"    action = policy.act(observation{', begins=first_of_an_episode' * bool(plan['cell'])})\n",
    )
    shown = pprint.pformat(plan, sort_dicts=False, width=116)
    return f'{code}\n\nPLAN = {shown}\n\nif __name__ == "__main__":\n    print(PLAN)\n'


def _some_observations(spaces: Spaces) -> list[Tensor]:
    """A few samples of the observation space, part by part."""
    space = deepcopy(spaces.observation)
    space.seed(0)
    obs = [space.sample() for _ in range(SAMPLES)]
    return [torch.from_numpy(np.stack([leaf.of(each) for each in obs])) for leaf in spaces.leaves]


def as_graph(policy: Policy, seen: list[Tensor], masked: bool, noise: bool) -> bytes:
    """The policy as an ONNX graph for any number of rows; `masked` adds the input `legal`, and `noise` its own.

    A recurrent policy's graph also takes `state` and returns `next_state`, both [batch, K].
    seen: some observations, part by part, on which it is checked. Raises InputError if a package of the extra `onnx` is
    missing, or it computes other actions.
    """
    for package in ("onnx", "onnxscript", "onnxruntime"):
        extra("onnx", package)
    shape, size = (len(seen[0]), len(list(policy.layers())[-1][1])), policy.state.shape[1]
    more = {"state": torch.zeros(len(seen[0]), size, dtype=torch.float32)} if size else {}
    more |= {"legal": torch.ones(shape, dtype=torch.bool)} if masked else {}
    more |= {"noise": torch.linspace(-1, 1, shape[0] * shape[1], dtype=torch.float32).view(shape)} if noise else {}
    names = [".".join(["observation", *map(str, part["path"])]) for part in policy.plan["parts"]]
    rows = {0: torch.export.Dim("batch")}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it would speak of packages that nobody needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the exporter's own calls
        made = torch.onnx.export(
            policy,
            tuple(seen),
            kwargs=more,
            input_names=[*names, *more],
            output_names=["action", "next_state"][: 1 + bool(size)],
            dynamic_shapes={"parts": tuple(rows for _ in seen), **dict.fromkeys(more, rows)},
            dynamo=True,
            verbose=False,
        )
    assert made is not None
    if size:
        made.model.metadata_props["state"] = STATE.format(size)
    graph: bytes = made.model_proto.SerializeToString()
    session = extra("onnx", "onnxruntime").InferenceSession(graph, providers=["CPUExecutionProvider"])
    for count in (1, SAMPLES):  # of rows
        _check(session, policy, names, [x[:count] for x in seen], {name: x[:count] for name, x in more.items()})
    return graph


def _check(session: Any, policy: Policy, names: list[str], parts: list[Tensor], more: dict[str, Tensor]) -> None:
    """Raise InputError unless the session of onnxruntime computes the same actions.

    A recurrent policy is checked over several steps, in which each side carries its own state.
    """
    theirs = {name: x.numpy() for name, x in (dict(zip(names, parts, strict=True)) | more).items()}
    for _ in range(STEPS if "state" in more else 1):
        with torch.no_grad():
            right: Any = policy(*parts, **more)
        found = session.run(None, theirs)
        for a, b in zip(found, right if "state" in more else [right], strict=True):
            if a.shape != b.shape or not np.allclose(a, b.numpy(), atol=1e-4):
                raise InputError("onnxruntime computes other actions than torch with this policy")
        if "state" in more:
            more["state"], theirs["state"] = right[1], found[1]
