// Shared parts of worlds that draw a cue at every step, which one of two actions matches.

/** The cue, rescaled from [0, 1] to [−1, 1]: its sign says which action matches. */
export function observe(state, at, obs, to) {
  obs[to] = 2 * state[at] - 1;
}

/** A world whose state is the cue, fully observed. */
export function worldOfCues(id, kind, initial, step, limit) {
  return { id, kind, features: 1, actions: 2, size: 1, limit, initial, step, observe };
}
