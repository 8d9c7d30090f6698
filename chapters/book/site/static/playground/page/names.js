// What two settings are called: by what one has and the other lacks, or by the numbers in which they differ.

import { swapName } from "./swaps.js";

const OWN = ["reinforce", "ppo", "every"]; // presets that are no rungs

/** `A: with clip` and `B: without clip`, or one name for one arm. */
export function names(arms) {
  if (arms.length === 1) return [named(arms[0].tricks)];
  return apart(arms).map((name, k) => `${"AB"[k]}: ${swapName(arms[k], arms[1 - k]) || name}`);
}

/** Whether two arms are the same setting. */
export function alike([a, b]) {
  if (swapName(a, b)) return false;
  return String(a.tricks) === String(b.tricks) && JSON.stringify(a.numbers) === JSON.stringify(b.numbers);
}

function apart(arms) {
  const differ = Object.keys(arms[0].numbers).filter((name) => arms[0].numbers[name] !== arms[1].numbers[name]);
  return arms.map(({ tricks, numbers }, k) => {
    const others = arms[1 - k].tricks;
    const more = tricks.filter((name) => !others.includes(name)).map((name) => `with ${name}`);
    const less = others.filter((name) => !tricks.includes(name)).map((name) => `without ${name}`);
    const own = differ.map((name) => `${name} ${numbers[name]}`);
    return [...(more.length ? more : less), ...own].join(", ") || named(tricks);
  });
}

/** The name of a preset that has one of its own, or the tricks themselves. */
function named(tricks) {
  const own = OWN.find((name) => String(Playground.LADDER.presets[name]) === String(tricks));
  return own ?? tricks.join(", ");
}

/** What a preset is called: a rung of the ladder by its last trick. */
export function called(preset) {
  return OWN.includes(preset) ? preset : `up to ${preset}`;
}
