// Every claim: choose, sort, open, take away. The table is there without this; what is known
// of each claim stands beside it as JSON, so nothing is asked for.
(() => {
  "use strict";

  const data = JSON.parse(document.getElementById("claims-data").textContent);
  const table = document.querySelector(".fl-every");
  const form = document.querySelector(".fl-filters");
  const taken = document.querySelector(".fl-taken");
  const every = data.claims;
  const byId = new Map(every.map((c) => [c.id, c]));
  const rowOf = new Map(every.map((c) => [c, document.getElementById(c.id)]));
  const place = new Map(every.map((c, i) => [c, i]));
  const SIDES = { a: "A", b: "B", without: "Without the method" };
  const origin = (c) => byId.get(c.again) ?? c; // of a try, the claim that it looks for
  let asked = null; // the claim that the address names: shown whatever the filters say
  let descending = false;

  // -- small things -----------------------------------------------------------------------

  function make(tag, given = {}, ...inside) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  }

  function drawn(tag, given = {}, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  }

  // As the table has them: percents with two digits, counts with none.
  function number(value, unit, signed = false, like = value) {
    const digits = unit === "%" ? 2 : unit === "bytes" || Math.abs(like) >= 1000 ? 0 : 3;
    const text = value.toFixed(digits);
    return signed && value >= 0 ? `+${text}` : text;
  }

  const half = (c) => (c.half_width === null ? "" : ` ± ${number(c.half_width, c.unit, false, c.mean)}`);

  function gains(c) {
    const both = Object.keys(c.a.values).filter((seed) => seed in c.b.values);
    const known = both.filter((seed) => c.a.values[seed] !== null && c.b.values[seed] !== null);
    return known.map((seed) => [seed, c.a.values[seed] - c.b.values[seed]]);
  }

  // -- what to show, and in which order ----------------------------------------------------

  const SCALES = ["at the paper’s scale", "on a stand-in", "not run"];
  const KINDS = ["a paper’s claim", "a try at one"];
  const FACETS = {
    paper: (c) => [data.papers[origin(c).paper]],
    method: (c) => [...new Set([...c.a.methods, ...c.b.methods])].map((m) => data.methods[m]),
    theirs: (c) => [origin(c).paper_data || "not said"],
    data: (c) => [c.data || "not run"],
    scale: (c) => [SCALES[c.scale === "-" ? 2 : Number(c.stand_in)]],
    verdict: (c) => [c.verdict],
    kind: (c) => [KINDS[Number(c.again !== "")]],
  };
  const ORDERS = { paper: Object.values(data.papers), verdict: data.words, scale: SCALES, kind: KINDS };
  const facets = new Map(
    every.map((c) => [c, Object.fromEntries(Object.keys(FACETS).map((f) => [f, FACETS[f](c)]))]),
  );
  const words = new Map(every.map((c) => [c, `${c.id} ${rowOf.get(c).textContent}`.toLowerCase()]));
  // Gains are sorted in points of accuracy; what is in another unit comes last.
  const POINTS = { "%": 1, share: 100 };
  const points = (gain, c) => (gain === null || !Object.hasOwn(POINTS, c.unit) ? null : POINTS[c.unit] * gain);
  // What a column is sorted by, and whether the largest comes first.
  const SORTS = {
    place: [(c) => place.get(c), false],
    gap: [(c) => (c.gap === null ? null : Math.abs(c.gap) / Math.max(c.tolerance, 1e-9)), true],
    paper: [(c) => points(c.paper_gain, c), true],
    ours: [(c) => points(c.mean, c), true],
    ran: [(c) => c.ran_on || null, false],
    verdict: [(c) => data.words.indexOf(c.verdict), false],
  };

  function fits(c, but = "") {
    const said = form.elements.words.value.toLowerCase().split(/\s+/);
    return (
      said.every((word) => words.get(c).includes(word)) &&
      Object.keys(FACETS).every((name) => {
        const chosen = form.elements[name].value;
        return name === but || !chosen || facets.get(c)[name].includes(chosen);
      })
    );
  }

  function fill() {
    for (const name of Object.keys(FACETS)) {
      const found = [...new Set(every.flatMap((c) => facets.get(c)[name]))];
      const order = ORDERS[name] ?? [...found].sort((a, b) => a.localeCompare(b));
      const values = order.filter((value) => found.includes(value));
      form.elements[name].append(...values.map((value) => make("option", { value }, value)));
    }
  }

  function count() {
    for (const name of Object.keys(FACETS)) {
      const rest = every.filter((c) => fits(c, name));
      for (const option of form.elements[name].options) {
        const n = rest.filter((c) => facets.get(c)[name].includes(option.value)).length;
        if (!option.value) continue;
        option.textContent = `${option.value} (${n})`;
        option.disabled = n === 0 && !option.selected;
      }
    }
  }

  function sorted() {
    const [key] = SORTS[form.elements.sort.value];
    const side = descending ? -1 : 1;
    return [...every].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === b) return place.get(one) - place.get(other);
      if (a === null || b === null) return a === null ? 1 : -1; // what is not known: last
      return side * (typeof a === "string" ? a.localeCompare(b) : a - b);
    });
  }

  const shown = () => sorted().filter((c) => fits(c));

  function arrange() {
    const key = form.elements.sort.value;
    for (const c of sorted()) {
      const about = document.getElementById(`about-${c.id}`);
      table.tBodies[0].append(rowOf.get(c), ...(about ? [about] : []));
    }
    for (const head of table.tHead.rows[0].cells) {
      if (head.dataset.sort !== key) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    }
  }

  function choose() {
    let n = 0;
    for (const c of every) {
      const fit = fits(c);
      n += fit;
      rowOf.get(c).hidden = !fit && c !== asked;
      const about = document.getElementById(`about-${c.id}`);
      if (about) about.hidden = rowOf.get(c).hidden;
    }
    const besides = asked && !fits(asked) ? ", and the one that was asked for" : "";
    const paper = form.elements.paper.value;
    const stands = paper ? ` ${paper}, over all that was tried: ${data.standings[paper]}` : "";
    const on = n === 0 ? " “Show all” forgets every choice." : "";
    taken.querySelector("[role=status]").textContent = `${n} of ${every.length} shown${besides}.${on}${stands}`;
    for (const button of taken.querySelectorAll("button")) button.disabled = n === 0;
    count();
  }

  // -- the address keeps what was chosen --------------------------------------------------

  const CHOICES = [...Object.keys(FACETS), "words"];
  const USUAL = { kind: KINDS[0] }; // what is chosen if the address does not say it

  function keep() {
    const said = new URLSearchParams();
    for (const name of CHOICES) {
      const { value } = form.elements[name];
      if (value !== (USUAL[name] ?? "")) said.set(name, value);
    }
    const key = form.elements.sort.value;
    const usual = SORTS[key][1] === descending;
    if (key !== "place" || !usual) said.set("sort", usual ? key : `-${key}`);
    const query = said.size ? `?${said}` : "";
    const hash = asked ? `#${asked.id}` : "";
    try {
      history.replaceState(null, "", `${location.pathname}${query}${hash}`);
    } catch {
      // A browser may refuse that of a page in a folder: then nothing is kept.
    }
  }

  function restore() {
    const said = new URLSearchParams(location.search);
    for (const name of CHOICES) {
      const field = form.elements[name];
      field.value = said.get(name) ?? USUAL[name] ?? "";
      if (field.selectedIndex === -1) field.value = ""; // no such choice any more
    }
    const [, turned, key] = /^(-?)(\w+)$/.exec(said.get("sort") ?? "") ?? [];
    form.elements.sort.value = Object.hasOwn(SORTS, key ?? "") ? key : "place";
    descending = SORTS[form.elements.sort.value][1] !== (turned === "-");
  }

  // -- a claim's picture ------------------------------------------------------------------

  function ticks(low, high) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
    const first = Math.ceil(low / step);
    const many = Math.floor(high / step) - first + 1;
    return Array.from({ length: many }, (_, i) => Number(((first + i) * step).toPrecision(10)));
  }

  function said(c) {
    const each = gains(c).map(([seed, gain]) => `seed ${seed} ${number(gain, c.unit, true)}`);
    const parts = [`Our gain in ${c.unit}: mean ${number(c.mean, c.unit, true)}${half(c)}`];
    parts.push(each.join(", "));
    if (c.paper_gain !== null) parts.push(`the paper’s ${number(c.paper_gain, c.unit, true)}`);
    if (c.sign === 0) parts.push(`as high is within ${c.tolerance} either way`);
    return parts.join("; ");
  }

  function forest(c, width) {
    const left = 64;
    const right = 18;
    const spread = c.half_width ?? 0;
    const all = [0, c.mean - spread, c.mean + spread, ...gains(c).map(([, gain]) => gain)];
    if (c.paper_gain !== null) all.push(c.paper_gain);
    if (c.sign === 0) all.push(-c.tolerance, c.tolerance);
    const room = 0.06 * (Math.max(...all) - Math.min(...all)) || 1;
    const [low, high] = [Math.min(...all) - room, Math.max(...all) + room];
    const x = (value) => left + ((value - low) / (high - low)) * (width - left - right);
    const svg = drawn("svg", {
      class: "fl-forest", viewBox: `0 0 ${width} 152`, role: "img", "aria-label": said(c),
    });
    const put = (...made) => svg.append(drawn(...made));
    if (c.sign === 0) {
      const wide = x(c.tolerance) - x(-c.tolerance);
      put("rect", { class: "fl-alike", x: x(-c.tolerance), y: 4, width: wide, height: 104 });
    }
    put("line", { class: "fl-axis", x1: left, x2: width - right, y1: 108, y2: 108 });
    for (const value of ticks(low, high)) {
      put("line", { class: "fl-axis", x1: x(value), x2: x(value), y1: 108, y2: 113 });
      put("text", { x: x(value), y: 127, "text-anchor": "middle" }, String(value));
    }
    put("line", { class: "fl-zero", x1: x(0), x2: x(0), y1: 4, y2: 108 });
    put("text", { x: (left + width - right) / 2, y: 146, "text-anchor": "middle" },
      `gain, A less B, in ${c.unit}`);
    if (c.paper_gain !== null) {
      const at = x(c.paper_gain);
      put("text", { x: 0, y: 24 }, "the paper");
      put("path", { class: "fl-their-mark", d: `M${at} 12l8 8l-8 8l-8-8z`, "data-paper": c.paper_gain });
    }
    put("text", { x: 0, y: 54 }, "ours");
    if (c.half_width !== null) {
      const ends = { x1: x(c.mean - spread), x2: x(c.mean + spread), y1: 50, y2: 50 };
      put("line", { class: "fl-our-line", ...ends, "data-half": spread });
    }
    put("rect", { class: "fl-our-mark", x: x(c.mean) - 5, y: 45, width: 10, height: 10, "data-mean": c.mean });
    put("text", { x: 0, y: 88 }, "seeds");
    gains(c).forEach(([seed, gain], i) => {
      // Side by side in three lines, for seeds may come to the same.
      const dot = drawn("circle", { class: "fl-seed", cx: x(gain), cy: 76 + 8 * (i % 3), r: 4 });
      dot.setAttribute("data-gain", gain);
      dot.append(drawn("title", {}, `seed ${seed}: ${number(gain, c.unit, true)}`));
      svg.append(dot);
    });
    return svg;
  }

  // -- what is behind a claim -------------------------------------------------------------

  function bySeed(c) {
    const far = c.stand_in ? " fl-apart" : "";
    const value = (v) => (v === null || v === undefined ? "–" : number(v, c.unit));
    const row = (name, kind, cells) =>
      make("tr", {}, make("th", { scope: "row" }, name),
        ...cells.map((text) => make("td", { class: kind }, text)));
    const paper = [c.a, c.b].map((side) =>
      side.paper === null ? "–" : `${number(side.paper, c.unit)}${side.spread === null ? "" : ` ± ${side.spread}`}`);
    paper.push(c.paper_gain === null ? "–" : number(c.paper_gain, c.unit, true));
    const seeds = [...new Set([...Object.keys(c.a.values), ...Object.keys(c.b.values)])];
    const found = new Map(gains(c));
    const head = ["", "A", "B", "A less B"].map((name) =>
      name ? make("th", { scope: "col" }, name) : make("td"));
    const unit = c.unit === "%" ? "In percent" : `Unit: ${c.unit}`;
    const rows = seeds.map((seed) =>
      row(`seed ${seed}`, "", [value(c.a.values[seed]), value(c.b.values[seed]),
        found.has(seed) ? number(found.get(seed), c.unit, true) : "–"]));
    const mean = (side) => {
      const both = gains(c).map(([seed]) => side.values[seed]);
      return both.length ? number(both.reduce((sum, v) => sum + v, 0) / both.length, c.unit) : "–";
    };
    if (c.mean !== null) {
      rows.push(row("our mean", "", [mean(c.a), mean(c.b), `${number(c.mean, c.unit, true)}${half(c)}`]));
    }
    return make("table", { class: "fl-table fl-cells fl-by-seed" },
      make("caption", {}, `${unit}.`), make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, row("the paper", `fl-theirs${far}`, paper), ...rows));
  }

  // What was set; of the others only what is not as in A.
  function settings(c, name) {
    const mine = c[name].constants;
    const groups = [...new Set([...Object.keys(mine), ...Object.keys(c.a.constants)])];
    const told = groups.filter((group) => name === "a" || mine[group] !== c.a.constants[group])
      .map((group) => `${group}: ${mine[group] ?? "nothing set"}`).join("; ");
    if (name === "a") return `Constants: ${told}.`;
    return told ? `Unlike A: ${told}.` : "Constants as A has them.";
  }

  function side(c, name) {
    const { row, column, table: from, methods, command } = c[name];
    const links = methods.flatMap((m, i) =>
      [i ? ", " : "", make("a", { href: `methods.html#method-${m}` }, data.methods[m])]);
    const about = make("p", {}, make("strong", {}, SIDES[name]), ": ",
      make("span", { class: "fl-theirs" }, `${row} | ${column}`), " (",
      make("code", {}, from), links.length ? "; " : "", ...links, ")");
    if (command === null) return [about];
    about.append(make("br"), make("small", {}, settings(c, name)));
    const code = make("code", {}, command);
    const copied = make("button", { type: "button", "aria-label": `Copy the command of ${SIDES[name]}` }, "Copy");
    copied.addEventListener("click", () => copy(code, copied));
    return [about, make("p", { class: "fl-command" }, code, copied)];
  }

  async function copy(code, button) {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code); // the reader's own keys then copy it
      return;
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  function link(c, text) {
    return make("a", { href: `#${c.id}` }, text);
  }

  function ran(c, before) {
    return c.ran_on ? [before, make("span", { class: "fl-ran" }, c.ran_on)] : [];
  }

  function related(c) {
    if (c.again) {
      return [make("p", {}, "A try at ", link(origin(c), "the paper’s claim"), ".")];
    }
    const tries = every.filter((t) => t.again === c.id);
    if (!tries.length) return [];
    const each = tries.map((t) => make("li", {}, link(t, t.claim), `: ${t.verdict}`, ...ran(t, " on ")));
    return [make("p", {}, "Looked for again, on other seeds, with one change each:"), make("ul", {}, ...each)];
  }

  function behind(c) {
    const word = make("a", { href: data.rule }, c.verdict);
    const there = c.stand_in && c.verdict !== data.not_run ? " on a stand-in" : "";
    const lost = c.lost ? ` (${c.lost})` : "";
    const on = c.ran_on ? [...ran(c, " Ours ran on "), "."] : [];
    const parts = [make("p", {}, word, `${there}: ${c.why}${lost}.`, ...on)];
    const lacks = c.lacks && !c.again ? `Not at every scale: ${c.lacks}. ` : "";
    const their = origin(c).paper_data;
    const theirs = their ? `The paper’s data: ${their}.` : "";
    if (lacks || theirs) parts.push(make("p", { class: "fl-theirs" }, `${lacks}${theirs}`));
    parts.push(...related(c));
    if (c.mean !== null) parts.push(make("div", { class: "fl-drawn" }));
    parts.push(bySeed(c), ...Object.keys(SIDES).filter((name) => c[name]).flatMap((name) => side(c, name)));
    const self = make("p", {}, link(c, "Link to this claim"));
    parts.push(files([c], "Download this claim:", `claim-${c.id}`), self);
    return make("div", { class: "fl-claim" }, ...parts);
  }

  let width = 0; // of a picture, measured once and not at each opening

  function measure() {
    width = Math.max(280, Math.min(640, table.clientWidth - 32));
  }

  function open(c) {
    const row = rowOf.get(c);
    const id = `about-${c.id}`;
    if (document.getElementById(id)) return;
    const inside = behind(c);
    const cell = make("td", { colspan: table.tHead.rows[0].cells.length }, inside);
    row.after(make("tr", { id, class: "fl-behind" }, cell));
    const button = row.querySelector("button");
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", id);
    inside.querySelector(".fl-drawn")?.append(forest(c, width));
  }

  function close(c) {
    document.getElementById(`about-${c.id}`)?.remove();
    const button = rowOf.get(c).querySelector("button");
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
  }

  function ask() {
    asked = byId.get(location.hash.slice(1)) ?? null;
    choose();
    if (!asked) return;
    open(asked);
    rowOf.get(asked).scrollIntoView({ block: "start", behavior: "instant" });
  }

  // -- files to take away -----------------------------------------------------------------

  const quoted = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (head, rows) => [head, ...rows].map((row) => row.map(quoted).join(",")).join("\n") + "\n";

  const COLUMNS = [
    "id", "paper", "where", "claim", "again", "unit", "paper_gain", "mean", "half_width", "seeds",
    "gap", "tolerance", "scale", "stand_in", "paper_data", "ran_on", "verdict", "why",
  ];

  function asCsv(rows) {
    if (rows.length !== 1) return csv(COLUMNS, rows.map((c) => COLUMNS.map((name) => c[name])));
    const [c] = rows;
    const seeds = [...new Set([...Object.keys(c.a.values), ...Object.keys(c.b.values)])];
    const found = new Map(gains(c));
    const about = [c.id, c.unit, c.ran_on, c.stand_in];
    return csv(["id", "unit", "ran_on", "stand_in", "seed", "a", "b", "gain"], seeds.map((seed) =>
      [...about, seed, c.a.values[seed] ?? null, c.b.values[seed] ?? null,
        found.has(seed) ? Number(found.get(seed).toPrecision(10)) : null]));
  }

  const TEX = {
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
    "±": "$\\pm$", "–": "--", "’": "'", "²": "$^2$", "₂": "$_2$",
    α: "$\\alpha$", β: "$\\beta$", γ: "$\\gamma$", λ: "$\\lambda$", ρ: "$\\rho$", σ: "$\\sigma$",
  };
  const tex = (text) =>
    text.replace(/[\\~^±–’²₂αβγλρσ]|[&%$#_{}]/g, (found) => TEX[found] ?? `\\${found}`);

  function asLatex(rows) {
    const line = (c) => {
      const what = c.again ? `${origin(c).claim} (tried: ${c.claim})` : c.claim;
      const there = c.stand_in && c.verdict !== data.not_run ? " on a stand-in" : "";
      const theirs = c.paper_gain === null ? "–" : number(c.paper_gain, c.unit, true);
      const ours = c.mean === null ? "–" : `${number(c.mean, c.unit, true)}${half(c)}`;
      const cells = [what, c.unit, theirs, ours, c.ran_on || "–", `${c.verdict}${there}`];
      return `${cells.map(tex).join(" & ")} \\\\`;
    };
    const p = (share) => `p{${share}\\linewidth}`;
    return [
      "% \\usepackage{booktabs, longtable}",
      `\\begin{longtable}{${p(0.26)}lrr${p(0.2)}${p(0.14)}}`,
      "\\toprule", "claim & unit & paper & ours & ours ran on & verdict \\\\", "\\midrule",
      "\\endhead", ...rows.map(line), "\\bottomrule", "\\end{longtable}", "",
    ].join("\n");
  }

  function asBibtex(rows) {
    const papers = new Set(rows.map((c) => origin(c).paper));
    return [...[...papers].map((paper) => data.bibtex[paper]), data.book].join("\n");
  }

  const FILES = {
    CSV: ["csv", "text/csv", asCsv],
    JSON: ["json", "application/json", (rows) => `${JSON.stringify(rows, null, 1)}\n`],
    LaTeX: ["tex", "application/x-tex", asLatex],
    BibTeX: ["bib", "application/x-bibtex", asBibtex],
  };

  function take(kind, rows, name) {
    const [ending, type, write] = FILES[kind];
    const url = URL.createObjectURL(new Blob([write(rows)], { type: `${type};charset=utf-8` }));
    const to = make("a", { href: url, download: `${name}.${ending}`, hidden: "" });
    document.body.append(to);
    to.click();
    to.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  function files(rows, label, name) {
    const buttons = Object.keys(FILES).map((kind) => {
      const button = make("button", { type: "button" }, kind);
      button.addEventListener("click", () => take(kind, rows, name));
      return button;
    });
    const group = { class: "fl-files", role: "group", "aria-label": label };
    return make("div", group, make("span", {}, label), ...buttons);
  }

  // -- what the reader does ---------------------------------------------------------------

  function sortBy(key, down) {
    form.elements.sort.value = key;
    descending = down;
    arrange();
    keep();
  }

  for (const head of table.tHead.rows[0].cells) {
    const key = head.dataset.sort;
    const button = make("button", { type: "button" }, ...head.childNodes);
    button.addEventListener("click", () => {
      const again = form.elements.sort.value === key;
      sortBy(key, again ? !descending : SORTS[key][1]);
    });
    head.append(button);
  }
  for (const c of every) {
    const says = rowOf.get(c).querySelector(".fl-says");
    const button = make("button", { type: "button", class: says.className, "aria-expanded": "false" });
    button.append(...says.childNodes);
    says.replaceWith(button);
    button.addEventListener("click", () => {
      const closing = button.getAttribute("aria-expanded") === "true";
      if (closing) close(c);
      else open(c);
      if (!closing) asked = c;
      else if (asked === c) asked = null;
      keep();
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const { name, value } = event.target;
    if (name === "sort") return sortBy(value, SORTS[value][1]);
    choose();
    keep();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault(); // to what the page has, not to what a browser remembers
    for (const name of CHOICES) form.elements[name].value = "";
    choose();
    sortBy("place", false);
  });
  for (const button of taken.querySelectorAll("button")) {
    button.addEventListener("click", () => take(button.textContent, shown(), "claims"));
  }
  addEventListener("hashchange", ask);
  addEventListener("resize", measure);
  measure();
  fill();
  restore();
  arrange();
  ask();
})();
