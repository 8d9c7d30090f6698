// What is wrong with a set of tricks: what one of them needs or excludes, from the library's fields.

import { LADDER } from "./ladder.js";

const KNOWN = LADDER.tricks.map(({ name }) => name);

/** For each trick that needs others, or excludes some of the set, { trick, needs, excludes, text }, with their names. */
export function faults(names) {
  return names.flatMap((trick) => {
    const needs = factsOf(trick).needs.filter((need) => !names.includes(need));
    const excludes = factsOf(trick).excludes.filter((other) => names.includes(other));
    const lacks = { trick, needs, excludes: [], text: `${trick} needs ${needs.join(" and ")}` };
    const clash = { trick, needs: [], excludes, text: `${trick} cannot be combined with ${excludes.join(" and ")}` };
    return [...(needs.length ? [lacks] : []), ...(excludes.length ? [clash] : [])];
  });
}

/** These tricks and everything they need, in ladder order. */
export function closed(names) {
  const on = new Set(names);
  for (const name of on) for (const need of factsOf(name).needs) on.add(need);
  return KNOWN.filter((name) => on.has(name));
}

function factsOf(name) {
  const facts = LADDER.tricks.find((each) => each.name === name);
  if (!facts) throw new Error(`unknown trick ${name}; there are ${KNOWN.join(", ")}`);
  return facts;
}
