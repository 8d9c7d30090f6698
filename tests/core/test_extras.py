"""A package that is missing is named together with the extra that installs it."""

import pytest

from tricks.core.extras import advice


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "Box2D is not installed, you can install it by run `pip install swig` followed by ...",
            'Box2D is not installed; install it with: pip install "ppo-tricks[box2d]"',
        ),
        (
            'MuJoCo is not installed, run `x "y"`',
            'MuJoCo is not installed; install it with: pip install "ppo-tricks[mujoco]"',
        ),
        ("pygame is not installed, run x", 'pygame is not installed; install it with: pip install "ppo-tricks[play]"'),
        ("opencv is not installed,\n run x", "opencv is not installed, run x"),  # no extra is about drawing with it
        ("MuJoCo has diverged", "MuJoCo has diverged"),
    ],
)
def test_every_missing_package_has_its_advice(message: str, words: str) -> None:
    assert advice(ImportError(message)) == words
