"""shared_trunk: policy and value are two heads of one body, which both losses train."""

from tricks.core.agent import Agent


def share_trunk_(agent: Agent) -> None:
    """V(s) is read from the body of the policy net, in place; the value net's own body is given up.

    What the body learns for one head, the other finds there; but a large value loss also drowns the policy's
    gradient, so that c₁ now matters. Mnih et al. 2016, arXiv:1602.01783, sec. 4.
    """
    agent.value_net.body = agent.policy_net.body
