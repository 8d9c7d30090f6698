"""The transformer against PyTorch's own block, and what a window's last token can see."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.fixtures import refusal
from torch import Tensor, nn

from tricks import Config, InputError, Spaces, Tricks, train
from tricks.core.nets import checked
from tricks.core.transformer import Transformer
from tricks.worlds.sums import SUMS

SPACES = Spaces(SUMS.id, SUMS.observation, SUMS.action)
PLACES, TOKENS = 11, 7


def body(blocks: int, seeds: int = 2) -> Transformer:
    return Transformer([np.random.default_rng(seed) for seed in range(seeds)], SPACES, 8, blocks, 2)


def windows(rows: int = 40) -> Tensor:
    rng = np.random.default_rng(0)
    tokens = torch.from_numpy(rng.integers(TOKENS, size=(2, rows, PLACES)))
    filled = torch.arange(PLACES) < torch.from_numpy(rng.integers(1, PLACES + 1, size=(2, rows, 1)))
    return (nn.functional.one_hot(tokens, TOKENS) * filled.unsqueeze(-1)).float().flatten(2)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_each_seed_is_pytorch_s_encoder_with_a_causal_mask_read_at_the_last_token(blocks: int) -> None:
    net, x = body(blocks), windows()
    layer = nn.TransformerEncoderLayer(8, 2, 32, dropout=0, activation="relu", batch_first=True, norm_first=True)
    theirs = nn.TransformerEncoder(layer, blocks, norm=nn.LayerNorm(8), enable_nested_tensor=False)
    with torch.no_grad():
        for k, block in enumerate(theirs.layers):
            weights = [(weight[1].T, bias[1, 0]) for weight, bias in net.blocks[5 * k : 5 * k + 5]]
            joint = [torch.cat(pair) for pair in zip(*weights[:2], strict=True)]
            inward = block.self_attn.in_proj_weight, block.self_attn.in_proj_bias
            linear = [block.self_attn.out_proj, block.linear1, block.linear2]
            outer = [(each.weight, each.bias) for each in linear]
            for mine, parts in zip([joint, *weights[2:]], [inward, *outer], strict=True):
                for value, part in zip(mine, parts, strict=True):
                    part.copy_(value)
        window = x[1].view(-1, PLACES, TOKENS)
        found = theirs(window @ net.token[1] + net.place[1], nn.Transformer.generate_square_subsequent_mask(PLACES))
        last = window.any(-1).sum(-1) - 1
        torch.testing.assert_close(net(x)[1], found[torch.arange(len(last)), last], rtol=1e-4, atol=1e-5)


def test_it_follows_the_protocol_trains_and_refuses_what_it_cannot_read() -> None:
    assert checked(body(2), SPACES, 2).width == 8
    assert checked(body(1, 1), SPACES, 1).width == 8
    assert all(0.7 < table.std() < 1.3 and abs(table.mean()) < 0.5 for table in (body(1).place, body(1).token))
    config = Config(SUMS.id, seeds=2, lanes=8, horizon=2, steps=40, lr=0.01)
    both = train(config, Tricks(imitate=True), body=partial(Transformer, width=8))
    alone = train(config.only(1), Tricks(imitate=True), body=partial(Transformer, width=8))
    for name, value in alone.agent.state_dict().items():
        torch.testing.assert_close(value, both.agent.state_dict()[name][1:], rtol=1e-3, atol=1e-5)
    with pytest.raises(InputError, match=r"^a Transformer reads windows of at most 32 one-hot tokens, .* CartPole-v1"):
        train(Config(seeds=1), Tricks(), body=Transformer)
    long = Spaces("x", gym.spaces.Box(0, 1, (33, 3)), gym.spaces.Discrete(3))
    refusal("x shows Box", Transformer, [np.random.default_rng(0)], long)
    for sizes in ({"width": 6}, {"heads": 0}, {"blocks": 0}):
        refusal("which must share it", Transformer, [np.random.default_rng(0)], SPACES, **sizes)
