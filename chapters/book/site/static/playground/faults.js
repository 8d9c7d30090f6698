// What a set of tricks lacks, from the needs in the library's fields. None of these tricks exclude each other.

import { LADDER } from "./ladder.js";

const KNOWN = LADDER.tricks.map(({ name }) => name);

/** For each trick that needs others which are not in the set, { trick, needs, text }, with the others' names. */
export function faults(names) {
  const lacking = (name) => factsOf(name).needs.filter((need) => !names.includes(need));
  const found = names.map((name) => ({ trick: name, needs: lacking(name) })).filter(({ needs }) => needs.length);
  return found.map(({ trick, needs }) => ({ trick, needs, text: `${trick} needs ${needs.join(" and ")}` }));
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
