// value_clip: the value loss gives no credit for moving more than ε from the old prediction.

import { squaredError } from "./baseline.js";

/** ½·max((V − R)², (V_old + clip(V − V_old, ±ε) − R)²) of each row, with its slope by V. openai/baselines ppo2. */
export function clippedError(value, old, target, range) {
  const inside = (v, r) => Math.abs(v - old[r]) <= range; // where V stays V, to the last bit: else it could seem held
  const near = value.map((v, r) => (inside(v, r) ? v : old[r] + Math.sign(v - old[r]) * range));
  const [free, held] = [squaredError(value, target), squaredError(near, target)];
  return {
    value: free.value.map((error, r) => Math.max(error, held.value[r])),
    slope: free.slope.map((s, r) => (free.value[r] >= held.value[r] ? s : 0)), // flat where it is held
  };
}
