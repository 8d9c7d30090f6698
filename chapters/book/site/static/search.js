// The search page: the chapter of a trick that is named, then the other chapters; the reference and the changelog last.
// Excerpts come from TEXTS, in search-texts.js: a page that is opened from a folder may not read the others.
"use strict";

(() => {
  const RANKS = { chapters: 1000, docs: 500, reference: -1000, CHANGELOG: -1000 };
  const asked = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase().replace(/\W+/g, "_");
  const own = (page) => (page.replace(/^chapters\/\w\d_/, "") === asked ? 500 : 0);
  Scorer.score = ([page, , , , score]) => score + own(page) + (RANKS[page.split("/")[0]] ?? 0);

  const read = window.fetch;
  window.fetch = (address, ...options) => {
    const page = String(address).replace(/^[.]\/|[.]html$/g, "");
    return page in TEXTS ? Promise.resolve({ text: async () => TEXTS[page] }) : read(address, ...options);
  };
  Search.htmlToText = (text) => text; // they are no HTML
})();
