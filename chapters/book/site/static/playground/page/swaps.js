// The lines of the loop that an arm swaps, for those that the reader wrote or for a planted fault.

import { WORDS } from "./riddle.js";

const SHORT = 24; // characters of an objective that is a name
const WRITTEN = { // where a line of the reader's stands, and what it is called when an arm has it, and has it not
  objective: { trick: "clip", right: /clipped_surrogate\([^#]*\)/, own: "own line", usual: "the clip" },
  advantage: { trick: "advantage_norm", right: /\bstandardize\([^#]*\)/, own: "own advantage", usual: "standardized" },
};

/** The text of a line with an arm's swaps. */
export function swappedLine(text, { fault, ...lines } = {}) {
  const written = Object.entries(lines).reduce((now, [kind, own]) => now.replace(WRITTEN[kind].right, () => own), text);
  const definition = /^\s*def /.test(written);
  return fault && !definition ? written.replace(WORDS[fault].right, WORDS[fault].wrong) : written;
}

/** What tells an arm from another one that swaps nothing, or something else; empty if nothing does. */
export function swapName({ tricks, swaps: mine = {} }, { swaps: other = {} }) {
  const differ = Object.entries(WRITTEN).filter(([kind]) => mine[kind] !== other[kind]);
  const plain = ({ trick, usual }) => (tricks.includes(trick) ? usual : `without ${trick}`);
  const own = (kind, text) => (kind === "objective" && text.length <= SHORT ? text : WRITTEN[kind].own);
  const found = differ.map(([kind, written]) => (mine[kind] ? own(kind, mine[kind]) : plain(written)));
  if (mine.fault !== other.fault) found.push(mine.fault ? "one line is wrong" : "sound");
  return found.join(", ");
}
