"""Faults: one wrong number among good ones is found, and named with its step."""

import pytest
import torch

from tricks.core.faults import find_faults, without


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (0, "the observation is not finite"),
        (3, "the reward is not finite"),
        (2, "the action mask leaves no legal action"),
    ],
)
def test_one_wrong_number_of_one_lane_is_a_fault_of_its_seed(step: int, fault: str) -> None:
    obs, reward = torch.zeros(3, 5, 2, 4), torch.zeros(3, 4, 2)
    legal, valid = torch.ones(3, 4, 2, 2, dtype=torch.bool), torch.ones(3, 4, 2, dtype=torch.bool)
    assert find_faults(obs, legal, reward, valid, 10) == {}
    if "observation" in fault:
        obs[1, step, 0, 2] = torch.nan
    elif "reward" in fault:
        reward[1, step, 0] = torch.inf
    else:
        legal[1, step, 0] = False
    assert find_faults(obs, legal, reward, valid, 10) == {1: (fault, f"step {10 + step}")}
    valid[1] = False  # nobody played there
    assert find_faults(obs, legal, reward, valid, 10) == {}


def test_the_rows_of_the_faulty_seeds_alone_are_taken_out() -> None:
    rows = torch.ones(3, 4, 2, dtype=torch.bool)
    for found in without([0, 2], rows, rows):
        assert found.flatten(1).all(1).tolist() == [False, True, False]
        assert found.flatten(1).any(1).tolist() == [False, True, False]
    assert rows.all()
