// A formula that is wider than its page breaks before signs such as = and +, and where it has a wide space.
"use strict";

addEventListener("load", async () => {
  await window.MathJax?.startup?.promise; // a page without formulas has none
  const wide = (part) => parseFloat(part.querySelector(":scope > mjx-mspace")?.style.width ?? 0) >= 1; // in em
  for (const part of document.querySelectorAll("mjx-container[display] > mjx-math > *"))
    if (part.matches("mjx-mo[space='3'], mjx-mo[space='4']") || wide(part)) part.before(document.createElement("wbr"));
});
