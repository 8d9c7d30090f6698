# %% [markdown]
# # Appendix: the signs of a QR decomposition
#
# *A random matrix goes in, an orthogonal one comes out. Why does the library multiply it by some signs?*
#
# The function `orthogonal` from the chapter on [orthogonal initialization](05_orthogonal_init.ipynb) contains a line
# that is easy to leave out: `q = q * np.sign(np.diag(r))`. Without it the matrix is still orthogonal, but not all
# matrices are equally likely.

# %% tags=["hide-input"]
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

from ablations import style
from chapters.book import begin
from tricks import source
from tricks.orthogonal_init import orthogonal

begin()

# %% [markdown]
# ## Straightening a matrix
#
# Take a matrix of independent normal numbers. Scale the first column to length 1. From the second, subtract its
# projection onto the first, and scale what is left to length 1. From the third, subtract its projections onto both, and
# so on (Gram-Schmidt). The results are the columns of $Q$. What was subtracted, and by what each column was divided,
# goes into a triangular matrix $R$, so that the original is $QR$.
#
# By hand: the first column, $(3, 4)$, has length 5, which gives $(0.6, 0.8)$. The projection of $(1, 2)$ onto that has
# length $0.6 + 1.6 = 2.2$. What remains is $(1, 2) - 2.2 \cdot (0.6, 0.8) = (-0.32, 0.24)$, with length 0.4, which
# gives $(-0.8, 0.6)$. So
#
# $$\begin{pmatrix} 3 & 1 \\ 4 & 2 \end{pmatrix}
#   = \begin{pmatrix} 0.6 & -0.8 \\ 0.8 & 0.6 \end{pmatrix} \begin{pmatrix} 5 & 2.2 \\ 0 & 0.4 \end{pmatrix}.$$

# %%
source(orthogonal)

# %%
ours = SimpleNamespace(
    standard_normal=lambda shape: np.array([[3.0, 1.0], [4.0, 2.0]])
)  # a generator that always says this
print("the library:    ", orthogonal(ours, rows=2, columns=2).round(3).tolist())
numpys, _ = np.linalg.qr(ours.standard_normal(None))
print("NumPy's qr alone:", numpys.round(3).tolist())
by_hand = [[0.6, -0.8], [0.8, 0.6]]
np.testing.assert_allclose(orthogonal(ours, rows=2, columns=2), by_hand)

# %% [markdown]
# NumPy's answer is not wrong. Flip a column of $Q$, flip the same row of $R$, and the product stays the same. Dividing
# the signs of $R$'s diagonal out of both undoes every flip. (With fewer rows than columns, the columns can't all be at
# right angles, so the function works on the transpose: the *rows* are orthonormal.)
#
# ## Half of the circle
#
# NumPy calls LAPACK, which mirrors each column onto an axis. To avoid subtracting nearly equal numbers, it picks the
# far side: the column's first entry and its image, $R$'s first entry, have opposite signs. So their quotient, $Q$'s top
# left entry, is never positive. Here is the first column of 400 random 2 × 2 matrices.

# %% tags=["thumbnail", "hide-input"]
straight = [np.linalg.qr(np.random.default_rng(seed).standard_normal((2, 2)))[0] for seed in range(400)]
signed = [orthogonal(np.random.default_rng(seed), 2, 2) for seed in range(400)]

figure, axes = plt.subplots(1, 2, figsize=(5.2, 2.7), sharey=True)
for axis, title, found, color in (
    (axes[0], "straight from QR", straight, style.SOFT),
    (axes[1], "with the signs", signed, style.COLORS["orthogonal_init"]),
):
    axis.plot(*np.array([q[:, 0] for q in found]).T, "o", color=color, ms=3, alpha=0.4)
    axis.set(title=title, aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axis.set_xlabel("Q[0, 0]")
axes[0].set_ylabel("Q[1, 0]")
plt.show()
assert max(q[0, 0] for q in straight) <= 0
assert 0.4 < np.mean([q[0, 0] > 0 for q in signed]) < 0.6

# %% [markdown]
# ## Why the signs make it uniform
#
# "Uniform" means that no direction is preferred: if you rotate every matrix by the same fixed $U$, the collection looks
# as before. (Only one distribution is like that, the *Haar distribution*.)
#
# If the entries of $A$ are independent and normal, so are those of $UA$. Now write $A = QR$ with a positive diagonal.
# Then
#
# $$UA = (UQ)\,R$$
#
# is a decomposition of $UA$ of the same kind: $UQ$ is orthogonal, and $R$ is triangular with a positive diagonal. There
# is only one. So if $A$ turns into $UA$, then $Q$ turns into $UQ$. Since $UA$ is exactly as likely as $A$, so is $UQ$
# as $Q$.
#
# "There is only one" needs the signs. LAPACK's choice changes when you rotate, so $UA$ may come out with other signs
# than $UQ$.
#
# Three things must hold for uniform matrices, here 20,000 of size 4:
#
# 1. Rotate half of them by one $U$: the top left entry keeps its distribution. Of the largest gaps between the
#    cumulative distributions of both halves, $m$ samples each (Kolmogorov-Smirnov), 95% are below $1.36 \sqrt{2/m}$.
# 2. The trace has mean 0 and variance 1.
# 3. Half of the determinants are $+1$ (rotations), half $-1$ (mirrorings).


# %% tags=["hide-input"]
def gap(a, b):
    """The largest difference between the cumulative distributions of two samples."""
    every = np.sort(np.concatenate([a, b]))
    cumulative = [np.searchsorted(np.sort(sample), every, side="right") / len(sample) for sample in (a, b)]
    return abs(cumulative[0] - cumulative[1]).max()


SIZE, COUNT = 4, 20_000
rng = np.random.default_rng(1)
matrices = {
    "straight from QR": np.linalg.qr(rng.standard_normal((COUNT, SIZE, SIZE)))[0],
    "with the signs": np.stack([orthogonal(rng, SIZE, SIZE) for _ in range(COUNT)]),
}
U = orthogonal(rng, SIZE, SIZE)
limit = 1.36 * (2 / (COUNT // 2)) ** 0.5

print(f"{'':18} gap after rotating (limit {limit:.3f})   trace: mean, variance   determinant +1")
seen = {}
for name, q in matrices.items():
    first, second = q[::2], U @ q[1::2]  # two halves, so that the samples are independent
    trace, positive = q.trace(axis1=1, axis2=2), (np.linalg.det(q) > 0).mean()
    seen[name] = gap(first[:, 0, 0], second[:, 0, 0]), trace.mean(), trace.var(), positive
    print(f"{name:18} {seen[name][0]:25.3f} {trace.mean():18.2f} {trace.var():9.2f} {positive:15.1%}")

distance, mean, variance, positive = seen["with the signs"]
assert distance < limit
np.testing.assert_allclose([mean, variance, positive], [0, 1, 0.5], atol=0.05)
assert seen["straight from QR"][0] > 5 * limit
assert seen["straight from QR"][3] == 0

# %% [markdown]
# With the signs, all three hold. Without them, none does. In size 4, LAPACK mirrors three times, so every determinant
# is $-1$.
#
# We know of no training run in which it mattered, since lengths are kept either way. But it costs one line, and it is a
# distribution that is wrong without looking wrong. Mezzadri (2007, arXiv:math-ph/0609050) has the full story.
#
# Back to [orthogonal initialization](05_orthogonal_init.ipynb).
