// The line of the loop that an arm swaps, for an objective that the reader wrote or for a planted fault.

import { WORDS } from "./riddle.js";

/** The text of a line with an arm's swaps. */
export function swappedLine(text, { objective, fault } = {}) {
  const written = objective ? text.replace(/clipped_surrogate\([^#]*\)/, () => objective) : text;
  const definition = /^\s*def /.test(written);
  return fault && !definition ? written.replace(WORDS[fault].right, WORDS[fault].wrong) : written;
}

/** What tells an arm from another one that swaps nothing, or something else; empty if nothing does. */
export function swapName({ swaps: mine = {} }, { swaps: other = {} }) {
  const found = [];
  if (mine.objective !== other.objective) found.push(mine.objective ? "own line" : "the clip");
  if (mine.fault !== other.fault) found.push(mine.fault ? "one line is wrong" : "sound");
  return found.join(", ");
}
