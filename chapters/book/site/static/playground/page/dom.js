// Making elements.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [kind, listener] of Object.entries(value)) made.addEventListener(kind, listener);
    else if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function button(text, listener, attributes = {}) {
  return element("button", { type: "button", on: { click: listener }, ...attributes }, text);
}

/** change(value) is called with what is chosen. */
export function select(label, change) {
  return element("select", { "aria-label": label, on: { change: ({ target }) => change(target.value) } });
}

/** Let a select offer these [value, text], of which this one is chosen. */
export function offer(place, options, chosen) {
  place.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  place.value = chosen;
}
