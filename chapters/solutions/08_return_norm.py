"""Solutions to the chapter on return normalization. `python -m chapters.solutions.08_return_norm` checks them.

Exercise 2. Once settled: mu and sigma are 100 times larger, n(s) is what it was, V(s) and delta are 100 times larger,
and so are the advantages, until they are standardized: what reaches the policy is what it was. So nothing is left of
the factor. Before: each update leaves 0.9 of the distance, ten leave 0.9**10 = 0.35, so mu has come 65% of the way.

Exercise 3. `values_of` returns n(s), not sigma * n(s) + mu. GAE then adds numbers of order 1 to rewards of 100, and the
advantage is nearly the sum of (gamma * lambda)**k times the rewards to come: no baseline, and a short sight of about 17
steps. The targets A + V are that short sum, too, so the net never sees the long return. An offset of the
predictions would not matter to the explained variance, 1 - Var(G - V) / Var(G), but their scale does: values that vary
by 1 explain nothing of returns that vary by thousands. Even a perfect n(s) explains only about 2/sigma of them.
"""

from chapters.exercises.return_norm import check_move


def my_move(mean, variance, returns, beta):
    new, spread = returns.mean(), returns.var(correction=0)
    between = beta * (1 - beta) * (new - mean) ** 2
    return (1 - beta) * mean + beta * new, (1 - beta) * variance + beta * spread + between


check_move(my_move)

left = 0.9**10
assert round(1 - left, 2) == 0.65
print(f"Right: after ten updates at β = 0.1, μ has come {1 - left:.0%} of the way.")
