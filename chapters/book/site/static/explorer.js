// The explorer: check tricks, and see the loop, the commands, and the stored runs. EXPLORER and LINES have all of it.
"use strict";

(() => {
  const place = document.getElementById("explorer");
  if (!place) return;
  const { tricks, starts, environments, effects } = EXPLORER;
  const names = tricks.map((trick) => trick.name);
  const of = Object.fromEntries(tricks.map((trick) => [trick.name, trick]));

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  // --- the choice -------------------------------------------------------------------------------------------------
  const boxes = {};
  const list = element("div", { class: "explorer-tricks" });
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
  const fault = element("div", { class: "explorer-fault", role: "alert" });
  const code = element("pre");
  const commands = element("pre", { class: "explorer-commands" });
  const place_of_env = element("select", { "aria-label": "environment" });
  environments.forEach((env, k) => place_of_env.append(element("option", { value: k }, env.name)));
  place_of_env.addEventListener("change", show);
  const runs = element("div", { class: "charts" });
  const said = element("p", { role: "status" });
  const table = element("div");
  place.append(
    element("div", { class: "explorer-choice" }, start, list, fault),
    element("h2", {}, "The commands"),
    commands,
    element("h2", {}, "What the stored runs say"),
    place_of_env,
    said,
    element("figure", { class: "mechanism", style: "--color: #0079A8" }, runs),
    element("h2", {}, "What each of these tricks does"),
    element("p", {}, "Blue: helps. Red: hurts. Upright: practically nothing. Gray italics: unknown, or not seen again on other seeds. Point at a number for its verdict and interval."),
    table,
    element("h2", {}, "The loop with these flags"),
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
    for (const each of [code.parentElement, commands]) each.classList.toggle("explorer-off", !legal);
    if (legal) {
      code.innerHTML = Book.loopLines(on).map(([blank, html]) => "\n".repeat(blank) + html).join("\n");
      const rung = words(on);
      commands.textContent = `python -m tricks train ${rung}\npython -m tricks export ${rung} > agent.py`;
      told.command = rung;
    }
    const env = environments[Number(place_of_env.value)];
    const arm = legal ? env.arms[on.join(" ")] : undefined;
    runs.parentElement.hidden = !arm;
    if (arm) {
      const [mean, low, high] = arm.area;
      said.textContent = `${env.name}, ${arm.seeds} seeds at learning rate ${arm.lr}: area under the curve ${short(mean)} [${short(low)}, ${short(high)}].`;
      draw(env, arm);
      told.area = arm.area;
    } else {
      const other = environments.filter((each) => legal && each.arms[on.join(" ")]).map((each) => each.name);
      said.textContent = !legal ? `${told.faults.join("; ")}.`
        : other.length ? `No runs with these flags on ${env.name} are stored, but on ${other.join(", ")}.`
        : "No runs with exactly these flags are stored. The command above makes them.";
    }
    table.replaceChildren(effectsOf(on.length ? on : names));
    place.dataset.told = JSON.stringify(told);
  }

  const signed = (x) => (Math.abs(x) < 0.005 ? "0" : (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2));
  const short = (x) => (Math.abs(x) < 10 ? x.toFixed(2) : x.toFixed(1));

  function effectsOf(on) {
    const row = (cells, tag = "td") => element("tr", {}, ...cells.map((cell) => element(tag, {}, String(cell))));
    const envs = [...new Set(on.flatMap((name) => effects[name].map((effect) => effect.env)))];
    const body = element("tbody");
    for (const name of on) {
      for (const kind of [...new Set(effects[name].map((effect) => effect.kind))]) {
        const cells = envs.map((env) => effects[name].find((effect) => effect.env === env && effect.kind === kind));
        const line = row([name, kind, ...cells.map((e) => (e ? signed(e.difference) : ""))]);
        cells.forEach((effect, k) => {
          if (!effect) return;
          line.children[k + 2].className = `seen-${effect.seen}`;
          line.children[k + 2].title = `${effect.verdict}: ${effect.low} to ${effect.high}, ${effect.seeds} seeds`;
        });
        body.append(line);
      }
    }
    return element("table", { class: "explorer-effects" }, element("thead", {}, row(["trick", "asked", ...envs], "th")), body);
  }

  choose(starts.ppo);
})();
