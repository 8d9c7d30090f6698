// The colors of the arms: of two that differ in one trick, the one that has it is drawn in the trick's color.

const [PLAIN, OTHER] = ["#7a7f87", "#0079A8"];

/** Set the colors of A and B in this place. */
export function colored(place, arms) {
  const [a, b] = arms.map(({ tricks }) => tricks);
  const differ = b ? Playground.LADDER.tricks.filter(({ name }) => a.includes(name) !== b.includes(name)) : [];
  const colors = b ? [PLAIN, OTHER] : [OTHER, OTHER];
  if (differ.length === 1) colors[a.includes(differ[0].name) ? 0 : 1] = differ[0].color;
  if (differ.length === 1 && a.includes(differ[0].name)) colors[1] = PLAIN;
  place.style.setProperty("--a", colors[0]);
  place.style.setProperty("--b", colors[1]);
}
