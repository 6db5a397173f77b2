// The search's order and its excerpts, loaded by the page of the search alone.

// The page that a word asks for where its title does not have the word.
const PAGES = {
  feddisco: "is_size_the_right_weight",
  fedlaw: "shrinking_the_average",
  rfedavg: "pulling_features_together",
  fedimpro: "features_from_a_shared_distribution",
  fedcollab: "who_should_train_together",
  "gpu|cuda|ray": "beyond_one_machine",
  "seeds?": "glossary",
  "data ?sets?|custom data ?sets?|pandas": "your_own_data",
  "tensorboard|mlflow|wandb|trackio|callbacks?|loggers?": "keep_and_continue",
  "checkpoints?|resume|save( model)?|load model|early stop(ping)?": "keep_and_continue",
  "adamw?|optimi[sz]ers?|regression|auc|metrics?|fedper|fedrep": "your_own_training",
  "data ?loaders?|hugging ?face|windows|onnx": "what_is_not_here",
  "secure aggregation|async|compression|docker": "what_is_not_here",
  "deploy|deployment|flower|flwr|certificates?": "a_real_federation",
};

// Who names a page wants that page, by its whole title before a part of it. Who names a
// table or a verdict wants the ledger's pages; everybody else the chapters.
var Scorer = {
  score: ([page, title, anchor, , score]) => {
    const asked = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();
    const named = title.toLowerCase();
    const words = asked.split(/\s+/).filter(Boolean);
    const means = ([some, name]) =>
      new RegExp(`^(${some})$`).test(asked) && new RegExp(`(^|/)(\\d\\d_)?${name}$`).test(page);
    if (!anchor && Object.entries(PAGES).some(means)) return score + 300;
    if (!anchor && named === asked) return score + 200;
    if (!anchor && words.length > 0 && words.every((word) => named.includes(word))) score += 60;
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
