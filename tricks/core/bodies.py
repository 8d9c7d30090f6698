"""Whether a body of one's own keeps to the `Body` protocol: tried on observations that the space allows."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from tricks.core.nets import Body
from tricks.core.spaces import Spaces
from tricks.errors import InputError

ROWS = 3


def checked(body: Body, spaces: Spaces, seeds: int) -> Body:
    """Return the body after testing it on a few rows. Raises InputError if it does not follow the `Body` protocol."""
    measured = hasattr(body, "layers") and isinstance(getattr(body, "width", None), int)
    if not (isinstance(body, nn.Module) and measured):
        raise InputError(f"body= must make an nn.Module with a width and layers, not {type(body).__name__}")
    for name, tensor in (*body.named_parameters(), *body.named_buffers()):
        if tensor.shape[:1] != (seeds,):
            raise InputError(f"{name} of the body must lead with the seed axis, {seeds}; it is {list(tensor.shape)}")
    obs = examples(spaces, seeds)
    with torch.no_grad():
        features = tried(body, obs)
        each_alone(body, obs, features)
    with torch.enable_grad():
        each_of_its_own(body, obs, features, seeds)
    return body


def examples(spaces: Spaces, seeds: int) -> Tensor:
    """Random observations, the same every time: [S, ROWS, ...]."""
    space = deepcopy(spaces.observation)
    space.seed(0)
    rows = torch.cat([spaces.encode(space.sample(), (1,)) for _ in range(seeds * ROWS)])
    return rows.view(seeds, ROWS, *rows.shape[1:])


def tried(body: Body, obs: Tensor) -> Tensor:
    """The features of these observations, after a look at their shape and type."""
    given = obs.clone()
    try:
        features: Tensor = body(given)
        shape, kind = list(features.shape), features.dtype
    except Exception as error:  # a net can raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the body fails on observations {list(obs.shape)}: {reason}") from error
    if not torch.equal(given, obs):
        raise InputError("the body changes the observations that it is given, which others read too")
    wanted = [*obs.shape[:2], body.width]
    if shape != wanted:
        raise InputError(f"the body maps observations {list(obs.shape)} to {shape}; [S, B, width] is {wanted}")
    if kind is not torch.float32:
        raise InputError(f"the body's features must be float32, and are {str(kind).removeprefix('torch.')}")
    return features


def each_alone(body: Body, obs: Tensor, features: Tensor) -> None:
    """Raise InputError unless a row's features are the same again, in any batch, and beside other seeds' rows."""
    if not alike(tried(body, obs), features):
        raise InputError("the body gives other features the second time, so no ratio would begin at 1 (dropout?)")
    for part in (slice(1), slice(1, ROWS)):
        if not alike(tried(body, obs[:, part]), features[:, part]):
            raise InputError(
                "the body mixes rows: an observation's features depend on the others of its batch (batch norm?)"
            )
    for s in range(len(obs) if len(obs) > 1 else 0):
        others = obs.flip(1)
        others[s] = obs[s]
        if not alike(tried(body, others)[s], features[s]):
            raise InputError("the body mixes seeds: one seed's features depend on another's observations")


def each_of_its_own(body: Body, obs: Tensor, features: Tensor, seeds: int) -> None:
    """Raise InputError unless gradients reach the body's parameters, and each seed's only its own."""
    assert isinstance(body, nn.Module)
    learned, free = tried(body, obs), [p for p in body.parameters() if p.requires_grad]
    if not alike(learned.detach(), features):
        raise InputError("the body gives other features where gradients are computed than where it plays")
    if not free:
        return
    if not learned.requires_grad:
        raise InputError("no gradient reaches the body's parameters; if that is meant, give them requires_grad=False")
    for s in range(seeds):
        grads = torch.autograd.grad(learned[s].sum(), free, retain_graph=True, materialize_grads=True)
        if any(g[:s].any() or g[s + 1 :].any() for g in grads):
            raise InputError("the body mixes seeds: one seed's features depend on another's parameters")


def alike(mine: Tensor, other: Tensor) -> bool:
    """Up to the rounding of sums in another order."""
    return torch.allclose(mine, other, rtol=1e-3, atol=1e-4 * float(other.abs().nan_to_num().max()), equal_nan=True)
