// Which combinations of tricks there can't be, from the needs and exclusions in the library's fields.

import { LADDER } from "./ladder.js";

const KNOWN = LADDER.tricks.map(({ name }) => name);

/** What is wrong with a set of tricks: [{ trick, needs, excludes, text }], the middle two being lists of names. */
export function faults(names) {
  const found = [];
  for (const name of names) {
    const facts = LADDER.tricks.find((each) => each.name === name);
    if (!facts) throw new Error(`unknown trick ${name}; there are ${KNOWN.join(", ")}`);
    const needs = facts.needs.filter((need) => !names.includes(need));
    if (needs.length) found.push({ trick: name, needs, excludes: [], text: `${name} needs ${needs.join(" and ")}` });
    const excludes = facts.excludes.filter((other) => names.includes(other));
    if (excludes.length) {
      found.push({ trick: name, needs: [], excludes, text: `${name} cannot be combined with ${excludes.join(" and ")}` });
    }
  }
  return found;
}

/** These tricks and everything they need, in ladder order. */
export function closed(names) {
  const on = new Set(names);
  for (const name of on) for (const need of LADDER.tricks.find((each) => each.name === name).needs) on.add(need);
  return KNOWN.filter((name) => on.has(name));
}
