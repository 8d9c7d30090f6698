// What settings are called: two by what one has and the other lacks, or by the numbers in which they differ; one by the
// set with a name that is nearest to it.

import { swapName } from "./swaps.js";

const OWN = ["ppo", "reinforce", "every", "cleanrl", "sb3"]; // presets that are no rungs; the first wins among equals
const FEW = 2; // so many tricks are listed, more are counted
const SETS = Playground.LADDER.presets;
const NAMED = [...OWN, ...Object.keys(SETS).filter((name) => !OWN.includes(name))];

/** `A: with clip` and `B: without clip`, or one name for one arm. */
export function names(arms) {
  if (arms.length === 1) return [named(arms[0].tricks)];
  return apart(arms).map((name, k) => `${"AB"[k]}: ${name}`);
}

/** Whether two arms are the same setting. */
export function alike([a, b]) {
  if (swapName(a, b)) return false;
  return String(a.tricks) === String(b.tricks) && JSON.stringify(a.numbers) === JSON.stringify(b.numbers);
}

/** The names of two arms, each for what it has or lacks; if that is long, for what it is. */
export function apart(arms) {
  const differ = Object.keys(arms[0].numbers).filter((name) => arms[0].numbers[name] !== arms[1].numbers[name]);
  const [only, lacking] = [beyond(arms[0].tricks, arms[1].tricks), beyond(arms[1].tricks, arms[0].tricks)];
  const long = only.length + lacking.length > FEW;
  return arms.map((arm, k) => {
    const swapped = swapName(arm, arms[1 - k]);
    if (swapped) return swapped;
    const { tricks, numbers } = arm;
    const [more, less] = k ? [lacking, only] : [only, lacking];
    const own = differ.map((name) => `${name} ${numbers[name]}`);
    const words = more.length ? more.map((name) => `with ${name}`) : less.map((name) => `without ${name}`);
    return [...(long ? [named(tricks)] : words), ...own].join(", ") || named(tricks);
  });
}

/** The name of the set that differs in the fewest tricks, and what it has too many or lacks. */
function named(tricks) {
  const off = (name) => beyond(SETS[name], tricks).length + beyond(tricks, SETS[name]).length;
  const nearest = NAMED.reduce((best, name) => (off(name) < off(best) ? name : best));
  const said = (word, some) => (some.length ? ` ${word} ${listed(some)}` : "");
  const [less, more] = [beyond(SETS[nearest], tricks), beyond(tricks, SETS[nearest])];
  return called(nearest) + said("without", less) + said(less.length ? "but with" : "with", more);
}

/** The tricks of a set that another lacks. */
function beyond(tricks, others) {
  return tricks.filter((name) => !others.includes(name));
}

function listed(tricks) {
  return tricks.length > FEW ? `${tricks.length} tricks` : tricks.join(" and ");
}

/** What a preset is called: a rung of the ladder by its last trick. */
export function called(preset) {
  return OWN.includes(preset) ? preset : `up to ${preset}`;
}
