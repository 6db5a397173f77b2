// The round loop of fedlab_core/rounds/simulation.py. What a client does, how much it
// counts and what the server makes of it are programs that were traced from the core;
// here they are only called in turn.

import { get } from "./files.js";
import { batches, draw, firstModel, keyOf, stepKey } from "./keys.js";
import { accelerate, Arena, Program } from "./tensors.js";

// All that the page has in common; `fast: false` goes without SIMD.
export async function load({ fast = true } = {}) {
  if (fast) await accelerate(() => get("simd.wasm"));
  const [rules, task, letters] = await Promise.all([
    get("data/rules.json").then((a) => a.json()), get("data/task.json").then((a) => a.json()),
    get("data/letters.bin").then((a) => a.arrayBuffer()),
  ]);
  const bytes = new Uint8Array(letters), f = Math.fround, common = new Arena(0.1);
  const images = common.allocate(bytes.length), y = common.allocate(task.train);
  bytes.forEach((b, i) => { images[i] = f(f(b / 255) - f(task.mean)) / f(task.std); });
  const [learnt, tested] = [task.train, task.train + task.test].map((n) => n * task.side ** 2), splits = new Map();
  const y_proxy = common.allocate(task.y_proxy.length);
  y_proxy.set(digits(task.y_proxy));
  const divided = (clients) => {
    if (!splits.has(clients)) splits.set(clients, get(`data/splits-${clients}.json`).then((a) => a.json()));
    return splits.get(clients);
  };
  return {
    rules, task, divided, shared: { x: images.subarray(0, learnt), y }, x_test: images.subarray(learnt, tested),
    proxy: { x: images.subarray(tested), y: y_proxy }, // what a server that learns has
    arenas: [0.35, 0.35, 0.2].map((share) => new Arena(share)), // two that play, and what is played beside them
  };
}

const entries = Object.entries;
const copied = (tree) => Object.fromEntries(entries(tree).map(([n, v]) => [n, v.slice()]));

// What is in `arrays` under "prefix.NAME", by its own names, and back.
function named(arrays, prefix) {
  const inside = entries(arrays).filter(([n]) => n.startsWith(`${prefix}.`));
  return Object.fromEntries(inside.map(([n, v]) => [n.slice(prefix.length + 1), v]));
}
function fill(arrays, prefix, tree, row = 0) {
  for (const [n, v] of entries(tree)) arrays[`${prefix}.${n}`]?.set(v, row * v.length);
}
const mean = (values) => values.reduce((a, b) => a + b, 0) / Math.max(values.length, 1);
const digits = (text) => [...text].map(Number);

// Who holds what in a division: places of letters, labels, and letters of each class.
export function division(task, split, clients) {
  const held = Array.from({ length: clients }, () => []), y = digits(task.y);
  [...split.owner].forEach((k, i) => { if (k !== "-") held[+k].push(i); });
  if (split.labels) held[split.wrong].forEach((i, j) => { y[i] = +split.labels[j]; });
  const counts = held.map((ids) => {
    const count = task.classes.map(() => 0);
    for (const i of ids) count[y[i]]++;
    return count;
  });
  return { held, counts, y, wrong: split.wrong ?? -1 };
}

export const splitName = ({ divides }, s) => `${s.split} ${s[divides[s.split]] ?? 0} ${s.draw}`;

// How many rounds a run can have: those that there are, or until all steps are taken.
export const roundsOf = ({ work, rounds }, s) => (s.pace === "steps" ? Math.ceil(work / s.steps) : rounds);

export function homesOf(s, split) {
  const each = Array.from({ length: s.clients }, (_, k) => k), ticked = (k) => (s["chosen.who"] >> k) & 1;
  if (s.groups === "chosen") return each.map((k) => +(ticked(k) !== ticked(0)));
  if (s.groups === "two") return each.map((k) => Math.floor((k * 2) / s.clients));
  if (s.groups === "fedcollab") return digits(split.fedcollab[s["fedcollab.C"]]);
  return s.groups === "nobody" ? each : each.map(() => 0);
}

export class Federation {
  static async begin(world, state, arena = 0) {
    const splits = await world.divided(state.clients);
    return new Federation(world, state, splits[splitName(world.task, state)], world.arenas[arena]);
  }

  // All letters in one place: plain steps, as many a round as a client takes on average.
  static async pooled(world, state, arena = 2) {
    const { held } = division(world.task, (await world.divided(state.clients))[splitName(world.task, state)], state.clients);
    const each = held.map((ids) => state.epochs * Math.ceil(ids.length / world.task.batch));
    const steps = state.pace === "steps" ? state.steps : Math.round(mean(each));
    const plain = { rule: "fedavg", weigh: "size", server: "average", groups: "everyone", personal: "nothing" };
    const one = await Federation.begin(world, { ...state, ...plain, pace: "steps", steps }, arena);
    const all = one.counts[0].map((_, c) => one.counts.reduce((sum, count) => sum + count[c], 0));
    return Object.assign(one, { held: [one.held.flat()], counts: [all], sizes: [one.held.flat().length], homes: [0], alone: true });
  }

  constructor(world, state, split, arena) {
    arena.clear();
    Object.assign(this, { ...world, state, arena, programs: new Map(), t: 0 });
    this.steps = state.pace === "steps" ? state.steps : undefined;
    Object.assign(this, division(this.task, split, state.clients));
    this.shared.y.set(this.y);
    const { rule, personal } = this.rules;
    this.rule = rule[this.withNumber("rule")] ?? rule[state.rule];
    this.own = this.rule.personal?.[state.personal] ?? personal[state.personal] ?? {};
    this.adapt = this.own.adapt ?? (state.personal === "nothing" ? this.rule.adapt : null);
    const { server: servers } = this.rules, server = servers[this.withNumber("server")] ?? servers[state.server];
    this.server = state.server === "average" ? this.rule.server : server;
    this.weigh = this.rules.weigh[this.withNumber("weigh")];
    this.first = firstModel(this.task.shapes, this.task.first[state.seed]);
    this.homes = homesOf(state, split);
    this.kept = []; this.ownModels = []; this.known = [];
    this.sizes = this.held.map((ids) => ids.length);
    const begin = this.program(this.server.begin);
    this.groups = new Map([...new Set(this.homes)].sort((a, b) => a - b).map((g) => {
      fill(begin.in, "model", this.first);
      begin.run();
      return [g, this.said(begin)];
    }));
  }

  // "shrunk 0.9": a choice with its number, if it has one.
  withNumber(choice) {
    const name = this.state[choice], knob = entries(this.task.numbers).find(([n, k]) => n.startsWith(`${name}.`) && choice in k.of);
    return knob ? `${name} ${this.state[knob[0]]}` : name;
  }

  program(number, shared = this.shared) {
    if (!this.programs.has(number)) this.programs.set(number, new Program(this.rules.programs[number], this.arena, shared));
    return this.programs.get(number);
  }

  said({ out }) {
    const [model, memory, broadcast, start] = ["model", "memory", "broadcast", "start"].map((n) => copied(named(out, n)));
    return { model, memory, broadcast, start: entries(start).length ? { ...model, ...start } : model };
  }

  members(g, ids) {
    return ids.filter((k) => this.homes[k] === g);
  }

  get present() {
    const { clients, present, seed } = this.state, n = Math.max(1, roundHalfEven(present * clients));
    if (n === clients || this.steps) return this.homes.map((_, k) => k);
    return digits(this.task.present[`${clients} ${n} ${seed}`][this.t]);
  }

  train(programs, k, start, broadcast, kept, { steps = this.steps } = {}) {
    const { lr, seed } = this.state, told = { ...broadcast };
    for (const [n, v] of entries(programs.numbers ?? {})) told[n] = [typeof v === "number" ? v : this.state[v]];
    let own = kept ?? {};
    if (programs.begin != null) { // what a client does not keep begins anew
      const begin = this.program(programs.begin);
      fill(begin.in, "start", start);
      fill(begin.in, "broadcast", told);
      begin.run();
      own = { ...copied(named(begin.out, "own")), ...own };
    }
    const step = this.program(programs.step), { in: given, out } = step;
    for (const prefix of ["start", "params"]) fill(given, prefix, start);
    fill(given, "broadcast", told);
    fill(given, "own", own);
    for (const [n, v] of entries(given)) if (n.startsWith("velocity.")) v.fill(0); // every round anew
    given.lr.fill(lr);
    const key = keyOf(seed, this.t, k), draws = entries(this.rules.programs[programs.step].draws);
    const plan = batches(this.held[k], key, this.state.epochs, this.task.batch, steps);
    let loss = 0;
    plan.forEach((ids, t) => {
      given.at.fill(0).set(ids);
      given.weight?.fill(0).fill(1 / ids.length, 0, ids.length);
      for (const [name, how] of draws) draw(how, stepKey(key, t), given[name]);
      step.run();
      loss += out.loss[0];
    });
    const params = plan.length ? copied({ ...start, ...named(out, "params") }) : copied(start);
    if (plan.length) own = { ...own, ...named(out, "own") };
    let upload = {};
    if (programs.finish != null) {
      const finish = this.program(programs.finish);
      fill(finish.in, "params", params);
      fill(finish.in, "start", start);
      fill(finish.in, "broadcast", told);
      fill(finish.in, "own", own);
      finish.in.steps?.fill(plan.length);
      finish.in.lr_sum?.fill(lr * plan.length);
      finish.run();
      own = named(finish.out, "own");
      upload = copied(named(finish.out, "upload"));
    }
    return { params, own: copied(own), upload, loss: loss / Math.max(plan.length, 1), steps: plan.length };
  }

  // What a client reports of its samples by a model: means.
  report(k, model) {
    const report = this.program(this.rule.report), held = this.held[k], { chunk } = this.task, means = {};
    fill(report.in, "params", model);
    for (let i = 0; i < held.length; i += chunk) {
      const ids = held.slice(i, i + chunk);
      report.in.at.fill(0).set(ids);
      report.run();
      for (const [n, v] of entries(named(report.out, "told"))) {
        const width = v.length / chunk, sums = means[n] ??= new Float64Array(width);
        for (let j = 0; j < ids.length * width; j++) sums[j % width] += v[j] / held.length;
      }
    }
    return Object.fromEntries(entries(means).map(([n, v]) => [n, Float32Array.from(v)]));
  }

  // What is shared with client k of what these have reported.
  share(k, who, reports) {
    const mine = who.includes(k), others = who.filter((j) => j !== k);
    const share = this.program(this.rule[mine ? "share" : "apart"][who.length]);
    (mine ? [k, ...others] : others).forEach((j, row) => fill(share.in, "told", reports[j], row));
    share.run();
    return copied(named(share.out, "broadcast"));
  }

  common(k, needs) {
    const { lr, epochs, clients } = this.state, size = this.sizes[k];
    const steps = this.steps ?? epochs * Math.ceil(size / this.task.batch);
    const all = { share: size / this.sizes.reduce((a, b) => a + b), clients, round: this.t, lr_sum: lr * steps };
    return Object.fromEntries(needs.filter((n) => n in all).map((n) => [n, [all[n]]]));
  }

  round() {
    const { rule } = this, ids = this.present, done = {}, told = {}, moves = [];
    const clients = this.homes.map(() => ({}));
    if (rule.when === "before") for (const k of ids) told[k] = this.report(k, this.groups.get(this.homes[k]).start);
    for (const k of ids) {
      const g = this.homes[k], now = this.groups.get(g), reports = rule.when === "before" ? told : this.known;
      const broadcast = { ...now.broadcast, ...this.common(k, rule.needs) };
      if (rule.share) {
        const who = this.homes.flatMap((h, j) => (h === g && reports[j] ? [j] : []));
        Object.assign(broadcast, this.share(k, who, reports));
      }
      done[k] = this.train(rule, k, now.start, broadcast, this.kept[k]);
      if (rule.begin != null) this.kept[k] = done[k].own;
      if (this.own.step != null) {
        const tied = Object.fromEntries(entries(now.start).map(([n, v]) => [`round.${n}`, v]));
        this.ownModels[k] = this.train(this.own, k, this.ownModels[k] ?? this.first, tied, null).params;
      }
      clients[k].loss = done[k].loss;
      moves.push({ k, g, from: now.start, to: done[k].params });
    }
    if (rule.when === "after") for (const k of ids) this.known[k] = this.report(k, done[k].params);
    const after = [];
    for (const g of this.groups.keys()) {
      const who = this.members(g, ids), n = who.length, now = this.groups.get(g);
      if (!n) continue;
      const weigh = this.program(this.weigh[n]), serve = this.program(this.server[n]);
      const about = { counts: (k) => this.counts[k], ids: (k) => [k], loss: (k) => [done[k].loss], steps: (k) => [done[k].steps] };
      const give = (into) => { // whatever of it a program asks for
        for (const [name, of] of entries(about)) who.forEach((k, row) => into[name]?.set(of(k), row * of(k).length));
        for (const part of ["model", "memory", "broadcast", "start"]) fill(into, part, now[part]);
        who.forEach((k, row) => {
          fill(into, "models", done[k].params, row);
          fill(into, "uploads", { ...told[k], ...done[k].upload, ...(rule.when === "after" ? this.known[k] : {}) }, row);
        });
        into.weights?.set(weigh.out.weights);
        into.clients?.fill(this.homes.filter((h) => h === g).length);
      };
      give(weigh.in);
      weigh.run();
      give(serve.in);
      if (this.server.learn) this.learn(g, n, give, serve.in);
      serve.run();
      const shares = serve.out["learned.shares"] ?? weigh.out.weights;
      who.forEach((k, row) => { clients[k].weight = shares[row]; });
      this.groups.set(g, this.said(serve));
      after.push({ g, from: now.start, to: this.groups.get(g).model, gamma: serve.out["learned.gamma"]?.[0] });
    }
    const scores = this.judge();
    const plane = this.plane(moves, after, clients);
    this.t++;
    scores.forEach(({ accuracy, loss, own }, k) => Object.assign(clients[k], { accuracy, loss, own }));
    return {
      round: this.t, accuracy: mean(clients.map((c) => c.accuracy)), own: mean(clients.map((c) => c.own)),
      loss: mean(ids.filter((k) => done[k].steps).map((k) => done[k].loss)), clients, plane,
      weight: Math.max(...clients.map((c) => c.weight ?? 0)), sum: mean(after.map(({ gamma }) => gamma ?? 1)),
      letters: this.task.classes.map((_, c) => mean(scores.map(({ rate }) => rate[c]))),
      learnt: after.flatMap(({ g, gamma }) => (gamma === undefined ? [] : [{ g, gamma }])),
      finite: scores.every((s) => Number.isFinite(s.loss)),
    };
  }

  // What a server that learns finds on its letters, for the program that ends its round.
  learn(g, n, give, into) {
    const { search, learn, loop } = this.server, begin = this.program(search[n]), step = this.program(learn[n], this.proxy);
    give(begin.in);
    begin.run();
    for (const part of ["known", "found", "buffers"]) fill(step.in, part, named(begin.out, part));
    const key = keyOf(this.state.seed, this.t, loop.who + g), held = [...this.proxy.y.keys()];
    const epochs = this.state[`${this.state.server}.server_epochs`] ?? loop.epochs; // those of its slider, if it has one
    batches(held, key, epochs, loop.batch).forEach((ids, t) => {
      step.in.at.fill(0).set(ids);
      step.in.weight.fill(0).fill(1 / ids.length, 0, ids.length);
      for (const [name, each] of entries(loop.paces)) step.in[`paces.${name}`]?.fill(each[t]);
      step.run();
    });
    fill(into, "known", named(begin.out, "known"));
    fill(into, "found", named(step.out, "found"));
  }

  judge() {
    const seen = new Map(), { rule, adapt } = this;
    return this.homes.map((g, k) => {
      const { model } = this.groups.get(g);
      let found;
      if (adapt) {
        found = this.score(this.train(adapt, k, model, {}, null, { steps: adapt.steps }).params);
      } else if (this.own.step != null && this.ownModels[k]) {
        found = this.score(this.ownModels[k]);
      } else if (rule.kept && this.state.personal === "nothing" && this.kept[k]) {
        found = this.score({ ...model, ...named(this.kept[k], rule.kept) });
      } else {
        if (!seen.has(g)) seen.set(g, this.score(model));
        found = seen.get(g);
      }
      const own = found.rate.reduce((sum, r, c) => sum + (r * this.counts[k][c]) / this.sizes[k], 0);
      return { ...found, own };
    });
  }

  score(model) {
    const judge = this.program(this.rules.judge, { x: this.x_test }), { classes, chunk, test, y_test } = this.task;
    const many = classes.length, right = new Array(many).fill(0), there = new Array(many).fill(0);
    fill(judge.in, "params", model);
    let total = 0;
    for (let first = 0; first < test; first += chunk) {
      const n = Math.min(chunk, test - first);
      for (let i = 0; i < chunk; i++) judge.in.at[i] = i < n ? first + i : 0;
      judge.run();
      for (let i = 0; i < n; i++) {
        const row = judge.out.logits.subarray(i * many, (i + 1) * many), y = +y_test[first + i], most = Math.max(...row);
        there[y]++;
        // Where numbers have gone, PyTorch takes the first that is none for the largest.
        if ((Number.isNaN(most) ? row.findIndex(Number.isNaN) : row.indexOf(most)) === y) right[y]++;
        total += most + Math.log(row.reduce((sum, v) => sum + Math.exp(v - most), 0)) - row[y];
      }
    }
    return { accuracy: right.reduce((a, b) => a + b, 0) / test, loss: total / test, rate: right.map((r, c) => r / there[c]) };
  }

  plane(moves, after, clients) {
    const rows = moves.map(({ from, to }) => difference(from, to));
    const gram = rows.map((a, i) => rows.slice(0, i + 1).map((b) => dot(a, b)));
    rows.forEach((_, i) => { for (let j = i + 1; j < rows.length; j++) gram[i][j] = gram[j][i]; });
    const directions = eigen(gram, 2).map(({ value, vector }, d) => {
      const along = new Float64Array(rows[0].length), scale = 1 / Math.sqrt(Math.max(value, 1e-30));
      rows.forEach((row, i) => add(along, scale * vector[i], row));
      const turned = this.directions?.[d] && dot(along, this.directions[d]) < 0;
      return turned ? along.map((v) => -v) : along;
    });
    this.directions = directions;
    const at = (row) => directions.map((d) => dot(row, d));
    const length = (row) => Math.sqrt(dot(row, row));
    // Of the clients' ways, weighted as they are, what is left once they are added up.
    // Beside it: what would be left if no two of them had a direction in common.
    const shares = after.map(({ g }) => {
      const mine = moves.flatMap((m, i) => (m.g === g ? [i] : [])), sum = new Float64Array(rows[0].length);
      const weight = (i) => clients[moves[i].k].weight, parts = mine.map((i) => weight(i) * length(rows[i]));
      for (const i of mine) add(sum, weight(i), rows[i]);
      const ways = parts.reduce((a, b) => a + b, 0);
      return ways ? [length(sum) / ways, Math.hypot(...parts) / ways] : [1, 1];
    });
    const [left, unrelated] = [0, 1].map((i) => mean(shares.map((s) => s[i])));
    const pairs = gram.flatMap((row, i) => row.slice(0, i).map((v, j) => v / Math.sqrt(Math.max(gram[i][i] * gram[j][j], 1e-30))));
    return {
      clients: moves.map(({ k, g }, i) => ({ k, g, at: at(rows[i]) })),
      servers: after.map(({ g, from, to }) => ({ g, at: at(difference(from, to)) })),
      walked: mean(rows.map(length)), left, unrelated, agreement: pairs.length ? mean(pairs) : 1,
    };
  }

  get model() {
    return [...this.groups.values()].map(({ model }) => model);
  }
}

// Python's round: a half goes to the even number.
function roundHalfEven(v) {
  const low = Math.floor(v), rest = v - low;
  if (Math.abs(rest - 0.5) > 1e-9) return Math.round(v);
  return low % 2 ? low + 1 : low;
}

function difference(from, to) {
  const names = Object.keys(from), total = names.reduce((sum, n) => sum + from[n].length, 0), out = new Float64Array(total);
  let at = 0;
  for (const n of names) {
    const a = from[n], b = to[n];
    for (let i = 0; i < a.length; i++) out[at++] = b[i] - a[i];
  }
  return out;
}

function add(to, times, row) {
  for (let j = 0; j < to.length; j++) to[j] += times * row[j];
}

function dot(a, b) {
  let s = 0, t = 0, u = 0, v = 0, i = 0; // four sums, none of which waits for another
  for (; i + 3 < a.length; i += 4) { s += a[i] * b[i]; t += a[i + 1] * b[i + 1]; u += a[i + 2] * b[i + 2]; v += a[i + 3] * b[i + 3]; }
  for (; i < a.length; i++) s += a[i] * b[i];
  return s + t + u + v;
}

// The largest eigenvalues of a small symmetric matrix, with their vectors (Jacobi).
function eigen(matrix, many) {
  const n = matrix.length, a = matrix.map((row) => row.slice()), v = a.map((_, i) => a.map((_, j) => +(i === j)));
  for (let sweep = 0; sweep < 30; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(a[p][q]) < 1e-300) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1)), c = 1 / Math.hypot(t, 1), s = t * c;
        for (let i = 0; i < n; i++) [a[i][p], a[i][q]] = [c * a[i][p] - s * a[i][q], s * a[i][p] + c * a[i][q]];
        for (let i = 0; i < n; i++) [a[p][i], a[q][i]] = [c * a[p][i] - s * a[q][i], s * a[p][i] + c * a[q][i]];
        for (let i = 0; i < n; i++) [v[i][p], v[i][q]] = [c * v[i][p] - s * v[i][q], s * v[i][p] + c * v[i][q]];
      }
    }
  }
  const order = a.map((_, i) => i).sort((i, j) => a[j][j] - a[i][i]).slice(0, many);
  return order.map((i) => ({ value: a[i][i], vector: v.map((row) => row[i]) }));
}
