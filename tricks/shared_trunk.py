"""shared_trunk: policy and value are two heads on one body, trained by both losses."""

from tricks.core.agent import Agent


def share_trunk_(agent: Agent) -> None:
    """Put the value head on the policy net's body, in place, and drop the value net's own body.

    Each head can use the features that the other one learns. But a large value loss now drowns out the policy's
    gradient, so c₁ matters. Mnih et al. 2016, arXiv:1602.01783, sec. 4.
    """
    agent.value_net.body = agent.policy_net.body
