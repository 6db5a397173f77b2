// Pictures of a run, drawn into an svg: what each client holds, where the models went,
// curves, and letters by rounds. One unit is one pixel, so that text stays as it is.

const CLASSES = ["#306cc0", "#d87854", "#3c7818", "#e4609c", "#6048fc", "#3c9ccc", "#e40000", "#c00c9c", "#6c84fc", "#b4546c"];
export const RUNS = ["#00897b", "#a87000", "#9e5cb0", "#c05a40", "#607890", "#7a7a00"]; // no letter's
export const GROUPS = "ABCDEFGHIJ";
const SVG = new Set(["svg", "rect", "path", "text", "line", "circle", "polygon", "title"]);

export const make = (tag, attributes = {}, ...children) => {
  const node = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.map((c) => (typeof c === "object" ? c : String(c))));
  return node;
};
export const percent = (v) => `${(100 * v).toFixed(1)} %`;
const text = (x, y, says, anchor = "middle", kind = "quiet") => make("text", { x, y, "text-anchor": anchor, class: kind }, says);
const line = (x1, y1, x2, y2, kind) => make("line", { x1, y1, x2, y2, class: kind });
const total = (values) => values.reduce((a, b) => a + b, 0);

export const stroke = (colour) => make("svg", { viewBox: "0 0 18 10", class: "stroke", "aria-hidden": "true" },
  make("line", { x1: 0, x2: 12, y1: 5, y2: 5, stroke: colour, "stroke-width": 3 }), make("circle", { cx: 13, cy: 5, r: 4, fill: colour }));

export const key = (classes) => make("ul", { class: "pg-key" }, ...classes.map((c, i) => make("li", {},
  make("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, make("rect", { width: 10, height: 10, rx: 2, fill: CLASSES[i] })), c)));

// Sizes are told by the browser: to ask while the page is being written lays it out anew.
const sizes = new WeakMap();
export function watch(svgs, changed) {
  const watching = new ResizeObserver((all) => {
    for (const { target, contentRect: { width, height } } of all) sizes.set(target, [width, height].map(Math.round));
    changed();
  });
  for (const svg of svgs) watching.observe(svg);
}

function sized(svg) {
  const [width, height] = sizes.get(svg) ?? [0, 0], size = [width || 480, height || 240];
  svg.setAttribute("viewBox", `0 0 ${size.join(" ")}`);
  return size;
}

// What each client holds, how much it counts, and what it reads of its own letters; of
// two federations side by side, {last, colour} each, both weights, and by how much what
// is read differs.
export function strip(svg, { counts, wrong, homes, grouped, shown }) {
  const [width] = sized(svg), left = 62, n = counts.length, wide = (width - left) / n, parts = [];
  const sizes = counts.map(total), most = Math.max(...sizes), two = shown.length > 1;
  const weights = shown.map(({ last }) => counts.map((_, k) => last?.clients[k].weight)), learnt = ({ last }) => last?.learnt.length > 0;
  const read = (k) => {
    const [own, other] = shown.map(({ last }) => last && Math.round(100 * last.clients[k].own));
    return own === undefined || (two && other === undefined) ? "–" : !two ? own : own === other ? "0" : own > other ? `+${own - other}` : `−${other - own}`;
  };
  const shares = sizes.map((size, k) => size / total(sizes.filter((_, j) => homes[j] === homes[k])));
  const top = Math.max(0.2, ...weights.flat().filter((w) => w !== undefined), ...shares);
  for (const [y, says] of [[40, "letters"], [102, "weight"], [117, "— by size"], [136, two ? "own, ± %" : "own, %"], [152, "client"]]) parts.push(text(0, y, says, "start"));
  counts.forEach((count, k) => {
    const x = left + k * wide + 3, w = wide - 6, middle = x + w / 2;
    let y = 68;
    count.forEach((m, c) => {
      const h = (54 * m) / most;
      if (m) parts.push(make("rect", { x, y: (y -= h), width: w, height: h, fill: CLASSES[c] }));
    });
    if (k === wrong) parts.push(text(middle, y - 3, "wrong", "middle", ""));
    parts.push(text(middle, 80, sizes[k]), make("rect", { x, y: 86, width: w, height: 36, class: "track" }));
    shown.forEach((one, i) => {
      const h = (36 * (weights[i][k] ?? 0)) / top, wide_ = w / shown.length;
      if (h) parts.push(make("rect", { x: x + i * wide_, y: 122 - h, width: wide_, height: h, class: learnt(one) ? "bar learnt" : "bar", style: one.colour && `fill: ${one.colour}; stroke: ${one.colour}` }));
    });
    const mark = 122 - (36 * shares[k]) / top;
    parts.push(line(x - 2, mark, x + w + 2, mark, "mark"), text(middle, 136, read(k)));
    parts.push(text(middle, 152, `${k + 1}${grouped ? GROUPS[homes[k]] : ""}`, "middle", ""));
  });
  svg.replaceChildren(...parts);
  return counts.map((_, k) => {
    const told = shown.map((one, i) => {
      const { last, name } = one, weight = weights[i][k] === undefined ? (last ? ", not there this round" : "") : `, ${learnt(one) ? "learnt weight" : "weight"} ${percent(weights[i][k])}`;
      return `${name && last ? `, ${name}` : ""}${weight}${last ? `, accuracy on its own ${percent(last.clients[k].own)}` : ""}`;
    });
    return `client ${k + 1}: ${sizes[k]} letters${k === wrong ? ", wrong labels" : ""}${told.join("")}`;
  }).join("; ");
}

// An arrow from the middle; nothing where it would be shorter than its head.
function arrow([x0, y0], [x, y], kind, head, colour) {
  const long = Math.hypot(x - x0, y - y0), [drawn, filled] = ["stroke", "fill"].map((n) => colour && `${n}: ${colour}`);
  if (long < head) return [make("circle", { cx: x, cy: y, r: head / 3, class: `${kind} tip`, style: filled })];
  const [u, v] = [(x - x0) / long, (y - y0) / long], [bx, by] = [x - head * u, y - head * v], side = head / 2;
  return [make("line", { x1: x0, y1: y0, x2: bx, y2: by, class: kind, style: drawn }), make("polygon", { style: filled, points: `${x},${y} ${bx - side * v},${by + side * u} ${bx + side * v},${by - side * u}`, class: `${kind} tip` })];
}

export const reachOf = ({ plane: { clients, servers } }) => Math.max(...[...clients, ...servers].map(({ at }) => Math.hypot(...at)), 1e-9);

// Every client's update in the plane in which they differ most, and the average's; of the
// round before, faintly. `reach` is what fits in: it stays, so that lengths compare.
export function plane(svg, { rows, reach, colour }) {
  const [width, height] = sized(svg), middle = [width / 2, height / 2], last = rows.at(-1), parts = [];
  const scale = (Math.min(width, height) / 2 - 20) / reach, to = ([x, y = 0]) => [middle[0] + scale * x, middle[1] - scale * y];
  for (const { at } of rows.at(-2)?.plane.clients ?? []) parts.push(line(...middle, ...to(at), "before"));
  const taken = [];
  for (const { k, at } of last?.plane.clients ?? []) {
    const end = to(at), long = Math.max(Math.hypot(end[0] - middle[0], end[1] - middle[1]), 1);
    parts.push(...arrow(middle, end, "way", 7));
    let [x, y] = end;
    const step = [(end[0] - middle[0]) / long, (end[1] - middle[1]) / long];
    for (let d = 9; d <= 31; d += 11) { // beyond the tip, and beyond other numbers there
      [x, y] = [end[0] + d * step[0], end[1] + d * step[1]];
      if (!taken.some(([a, b]) => Math.hypot(a - x, b - y) < 11)) break;
    }
    taken.push([x, y]);
    if (long > 12) parts.push(text(x, y + 4, k + 1, "middle", ""));
  }
  parts.push(make("circle", { cx: middle[0], cy: middle[1], r: 4, class: "begin" }));
  for (const { at } of last?.plane.servers ?? []) parts.push(...arrow(middle, to(at), "mean", 13, colour));
  if (last) {
    const most = 90 / scale, ten = 10 ** Math.floor(Math.log10(most)), length = [5, 2, 1].find((n) => n * ten <= most) * ten;
    const [x, y] = [4, height - 4], end = x + scale * length;
    parts.push(make("path", { d: `M${x} ${y - 4}V${y}H${end}V${y - 4}`, class: "ruler" }), text(end + 6, y, +length.toPrecision(1), "start"));
  }
  svg.replaceChildren(...parts);
}

// Runs as curves: {colour, now, at: [[x, value]], bands: [[x, low, high, middle]], mean: [x, x, value]}.
export function curve(svg, { runs, lines, most, parts: share, label }) {
  const [width, height] = sized(svg), left = 34, right = width - 10, top = 8, bottom = height - 22, parts = [];
  const seen = runs.flatMap((r) => [...r.at.map(([, v]) => v), ...r.bands.flatMap(([, ...v]) => v)]).filter(Number.isFinite);
  const step = share ? 0.1 : 10 ** Math.floor(Math.log10(Math.max(...seen, 0.1)));
  const high = Math.max(step * Math.ceil((Math.max(...seen, 0) + step / 3) / step), share ? 0.6 : step), low = Math.min(0, step * Math.floor(Math.min(...seen, 0) / step));
  const x = (t) => left + ((right - left) * t) / most, y = (v) => bottom - ((bottom - top) * (v - low)) / (high - low);
  const every = Math.ceil((high - low) / step / 7);
  for (let i = Math.round(low / step); i * step <= high + step / 9; i += every) {
    parts.push(line(left, y(i * step), right, y(i * step), "grid"), text(left - 6, y(i * step) + 4, share ? Math.round(100 * i * step) : +(i * step).toPrecision(1), "end"));
  }
  const tick = most <= 10 ? 2 : most <= 80 ? 10 : 100;
  for (let t = 0; t <= most; t += tick) if (width > 300 || !((t / tick) % 2)) parts.push(text(x(t), bottom + 16, t || `${label} 0`, t ? "middle" : "start"));
  for (const [v, says] of lines) parts.push(line(left, y(v), right, y(v), "level"), text(right, y(v) - 4, says, "end"));
  const path = (points) => `M${points.map(([t, v]) => `${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}`;
  for (const { bands, colour } of runs.filter((r) => r.bands.length)) {
    const edge = [...bands.map(([t, , v]) => [t, v]), ...bands.map(([t, v]) => [t, v]).reverse()];
    parts.push(make("path", { d: `${path(edge)}Z`, fill: colour, class: "band" }));
    parts.push(make("path", { d: path(bands.map(([t, , , v]) => [t, v])), stroke: colour, class: "middle" }));
  }
  for (const { at, now, colour, dashed, mean } of runs.filter((r) => r.at.length)) {
    const end = at.at(-1);
    parts.push(make("path", { d: path(at), stroke: colour, class: dashed ? "pooled" : now ? "run now" : "run" }));
    if (dashed) parts.push(text(x(end[0]) - 4, y(end[1]) - 6, "all in one place", "end"));
    if (!dashed) parts.push(make("circle", { cx: x(end[0]), cy: y(end[1]), r: now ? 4.5 : 3, fill: colour }));
    if (mean) parts.push(make("path", { d: path([[mean[0], mean[2]], [mean[1], mean[2]]]), stroke: colour, class: "mean-of" }));
  }
  svg.replaceChildren(...parts);
}

// How much of each letter is read; a dot where those who took part hold hardly any.
const FEW = 0.05, held = (counts, c) => counts.reduce((sum, count) => sum + count[c], 0);
export function letters(svg, { rows, counts, classes, most }) {
  const [width, height] = sized(svg), left = 22, bottom = height - 20, wide = (width - left - 4) / most, high = bottom / classes.length, parts = [];
  classes.forEach((c, i) => parts.push(text(10, (i + 0.5) * high + 4, c, "middle", "")));
  for (const { round, letters: read, clients } of rows) {
    const there = counts.filter((_, k) => clients[k].weight !== undefined), x = left + (round - 1) * wide;
    read.forEach((v, c) => {
      parts.push(make("rect", { x, y: c * high, width: wide + 0.5, height: high - 1, fill: CLASSES[c], "fill-opacity": v.toFixed(2) }));
      if (held(there, c) < FEW * held(counts, c)) parts.push(make("circle", { cx: x + wide / 2, cy: (c + 0.5) * high, r: Math.min(2.5, wide / 4), class: "begin" }));
    });
  }
  for (let t = 0; t <= most; t += 10) parts.push(text(left + t * wide, bottom + 15, t || "round 0", t ? "middle" : "start"));
  svg.replaceChildren(...parts);
  return rows.length ? classes.map((c, i) => `${c} ${percent(rows.at(-1).letters[i])}`).join(", ") : "";
}
