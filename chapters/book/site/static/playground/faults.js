// Which combinations of tricks there can't be, from the needs and exclusions in the library's fields.

import { LADDER } from "./ladder.js";

const KNOWN = LADDER.tricks.map(({ name }) => name);

/** What is wrong with a set of tricks: [{ trick, needs, text }]; `needs` are names, none if two exclude each other. */
export function faults(names) {
  const found = [];
  for (const name of names) {
    const facts = LADDER.tricks.find((each) => each.name === name);
    if (!facts) throw new Error(`unknown trick ${name}; there are ${KNOWN.join(", ")}`);
    const needs = facts.needs.filter((need) => !names.includes(need));
    const others = facts.excludes.filter((other) => names.includes(other));
    const add = (lacking, text) => found.push({ trick: name, needs: lacking, text: `${name} ${text}` });
    if (needs.length) add(needs, `needs ${needs.join(" and ")}`);
    if (others.length) add([], `cannot be combined with ${others.join(" and ")}`);
  }
  return found;
}

/** These tricks and everything they need, in ladder order. */
export function closed(names) {
  const on = new Set(names);
  for (const name of on) for (const need of LADDER.tricks.find((each) => each.name === name).needs) on.add(need);
  return KNOWN.filter((name) => on.has(name));
}
