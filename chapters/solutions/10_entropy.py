"""Solutions to the chapter on the entropy bonus. `python -m chapters.solutions.10_entropy` checks them.

Exercise 2. The value is right on average: E[-log pi(a)] is the definition of H. But its gradient, with the actions held
fixed, is -grad log pi(a), and the score has mean zero, as the first chapter derived. So the gradient of this
"bonus" is zero on average, and adds nothing but noise. The entropy depends on theta in two ways, through the terms
-log pi(a) and through how often each of them is drawn; the estimate keeps only the first, which cancels. Either sum
over all actions, as the library does, or treat -log pi(a) as a reward.

Exercise 3. `.item()` makes a plain number out of a tensor, and a plain number has no gradient. The loss has the right
value to the last digit, and the bonus in it is a constant. So training is, number for number, training without a bonus:
the two lines lie on top of each other. A loss that is overwritten further down, `loss = policy_loss + value_loss`,
gives the same symptom. The number to look at is the entropy, with the bonus and without it. It has to differ.
"""

import torch

from chapters.exercises.entropy import check_slope, reported_bonus


def my_slope(logits):
    log_prob = logits - logits.logsumexp(-1, keepdim=True)
    prob = log_prob.exp()
    entropy = -(prob * log_prob).sum(-1, keepdim=True)
    return -prob * (log_prob + entropy)


check_slope(my_slope)

logits = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
prob = logits.softmax(0).detach()
scores = torch.eye(3) - prob  # the gradient of log pi(a), one row per action
assert (prob @ scores).abs().max() < 1e-6  # of the estimate: nothing on average
H = -(logits.softmax(0) * logits.log_softmax(0)).sum()
(true,) = torch.autograd.grad(H, logits)
torch.testing.assert_close(true, -prob * (prob.log() + H.detach()))

entropy, valid = torch.ones(1, 2, requires_grad=True), torch.ones(1, 2, dtype=torch.bool)
assert not reported_bonus(entropy, valid, 1.0).requires_grad
print("Right: the faulty bonus has a value, and no gradient.")
