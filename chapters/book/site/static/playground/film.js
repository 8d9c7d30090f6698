// What a watched agent did in the last rollout, to be drawn: in its first lane or, of replies, in its first group.

export class Film {
  /** size: numbers of a state. */
  constructor(size) {
    this.size = size;
    this.clear();
  }

  clear() {
    Object.assign(this, { states: [], actions: [], starts: [] });
  }

  /** A step from the first lane's state; at an episode's first step its age is 0. */
  add(states, action, age) {
    this.states.push(states.slice(0, this.size));
    this.actions.push(action);
    if (age === 0) this.starts.push(this.states.length - 1);
  }

  shown() {
    return { states: this.states, actions: this.actions, starts: this.starts };
  }
}

/** The first group's prompt, and its replies with their advantages. */
export function replies({ world, group, rollout }, advantage) {
  const { obs, action, lane } = rollout;
  const asked = world.words[obs.subarray(0, world.words.length).indexOf(1)];
  const first = Array.from(lane.keys()).filter((r) => lane[r] < group);
  const said = first.slice(0, group).map((r) => ({ text: world.words[action[r]], advantage: advantage[r] }));
  return { asked, replies: said };
}
