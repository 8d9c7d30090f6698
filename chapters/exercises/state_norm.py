"""Exercises of the chapter on state normalization."""

from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.moments import Moments
from tricks.state_norm import merge_moments

Three = tuple[float, float, float]  # count, mean, sum of squared deviations


def merge_the_batch(moments: Moments, obs: Tensor, valid: Tensor, decay: float = 0.0) -> Moments:
    """The moments, updated with the valid rows of a batch. obs [S, B, D], valid [S, B]."""
    if moments.rows.any():
        mean, scale = moments.view()
        obs = ((obs - mean) * scale).clamp(-10, 10)
    return merge_moments(moments, obs, valid, decay)


def _right(a: Three, b: Three) -> Three:
    (n_a, m_a, s_a), (n_b, m_b, s_b) = a, b
    n, delta = n_a + n_b, m_b - m_a
    return n, m_a + delta * n_b / n, s_a + s_b + delta**2 * n_a * n_b / n


check_merged = Exercise(
    _right,
    cases=(
        {"a": (2, 3.0, 2.0), "b": (3, 10.0, 8.0)},
        {"a": (100, -1.0, 50.0), "b": (1, 9.0, 0.0)},
        {"a": (0, 0.0, 0.0), "b": (4, 5.0, 7.0)},
    ),
    mistakes={
        "this is the spread within the two sets only. If their means differ, the whole is wider than its parts: "
        "δ²·n_a·n_b/n is missing.": (lambda a, b: (*_right(a, b)[:2], a[2] + b[2])),
        "the mean of two means is the mean of all only if both sets have the same size: weight each by its size.": (
            lambda a, b: (a[0] + b[0], (a[1] + b[1]) / 2, _right(a, b)[2])
        ),
        "the mean moves the wrong share of the way to b. It should be n_b/n: a small batch moves it a little.": (
            lambda a, b: (a[0] + b[0], a[1] + (b[1] - a[1]) * a[0] / (a[0] + b[0]), _right(a, b)[2])
        ),
        "the last number should stay the sum of squares, not the variance: divide by n only to look at it.": (
            lambda a, b: (*_right(a, b)[:2], _right(a, b)[2] / (a[0] + b[0]))
        ),
        "the distance between the means must be squared.": (
            lambda a, b: (*_right(a, b)[:2], a[2] + b[2] + (b[1] - a[1]) * a[0] * b[0] / (a[0] + b[0]))
        ),
    },
    drawn=lambda d: {
        "a": (d.whole(1, 50), d.number(-9.0, 9.0), d.number(0.0, 9.0)),
        "b": (d.whole(1, 50), d.number(-9.0, 9.0), d.number(0.0, 9.0)),
    },
)
