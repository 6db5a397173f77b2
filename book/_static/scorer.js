// The search's order and its excerpts, loaded by the page of the search alone.

// Who names a table or a verdict wants the ledger's pages; everybody else the chapters.
var Scorer = {
  score: ([page, , , , score]) => {
    const asked = new URLSearchParams(location.search).get("q") ?? "";
    const numbers = /\b(tables?|figures?|claims?|ledger|verdicts?|cells?)\b/i.test(asked);
    const first = numbers ? /(^|\/)ledger/ : /(^|\/)\d\d_/;
    return first.test(page) ? score + 20 : score;
  },
  // as Sphinx has them
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// An excerpt is of what a page says: not of its code, its buttons or its list of contents.
const UNSAID =
  ".cell_input, .highlight, summary, .fl-strip, .fl-controls, svg, #jb-print-docs-body, .bd-header-article, .prev-next-area";

document.addEventListener("DOMContentLoaded", () => {
  const said = Search.htmlToText;
  Search.htmlToText = (page, anchor) => {
    const read = new DOMParser().parseFromString(page, "text/html");
    for (const part of read.querySelectorAll(UNSAID)) part.remove();
    // Cells of a table, paragraphs and titles stand apart.
    for (const part of read.querySelectorAll("td, th, p, li, dt, dd, h1, h2, h3, caption")) {
      part.append(" ");
    }
    return said(read.documentElement.outerHTML, anchor).replace(/\s+/g, " ");
  };
});
