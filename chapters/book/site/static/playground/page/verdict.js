// What may be said: of ten agents and of one, of two settings, and how many agents would settle it.

import { FEWEST, interval, mean, welch, wouldDo } from "./stats.js";

const MANY = 10_000; // agents that nobody will train

/** A number as one would say it. */
export function said(value) {
  if (Number.isNaN(value)) return "?";
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4;
  return value.toFixed(digits).replace("-", "−");
}

export function signed(value) {
  return (value > 0 ? "+" : "") + said(value);
}

/** Of one setting: all agents against the one that is watched. */
export function ofOne(arm, watched) {
  const points = arm.reached;
  if (!points) return { text: "No episode has ended in every agent yet.", points };
  const areas = arm.areas(points);
  const [low, high] = interval(areas);
  const range = Number.isNaN(low) ? `an interval needs ${FEWEST} agents` : `${said(low)} to ${said(high)}`;
  const agents = `${areas.length} agents: mean return ${said(mean(areas))} (95%: ${range})`;
  const span = `The best got ${said(Math.max(...areas))}, the worst ${said(Math.min(...areas))}.`;
  const lone = `Had you trained seed ${arm.seeds[watched]} alone, you'd report ${said(areas[watched])}.`;
  const late = arm.curves.map(({ values }) => mean(values.slice(points - Math.ceil(points / 10), points)));
  return { text: `${agents}.`, lone: `${span} ${lone}`, points, areas, late, low, high };
}

/** Of two: their difference in mean return so far, with its interval. */
export function ofTwo([a, b], watched) {
  const points = Math.min(a.reached, b.reached);
  if (!points) return { text: "No episode has ended in every agent yet.", points };
  const [having, without] = [b.areas(points), a.areas(points)];
  const found = welch(having, without);
  const needed = wouldDo(having, without);
  const yet = a.done && b.done ? "" : " so far";
  const range = `${signed(found.difference)} (95%: ${signed(found.low)} to ${signed(found.high)})`;
  const verdict = found.low > 0 ? "B" : found.high < 0 ? "A" : "";
  let text = `Fewer than ${FEWEST} agents: no interval, no verdict.`;
  if (verdict) text = `${verdict} is better${yet}: B − A is ${range}.`;
  else if (found.low <= 0) text = `Can't tell${yet ? " yet" : ""}: B − A is ${range}${more(needed)}.`;
  const apart = having.map((value, k) => value - without[k]);
  const ahead = apart.filter((x) => x > 0).length;
  const one = `Seed ${a.seeds[watched]} alone says ${signed(apart[watched])}.`;
  const lone = `${one} Seed by seed, B is ahead in ${ahead} of ${apart.length}.`;
  return { text, lone, points, verdict, needed, having, without, ...found };
}

function more(needed) {
  if (Number.isNaN(needed)) return "";
  const many = needed < MANY ? `about ${needed.toLocaleString("en-US")}` : `more than ${MANY.toLocaleString("en-US")}`;
  return `; at this spread ${many} agents each would`;
}
