"""Playing: a vector environment of Gymnasium for each seed, and the rows that were played."""

from collections.abc import Callable, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, flatdim
from torch import Tensor

from tricks.core.policies import Categorical, DiagonalGaussian, Family
from tricks.core.seeds import draw, stream
from tricks.reading.skeleton.settings import Config
from tricks.reading.skeleton.switches import images, tricks


class Batch(SimpleNamespace):
    """Columns of rows, [S, T, N, ...] as played or [S, B, ...]; not valid where a lane waits or is being reset."""

    @classmethod
    def of(cls, rollout: "Batch") -> "Batch":
        batch = cls()
        batch.add(obs=rollout.obs[:, :-1], legal=rollout.legal, action=rollout.action, valid=rollout.valid)
        return batch

    def add(self, **columns: Tensor) -> None:
        vars(self).update({name: column.flatten(1, 2) for name, column in columns.items()})

    def having(self, **columns: Tensor) -> "Batch":
        """The same rows with other columns instead."""
        return Batch(**(vars(self) | columns))


class Lanes:
    """S seeds × N lanes. The step after an episode's last one ignores its action and only resets (NEXT_STEP)."""

    def __init__(self, config: Config) -> None:
        self.lanes, self.block, self.seeds = config.lanes, config.horizon, range(config.seeds)
        self.envs: list[Any] = [games(config) if images else gym.make_vec(config.env, config.lanes) for _ in self.seeds]
        if self.envs[0].metadata.get("autoreset_mode") != gym.vector.AutoresetMode.NEXT_STEP:
            self.envs = [gym.make_vec(config.env, config.lanes, "sync") for _ in self.seeds]
        self.sees, self.acts = kinds = self.envs[0].single_observation_space, self.envs[0].single_action_space
        self.shape = tuple(self.sees.shape or ())
        if images:
            fitting = len(self.shape) == 3 and self.sees.dtype == np.uint8 and self.shape[0] < min(self.shape[1:])
        else:
            unit = str(self.sees.dtype)[0] in "bf" and 0 <= self.sees.low.min() <= self.sees.high.max() <= 1
            fitting = len(self.shape) not in (2, 3) or not (self.sees.dtype == np.uint8 or (unit and self.shape[2:]))
        if not fitting or not all(isinstance(kind, Box | Discrete) for kind in kinds):
            needed = "uint8 images [C, H, W]" if images else "Box or Discrete spaces, and no images"
            raise gym.error.Error(f"{config.env}: this file needs {needed}, not {kinds}")
        self.inputs, self.actions = map(flatdim, kinds)
        self.discrete = isinstance(self.acts, Discrete)
        self.family: Family = Categorical if self.discrete else DiagonalGaussian
        self.rows, self.rollouts = list[tuple[Tensor, ...]](), 0
        if tricks.recurrent:
            self.state: Any = None  # see RecurrentState
        if images:
            self.scored = list[tuple[Tensor, Tensor]]()  # score of each row, and whether its game ended
            self.life_ends, self.reward_sign, self.press = config.life_ends, config.reward_sign, fire(config)
        self.reset([int(stream(seed, "env").integers(2**31)) for seed in self.seeds])
        if tricks.action_mask:
            self.need_masks(config.env)

    def reset(self, seeds: Sequence[int | None]) -> None:
        """Begin a new episode in every lane."""
        first = [env.reset(seed=seed) for env, seed in zip(self.envs, seeds, strict=True)]
        self.raw, self.resetting = [obs for obs, _ in first], np.zeros((len(self.seeds), self.lanes), bool)
        if tricks.recurrent:
            self.ended = torch.from_numpy(self.resetting.copy())  # whose episode has ended, if only with a life
        if tricks.action_mask:
            self.infos = [info for _, info in first]
        if images:  # over: whose game has ended, as opposed to a life
            self.over, none = self.resetting.copy(), np.zeros(self.lanes, int)
            self.lives = np.stack([info.get("lives", none) for _, info in first])

    def need_masks(self, id: str) -> None:
        """Refuse an environment that does not say which actions are legal."""
        if not (self.discrete and any("action_mask" in info for info in self.infos)):
            raise gym.error.Error(f'{id}: action_mask needs info["action_mask"], which says which actions are legal')

    @torch.inference_mode()
    def step(self, policy: Callable[..., Tensor], playing: Tensor) -> None:
        """One row of the lanes that play, [S, N]."""
        start, row = divmod(len(self.rows), self.block)
        if row == 0:  # noise for a block of rows
            shape = (self.block, self.lanes, self.actions)
            self.noise = draw(self.seeds, "action", self.rollouts, start, by=lambda rng: self.family.noise(rng, shape))
        obs, legal, valid = self.obs, self.legal, playing & ~torch.from_numpy(self.resetting)
        action = self.family.sample(policy(self.state.look() if tricks.recurrent else obs, legal), self.noise[:, row])
        taken = action.numpy() + getattr(self.acts, "start", 0)
        if tricks.squash:
            taken = self.family.played(action).numpy()
        if isinstance(self.acts, Box):  # NaN: this policy has diverged
            taken = np.nan_to_num(taken).reshape(*valid.shape, *self.acts.shape)
            taken = np.rint(taken) if np.issubdtype(self.acts.dtype, np.integer) else taken
            taken = np.clip(taken, self.acts.low, self.acts.high).astype(self.acts.dtype)
        if tricks.action_mask:
            self.infos = [{} for _ in self.seeds]
        if images:
            before, between, starting = self.lives.copy(), self.over.copy(), self.resetting & ~self.over
            taken = np.where(starting & (self.press > 0), self.press, taken)
        reward, terminated, truncated = torch.zeros(valid.shape).double(), valid & False, valid & False
        for i in playing.any(1).nonzero()[:, 0].tolist():
            self.raw[i], *earned, info = self.envs[i].step(taken[i])
            reward[i], terminated[i], truncated[i] = (torch.from_numpy(x) for x in earned)
            self.resetting[i] = earned[1] | earned[2]
            if tricks.action_mask:
                self.infos[i] = info
            if images:
                self.over[i] = self.resetting[i]
                self.lives[i] = np.where(info.get("_lives", True), info.get("lives", self.lives[i]), self.lives[i])
                lost = self.life_ends & (self.lives[i] > 0) & (self.lives[i] < before[i]) & ~between[i]
                terminated[i] |= torch.from_numpy(lost)  # some games show 0 lives for a few frames before they are over
                self.resetting[i] |= lost & (self.press > 0)
        if tricks.recurrent:
            self.ended = terminated | truncated
        self.rows.append((obs, legal, action, reward, terminated, truncated, valid))
        if images:
            going = playing & ~torch.from_numpy(between)
            self.scored.append((torch.where(going, reward, 0), going & torch.from_numpy(self.over)))

    def rollout(self) -> Batch:
        """The rows since the last call. A death that falls on the time limit is a death."""
        obs, *rest = zip(*self.rows, strict=True)
        legal, action, reward, terminated, truncated, valid = (torch.stack(x, 1) for x in rest)
        reward, terminated = torch.where(valid, reward, 0), terminated & valid
        truncated, shown = truncated & valid & ~terminated, torch.stack([*obs, self.obs], 1)
        done, self.rows, self.rollouts = terminated | truncated, [], self.rollouts + 1
        cut = valid & ~done  # the episode goes on after the rollout's last row
        cut[:, :-1] = False
        ends = {"truncated": truncated, "done": done, "cut": cut, "score": reward}
        if tricks.recurrent:
            ends["state"] = self.state.end_rollout()
        if images:
            score, over = (torch.stack(x, 1) for x in zip(*self.scored, strict=True))
            reward, self.scored = reward.sign() if self.reward_sign else reward, []
            ends |= {"score": score, "over": over}
        return Batch(obs=shown, legal=legal, action=action, reward=reward, valid=valid, **ends)

    @property
    def obs(self) -> Tensor:
        """What the lanes show, as vectors [S, N, D] or images; Discrete observations become one-hot."""
        if images:
            return torch.from_numpy(np.stack(self.raw))
        if isinstance(self.sees, Discrete):
            return torch.eye(self.inputs)[torch.from_numpy(np.stack(self.raw) - self.sees.start)]
        return torch.from_numpy(np.stack(self.raw).astype(np.float32).reshape(*self.resetting.shape, -1))

    @property
    def legal(self) -> Tensor:
        """Which actions info["action_mask"] allows, [S, N, A]; without one, all."""
        legal = np.ones((*self.resetting.shape, self.actions if self.discrete else 1), bool)
        for i, info in enumerate(self.infos):
            if "action_mask" in info:
                mask = np.stack([np.asarray(row, bool) for row in info["action_mask"]])
                legal[i] = mask | ~np.asarray(info.get("_action_mask", True)).reshape(-1, 1)
        return torch.from_numpy(legal)


def games(config: Config) -> gym.vector.VectorEnv:
    """Lanes that show images: ALE's games with the usual preprocessing, or any other environment."""
    if "ALE/" not in config.env:
        return gym.make_vec(config.env, config.lanes)
    import_module("ale_py")  # registers them
    seen = {"frameskip": 4, "maxpool": True, "grayscale": True, "img_height": 84, "img_width": 84, "stack_num": 4}
    start = {"noop_max": 30, "use_fire_reset": True, "repeat_action_probability": 0.0}
    options: dict[str, Any] = {**seen, **start, "reward_clipping": False, "episodic_life": False}
    return gym.make_vec(config.env, config.lanes, **options)


def fire(config: Config) -> int:
    """The FIRE action, which starts each life of a game if it is the second action; 0 if nothing does."""
    if "ALE/" not in config.env or not config.life_ends:
        return 0
    meanings: list[str] = gym.make(config.env).unwrapped.get_action_meanings()  # type: ignore[attr-defined]
    return int(meanings[1:2] == ["FIRE"])


def play_episodes(player: Lanes, policy: Callable[..., Tensor], rows: int, active: Tensor) -> Batch:
    """Whole episodes, back to back, until each active seed [S] has at least `rows` rows of experience.

    Then its lanes finish the episode in flight, and wait for the others.
    """
    player.reset([None] * len(player.seeds))
    playing = active.unsqueeze(1).expand(-1, player.lanes)
    count = torch.zeros_like(active, dtype=torch.int64)
    while playing.any():
        before = torch.from_numpy((player.over if images else player.resetting).copy())
        count += (playing & ~torch.from_numpy(player.resetting)).sum(1)
        player.step(policy, playing)
        between = torch.from_numpy(player.over if images else player.resetting) | before  # ended, or being reset
        playing = playing & ~(between & (count >= rows).unsqueeze(1))
    return player.rollout()
