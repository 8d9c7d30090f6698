// segments: fixed-length rollouts, bootstrapped where they are cut.

/** `length` steps in every lane; episodes continue from one segment to the next. Mnih et al. 2016, arXiv:1602.01783. */
export function playSegment(player, agent, length) {
  const playing = new Uint8Array(player.lanes).fill(1);
  player.begin();
  for (let t = 0; t < length; t++) player.step(agent, playing);
  player.cut();
  return player.rollout;
}
