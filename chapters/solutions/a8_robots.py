"""Solutions to the appendix on robots. `python -m chapters.solutions.a8_robots` checks them.

Exercise 1. Each interval leaves out 0 with a probability of 5%, so of 75 about four do. The correction keeps the
probability that anything is detected on a robot at 5%, so on one of three robots it is 14%.

Exercise 2. Three of six slow agents can be drawn in 20 ways, three of four fast ones in 4, and any three in 120. So in
one draw of five, three agents look as if there were one gait only.
"""

from math import comb, isclose

assert isclose(75 * 0.05, 3.75)
assert isclose(1 - 0.95**3, 0.142625)
assert (comb(6, 3), comb(4, 3), comb(10, 3)) == (20, 4, 120)
print("Right: about 4 of 75 intervals, 14%, and one draw of five.")
