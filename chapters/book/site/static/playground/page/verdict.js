// The verdict in words: on one setting or two, from all agents or from one.

import { FEWEST, interval, mean, welch } from "./stats.js";
import { alike } from "./names.js";

const BETTER = { A: "A is better", B: "B is better", before: "It was better before", now: "It is better now" };

/**
 * What the arms show so far: { points, text, lone, ... }, with the numbers in it. points: how far all agents are. lone:
 * what the watched agent alone would say. before: what a single arm was before the last change, if that is known; then
 * it is compared with that.
 */
export function judged(arms, watched, before = null) {
  const failed = arms.find(({ failure }) => failure);
  if (failed) return { points: 0, text: `Training stopped: ${failed.failure}`, lone: "" };
  if (arms.length > 1 && alike(arms)) {
    return { points: 0, text: "B is a copy of A. Change something about B.", lone: "" };
  }
  const compared = before && arms.length === 1 ? [before, ...arms] : arms;
  const points = Math.min(...compared.map(({ reached }) => reached));
  if (!points) return { points, text: "No episode has ended in every agent yet.", lone: "" };
  const lost = compared.reduce((sum, { diverged }) => sum + diverged, 0);
  const called = compared === arms ? ["A", "B"] : ["before", "now"];
  const found = compared.length > 1 ? ofTwo(compared, watched, points, called) : ofOne(arms[0], watched, points);
  if (lost) found.text += ` ${lost} diverged: a number was no longer finite.`;
  return { points, ...found };
}

/** Of one setting: all agents against the one that is watched. */
function ofOne(arm, watched, points) {
  const areas = arm.areas(points);
  const [low, high] = interval(areas);
  const range = Number.isNaN(low) ? `an interval needs ${FEWEST} agents` : `${said(low)} to ${said(high)}`;
  const text = `${areas.length} agents, mean return ${span([arm])}: ${said(mean(areas))} (95%: ${range}).`;
  const ends = `The best got ${said(Math.max(...areas))}, the worst ${said(Math.min(...areas))}.`;
  const lone = `${ends} Had you trained seed ${arm.seeds[watched]} alone, you'd report ${said(areas[watched])}.`;
  const late = arm.curves.map(({ values }) => mean(values.slice(points - Math.ceil(points / 10), points)));
  return { text, lone, areas, late, low, high };
}

/**
 * Of two: their difference in mean return so far, with its interval. Which is better is said once, at the end: an
 * interval that is looked at all the time excludes zero by luck sooner or later.
 */
function ofTwo([a, b], watched, points, [first, second]) {
  const [having, without] = [b.areas(points), a.areas(points)];
  const found = welch(having, without);
  const ended = a.done && b.done;
  const range = `${signed(found.difference)} (95%: ${signed(found.low)} to ${signed(found.high)})`;
  const difference = `${second} − ${first} ${span([a, b])} is ${range}`;
  const verdict = !ended ? "" : found.low > 0 ? second : found.high < 0 ? first : "";
  let text = `Fewer than ${FEWEST} agents: no interval, no verdict.`;
  if (verdict) text = `${BETTER[verdict]}: ${difference}.`;
  else if (ended && found.low <= 0) text = `Can't tell: ${difference}.`;
  else if (found.low <= found.high) text = `${capital(difference)}. The verdict comes at the end.`;
  const apart = having.map((value, k) => value - without[k]);
  const ahead = apart.filter((x) => x > 0).length;
  const one = `Seed ${a.seeds[watched]} alone says ${signed(apart[watched])}.`;
  const lone = `${one} Seed by seed, ${second} is ahead in ${ahead} of ${apart.length}.`;
  return { text, lone, verdict, having, without, ...found };
}

function span(arms) {
  return arms.every(({ done }) => done) ? "over the whole run" : "so far";
}

/** A number with a few digits. */
export function said(value) {
  if (Number.isNaN(value)) return "?";
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4;
  return value.toFixed(digits).replace("-", "−");
}

function signed(value) {
  return (value > 0 ? "+" : "") + said(value);
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}
