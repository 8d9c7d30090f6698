// imitate: the world's demonstrations are played, and REINFORCE makes every action in them likelier.

/** The policy that demonstrates: it looks at the state of the world, and not at the observations it is given. */
export function demonstrator({ world, state, lanes }) {
  const logits = new Float64Array(lanes * world.actions);
  return {
    policy() {
      for (let n = 0; n < lanes; n++) world.demonstrate(state, n * world.size, logits, n * world.actions);
      return logits;
    },
  };
}

/** A = 1 for all that was demonstrated, [B]: then REINFORCE is maximum likelihood. Pomerleau 1991. */
export function equallyGood(advantage) {
  return advantage.map(() => 1);
}
