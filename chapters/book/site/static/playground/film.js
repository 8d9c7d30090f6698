// What the first lane of a watched agent did in the last rollout, to be drawn.

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
