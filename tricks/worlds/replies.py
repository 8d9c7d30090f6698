"""What worlds of prompts and replies share: a token is an action, an episode is a reply, and its last token is paid.

A state has the K tokens of a prompt and room for the L of a reply, as numbers, EMPTY where there is none yet. An
observation is the same as a window of one-hot tokens, [K + L, V], in which an empty place is all 0. A reply ends with
the token `end`, or when it has L of them.
"""

from collections.abc import Callable

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World, reward_itself

EMPTY = -1.0

Say = Callable[[Tensor, Tensor, Tensor], Tensor]  # state, action, chance -> the token that is written, [S, N]


def as_meant(state: Tensor, action: Tensor, chance: Tensor) -> Tensor:
    """What is written is the action."""
    return action


def length(state: Tensor, prompt: int) -> Tensor:
    """How many tokens the reply has so far: [..., K + L] -> [...]."""
    return (state[..., prompt:] != EMPTY).sum(-1)


def token(state: Tensor, place: Tensor) -> Tensor:
    """The token at a place of the window, counted from the prompt's first: [..., K + L], [...] int64 -> [...]."""
    return state.gather(-1, place.clamp(0, state.shape[-1] - 1).unsqueeze(-1)).squeeze(-1)


def one_hot(tokens: Tensor, count: int) -> Tensor:
    """[...] -> [..., count], all 0 for EMPTY."""
    return (tokens.unsqueeze(-1) == torch.arange(count, device=tokens.device)).float()


def replying(
    id: str, words: tuple[str, ...], prompt: int, longest: int, *,
    draw: Callable[[Tensor], Tensor], pay: Callable[[Tensor, Tensor], Tensor], demonstrate: Callable[[Tensor], Tensor],
    say: Say = as_meant, end: int | None = None, actions: int = 0, reset_chances: int = 1, step_chances: int = 0,
    score: Callable[[Tensor, Tensor], Tensor] = reward_itself,
) -> World:  # fmt: skip
    """The world of replies of at most L = `longest` tokens to prompts of K = `prompt`.

    draw: chance [..., reset_chances] -> the prompt's tokens [..., K]. pay: the state after the last token, chance ->
    reward [S, N]. demonstrate: state -> probabilities of a demonstrator's next token [S, N, A]. actions: A, the tokens
    that a reply can have, the first ones of all V words; by default, all.
    """

    def initial(chance: Tensor) -> Tensor:
        """A prompt without a reply."""
        asked = draw(chance)
        return torch.cat([asked, asked.new_full((*asked.shape[:-1], longest), EMPTY)], -1)

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Write one more token, and pay for a reply that is complete."""
        written, place = length(state, prompt), torch.arange(longest, device=state.device)
        said = say(state, action, chance)
        reply = torch.where(place == written.unsqueeze(-1), said.unsqueeze(-1).float(), state[..., prompt:])
        state = torch.cat([state[..., :prompt], reply], -1)
        over = written + 1 >= longest
        if end is not None:
            over = over | (said == end)
        return state, (pay(state, chance) * over).double(), over

    return World(
        id=id,
        observation=gym.spaces.Box(0, 1, (prompt + longest, len(words))),
        action=gym.spaces.Discrete(actions or len(words)),
        initial=initial,
        dynamics=dynamics,
        observe=lambda state: one_hot(state, len(words)).flatten(-2),
        reset_chances=reset_chances,
        step_chances=step_chances,
        score=score,
        prompt=prompt,
        words=words,
        demonstrate=lambda state: demonstrate(state).log(),
    )


def text(world: World, window: Tensor) -> str:
    """A prompt and the reply to it as words: `2 0 4 1 → think 2 1 2 end`. window: an observation, [(K + L)·V]."""
    said = [world.words[place.argmax()] for place in window.reshape(world.observation.shape or ()) if place.any()]
    return f"{' '.join(said[: world.prompt])} → {' '.join(said[world.prompt :])}"
