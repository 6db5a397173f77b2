// The page: what can be chosen, what the worker has trained, and what is seen in it.

import { division, roundsOf, splitName } from "./federation.js";
import { get, startWorker } from "./files.js";
import { curve, GROUPS, key, letters, make, percent, plane, reachOf, RUNS, strip, stroke, watch } from "./pictures.js";

const ROWS = {
  split: "Letters are dealt", weigh: "Each counts by", rule: "Each client trains by", pace: "Between rounds, by",
  server: "The server", groups: "Averaged with", personal: "For itself, it does",
};
const FRONT = ["split", "weigh"], NEAR = ["alpha", "rho", "ratio", "epochs", "steps"]; // before "More"
const MEASURES = {
  accuracy: "accuracy, all letters", own: "accuracy, own letters", left: "how much of the updates is left",
  agreement: "agreement of the updates", walked: "length of an update", weight: "the largest weight", sum: "the weights’ sum, γ",
  letters: "each letter, by rounds", // a picture of its own
};
const PLAIN = ["accuracy", "own", "left"]; // the choice in a chapter
const FOR_BOTH = new Set(["split", "alpha", "rho", "ratio", "clients", "draw", "seed"]); // of two side by side: who holds what, and the seed
const PHRASES = { weigh: "counts by", pace: "meets by", server: "server:", groups: "averaged with", personal: "for itself:" };
const ODD = { "weigh=equal": "counts equally", "weigh=last": "counts one by hand", "groups=chosen": "averaged as I tick" };
const SHARES = new Set(["accuracy", "own", "letters", "left", "agreement", "weight"]); // in per cent
// Milliseconds between rounds, for all of them at most, and between pictures at least.
const SPEEDS = ["watch", "fast"], PAUSE = 660, WATCHED = 20_000, DRAWN = 80;
const STOPS = [20, 40, 60]; // rounds at which Play pauses
const CHECKED = 5; // rounds whose mean a story compares
// What to try on the page of its own.
const GOAL = { says: "Get above 55 % on all letters with these ten clients", above: 0.55, keep: { split: "dirichlet", alpha: 0.5, clients: 10 } };

const entries = Object.entries;
const average = (values) => values.reduce((a, b) => a + b, 0) / Math.max(values.length, 1);
// Half of Student's 95 % interval of the mean of five: with four degrees of freedom, its
// quantile has a closed form.
const within = (values) => {
  const root = Math.sqrt(1 - 0.95 ** 2), quantile = 2 * Math.sqrt(Math.cos(Math.acos(root) / 3) / root - 1), middle = average(values);
  return quantile * Math.sqrt(values.reduce((sum, v) => sum + (v - middle) ** 2, 0) / (values.length - 1) / values.length);
};
const passed = (run, row) => row.round * (run.state.pace === "steps" ? run.state.steps : 1); // steps, or rounds
const points = (by) => (Math.abs(by) < 0.0005 ? "the same" : `${Math.abs(100 * by).toFixed(1)} points ${by > 0 ? "more" : "less"}`);
const valueOf = (row, measure) => (measure === "letters" ? row.accuracy : row[measure] ?? row.plane[measure]);

let count = 0;

// `options`, of what is embedded elsewhere: `state`, an address; `rows`, `sliders` and
// `pictures`, which of them are shown (`full`: with every button); `measure`, of the
// curve; `until`, where Play pauses; `names`, rows of names for several choices at once; `pooled`: with all letters in one place beside it;
// `beside`: {name: value}, in which a second federation is other; `seeds`: with five;
// `goal`: {says, above or below, measure, keep, than, from, by}. Without them, everything is
// shown, and the page's own address keeps what is chosen.
class Playground {
  constructor(root, options = {}) {
    Object.assign(this, { root, options, id: `pg${count++}`, runs: [], speed: "watch", measure: options.measure ?? "accuracy" });
    Object.assign(this, { until: options.until ?? STOPS[0], reach: 0, playing: false, busy: false, clicks: 0, pooled: !!options.pooled, other: options.beside ?? null, both: false });
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

  // Those that train now: one, or two side by side.
  get pair() { return [this.run, this.second].filter(Boolean); }

  get most() { return roundsOf(this.task, this.state); }

  told({ task, error, run, played, band, pooled, rows }) {
    if (error) return this.failed(error);
    if (task) {
      this.task = task;
      this.take(this.options.state ?? location.search);
      this.goal = this.options.goal ?? (this.alone ? GOAL : null);
      this.build();
      if (this.alone) {
        this.aim();
        this.listen();
      }
      return this.fresh();
    }
    if (band !== undefined) return this.banded(band, rows);
    if (pooled !== undefined) return this.onePlace(pooled, rows);
    this.busy = false;
    if (run !== this.run.number) return (this.playing || this.clicks-- > 0) && this.ask(); // of a run that is over
    const { pair } = this;
    for (const { place, row, homes } of played.filter(({ place }) => pair[place])) {
      pair[place].rows.push({ ...row, at: performance.now() });
      pair[place].homes = homes;
      this.reach = Math.max(this.reach, reachOf(row));
    }
    const many = this.run.rows.length, lost = pair.find((one) => one.rows.at(-1)?.finite === false);
    if (lost || pair.every((one) => this.over(one)) || (many >= this.until && this.run.address === this.address)) this.play(false);
    else if (this.playing ? this.speed === "fast" : this.clicks-- > 0) this.ask();
    else if (this.playing) this.waiting = setTimeout(() => this.ask(), Math.min(PAUSE, WATCHED / Math.min(this.until, this.most)));
    if (!this.playing || !(performance.now() < this.next)) this.drawing ??= requestAnimationFrame((now) => {
      Object.assign(this, { drawing: undefined, next: now + DRAWN });
      if (this.run.rows.length) this.show();
    });
    if (lost) this.said.textContent = `Round ${lost.rows.length}: the training has diverged.`;
    else if (!this.playing || many % 10 === 0) this.say();
  }

  over(run) { return run.rows.length >= roundsOf(this.task, run.state) || run.rows.at(-1)?.finite === false; }

  // A round as it is counted: where all have steps, in steps.
  along(run, t) { return [...this.runs, ...this.pair].every((r) => r.state.pace === "steps") ? t * run.state.steps : t; }

  // Places of those that are furthest behind: two are played in step.
  get due() {
    const { pair } = this, at = (one) => (this.over(one) ? Infinity : this.along(one, one.rows.length)), least = Math.min(...pair.map(at));
    return pair.flatMap((one, place) => (at(one) === least && least < Infinity ? [place] : []));
  }

  say() {
    const row = this.run?.rows.at(-1);
    if (row && this.said) this.said.textContent = `Round ${row.round}: accuracy ${percent(row.accuracy)}, on own letters ${percent(row.own)}.${this.second ? ` ${this.versus()}` : ""}`;
  }


  usual() {
    const first = entries(this.task.choices).map(([n, options]) => [n, Object.keys(options)[0]]);
    return Object.fromEntries([...first, ...entries(this.task.numbers).map(([n, s]) => [n, s.usual])]);
  }

  matters(name, state = this.state) {
    return entries(this.task.numbers[name].of).every(([choice, values]) => values.includes(state[choice]));
  }

  // A state as an address: what is as usual, or does not matter, is left out.
  said_(state) {
    const usual = this.usual();
    return entries(state).filter(([n, v]) => v !== usual[n] && (n in this.task.choices || this.matters(n, state))).map(([n, v]) => `${n}=${v}`).join("&");
  }

  get address() { return this.said_(this.state); }

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

  mend(kept, state = this.state) {
    for (const pair of Object.keys(this.task.refused)) {
      const halves = pair.split("&").map((half) => half.split("="));
      if (!halves.every(([n, v]) => state[n] === v)) continue;
      const [loser] = halves.find(([n]) => n !== kept && n !== "rule" && n !== "groups") ?? halves[1];
      state[loser] = this.usual()[loser];
    }
    return state;
  }

  // Why an option cannot be chosen now, and beside what.
  why(name, value) {
    for (const [pair, reason] of entries(this.task.refused)) {
      const halves = pair.split("&").map((half) => half.split("="));
      const [other] = halves.filter(([n]) => n !== name);
      if (halves.some(([n, v]) => n === name && v === value) && this.state[other[0]] === other[1]) return { reason, beside: this.task.choices[other[0]][other[1]] };
    }
  }

  named(state) {
    const { choices, numbers } = this.task, usual = this.usual();
    const with_ = (choice) => {
      const knob = Object.keys(numbers).find((n) => n.startsWith(`${state[choice]}.`) && choice in numbers[n].of);
      return `${choices[choice][state[choice]]}${knob ? ` ${numbers[knob].name.split(", ")[1] ?? ""} ${this.reads(knob, state)}` : ""}`;
    };
    const parts = [state.rule === "fedavg" ? "FedAvg" : with_("rule")];
    for (const choice of ["weigh", "server", "groups", "personal"]) {
      if (state[choice] !== usual[choice]) parts.push(ODD[`${choice}=${state[choice]}`] ?? `${PHRASES[choice]} ${with_(choice)}`);
    }
    const about = [with_("split")];
    for (const [n, s] of entries(numbers)) {
      if (!n.includes(".") && (state[n] !== s.usual || n === "alpha") && this.matters(n, state)) about.push(`${s.name.toLowerCase()} ${this.reads(n, state)}`);
    }
    return `${parts.join(", ")} (${about.join(", ")})`;
  }

  // In what two states differ, in words: of the one, and of the other.
  apart(...states) {
    const { choices, numbers } = this.task, differ = Object.keys(states[0]).filter((n) => states[0][n] !== states[1][n]);
    const words = (n, s) => ODD[`${n}=${s[n]}`] ?? (n in choices ? `${PHRASES[n] ?? ""} ${choices[n][s[n]]}`.trim() : `${numbers[n].name.toLowerCase()} ${this.reads(n, s)}`);
    const told = states.map((s) => differ.filter((n) => n in choices || this.matters(n, s)).map((n) => words(n, s)).join(", "));
    return told[0] === told[1] ? ["the first", "the second, the same"] : told.map((one) => one || "without");
  }

  // What was begun is kept to compare with; a run of the same choices takes its place.
  async fresh() {
    const { address } = this, number = (this.run?.number ?? 0) + 2, known = [...this.runs, ...this.pair];
    if (this.other) this.runs = [];
    else if ((this.run?.rows.length || this.run?.band) && this.run.address !== address) {
      this.runs.push(this.run);
      if (this.runs.length >= RUNS.length) this.dropped = this.runs.shift().name;
    }
    this.runs = this.runs.filter((r) => r.address !== address);
    const taken = new Set(this.runs.map((r) => r.colour)), free = RUNS.find((c) => !taken.has(c));
    const begin = (state, number_, colour) => {
      const at = this.said_(state), { band, banded, asked } = known.find((r) => r.address === at && r.band) ?? {};
      return { number: number_, name: this.named(state), address: at, state, rows: [], begun: false, colour, ...(band && { band, banded, asked }) };
    };
    this.run = begin({ ...this.state }, number, this.other ? RUNS[0] : known.find((r) => r.address === address)?.colour ?? free);
    this.second = this.other && begin(this.mend("", { ...this.state, ...this.other }), number + 1, RUNS[1]);
    this.clicks = 0;
    this.nameBoth();
    if (this.bandButton) Object.assign(this.bandButton, { disabled: false, textContent: "Five seeds" });
    if (this.alone) history.replaceState(null, "", address ? `?${address}` : location.pathname);
    const held = await this.divided();
    if (number !== this.run.number) return; // something else was chosen meanwhile
    this.held = held;
    if (this.pooled) this.askOnePlace();
    this.show();
    if (this.playing) this.ask();
  }

  async divided() {
    const { clients } = this.state;
    this.files ??= new Map();
    if (!this.files.has(clients)) this.files.set(clients, get(`data/splits-${clients}.json`).then((a) => a.json()));
    return division(this.task, (await this.files.get(clients))[splitName(this.task, this.state)], clients);
  }

  ask() {
    const { due, run } = this;
    if (this.busy || !due.length) return;
    Object.assign(this, { busy: true, clicks: Math.max(this.clicks, 0) });
    this.worker.postMessage({ run: run.number, due, states: run.begun ? null : this.pair.map(({ state }) => state) });
    run.begun = true;
  }

  // What is chosen now is pinned as a second federation, or that is let go.
  compare(on = !this.other) {
    this.play(false);
    Object.assign(this, { other: on ? {} : null, both: false });
    if (on && this.measure === "letters") this.measured.value = this.measure = "accuracy"; // there is one of them
    if (on) return this.fresh();
    if (this.second.rows.length) this.runs.push(this.second);
    this.second = null;
    this.nameBoth();
    this.show();
  }

  // How the two differ is their names.
  nameBoth() {
    const { second } = this, names = second ? this.apart(this.run.state, second.state) : [];
    this.pair.forEach((run, i) => { run.short = names[i]; });
    const tag = (run) => make("span", {}, stroke(run.colour), run.short);
    this.tags.forEach((p, i) => {
      p.hidden = !second;
      p.replaceChildren(...(!second ? [] : i < 2 ? [tag(this.pair[i])] : this.pair.map(tag)));
    });
    this.pictures.planes[1].toggleAttribute("hidden", !second);
    this.stage.classList.toggle("two", !!second);
    for (const option of this.measured?.options ?? []) option.disabled = option.value === "letters" && !!second;
    if (!this.compares) return;
    this.compares.setAttribute("aria-pressed", !!second);
    this.switch.hidden = !second;
    this.switch.firstChild.checked = this.both;
  }

  play(on = !this.playing) {
    clearTimeout(this.waiting);
    const many = this.run?.rows.length;
    if (on && this.pair.every((run) => this.over(run))) this.again();
    else if (on && many >= this.until) this.stopAt(STOPS.find((n) => n > many) ?? this.most);
    this.playing = on;
    if (this.playButton) this.playButton.textContent = on ? "Pause" : "Play";
    if (on) this.clicks = 0;
    if (on) this.ask();
    else this.say();
  }

  stopAt(round) {
    this.until = round;
    const { stopsAt } = this;
    if (stopsAt && ![...stopsAt.options].some((o) => +o.value === round)) stopsAt.prepend(make("option", { value: round }, `to round ${round}`));
    if (stopsAt) stopsAt.value = round;
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
      const title = link.dataset.title ?? link.closest("li").dataset.title;
      if (title !== this.told_) Object.assign(this, { reach: 0, runs: [], other: null, second: null, run: { number: this.run.number, state: {}, rows: [] } }); // a story's own curves, and lengths that compare
      this.told_ = title;
      history.pushState(null, "", link.href);
      this.arrive();
      this.root.scrollIntoView();
      this.playButton.focus({ preventScroll: true });
    });
  }

  arrive() {
    this.play(false);
    this.other = null;
    this.take(location.search);
    this.aim();
    this.fresh();
  }

  // The story on show.
  get tale() {
    if (this.other) return undefined;
    const told = [...document.querySelectorAll(".pg-presets li")].map((li) => ({ li, at: [...li.querySelectorAll("a")].findIndex((a) => a.search.slice(1) === this.address) }));
    const on = told.filter(({ at }) => at >= 0);
    return (on.find(({ li }) => li.dataset.title === this.told_) ?? on.find(({ at }) => at === 0 && this.address))?.li;
  }

  // The curve is of what the story compares, and Play pauses where it does.
  aim() {
    const { tale } = this;
    this.measure = tale?.dataset.measure ?? "accuracy";
    this.stopAt(+(tale?.dataset.rounds ?? STOPS[0]));
    if (this.measured) this.measured.value = this.measure;
  }

  choose(name, value, also = {}) {
    const { rule } = this.state, was = this.second?.state, differs = ([n, v]) => v !== this.state[n] && !FOR_BOTH.has(n);
    Object.assign(this.state, also, { [name]: value });
    this.mend(name);
    if (this.compares && this.both) delete this.other[name];
    else if (this.compares && was) this.other = Object.fromEntries(entries(was).filter(differs)); // it is left as it was
    if (name === "split" || name === "clients" || name === "draw") this.reach = 0;
    if (rule !== this.state.rule) this.play(false);
    this.fresh();
  }

  band() {
    const many = Math.max(this.run.rows.length, 20);
    for (const run of this.pair) {
      const most = roundsOf(this.task, run.state);
      Object.assign(run, { band: [], banded: run.state.pace === "steps" ? most : Math.min(many, most), asked: run.number });
    }
    for (const seed of this.task.numbers.seed.stops) {
      for (const run of this.pair) this.worker.postMessage({ band: run.asked, state: { ...run.state, seed }, rounds: run.banded });
    }
    this.bandButton.disabled = true;
    this.bandButton.textContent = "Five seeds: 0 of 5";
  }

  banded(number, rows) {
    const run = [...this.runs, ...this.pair].find((r) => r.asked === number);
    if (!run?.band) return;
    run.band.push(rows);
    const many = this.task.numbers.seed.stops.length, done = Math.min(...this.pair.map((r) => r.band?.length ?? 0)), over = done === many;
    if (this.pair.includes(run)) {
      this.bandButton.textContent = over ? "Five seeds" : `Five seeds: ${done} of ${many}`;
      this.bandButton.disabled = !over;
    }
    if (this.pair.includes(run) && over) {
      this.said.textContent = this.five();
      this.showSeen(this.run.rows.at(-1));
    }
    this.showCurve();
  }

  five() {
    const many = this.task.numbers.seed.stops.length, { pair } = this;
    if (!pair.every(({ band }) => band?.length === many)) return "";
    const own = this.measure === "own", ends = pair.map(({ band }) => band.map((rows) => rows.at(-1)[own ? "own" : "accuracy"])), [mine, others] = ends;
    const [from, to] = [Math.min(...mine), Math.max(...mine)].map(percent), at = `Five seeds, round ${[...new Set(pair.map(({ banded }) => banded))].join(" and ")}:`;
    if (!others) return `${at} mean accuracy${own ? " on own letters" : ""} ${percent(average(mine))}, from ${from} to ${to}.`;
    const by = mine.map((v, i) => v - others[i]), half = within(by), told = pair.map(({ short }, i) => `${short} ${percent(average(ends[i]))}`);
    const unsure = half >= Math.abs(average(by)) ? ": five seeds cannot tell" : "";
    return `${at} ${told.join(", ")}: ${points(average(by))}, ± ${(100 * half).toFixed(1)} (95 %, paired by seed)${unsure}.`;
  }

  versus() {
    const ends = this.pair.map(({ rows }) => rows.at(-1)?.accuracy ?? 0);
    return `${this.pair.map(({ short }, i) => `${short} ${percent(ends[i])}`).join(", ")}: ${points(ends[0] - ends[1])}, by this seed.`;
  }

  askOnePlace() {
    const rounds = Math.min(Math.max(this.until, this.run.rows.length), this.most);
    if ((this.run.pooled?.length ?? 0) < rounds) this.worker.postMessage({ pooled: this.run.number, state: { ...this.state }, rounds });
  }

  onePlace(number, rows) {
    if (number !== this.run.number) return;
    this.run.pooled = rows;
    this.showCurve();
  }


  build() {
    const { options, task } = this, shows = (list, name) => !list || list.includes(name);
    const button = (says, onclick, kind) => make("button", { type: "button", class: kind, onclick }, says);
    this.playButton = button("Play", () => this.play(), "pg-play");
    this.now = make("span", { class: "pg-now" });
    const bar = [this.playButton, button("One round", () => { this.play(false); if (this.busy) this.clicks += 1; else this.ask(); }), button("Restart", () => { this.play(false); this.again(); }), this.speeds(), this.now];
    this.said = make("p", { class: "pg-said", role: "status" });
    this.bandButton = button("Five seeds", () => this.band());
    this.onePlaced = make("label", { class: "pg-check" }, make("input", { type: "checkbox", checked: this.pooled, onchange: ({ target }) => { this.pooled = target.checked; if (target.checked) this.askOnePlace(); this.showCurve(); } }), "all in one place");
    this.compares = this.full && button("Compare", () => this.compare());
    if (this.compares) Object.assign(this.compares, { title: "Keep what is chosen now, and train another beside it" });
    this.switch = make("label", { class: "pg-check", hidden: true }, make("input", { type: "checkbox", onchange: ({ target }) => { this.both = target.checked; } }), "a change acts on both");
    const more = [button("Deal again", () => this.choose("draw", (this.state.draw + 1) % task.numbers.draw.stops.length)), this.bandButton, ...(this.compares ? [this.compares, this.switch] : [])];
    if (!this.full && options.seeds) bar.splice(3, 0, this.bandButton);

    const knobs = new Map(), rest = [];
    for (const [name, s] of entries(task.numbers)) {
      if (name === "draw" || name === "seed" || !shows(options.sliders, name)) continue;
      const [of] = Object.keys(s.of), made = name === "chosen.who" ? this.ticks() : this.slider(name, s);
      if (of in ROWS && shows(options.rows, of) && !NEAR.includes(name)) knobs.set(of, [...(knobs.get(of) ?? []), made]);
      else rest.push(made);
    }
    const fields = entries(ROWS).filter(([name]) => shows(options.rows, name)).map(([name, label]) => [name, this.field(name, label), ...(knobs.get(name) ?? [])]);
    const several = entries(options.names ?? {}).map(([label, sets]) => this.names(label, sets));
    const near = (made) => NEAR.includes(made.dataset.of), front = ([name]) => !this.full || FRONT.includes(name);
    const rows = (which) => fields.filter(which).flatMap(([, ...made]) => made);
    const first = rows(front), [deal, ...others] = [rest.filter(near), rest.filter((made) => !near(made))];
    this.goals = make("p", { class: "pg-goal", hidden: !this.goal });
    this.controls = make("div", { class: "pg-controls" });
    if (this.alone) this.controls.append(this.story = make("p", { class: "pg-story", hidden: true }));
    this.controls.append(...several, ...first, ...deal, ...(this.full ? [] : others.flat()));
    if (this.full) {
      this.controls.append(make("div", { class: "pg-more" }, ...more), this.goals);
      this.controls.append(make("details", {}, make("summary", {}, "More to choose"), ...rows((row) => !front(row)), ...others.flat()));
    }
    if (!this.full) this.controls.append(this.goals);

    const picture = (label) => make("svg", { role: "img", "aria-label": label });
    this.pictures = { clients: picture("Clients"), planes: ["Their updates", "The second’s updates"].map(picture), curve: picture("By round"), letters: picture("Letters by rounds") };
    const head = (says, ...inside) => make("div", { class: "pg-head" }, make("h3", {}, says), ...inside);
    this.tags = [1, 2, 3].map(() => make("p", { class: "pg-tag", hidden: true }));
    const figures = {
      clients: () => [head("What each holds, counts, and reads", key(task.classes)), this.pictures.clients],
      plane: () => [head("Where the models went"), ...this.tags.slice(0, 2), ...this.pictures.planes],
      curve: () => [this.measures(), this.tags[2], this.pictures.curve],
      letters: () => [head("How much of each letter is read"), this.pictures.letters],
    };
    const wanted = options.pictures ?? ["clients", "plane", "curve"];
    const shown = entries(figures).filter(([name]) => wanted.includes(name)).map(([name, inside]) => make("figure", { "data-of": name }, ...inside()));
    [this.seen, this.learnt] = [1, 2].map(() => make("p", { class: "pg-seen" }));
    const [top, pair] = [true, false].map((first) => shown.filter((figure) => (figure.dataset.of === "clients") === first));
    this.stage = make("div", { class: "pg-stage" }, ...top, make("div", { class: "pg-bar" }, ...bar), make("div", { class: "pg-pictures" }, ...pair), this.seen, this.learnt);
    this.list = make("ul", { class: "pg-runs" });
    const still = this.root.querySelectorAll(":scope > .fl-figure"); // on paper, until something was played
    this.root.replaceChildren(make("div", { class: "pg-all" }, this.stage, this.controls), this.said, make("div", { class: "pg-below" }, this.list, ...(this.full ? this.about() : [])), ...still);
    watch(Object.values(this.pictures).flat(), () => this.held && this.show());
  }

  field(name, label) {
    const inside = entries(this.task.choices[name]).map(([value, says]) => make("label", {},
      make("input", { type: "radio", name: `${this.id}-${name}`, value, onchange: () => this.choose(name, value) }), says));
    return make("fieldset", { "data-of": name }, make("legend", {}, label), make("div", { class: "pg-options" }, ...inside), make("small"));
  }

  // A row of names, each for several choices.
  names(label, sets) {
    const usual = this.usual(), all = Object.assign({}, ...Object.values(sets));
    const whole = (set) => Object.fromEntries(Object.keys(all).map((n) => [n, set[n] ?? usual[n]]));
    const inputs = entries(sets).map(([says, set]) => [says, whole(set), make("input", { type: "radio", name: `${this.id}-${label}`, value: says })]);
    for (const [, set, input] of inputs) input.addEventListener("change", () => this.choose(...entries(set)[0], set));
    const made = make("fieldset", { "data-of": label }, make("legend", {}, label), make("div", { class: "pg-options" }, ...inputs.map(([says, , input]) => make("label", {}, input, says))));
    made.shows = () => inputs.forEach(([, set, input]) => { input.checked = entries(set).every(([n, v]) => this.state[n] === v); });
    return made;
  }

  slider(name, { stops, falls, name: label }) {
    const at = (i) => (falls ? stops.length - 1 - i : i), input = make("input", { type: "range", min: 0, max: stops.length - 1, step: 1 });
    input.addEventListener("input", () => this.choose(name, stops[at(+input.value)]));
    const made = make("label", { class: "pg-slider", "data-of": name }, make("span", {}, label), make("output"), input);
    made.shows = () => {
      made.querySelector("output").textContent = this.reads(name);
      input.value = at(stops.indexOf(this.state[name]));
      input.setAttribute("aria-valuetext", this.reads(name));
    };
    return made;
  }

  // Who is in the reader's coalition.
  ticks() {
    const boxes = Array.from({ length: 10 }, (_, k) => make("label", { class: "pg-check" },
      make("input", { type: "checkbox", onchange: () => this.choose("chosen.who", this.state["chosen.who"] ^ (1 << k)) }), k + 1));
    const made = make("fieldset", { "data-of": "chosen.who" }, make("legend", {}, "One coalition"), make("div", { class: "pg-options" }, ...boxes), make("small"));
    made.shows = () => boxes.forEach((box, k) => {
      box.hidden = k >= this.state.clients;
      box.firstChild.checked = !!((this.state["chosen.who"] >> k) & 1);
    });
    return made;
  }

  speeds() {
    this.stopsAt = make("select", { "aria-label": "Pause at", onchange: ({ target }) => { this.until = +target.value; } },
      ...[...new Set([this.until, ...STOPS])].sort((a, b) => a - b).map((n) => make("option", { value: n, selected: n === this.until }, `to round ${n}`)));
    return make("span", { class: "pg-speeds" }, make("span", { class: "pg-options", role: "radiogroup", "aria-label": "Speed" },
      ...SPEEDS.map((name) => make("label", {}, make("input", { type: "radio", name: `${this.id}-speed`, checked: name === this.speed, onchange: () => { this.speed = name; } }), name))), this.stopsAt);
  }

  measures() {
    this.measured = make("select", { "aria-label": "Curve of", onchange: ({ target }) => { this.measure = target.value; this.show(); } },
      ...entries(MEASURES).filter(([id]) => this.full || [...PLAIN, this.measure].includes(id)).map(([id, says]) => make("option", { value: id, selected: this.measure === id }, says)));
    return make("div", { class: "pg-head" }, this.measured, this.onePlaced);
  }

  about() {
    const { task } = this;
    const about = make("p", { class: "pg-note" }, `Up to ${task.train} letters to learn from, ${task.test} to test on, ${task.y_proxy.length} that only a server has, a network of ${task.parameters.toLocaleString("en")} numbers, mini-batches of ${task.batch}. Accuracy is the mean over the clients, each with the model that it is given: on all test letters, or on letters as often as the client has them. An arrow is a client’s update, from the model it was sent to the one it sends back; the thick one is what the server made of them; faint are those of the round before.`);
    if (!this.alone) return [about];
    this.command = make("code");
    const copy = make("button", { type: "button", onclick: () => navigator.clipboard?.writeText(this.command.textContent).then(() => { this.said.textContent = "Copied."; }) }, "Copy");
    return [
      about,
      make("p", {}, "The same numbers come from the core on your machine, to 0.00001 unless the run is on the edge of diverging, where a rounding grows:"),
      make("div", { class: "pg-code" }, make("pre", { tabindex: 0 }, this.command), copy),
    ];
  }

  show() {
    const { state, task } = this;
    for (const row of this.controls.querySelectorAll("[data-of]")) {
      const name = row.dataset.of, beside = new Set();
      if (row.shows) {
        row.hidden = name in task.numbers && !this.matters(name);
        row.shows();
        continue;
      }
      for (const input of row.querySelectorAll("input")) {
        const why = this.why(name, input.value);
        input.checked = state[name] === input.value;
        input.disabled = !!why && !input.checked;
        input.parentElement.title = why?.reason ?? "";
        if (input.disabled) beside.add(why.beside);
      }
      const struck = beside.size ? `“${[...beside].join("” or “")}” does not go with what is struck out.` : "";
      row.querySelector("small").textContent = [task.says[name][state[name]], struck].filter(Boolean).join(" · ");
    }
    const last = this.run.rows.at(-1);
    this.root.classList.toggle("pg-begun", !!last);
    const own = this.measure === "own", read = this.pair.map(({ rows }) => make("b", {}, rows.length ? percent(own ? rows.at(-1).own : rows.at(-1).accuracy) : "–"));
    this.now.replaceChildren("Round ", make("b", {}, last?.round ?? 0), ": ", ...(read[1] ? [read[0], " / ", read[1]] : [read[0], own ? " own read" : " read"]));
    if (this.command) {
      const state_ = this.address ? ` "${this.address}"` : "";
      this.command.textContent = `python -m fedlab_core play${state_}${last ? ` --rounds ${last.round}` : ""}`;
    }
    this.stopsAt.hidden = state.pace === "steps";
    if (this.alone) this.showStory();
    this.showPictures(last);
    this.showCurve();
    this.showGoal();
    this.showSeen(last);
  }

  told_as(v) { return SHARES.has(this.measure) ? percent(v) : v.toFixed(2); }

  // A story's words beside the pictures, and the way to its other half.
  showStory() {
    const li = this.tale, story = li && { li, links: [...li.querySelectorAll("a")] };
    for (const one of document.querySelectorAll(".pg-presets li")) one.toggleAttribute("aria-current", one === li);
    this.story.hidden = !story && !this.ignored;
    if (!story) return this.story.replaceChildren(this.ignored ? `Not known, and left as usual: ${this.ignored}.` : "");
    const [first, beside] = story.links, here = first.search.slice(1) === this.address, other = here ? beside : first;
    const link = make("a", { href: other.href, "data-title": story.li.dataset.title }, here ? beside.textContent : `Back to: ${first.textContent}`);
    const found = story.links.map((a) => [...this.runs, this.run].find((r) => r.address === a.search.slice(1))).map((run) => run && this.checked(run));
    const names = [li?.dataset.here, li?.dataset.beside];
    const means = found.flatMap((mean, i) => (mean ? [`${names[i]} ${this.told_as(mean[2])}`] : []));
    const says = means.length ? ` Rounds ${+li.dataset.rounds - CHECKED + 1} to ${li.dataset.rounds}, mean: ${means.join(", ")}.` : "";
    this.story.replaceChildren(make("b", {}, first.textContent), ` ${li.querySelector("span").textContent}${says} `, link);
  }

  // The mean that a story compares, of a run: from where to where, and how much.
  checked(run) {
    const li = this.alone ? this.tale : undefined, to = +li?.dataset.rounds;
    if (!li || this.measure !== li.dataset.measure || run.rows.length < to || ![...li.querySelectorAll("a")].some((a) => a.search.slice(1) === run.address)) return;
    return [to - CHECKED + 1, to, average(run.rows.slice(to - CHECKED, to).map((row) => valueOf(row, this.measure)))];
  }

  reads(name, state = this.state) {
    const value = state[name], { clients } = state;
    if (name === "present") return `${Math.max(1, Math.round(value * clients))} of ${clients}`;
    if (name === "alpha") return `${value < 0.2 ? "strong" : value < 2 ? "some" : value < 50 ? "little" : "hardly any"}, α ${value}`;
    if (name === "chosen.who") return Array.from({ length: clients }, (_, k) => k).filter((k) => (value >> k) & 1).map((k) => k + 1).join(" ") || "none";
    if (name === "draw") return String(value + 1);
    if (name === "last.share") return `${Math.round(100 * value)} %`;
    return String(value);
  }

  showPictures(last) {
    const { clients, planes, letters: heat } = this.pictures, { pair, second } = this, homes = this.run.homes ?? this.held.counts.map(() => 0);
    const grouped = this.run.homes && !["everyone", "nobody"].includes(this.state.groups), many = new Set(homes).size;
    const learnt = last?.learnt.map(({ g, gamma }) => gamma.toFixed(3) + (many > 1 ? ` (${GROUPS[g]})` : ""));
    this.learnt.textContent = learnt?.length ? `The server has learnt these weights on letters of its own, and by what to multiply their sum: γ = ${learnt.join(", ")}.` : "";
    this.learnt.hidden = !this.learnt.textContent;
    if (clients.isConnected) {
      const told = strip(clients, { ...this.held, homes, grouped, shown: pair.map((run) => ({ last: run.rows.at(-1), name: run.short, colour: second && run.colour })) });
      clients.setAttribute("aria-label", `Clients, their letters by class, their weights and accuracies. ${this.learnt.textContent} ${told}.`);
    }
    pair.forEach((run, i) => {
      if (!planes[i].isConnected) return;
      plane(planes[i], { rows: run.rows, reach: this.reach || 1, colour: second && run.colour });
      planes[i].setAttribute("aria-label", `The clients’ updates in this round, and what became of them${second ? `, ${run.short}` : ""}. ${this.met(run.rows.at(-1), run)}`);
    });
    if (heat.isConnected) this.showLetters(heat);
  }

  showLetters(svg) {
    const most = Math.min(this.most, Math.max(20, this.until, this.run.rows.length));
    const told = letters(svg, { rows: this.run.rows, counts: this.held.counts, classes: this.task.classes, most });
    svg.setAttribute("aria-label", `How much of each letter is read, round by round; a dot where those who took part hold hardly any of it. ${told}`);
  }

  // What became of the updates, beside what would be left of unrelated ones.
  met(last, run = this.run) {
    if (!last) return "The models, before any has moved.";
    const { walked, left, unrelated, servers } = last.plane;
    if (run.state.groups === "nobody") return `An update is ${walked.toFixed(2)} long on average, and nobody is averaged.`;
    if (unrelated > 0.995) return "Each server model moved as far as the one client that it is made of.";
    const whose = servers.length > 1 ? "Coalitions’ averages" : "The average", how = left > 1.5 * unrelated ? "they largely agree" : left > 1.15 * unrelated ? "they agree a little" : left > 0.87 * unrelated ? "about as if they had nothing in common" : "they pull against one another";
    return `${whose} moved ${Math.round(100 * left)} % as far as the clients did; updates that have nothing in common would leave ${Math.round(100 * unrelated)} %: ${how}.`;
  }

  // One line of what is seen now.
  showSeen(last) {
    const five = this.five(), other = this.second?.rows.at(-1);
    if (five) {
      this.seen.textContent = `${five} The band is where they run.`;
      return;
    }
    if (!last && this.compares && this.second) {
      this.seen.textContent = this.run.address === this.second.address ? "Two federations, still the same: change the first, then press Play." : "Press Play: both train at once, with one seed and one division.";
      return;
    }
    if (!last) {
      this.seen.textContent = "Press Play: every client trains the model it is sent, and the server averages what comes back.";
      return;
    }
    if (!last.finite) {
      this.seen.textContent = `The training has diverged in round ${last.round}.`;
      return;
    }
    if (other?.finite) {
      this.seen.textContent = this.versus();
      return;
    }
    const own = this.measure === "own" ? "own" : "accuracy", { pace } = this.run.state;
    const before = this.runs.filter((r) => r.state.pace === pace).map((r) => r.rows.find((row) => passed(r, row) === passed(this.run, last))).findLast(Boolean);
    const beside = before ? `; the run before, at this ${pace === "steps" ? "step" : "round"}: ${points(before[own] - last[own])}` : "";
    const done = this.reached?.run === this.run ? "The goal is reached. " : "";
    this.seen.textContent = `${done}${percent(last[own])} of ${own === "own" ? "their own" : "all"} letters are read${beside}. ${this.met(last)}`;
  }

  // What to try, and whether it is done. A goal with `than` is about the difference to a
  // run of other choices, after as many rounds, or steps; from `from` on, and up to `by`.
  showGoal() {
    const { goal } = this;
    if (!goal) return;
    this.goals.hidden = this.alone && !!(this.tale || this.second);
    const measure = goal.measure ?? "accuracy", sign = "above" in goal ? 1 : -1, line = sign * (goal.above ?? goal.below);
    const runs = [...this.runs, ...this.pair];
    const found = runs.filter((run) => entries(goal.keep ?? {}).every(([n, v]) => run.state[n] === v)).flatMap((run) => {
      const twin = goal.than && runs.find((r) => r.address === this.said_({ ...run.state, ...goal.than }));
      return run.rows.filter((row) => passed(run, row) >= (goal.from ?? 0) && passed(run, row) <= (goal.by ?? Infinity)).flatMap((row) => {
        const other = goal.than ? twin?.rows.find((r) => passed(twin, r) === passed(run, row)) : null;
        return other === undefined ? [] : { run, round: row.round, value: valueOf(row, measure) - (other ? valueOf(other, measure) : 0) };
      });
    });
    const best = found.toSorted((a, b) => sign * (b.value - a.value))[0];
    if (best && sign * best.value > Math.max(line, sign * (this.reached?.value ?? sign * line))) this.reached = best;
    const as = (v) => (SHARES.has(measure) ? `${(100 * v).toFixed(1)} ${goal.than ? "points" : "%"}` : v.toFixed(2));
    const says = this.reached ? `Reached: ${as(this.reached.value)} in round ${this.reached.round}, ${this.reached.run.name}.` : best ? `So far: ${as(best.value)}, in round ${best.round}.` : "";
    this.goals.classList.toggle("reached", !!this.reached);
    this.goals.replaceChildren(make("b", {}, this.reached ? "Done. " : "To try: "), `${goal.says}. `, says);
  }

  showCurve() {
    const svg = this.pictures.curve, runs = [...this.runs, ...this.pair.toReversed()], { measure } = this, steps = runs.every((r) => r.state.pace === "steps");
    const longest = Math.max(...runs.map((r) => this.along(r, Math.max(r.rows.length, r.banded ?? 0))));
    const said = (run) => {
      const last = run.band?.map((rows) => valueOf(rows.at(-1), measure)) ?? [];
      const five = last.length === 5 ? `; five seeds: ${this.told_as(average(last))} (${this.told_as(Math.min(...last))} to ${this.told_as(Math.max(...last))})` : "";
      const end = run.rows.at(-1);
      return `${run.name}: ${end ? `${this.told_as(valueOf(end, measure))} after ${end.round} round${end.round === 1 ? "" : "s"}` : "not begun"}${five}`;
    };
    const drawn = runs.map((run) => ({
      colour: run.colour, now: this.pair.includes(run), mean: this.checked(run), at: run.rows.map((row) => [this.along(run, row.round), valueOf(row, measure)]),
      bands: run.band?.length > 1 ? run.band[0].map((_, t) => run.band.map((rows) => valueOf(rows[t], measure))).map((v, t) => [this.along(run, t + 1), Math.min(...v), Math.max(...v), average(v)]) : [],
    }));
    const pooled = this.pooled && measure === "accuracy" && this.run.pooled;
    if (pooled) drawn.unshift({ colour: "currentColor", dashed: true, bands: [], at: pooled.map((row, t) => [this.along(this.run, t + 1), row.accuracy]) });
    if (svg.isConnected && measure === "letters") this.showLetters(svg);
    else if (svg.isConnected) {
      const most = steps ? this.task.work : 10 * Math.ceil(Math.max(20, longest) / 10);
      curve(svg, { runs: drawn, most, parts: SHARES.has(measure), label: steps ? "step" : "round", lines: measure === "accuracy" ? [[1 / this.task.classes.length, "guessing"]] : [] });
      svg.setAttribute("aria-label", `${MEASURES[measure]}, by ${steps ? "steps" : "round"}. ${runs.map(said).join("; ")}.${pooled ? ` All letters in one place: ${percent(pooled.at(-1).accuracy)} (dashed).` : ""}`);
    }
    this.list.replaceChildren(...runs.toReversed().map((run) => make("li", {}, stroke(run.colour), make("span", {}, said(run)),
      ...(this.pair.includes(run) ? [] : [make("button", { type: "button", "aria-label": `Forget ${run.name}`, onclick: () => this.forget(run) }, "×")]))));
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
