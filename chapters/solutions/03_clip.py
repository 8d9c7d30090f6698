"""Solutions to the chapter on the clip. `python -m solutions.03_clip`, in the folder `chapters`, checks them.

Exercise 2. On the first minibatch every ratio is 1, so nothing is clipped, and the gradient is that of REINFORCE with
a baseline. With one epoch of one minibatch there is no second one: the clip then never acts, whatever ε is.

Exercise 3. The minimum is missing. Where the ratio is outside the range the gradient is zero, on whichever side: also
for a good action that other samples' steps have made rarer, and for a bad one that they have made likelier. These are
the cases in which something went wrong, and now nothing pulls them back: rows that have drifted out stay out, and
drift on. So more ratios lie outside, and max_ratio says how far: tens and hundreds, where it stays below 2 or so with
the minimum. In the table it is the two corners marked "repair" that are missing. The returns may not tell at all.
"""

import torch

from exercises.clip import check_surrogate


def my_surrogate(ratio, advantage, epsilon):
    clipped = ratio.clamp(1 - epsilon, 1 + epsilon)
    return torch.minimum(ratio * advantage, clipped * advantage)


check_surrogate(my_surrogate)
