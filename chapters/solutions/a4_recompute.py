"""Solutions to the chapter on recomputing. `python -m chapters.solutions.a4_recompute` checks them.

Exercise 1. The target stays the return, but V_e was trained on these very returns, so the baseline depends on the
actions: had it memorized the batch, all advantages would be 0.

Exercise 2. Every epoch starts with ratios of 1. The clip now limits one epoch, not the whole update: ten epochs that
each stop at 1.2 make 1.2**10 = 6.2. The ratio is no longer the importance weight either, since the rows were played by
the first of these policies.
"""

assert round(1.2**10, 1) == 6.2
print(f"Right: ten epochs that each stop at 1.2 make {1.2**10:.1f}.")
