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
# the signs of $R$'s diagonal out of both undoes every flip. With fewer rows than columns, the columns can't all be at
# right angles, so the function works on the transpose: the *rows* are orthonormal.
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
# as before. Only one distribution is like that, the *Haar distribution*.
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
# So of uniform matrices, half are rotations, with determinant $+1$, and half are mirrorings, with $-1$. Here are 20,000
# of size 4:

# %% tags=["hide-input"]
SIZE, COUNT = 4, 20_000
rng = np.random.default_rng(1)
matrices = {
    "straight from QR": np.linalg.qr(rng.standard_normal((COUNT, SIZE, SIZE)))[0],
    "with the signs": np.stack([orthogonal(rng, SIZE, SIZE) for _ in range(COUNT)]),
}
rotations = {name: (np.linalg.det(q) > 0).mean() for name, q in matrices.items()}
for name, share in rotations.items():
    print(f"{name:17} determinant +1: {share:.1%}")
assert rotations["straight from QR"] == 0 and abs(rotations["with the signs"] - 0.5) < 0.02

# %% [markdown]
# Without the signs, there is no rotation: in size 4, LAPACK mirrors three times.
#
# We know of no training run in which it mattered, since lengths are kept either way. But it costs one line, and it is a
# distribution that is wrong without looking wrong. Mezzadri (2007, arXiv:math-ph/0609050) has the full story.
#
# Back to [orthogonal initialization](05_orthogonal_init.ipynb).
