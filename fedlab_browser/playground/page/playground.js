// The page: what can be chosen, and pictures of what the worker has trained.

import { division, splitName } from "./federation.js";
import { get, startWorker } from "./files.js";

const CLASSES = ["#306cc0", "#d87854", "#3c7818", "#e4609c", "#6048fc", "#3c9ccc", "#e40000", "#c00c9c", "#6c84fc", "#b4546c"];
const RUNS = ["#00897b", "#a87000", "#9e5cb0", "#c05a40", "#607890", "#7a7a00"]; // no letter's
const ROWS = {
  split: "Letters are dealt", rule: "Each client trains by", weigh: "It counts by",
  server: "The server", groups: "Averaged with", personal: "For itself, it does",
};
const MEASURES = { accuracy: "all letters", own: "own letters" };
const SPEEDS = { slow: 600, steady: 120, fast: 0 };
const SVG = new Set(["svg", "rect", "path", "text", "line", "circle", "polygon", "title"]);

const make = (tag, attributes = {}, ...children) => {
  const node = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.map((c) => (typeof c === "object" ? c : String(c))));
  return node;
};
const HEIGHT = 322;
// One unit is one pixel, so that text stays as large as it is.
function sized(svg) {
  const width = svg.clientWidth || 480;
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  return width;
}
const percent = (v) => `${(100 * v).toFixed(1)} %`;
const swatch = (colour) => make("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, make("rect", { width: 10, height: 10, rx: 2, fill: colour }));
const stroke = (colour) => make("svg", { viewBox: "0 0 18 10", class: "stroke", "aria-hidden": "true" },
  make("line", { x1: 0, x2: 12, y1: 5, y2: 5, stroke: colour, "stroke-width": 3 }), make("circle", { cx: 13, cy: 5, r: 4, fill: colour }));
const entries = Object.entries;

let count = 0;

// `options`, of what is embedded elsewhere: `state`, an address; `rows`, `sliders` and
// `pictures`, which of them are shown (`full`: with every button). Without them,
// everything is, and the page's own address keeps what is chosen.
class Playground {
  constructor(root, options = {}) {
    Object.assign(this, { root, options, id: `pg${count++}`, runs: [], asked: 0, speed: "fast", measure: "accuracy" });
    this.playing = this.busy = false;
    root.classList.add("pg");
    if (this.alone) root.replaceChildren(make("p", {}, "Fetching the letters and the rules …"));
    this.worker = startWorker(options.slow ? "slow" : "");
    this.worker.onmessage = ({ data }) => this.told(data);
    this.worker.onerror = (e) => this.failed(e.message || "its script cannot be loaded");
  }

  failed(why) {
    this.play(false);
    const says = make("p", { role: "alert" }, `The playground had to stop: ${why}`);
    if (this.task) this.root.replaceChildren(says);
    else this.root.prepend(says); // what stood there before it still does
  }

  get alone() { return !("state" in this.options); } // on a page of its own, whose address it keeps

  get full() { return this.alone || this.options.full; }

  async told({ task, error, run, row, homes, band, rows }) {
    if (error) return this.failed(error);
    if (task) {
      this.task = task;
      this.state = this.usual();
      this.take(this.options.state ?? location.search);
      this.build();
      if (this.alone) {
        this.aim();
        this.listen();
      }
      return this.fresh();
    }
    if (band !== undefined) return this.banded(band, rows);
    this.busy = false;
    if (run !== this.run.number) return this.playing && this.ask(); // of a run that is over
    this.run.rows.push(row);
    this.run.homes = homes;
    this.show();
    if (!row.finite) this.said.textContent = `Round ${row.round}: the training has diverged.`;
    if (!row.finite || row.round >= this.task.rounds) this.play(false);
    else if (this.playing) this.waiting = setTimeout(() => this.ask(), SPEEDS[this.speed]);
    if (row.finite && (!this.playing || row.round % 10 === 0)) this.say();
  }

  // Where the run is, for those who do not see it.
  say() {
    const row = this.run?.rows.at(-1);
    if (row && this.said) this.said.textContent = `Round ${row.round}: accuracy ${percent(row.accuracy)}, on own letters ${percent(row.own)}.`;
  }

  // -- what is chosen -----------------------------------------------------------

  usual() {
    const first = entries(this.task.choices).map(([n, options]) => [n, Object.keys(options)[0]]);
    return Object.fromEntries([...first, ...entries(this.task.numbers).map(([n, s]) => [n, s.usual])]);
  }

  matters(name) {
    return entries(this.task.numbers[name].of).every(([choice, values]) => values.includes(this.state[choice]));
  }

  // The state as an address: what is as usual, or does not matter, is left out.
  get address() {
    const usual = this.usual(), kept = entries(this.state).filter(([n, v]) => v !== usual[n] && (n in this.task.choices || this.matters(n)));
    return kept.map(([n, v]) => `${n}=${v}`).join("&");
  }

  // Take over an address; what is not known in it is left as usual.
  take(address) {
    this.state = this.usual();
    const strange = [], has = Object.hasOwn;
    for (const [n, v] of new URLSearchParams(address)) {
      if (has(this.task.choices, n) && has(this.task.choices[n], v)) this.state[n] = v;
      else if (has(this.task.numbers, n) && v !== "" && this.task.numbers[n].stops.includes(+v)) this.state[n] = +v;
      else strange.push(`${n}=${v}`);
    }
    this.ignored = strange.join(", ");
    this.mend();
  }

  // Choices that do not go together with what was chosen last give way to the usual ones.
  mend(kept) {
    for (const pair of Object.keys(this.task.refused)) {
      const halves = pair.split("&").map((half) => half.split("="));
      if (!halves.every(([n, v]) => this.state[n] === v)) continue;
      const [loser] = halves.find(([n]) => n !== kept && n !== "rule" && n !== "groups") ?? halves[1];
      this.state[loser] = this.usual()[loser];
    }
  }

  // Why an option cannot be chosen now, and beside what.
  why(name, value) {
    for (const [pair, reason] of entries(this.task.refused)) {
      const halves = pair.split("&").map((half) => half.split("="));
      const [other] = halves.filter(([n]) => n !== name);
      if (halves.some(([n, v]) => n === name && v === value) && this.state[other[0]] === other[1]) return { reason, beside: this.task.choices[other[0]][other[1]] };
    }
  }

  get name() {
    const { state } = this, { choices, numbers } = this.task, usual = this.usual();
    const with_ = (choice) => {
      const knob = Object.keys(numbers).find((n) => n.startsWith(`${state[choice]}.`) && choice in numbers[n].of);
      return `${choices[choice][state[choice]]}${knob ? ` ${numbers[knob].name.split(", ")[1] ?? ""} ${state[knob]}` : ""}`;
    };
    const parts = [with_("rule")];
    for (const choice of ["weigh", "server", "groups", "personal"]) {
      if (state[choice] !== usual[choice]) parts.push(with_(choice));
    }
    const about = [with_("split")];
    for (const [n, s] of entries(numbers)) {
      if (!n.includes(".") && (state[n] !== s.usual || n === "alpha") && this.matters(n)) about.push(`${s.name.toLowerCase()} ${state[n]}`);
    }
    return `${parts.join(" + ")} (${about.join(", ")})`;
  }

  // A run that has begun is kept to compare with; the next one begins at round 0.
  async fresh() {
    if (this.run?.rows.length && this.run.address !== this.address) {
      this.runs.push(this.run);
      if (this.runs.length >= RUNS.length) this.dropped = this.runs.shift().name;
    }
    const taken = new Set(this.runs.map((r) => r.colour)), number = (this.run?.number ?? 0) + 1;
    this.run = { number, name: this.name, address: this.address, rows: [], begun: false, colour: RUNS.find((c) => !taken.has(c)) };
    if (this.bandButton) Object.assign(this.bandButton, { disabled: false, textContent: "Five seeds" });
    if (this.alone) history.replaceState(null, "", this.address ? `?${this.address}` : location.pathname);
    const held = await this.divided();
    if (number !== this.run.number) return; // something else was chosen meanwhile
    this.held = held;
    this.show();
    if (this.playing) this.ask();
  }

  async divided() {
    const { clients } = this.state;
    this.files ??= new Map();
    if (!this.files.has(clients)) this.files.set(clients, get(`data/splits-${clients}.json`).then((a) => a.json()));
    return division(this.task, (await this.files.get(clients))[splitName(this.state)], clients);
  }

  ask() {
    if (this.busy) return;
    this.busy = true;
    const { number, begun } = this.run;
    this.run.begun = true;
    this.worker.postMessage({ run: number, state: begun ? null : { ...this.state } });
  }

  play(on = !this.playing) {
    clearTimeout(this.waiting);
    if (on && this.run.rows.length >= this.task.rounds) this.again();
    this.playing = on;
    if (this.playButton) this.playButton.textContent = on ? "Pause" : "Play";
    if (on) this.ask();
    else this.say();
  }

  again() {
    this.fresh(); // the same choices give the same numbers: nothing to keep
  }

  // To the stories below, back and forth.
  listen() {
    addEventListener("popstate", () => this.arrive());
    addEventListener("click", (event) => {
      const link = event.target.closest?.(".pg-presets a, .pg-story a");
      if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.told_ = link.dataset.title ?? link.closest("li").dataset.title;
      history.pushState(null, "", link.href);
      this.arrive();
      this.story.scrollIntoView();
      this.playButton.focus({ preventScroll: true });
    });
  }

  arrive() {
    this.play(false);
    this.take(location.search);
    this.aim();
    this.fresh();
  }

  // The story on show: the one that was asked for, else one that begins with this state.
  get tale() {
    const told = [...document.querySelectorAll(".pg-presets li")].map((li) => ({ li, at: [...li.querySelectorAll("a")].findIndex((a) => a.search.slice(1) === this.address) }));
    const on = told.filter(({ at }) => at >= 0);
    return (on.find(({ li }) => li.dataset.title === this.told_) ?? on.find(({ at }) => at === 0) ?? on[0])?.li;
  }

  // The curve is of the letters that the story is about.
  aim() {
    this.measure = this.tale?.dataset.measure ?? "accuracy";
    for (const input of this.root.querySelectorAll(`[name=${this.id}-measure]`)) input.checked = input.value === this.measure;
  }

  choose(name, value) {
    const { rule } = this.state;
    this.state[name] = value;
    this.mend(name);
    if (rule !== this.state.rule) this.play(false);
    this.fresh();
  }

  // The same choices by every seed, one after another, beside the run on show.
  band() {
    const run = this.run, rounds = Math.max(run.rows.length, 20);
    run.band = [];
    run.banded = rounds;
    for (const seed of this.task.numbers.seed.stops) this.worker.postMessage({ band: run.number, state: { ...this.state, seed }, rounds });
    this.bandButton.disabled = true;
    this.bandButton.textContent = "Five seeds: 0 of 5";
  }

  banded(number, rows) {
    const run = [...this.runs, this.run].find((r) => r.number === number);
    if (!run?.band) return;
    run.band.push(rows);
    if (run !== this.run) return this.showCurve();
    const many = this.task.numbers.seed.stops.length, over = run.band.length === many;
    this.bandButton.textContent = over ? "Five seeds" : `Five seeds: ${run.band.length} of ${many}`;
    if (over) {
      this.bandButton.disabled = false;
      const last = run.band.map((r) => r.at(-1).accuracy), mean = last.reduce((a, b) => a + b) / many;
      this.said.textContent = `Five seeds, round ${rows.length}: mean accuracy ${percent(mean)}, from ${percent(Math.min(...last))} to ${percent(Math.max(...last))}.`;
    }
    this.showCurve();
  }

  // -- the page -----------------------------------------------------------------

  build() {
    const { options, task } = this, shows = (list, name) => !list || list.includes(name);
    this.playButton = make("button", { class: "pg-play", type: "button", onclick: () => this.play() }, "Play");
    const button = (text, onclick) => make("button", { type: "button", onclick }, text);
    const bar = [this.playButton, button("One round", () => { this.play(false); this.ask(); }), button("Begin again", () => { this.play(false); this.again(); })];
    this.bandButton = button("Five seeds", () => this.band());
    if (this.full) {
      bar.push(button("Divide anew", () => this.choose("draw", (this.state.draw + 1) % task.numbers.draw.stops.length)), this.bandButton, this.speeds());
    }
    this.now = make("span", { class: "pg-now" });
    this.said = make("p", { class: "pg-said", role: "status" });
    this.rows = make("div", { class: "pg-choices" });
    for (const [name, label] of entries(ROWS)) {
      if (!shows(options.rows, name)) continue;
      const inside = entries(task.choices[name]).map(([value, text]) => make("label", {},
        make("input", { type: "radio", name: `${this.id}-${name}`, value, onchange: () => this.choose(name, value) }), text));
      this.rows.append(make("fieldset", { "data-of": name }, make("legend", {}, label), make("div", { class: "pg-options" }, ...inside, make("small"))));
    }
    this.sliders = make("div", { class: "pg-sliders" });
    for (const [name, s] of entries(task.numbers)) {
      if (name === "draw" || name === "seed" || !shows(options.sliders, name)) continue;
      const input = make("input", { type: "range", min: 0, max: s.stops.length - 1, step: 1 });
      input.addEventListener("input", () => this.choose(name, s.stops[+input.value]));
      this.sliders.append(make("label", { "data-of": name }, make("span", {}, s.name), make("output"), input));
    }
    const picture = (label) => make("svg", { role: "img", "aria-label": label });
    this.pictures = { clients: picture("Clients"), plane: picture("Their moves"), curve: picture("Accuracy by round") };
    const key = make("ul", { class: "pg-key" }, ...task.classes.map((c, i) => make("li", {}, swatch(CLASSES[i]), c)));
    this.list = make("ul", { class: "pg-runs" });
    [this.cancelled, this.learnt] = [1, 2].map(() => make("p", { class: "pg-note" }));
    const head = (text) => make("div", { class: "pg-head" }, make("h3", {}, text));
    const figures = {
      clients: () => [head("What each holds, and counts"), this.pictures.clients, key, this.learnt],
      plane: () => [head("Where the models went this round"), this.pictures.plane, this.cancelled],
      curve: () => [this.measures(), this.pictures.curve, this.list],
    };
    const shown = entries(figures).filter(([name]) => shows(options.pictures, name));
    const around = make("div", { class: "pg-pictures" }, ...shown.map(([, inside]) => make("figure", {}, ...inside())));
    this.story = make("p", { class: "pg-story", hidden: true });
    this.root.replaceChildren(this.rows, this.sliders, this.story, make("div", { class: "pg-bar" }, ...bar, this.now), this.said, around);
    if (this.full) this.root.append(...this.about());
    new ResizeObserver(() => this.held && this.show()).observe(this.root);
  }

  speeds() {
    return make("div", { class: "pg-options", role: "radiogroup", "aria-label": "Speed" },
      ...Object.keys(SPEEDS).map((name) => make("label", {}, make("input", { type: "radio", name: `${this.id}-speed`, checked: name === this.speed, onchange: () => { this.speed = name; } }), name)));
  }

  measures() {
    return make("div", { class: "pg-head" }, make("h3", {}, "Accuracy on"), make("div", { class: "pg-options", role: "radiogroup", "aria-label": "Accuracy on" },
      ...entries(MEASURES).map(([id, label]) => make("label", {}, make("input", {
        type: "radio", name: `${this.id}-measure`, value: id, checked: this.measure === id, onchange: () => { this.measure = id; this.show(); } }), label))));
  }

  about() {
    const { task } = this;
    const about = make("p", { class: "pg-note" }, `Up to ${task.train} letters to learn from, ${task.test} to test on, ${task.y_proxy.length} that only a server has, a network of ${task.parameters.toLocaleString("en")} numbers, mini-batches of ${task.batch}. Accuracy is the mean over the clients, each with the model that it is given: on all test letters, or on letters as often as the client has them.`);
    if (!this.alone) return [about];
    this.command = make("code");
    const copy = make("button", { type: "button", onclick: () => navigator.clipboard?.writeText(this.command.textContent).then(() => { this.said.textContent = "Copied."; }) }, "Copy");
    return [
      about,
      make("p", {}, "The same numbers, to 0.00001, come from the core on your machine:"),
      make("div", { class: "pg-code" }, make("pre", { tabindex: 0 }, this.command), copy),
    ];
  }

  show() {
    const { state, task } = this;
    for (const row of this.rows.children) {
      const name = row.dataset.of;
      const beside = new Set();
      for (const input of row.querySelectorAll("input")) {
        const why = this.why(name, input.value);
        input.checked = state[name] === input.value;
        input.disabled = !!why && !input.checked;
        input.parentElement.title = why?.reason ?? "";
        if (input.disabled) beside.add(why.beside);
      }
      const struck = beside.size ? `What is struck out does not go with ${[...beside].join(" or ")}.` : "";
      row.querySelector("small").textContent = [task.says[name][state[name]], struck].filter(Boolean).join(" · ");
    }
    for (const label of this.sliders.children) {
      const name = label.dataset.of, [output, input] = [label.querySelector("output"), label.querySelector("input")];
      label.hidden = !this.matters(name);
      output.textContent = this.reads(name);
      input.value = task.numbers[name].stops.indexOf(state[name]);
      input.setAttribute("aria-valuetext", this.reads(name));
    }
    const last = this.run.rows.at(-1);
    this.now.replaceChildren("Round ", make("b", {}, last?.round ?? 0), ` on ${MEASURES[this.measure]} `, make("b", {}, last ? percent(last[this.measure]) : "–"));
    if (this.command) {
      const state_ = this.address ? ` "${this.address}"` : "";
      this.command.textContent = `python -m fedlab_core play${state_}${last ? ` --rounds ${last.round}` : ""}`;
    }
    if (this.alone) this.showStory();
    this.showClients(last);
    this.showPlane(last);
    this.showCurve();
  }

  // What a story says stands beside Play while it is on, with the way to its other half.
  showStory() {
    const li = this.tale, story = li && { li, links: [...li.querySelectorAll("a")] };
    for (const one of document.querySelectorAll(".pg-presets li")) one.toggleAttribute("aria-current", one === li);
    this.story.hidden = !story && !this.ignored;
    if (!story) return this.story.replaceChildren(this.ignored ? `Not known, and left as usual: ${this.ignored}.` : "");
    const [first, beside] = story.links, here = first.search.slice(1) === this.address, other = here ? beside : first;
    const link = make("a", { href: other.href, "data-title": story.li.dataset.title }, here ? beside.textContent : `Back to: ${first.textContent}`);
    this.story.replaceChildren(make("b", {}, first.textContent), ` ${story.li.querySelector("span").textContent} `, link);
  }

  reads(name) {
    const value = this.state[name], { clients } = this.state;
    if (name === "present") return `${Math.max(1, Math.round(value * clients))} of ${clients}`;
    if (name === "alpha") return `${value}, ${value < 0.2 ? "strong" : value < 2 ? "some" : value < 50 ? "little" : "hardly any"}`;
    return String(value);
  }

  showClients(last) {
    const svg = this.pictures.clients;
    if (!svg.isConnected || !this.held) return;
    const { counts, wrong } = this.held, n = counts.length, left = 62, wide = (sized(svg) - left) / n, parts = [];
    const sizes = counts.map((c) => c.reduce((a, b) => a + b, 0)), most = Math.max(...sizes);
    const label = (y, ...lines) => lines.forEach((line, i) => parts.push(make("text", { x: 0, y: y + 14 * i, class: i ? "quiet" : "" }, line)));
    label(70, "letters", "it has");
    const learnt = last?.learnt.length > 0;
    label(learnt ? 181 : 188, "weight", ...(learnt ? ["learnt"] : []), "— by size");
    this.learnt.textContent = learnt ? this.gammas(last.learnt) : "";
    label(268, "accuracy", "its letters");
    const homes = this.run.homes ?? counts.map(() => 0), weights = counts.map((_, k) => last?.clients[k].weight);
    const shares = sizes.map((size, k) => size / sizes.reduce((sum, m, j) => sum + (homes[j] === homes[k] ? m : 0), 0));
    const top = Math.max(0.2, ...weights.filter((w) => w !== undefined), ...shares);
    counts.forEach((count, k) => {
      const x = left + k * wide + 3, w = wide - 6;
      let y = 140;
      count.forEach((m, c) => {
        const h = (128 * m) / most;
        if (m) parts.push(make("rect", { x, y: (y -= h), width: w, height: h, fill: CLASSES[c] }));
      });
      if (k === wrong) parts.push(make("text", { x: x + w / 2, y: y - 5, "text-anchor": "middle" }, "wrong"));
      parts.push(make("text", { x: x + w / 2, y: 154, "text-anchor": "middle", class: "quiet" }, sizes[k]));
      parts.push(make("rect", { x, y: 168, width: w, height: 50, class: "track" }));
      if (weights[k] !== undefined) {
        const h = (50 * weights[k]) / top;
        parts.push(make("rect", { x, y: 218 - h, width: w, height: h, class: learnt ? "bar learnt" : "bar" }));
      }
      const mark = 218 - (50 * shares[k]) / top;
      parts.push(make("line", { x1: x - 2, x2: x + w + 2, y1: mark, y2: mark, class: "mark" }));
      parts.push(make("rect", { x, y: 244, width: w, height: 50, class: "track" }));
      if (last) {
        const h = 50 * last.clients[k].own;
        parts.push(make("rect", { x, y: 294 - h, width: w, height: h, class: "bar" }));
        parts.push(make("text", { x: x + w / 2, y: 308, "text-anchor": "middle", class: "quiet" }, Math.round(100 * last.clients[k].own)));
      }
      const group = this.state.groups === "everyone" || this.state.groups === "nobody" || !this.run.homes ? "" : "ABCDEFGHIJ"[homes[k]];
      parts.push(make("text", { x: x + w / 2, y: 322, "text-anchor": "middle" }, `${k + 1}${group}`));
    });
    label(322, "client");
    svg.replaceChildren(...parts);
    const says = (k) => {
      const weight = weights[k] === undefined ? (last ? ", not there this round" : "") : `, ${learnt ? "learnt weight" : "weight"} ${percent(weights[k])}`;
      return `client ${k + 1}: ${sizes[k]} letters${k === wrong ? ", wrong labels" : ""}${weight}${last ? `, accuracy on its own ${percent(last.clients[k].own)}` : ""}`;
    };
    svg.setAttribute("aria-label", `Clients, their letters by class, their weights and accuracies. ${learnt ? `${this.learnt.textContent} ` : ""}${counts.map((_, k) => says(k)).join("; ")}.`);
  }

  // What a server has learnt besides the weights.
  gammas(found) {
    const said = found.map(({ g, gamma }) => gamma.toFixed(3) + (found.length > 1 ? ` (${"ABCDEFGHIJ"[g]})` : ""));
    return `The server has learnt these weights on letters of its own, and by what to multiply their sum: γ = ${said.join(", ")}.`;
  }

  // Every client's move in the plane of their two first directions, and the average's.
  showPlane(last) {
    const svg = this.pictures.plane;
    if (!svg.isConnected) return;
    const width = sized(svg), parts = [], middle = [width / 2, HEIGHT / 2];
    const wide = "Drawn is the plane in which the ways differ most; its bar shows the scale.";
    this.cancelled.textContent = last ? `${this.said_(last.plane)} ${wide}` : "Press Play: an arrow is a client’s way from the model it was sent to the model it sends back, the thick one what the server made of them.";
    if (!last) {
      svg.replaceChildren(make("circle", { cx: middle[0], cy: middle[1], r: 4, class: "begin" }));
      svg.setAttribute("aria-label", "The models, before any has moved.");
      return;
    }
    const { clients, servers } = last.plane, every = [...clients, ...servers].flatMap(({ at }) => at.map(Math.abs));
    const scale = (Math.min(width, HEIGHT) / 2 - 18) / Math.max(...every, 1e-9);
    const to = ([x, y = 0]) => [middle[0] + scale * x, middle[1] - scale * y];
    for (const { at } of clients) {
      const [x, y] = to(at);
      parts.push(make("line", { x1: middle[0], y1: middle[1], x2: x, y2: y, class: "way" }));
    }
    for (const { k, at } of clients) {
      const [x, y] = to(at);
      parts.push(make("circle", { cx: x, cy: y, r: 9, class: "client" }), make("text", { x, y: y + 4, "text-anchor": "middle" }, k + 1));
    }
    for (const { at } of servers) {
      const [x, y] = to(at);
      parts.push(make("line", { x1: middle[0], y1: middle[1], x2: x, y2: y, class: "mean" }), make("circle", { cx: x, cy: y, r: 6, class: "meanend" }));
    }
    parts.push(make("circle", { cx: middle[0], cy: middle[1], r: 4, class: "begin" }), ...this.ruler(scale));
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", `The clients’ moves in this round, and what became of them. ${this.said_(last.plane)}`);
  }

  // How long an arrow is: the scale follows the longest of a round.
  ruler(scale) {
    const most = 90 / scale, ten = 10 ** Math.floor(Math.log10(most)), length = [5, 2, 1].find((n) => n * ten <= most) * ten;
    const x = 8, y = HEIGHT - 8, end = x + scale * length;
    return [make("path", { d: `M${x} ${y - 4}V${y}H${end}V${y - 4}`, class: "ruler" }), make("text", { x: end + 6, y, class: "quiet" }, +length.toPrecision(1))];
  }

  said_({ walked, left, servers }) {
    if (this.state.groups === "nobody") return `A client moved ${walked.toFixed(2)} on average, and nobody is averaged: each goes its own way.`;
    const whose = servers.length > 1 ? " in its coalition" : "";
    return `A client moved ${walked.toFixed(2)} on average. Of their ways, added up${whose}, ${Math.round(100 * left)} % are left (thick): the rest pointed apart and cancelled.`;
  }

  showCurve() {
    const svg = this.pictures.curve;
    if (!svg.isConnected) return;
    const left = 34, right = sized(svg) - 10, top = 8, bottom = 296, runs = [...this.runs, this.run], parts = [];
    const rounds = 10 * Math.ceil(Math.max(20, ...runs.map((r) => Math.max(r.rows.length, r.banded ?? 0))) / 10);
    const x = (t) => left + ((right - left) * t) / rounds, y = (v) => bottom - (bottom - top) * v;
    for (const v of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      parts.push(make("line", { x1: left, x2: right, y1: y(v), y2: y(v), class: "grid" }));
      parts.push(make("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end", class: "quiet" }, Math.round(100 * v)));
    }
    for (let t = 0; t <= rounds; t += 10) parts.push(make("text", { x: x(t), y: bottom + 18, "text-anchor": "middle", class: "quiet" }, t || "round 0"));
    const point = (t, v) => `${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
    for (const run of runs.filter((r) => r.band?.length > 1)) {
      const along = run.band[0].map((_, t) => run.band.map((rows) => rows[t][this.measure]));
      const edge = [...along.map((v, t) => point(t + 1, Math.max(...v))), ...along.map((v, t) => point(t + 1, Math.min(...v))).reverse()];
      parts.push(make("polygon", { points: edge.join(" "), fill: run.colour, class: "band" }));
    }
    for (const run of runs.filter((r) => r.rows.length)) {
      const now = run === this.run, end = run.rows.at(-1);
      const d = `M${run.rows.map((r) => point(r.round, r[this.measure])).join("L")}`;
      parts.push(make("path", { d, stroke: run.colour, class: now ? "run now" : "run" }));
      parts.push(make("circle", { cx: x(end.round), cy: y(end[this.measure]), r: now ? 4.5 : 3, fill: run.colour }));
    }
    svg.replaceChildren(...parts);
    const said = (run) => {
      const last = run.band?.map((rows) => rows.at(-1)[this.measure]) ?? [];
      const five = last.length === 5 ? `; five seeds: ${percent(last.reduce((a, b) => a + b) / 5)} (${percent(Math.min(...last))} to ${percent(Math.max(...last))})` : "";
      const end = run.rows.at(-1);
      return `${run.name}: ${end ? `${percent(end[this.measure])} after ${end.round} round${end.round === 1 ? "" : "s"}` : "not begun"}${five}`;
    };
    svg.setAttribute("aria-label", `Accuracy by round. ${runs.map(said).join("; ")}.`);
    this.list.replaceChildren(...runs.toReversed().map((run) => make("li", {}, stroke(run.colour), make("span", {}, said(run)),
      ...(run === this.run ? [] : [make("button", { type: "button", "aria-label": `Forget ${run.name}`, onclick: () => this.forget(run) }, "×")]))));
    if (this.dropped) this.list.append(make("li", { class: "quiet" }, `${RUNS.length} runs have room: the oldest is gone, ${this.dropped}.`));
  }

  // Its button goes with the run; the keys go on from the next one, or from Play.
  forget(run) {
    const buttons = () => [...this.list.querySelectorAll("button")], at = this.runs.toReversed().indexOf(run);
    this.runs = this.runs.filter((r) => r !== run);
    this.dropped = undefined;
    this.showCurve();
    (buttons()[at] ?? buttons().at(-1) ?? this.playButton).focus();
  }
}

// What stands in `root` is shown until the playground is there, and if it cannot be.
export function begin(root) {
  root.playground ??= new Playground(root, JSON.parse(root.dataset.playground || "{}"));
}
