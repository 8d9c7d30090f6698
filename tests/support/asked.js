// What the tests ask of pages in a browser: `Browser.ask` calls one of these functions on the page that is open.
"use strict";

const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);

/** What each such element says. */
function texts(selector) {
  return all(selector).map((each) => each.textContent);
}

/** Move a slider, or choose from a menu. */
function set(selector, value) {
  one(selector).value = value;
  for (const kind of ["input", "change"]) one(selector).dispatchEvent(new Event(kind));
}

/** Press the button with this text. */
function press(text) {
  all("#playground button").find((button) => button.textContent === text).click();
}

/** Have no color in a picture's pixels. */
function blank(selector) {
  const { width, height } = one(selector);
  return !one(selector).getContext("2d").getImageData(0, 0, width, height).data.some((each) => each);
}

/** The scores of a curve that has these rows: the step, and a return or null. */
function scores(rows, diverged) {
  const curve = new Book.playground.Curve(1000);
  rows.forEach(([step, y], k) => {
    const active = k < rows.length - 1;
    curve.add({ step, return: y ?? NaN, active, diverged: !active && diverged });
  });
  return curve.values;
}

/** Where the playground's menu stands once these sentences stand above it. */
function say(verdict, lone) {
  one(".play-verdict").textContent = verdict;
  one(".play-lone").textContent = lone;
  return one(".play-follow").offsetTop;
}

/** How often two groups of so many, drawn from the same agents, would get a verdict. areas: the agents' areas. */
function falseVerdicts(areas, count, tries) {
  const random = Book.random(1);
  let wrong = 0;
  for (let k = 0; k < tries; k++) {
    const drawn = areas.map((y) => [random(), y]).sort(([a], [b]) => a - b).map(([, y]) => y);
    const { low, high } = Book.playground.welch(drawn.slice(0, count), drawn.slice(count, 2 * count));
    if (low > 0 || high < 0) wrong++;
  }
  return wrong / tries;
}

/** How many pairs of such elements share a place. */
function overlapping(selector) {
  const boxes = all(selector).map((each) => each.getBoundingClientRect());
  const share = (a, b) => a.left < b.right && b.left < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom;
  return boxes.flatMap((a, k) => boxes.slice(k + 1).filter((b) => share(a, b))).length;
}

/** The width of the playground's code as shown and as a whole, its tallest line, and the size of its letters. */
function extent() {
  const box = one(".play-code .highlight");
  const lines = all(".loop-line", box);
  const size = parseFloat(getComputedStyle(lines[0]).fontSize);
  return [box.clientWidth, box.scrollWidth, Math.max(...lines.map((line) => line.offsetHeight)), size];
}

/** Of each gauge, where its axis ends, and its farthest line. */
function ends() {
  return all(".play-gauge svg").map((svg) => {
    const [axis, ...lines] = all("path", svg).map((path) => path.getBBox());
    return [axis.x + axis.width, Math.max(...lines.map(({ x, width }) => x + width))];
  });
}

/** What a finger or a screen reader can't use: targets under 44 pixels, and what has no name. */
function unusable() {
  const targets = all("#playground :is(button, select, input[type=range], .play-switch label, .play-ideas a)");
  const small = targets.filter((each) => each.offsetParent && each.getBoundingClientRect().height < 44);
  const named = all("#playground :is(canvas, svg, select, progress, input[type=range])");
  const nameless = named.filter((each) => !each.getAttribute("aria-label"));
  return [...small, ...nameless].map((each) => each.outerHTML.slice(0, 80));
}

/** Where the picture's top and bottom are once this is in the middle of the screen. */
function pictureBeside(selector) {
  one(selector).scrollIntoView({ block: "center", behavior: "instant" });
  const [picture, switched, header] = [".play-picture", selector, ".bd-header-article"].map((each) =>
    one(each).getBoundingClientRect(),
  );
  return [picture.top, picture.bottom, switched.top, header.bottom];
}

/** From now on, workers fail. */
function breakWorkers() {
  Playground.Session.source = 'onmessage = () => { throw new Error("no memory"); }';
}

/** Put a small playground with this setting on the page, in the place of the last one. */
function put(setting) {
  const made = document.createElement("div");
  Object.assign(made, { className: "train-here", id: "tried" });
  Object.assign(made.dataset, { setting, large: "playground.html" });
  one("#tried")?.remove();
  one("article").prepend(made);
  new Book.playground.Small(made);
}

/** What the atlas shows for these flags. */
function arm(names) {
  all("#atlas input").forEach((box) => (box.checked = names.includes(box.id.replace("trick-", ""))));
  one("#atlas input").dispatchEvent(new Event("change"));
  const told = JSON.parse(one("#atlas").dataset.told);
  return { ...told, code: one("#atlas .highlight pre").textContent, said: one("#atlas p[role=status]").textContent };
}

/** What a moving figure tells once its sliders have these values. */
function moved(name, values) {
  const place = one(`#mechanism-${name}`);
  all("input", place).forEach((input, k) => (input.value = values[k]));
  place.querySelector("input").dispatchEvent(new Event("input"));
  return JSON.parse(place.dataset.told);
}

/** Where the first picture ends, or the box that covers it. */
function firstPicture() {
  const picture = one("article .cell_output img");
  const box = picture.closest("details:not([open])");
  return (box ? box.querySelector("summary") : picture).getBoundingClientRect().bottom;
}

/** What stands below covered outcomes, and is not covered. */
function belowOutcomes() {
  const following = all("details.below-input").map((box) => box.parentElement.nextElementSibling);
  return following.filter((next) => next?.matches("p, ul, ol, div:not(.cell)")).map((next) => next.textContent);
}

/** Code that is wider than its column, with every box open. */
function tooWide() {
  all("details").forEach((each) => (each.open = true));
  const code = all("article .cell pre").filter((each) => each.scrollWidth > each.clientWidth + 1);
  return code.map((each) => each.textContent);
}

/** What does not fit its slide, or can't be read. */
function tooLarge() {
  const over = [];
  slides.forEach((slide, k) => {
    slide.style.display = "flex";
    const frame = slide.getBoundingClientRect();
    for (const each of all("h1, p, li, img, pre, pre span, table, mjx-container, code", slide)) {
      const box = each.getBoundingClientRect();
      const wide = box.left < frame.left || box.right > frame.right;
      const tall = box.top < frame.top || box.bottom > frame.bottom;
      const small = parseFloat(getComputedStyle(each).fontSize) < 10;
      const tiny = each.tagName === "IMG" && box.width < 900 && box.height < 240;
      if (wide || tall || small || tiny) over.push([k + 1, each.tagName, each.textContent, box.height]);
    }
    slide.style.display = "";
  });
  return over;
}
