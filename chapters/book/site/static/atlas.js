// The atlas: whether to use a trick, and with any set of them, the loop, the commands, and the stored runs. ATLAS and
// LINES have all of it.
"use strict";

(() => {
  const place = document.getElementById("atlas");
  if (!place) return;
  const { tricks, starts, environments, effects, says, made, general, rates, chapters } = ATLAS;
  const names = tricks.map((trick) => trick.name);
  const of = Object.fromEntries(tricks.map((trick) => [trick.name, trick]));

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  const signed = (x) => (Math.abs(x) < 0.005 ? "0" : (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2));
  const short = (x) => (Math.abs(x) < 10 ? x.toFixed(2) : x.toFixed(1));
  const row = (cells, tag = "td") => element("tr", {}, ...cells.map((cell) => element(tag, {}, cell)));

  // --- should I use it? -------------------------------------------------------------------------------------------
  const OUT = "in the full set", ALONE = "alone, on what it needs";
  const QUESTIONS = {
    "added to what came before it": (kind) => kind !== OUT && kind !== ALONE,
    "taken out of everything": (kind) => kind === OUT,
    "alone, on what it needs": (kind) => kind === ALONE,
  };
  const asked = element("select", { "aria-label": "what is compared" });
  for (const question of Object.keys(QUESTIONS)) asked.append(element("option", {}, question));
  const which = element("select", { "aria-label": "which tricks" });
  for (const group of ["all tricks", "the ladder", "beyond it"]) which.append(element("option", {}, group));
  const matrix = element("div", { class: "atlas-matrix", tabindex: "0", role: "region", "aria-label": "effects" });
  const card = element("section", { class: "atlas-card", "aria-live": "polite" });
  for (const each of [asked, which]) each.addEventListener("change", drawMatrix);

  function drawMatrix() {
    const groups = { "the ladder": (trick) => !trick.beyond, "beyond it": (trick) => trick.beyond };
    const shown = tricks.filter(groups[which.value] ?? (() => true));
    const fits = QUESTIONS[asked.value];
    const found = shown.map((trick) => effects[trick.name].filter((effect) => fits(effect.kind) || same(trick, effect)));
    const envs = [...new Set(Object.values(effects).flat().map((effect) => effect.env))].filter((env) =>
      found.some((those) => those.some((effect) => effect.env === env)),
    );
    const head = row(["", ...envs.map((env) => element("span", { title: env }, brief(env)))], "th");
    const body = element("tbody");
    shown.forEach((trick, k) => {
      const name = element("button", { type: "button", style: `--color: ${trick.color}` }, trick.name);
      name.addEventListener("click", () => {
        open(trick.name);
        card.scrollIntoView({ block: "nearest" });
      });
      const line = row([name, ...envs.map((env) => numberOf(found[k].find((effect) => effect.env === env)))]);
      envs.forEach((env, j) => mark(line.children[j + 1], found[k].find((effect) => effect.env === env)));
      body.append(line);
    });
    matrix.replaceChildren(element("table", {}, element("thead", {}, head), body));
  }

  /** The first rung is added to nothing, and the last one to everything else: each is stored once. */
  function same(trick, effect) {
    const ladder = tricks.filter((each) => !each.beyond);
    const other = { [ladder[0].name]: ALONE, [ladder.at(-1).name]: OUT }[trick.name];
    return asked.selectedIndex === 0 && effect.kind === other;
  }

  const brief = (env) => env.replace(/^(tricks\/|MiniGrid-)/, "").replace(/-v\d+$/, "");
  const numberOf = (effect) => (effect ? signed(effect.difference) : "");

  function mark(cell, effect) {
    if (!effect) return;
    cell.className = `seen-${effect.seen}`;
    cell.title = `${effect.verdict}: ${effect.low} to ${effect.high}, ${effect.seeds} seeds, ${effect.kind}`;
  }

  function open(name) {
    const read = element("a", { href: chapters[name] }, "its chapter");
    const parts = [element("h2", {}, name), element("p", {}, `${of[name].adds}. ${says[name]} (`, read, ")")];
    const means = general[name].map(([how, mean, low, high, places]) =>
      element("li", {}, `${how}: ${signed(mean)} [${signed(low)}, ${signed(high)}] over ${places} environments`),
    );
    if (means.length) parts.push(element("h3", {}, "In general, as the next rung"), element("ul", {}, ...means));
    const trials = made[name].map((each) =>
      element("li", { class: `seen-${each.seen}` }, `${each.place}: ${each.without} → ${each.with}, ${each.verdict}`),
    );
    if (trials.length) parts.push(element("h3", {}, "In worlds made for it"), element("ul", {}, ...trials));
    if (Object.keys(rates[name]).length) parts.push(element("h3", {}, "As the next rung, at each learning rate"), byRate(rates[name]));
    card.replaceChildren(...parts);
    card.dataset.of = name;
  }

  /** A heat map: what a trick does in each environment at each rate; pale where the interval includes 0. */
  function byRate(found) {
    const columns = [...new Set(Object.values(found).flat().map(([rate]) => rate))].sort((a, b) => a - b);
    const body = element("tbody");
    for (const [env, cells] of Object.entries(found)) {
      const line = row([env, ...columns.map(() => "")]);
      for (const [rate, mean, low, high] of cells) {
        const cell = line.children[columns.indexOf(rate) + 1];
        const clear = low > 0 || high < 0;
        const share = Math.round(Math.min(1, Math.abs(mean) / 0.5) * (clear ? 70 : 15));
        cell.textContent = signed(mean);
        cell.style.background = `color-mix(in srgb, ${mean > 0 ? "#2166ac" : "#b2182b"} ${share}%, transparent)`;
        cell.title = `${signed(low)} to ${signed(high)}`;
      }
      body.append(line);
    }
    const table = element("table", {}, element("thead", {}, row(["", ...columns.map(String)], "th")), body);
    return element("div", { class: "atlas-matrix" }, table);
  }

  // --- the choice -------------------------------------------------------------------------------------------------
  const boxes = {};
  const list = element("div", { class: "atlas-tricks" });
  for (const trick of tricks) {
    const box = (boxes[trick.name] = element("input", { type: "checkbox", id: `trick-${trick.name}` }));
    const label = element("label", { title: trick.adds, style: `--color: ${trick.color}` }, box, trick.name);
    box.addEventListener("change", show);
    list.append(label);
  }
  const start = element("select", { "aria-label": "start from" }, element("option", { value: "" }, "start from ..."));
  for (const name of Object.keys(starts)) start.append(element("option", { value: name }, name));
  start.addEventListener("change", () => {
    if (start.value) choose(starts[start.value]);
    start.value = "";
  });
  const fault = element("div", { class: "atlas-fault", role: "alert" });
  const code = element("pre");
  const commands = element("pre", { class: "atlas-commands" });
  const envSelect = element("select", { "aria-label": "environment" });
  environments.forEach((env, k) => envSelect.append(element("option", { value: k }, env.name)));
  envSelect.addEventListener("change", show);
  const runs = element("div", { class: "charts" });
  const said = element("p", { role: "status" });
  place.append(
    element("div", { class: "atlas-asked" }, asked, " ", which),
    matrix,
    element(
      "p",
      { class: "atlas-key" },
      element("span", { class: "seen-helps" }, "helps"),
      " ",
      element("span", { class: "seen-hurts" }, "hurts"),
      " upright: practically nothing; ",
      element("span", { class: "seen-unknown" }, "gray italics"),
      ": unknown, or not seen again on other seeds. Differences in normalized area under the curve, each arm at its own " +
        "best rate; point at one for its verdict and interval.",
    ),
    card,
    element("h2", {}, "Any set of tricks"),
    element("div", { class: "atlas-choice" }, start, list, fault),
    element("h3", {}, "The commands"),
    commands,
    element("h3", {}, "What the stored runs say"),
    envSelect,
    said,
    element("figure", { class: "mechanism", style: "--color: #0079A8" }, runs),
    element("h3", {}, "The loop with these flags"),
    element("div", { class: "highlight" }, code),
  );

  function choose(on) {
    for (const name of names) boxes[name].checked = on.includes(name);
    show();
  }

  /** What is wrong with a choice, as the library says it; each fault with the flags that mend it. */
  function faults(on) {
    const found = [];
    for (const name of on) {
      for (const other of of[name].excludes) {
        if (on.includes(other)) found.push([`${name} cannot be combined with ${other}`, on.filter((x) => x !== name)]);
      }
      for (const need of of[name].needs) {
        if (!on.includes(need)) found.push([`${name} needs ${need}`, [...on, ...closed([need])]]);
      }
    }
    return found;
  }

  /** These tricks and all that they need. */
  function closed(on) {
    const all = new Set(on);
    for (let size = -1; size < all.size; ) {
      size = all.size;
      for (const name of [...all]) of[name].needs.forEach((need) => all.add(need));
    }
    return names.filter((name) => all.has(name));
  }

  // --- the loop and the commands ----------------------------------------------------------------------------------
  /** The shortest command: from the preset or rung that differs least. */
  function words(on) {
    const changed = (from) => names.filter((name) => on.includes(name) !== from.includes(name));
    const [name, flags] = Object.entries(starts).reduce((best, each) =>
      changed(each[1]).length < changed(best[1]).length ? each : best,
    );
    const switches = changed(flags).map((x) => `${on.includes(x) ? " --" : " --no-"}${x.replaceAll("_", "-")}`);
    return name + switches.join("");
  }

  // --- the stored runs --------------------------------------------------------------------------------------------
  function draw(env, arm) {
    runs.replaceChildren();
    const [mean, low, high] = arm.curve;
    const ends = [...low, ...high, env.random ?? low[0], env.ceiling ?? high[0]];
    const [bottom, top] = [Math.min(...ends), Math.max(...ends)];
    const x = mean.map((_, k) => ((k + 1) / mean.length) * env.steps);
    const at = (values) => values.map((y, k) => [x[k], y]);
    const y = [bottom, top + 0.05 * (top - bottom)];
    const curve = Book.chart(runs, {
      ...{ x: [0, env.steps], y, width: 340, height: 220, title: "learning curve, 95% interval", xlabel: "environment steps" },
      xticks: [0, 0.5, 1].map((k) => [k * env.steps, `${(k * env.steps) / 1000}k`]),
    });
    curve.line([...at(high), ...at(low).reverse()], { class: "area" });
    curve.line(at(mean));
    if (env.ceiling !== null) curve.line([[0, env.ceiling], [env.steps, env.ceiling]], { class: "line soft dashed" });
    if (arm.rates.length < 2) return;
    const logs = arm.rates.map(([rate]) => Math.log10(rate));
    const areas = arm.rates.map(([, score]) => score);
    const rates = Book.chart(runs, {
      ...{ x: [Math.min(...logs), Math.max(...logs)], y: [Math.min(bottom, ...areas), y[1]], width: 340, height: 220 },
      ...{ title: "area under the curve by learning rate", xlabel: "learning rate" },
      xticks: arm.rates.map(([rate], k) => [logs[k], String(rate)]),
    });
    rates.line(logs.map((at_, k) => [at_, areas[k]]));
    logs.forEach((at_, k) => rates.dot(at_, areas[k]));
  }

  function show() {
    const on = names.filter((name) => boxes[name].checked);
    const wrong = faults(on);
    fault.replaceChildren(
      ...wrong.map(([text, mended]) => {
        const mend = element("button", { type: "button" }, "fix");
        mend.addEventListener("click", () => choose(mended));
        return element("div", {}, text, " ", mend);
      }),
    );
    const told = { on, faults: wrong.map(([text]) => text) };
    const legal = wrong.length === 0;
    for (const each of [code.parentElement, commands]) each.classList.toggle("atlas-off", !legal);
    if (legal) {
      code.innerHTML = Book.loopLines(on).map(([blank, html]) => "\n".repeat(blank) + html).join("\n");
      const rung = words(on);
      commands.textContent = `python -m tricks train ${rung}\npython -m tricks export ${rung} > agent.py`;
      told.command = rung;
    }
    const env = environments[Number(envSelect.value)];
    const arm = legal ? env.arms[on.join(" ")] : undefined;
    runs.parentElement.hidden = !arm;
    if (arm) {
      const [mean, low, high] = arm.area;
      const area = `${short(mean)} [${short(low)}, ${short(high)}]`;
      said.textContent = `${env.name}, ${arm.seeds} seeds at learning rate ${arm.lr}: area under the curve ${area}.`;
      draw(env, arm);
      told.area = arm.area;
    } else {
      const other = environments.filter((each) => legal && each.arms[on.join(" ")]).map((each) => each.name);
      said.textContent = !legal ? `${told.faults.join("; ")}.`
        : other.length ? `No runs with these flags on ${env.name} are stored, but on ${other.join(", ")}.`
        : "No runs with exactly these flags are stored. The command above makes them.";
    }
    place.dataset.told = JSON.stringify(told);
  }

  drawMatrix();
  open("clip");
  choose(starts.ppo);
})();
