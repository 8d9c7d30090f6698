// group_baseline: what the other replies to the same prompt earned is the baseline, so no value net is needed.

import { picked } from "./reuse.js";

/** Each lane's reply as its first row has it: x [B] -> [N]. */
export function ofReplies(x, { lane, lanes }) {
  const found = new Float64Array(lanes);
  for (let r = x.length - 1; r >= 0; r--) found[lane[r]] = x[r];
  return found;
}

/** x [N] in groups of neighbors, each changed by f(group) -> what every lane of it gets. */
export function inGroups(x, size, f) {
  const found = new Float64Array(x.length);
  for (let first = 0; first < x.length; first += size) found.set(f(x.subarray(first, first + size)), first);
  return found;
}

/** Aᵢ = Rᵢ − mean of the other G − 1 replies' R, for every token of reply i: [B]. Kool et al. 2019. */
export function leaveOneOut(returns, rollout, size) {
  const advantage = inGroups(ofReplies(returns, rollout), size, (group) => {
    const mean = group.reduce((sum, one) => sum + one, 0) / size;
    return group.map((one) => ((one - mean) * size) / (size - 1));
  });
  return Float64Array.from(rollout.lane, (lane) => advantage[lane]);
}

/** In each epoch, shuffle the replies and split them into `count` minibatches, whose numbers of replies differ by at most one. */
export function* wholeReplies(batch, lanes, chance, update, epochs, count) {
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = chance.shuffled(lanes, update, epoch);
    for (let k = 0; k < count; k++) {
      const chosen = new Set(order.subarray(Math.floor((lanes * k) / count), Math.floor((lanes * (k + 1)) / count)));
      yield picked(batch, Int32Array.from(batch.lane.keys()).filter((r) => chosen.has(batch.lane[r])));
    }
  }
}

/** What is wrong with these numbers, or nothing. */
export function unfit({ lanes, group, minibatches }, tricks) {
  if (lanes % group) return `${lanes} lanes are no whole groups of ${group}`;
  const many = tricks.includes("reuse") && minibatches > lanes;
  return many ? `${minibatches} minibatches of whole replies are more than ${lanes} lanes` : "";
}
