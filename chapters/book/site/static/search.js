// The search page: chapters before all others, the reference and the changelog last; and excerpts without reading pages,
// which a page opened from a folder may not do. TEXTS is in search-texts.js.
"use strict";

(() => {
  const RANKS = { chapters: 1000, docs: 500, reference: -1000, CHANGELOG: -1000 };
  Scorer.score = ([page, , , , score]) => score + (RANKS[page.split("/")[0]] ?? 0);

  const read = window.fetch;
  window.fetch = (address, ...options) => {
    const page = String(address).replace(/^[.]\/|[.]html$/g, "");
    return page in TEXTS ? Promise.resolve({ text: async () => TEXTS[page] }) : read(address, ...options);
  };
  Search.htmlToText = (text) => text; // they are no HTML
})();
