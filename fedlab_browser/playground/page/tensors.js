// Runs the programs of fedlab_browser.tracing: loops over float32 numbers in flat buffers.
// A step is [operation, shape, operands, options...], the destination first; an operand
// is [buffer, offset, strides]. Everything is bound once, so that a run only computes.
//
// All buffers are parts of one array that never changes: that the compiler knows where
// it lies makes every loop faster. `simd.wasm` has the loops that matter most, on four
// numbers at once; without it everything works, at less than half the speed.

const memory = new WebAssembly.Memory({ initial: 1792 }); // 112 MiB
const H = new Float32Array(memory.buffer);
let simd = null;

// A part of the memory, which is given back as a whole.
export class Arena {
  constructor(share) {
    this.first = this.used = Arena.next;
    this.end = Arena.next += Math.floor(share * H.length);
  }

  allocate(n) {
    if (this.used + n > this.end) throw new Error("too many numbers for the memory set aside");
    return H.subarray(this.used, this.used += n).fill(0);
  }

  clear() {
    this.used = this.first;
  }
}
Arena.next = 0;

export async function accelerate(fetched) {
  try {
    const bytes = await (await fetched()).arrayBuffer();
    simd = (await WebAssembly.instantiate(bytes, { page: { memory } })).instance.exports;
  } catch {
    simd = null; // no WebAssembly here, or a policy against it
  }
  return simd !== null;
}

const place = (array) => array.byteOffset / 4;

// One row: n numbers, written at p, p + r, ..., from those at i, i + s, ... and j, ...
const ROWS = {
  copy: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = H[i]; },
  neg: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = -H[i]; },
  exp: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.exp(H[i]); },
  log: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.log(H[i]); },
  log1p: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.log1p(H[i]); },
  tanh: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.tanh(H[i]); },
  sigmoid: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = 1 / (1 + Math.exp(-H[i])); },
  rsqrt: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = 1 / Math.sqrt(H[i]); },
  sqrt: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.sqrt(H[i]); },
  abs: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.abs(H[i]); },
  floor: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.floor(H[i]); },
  trunc: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = Math.trunc(H[i]); },
  reciprocal: (n, p, r, i, s) => { for (; n--; p += r, i += s) H[p] = 1 / H[i]; },
  add: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] + H[j]; },
  sub: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] - H[j]; },
  mul: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] * H[j]; },
  div: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] / H[j]; },
  pow: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] ** H[j]; },
  max: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] > H[j] ? H[i] : H[j]; },
  min: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] < H[j] ? H[i] : H[j]; },
  gt: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] > H[j] ? 1 : 0; },
  ge: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] >= H[j] ? 1 : 0; },
  lt: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] < H[j] ? 1 : 0; },
  le: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] <= H[j] ? 1 : 0; },
  eq: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] === H[j] ? 1 : 0; },
  ne: (n, p, r, i, s, j, t) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] === H[j] ? 0 : 1; },
  // The first where the second is above k, else 0.
  gate: (n, p, r, i, s, j, t, k) => { for (; n--; p += r, i += s, j += t) H[p] = H[j] > k ? H[i] : 0; },
  plus: (n, p, r, i, s, j, t, k) => { for (; n--; p += r, i += s, j += t) H[p] = H[i] + k * H[j]; },
  // An axis, of stride k, is walked by sample numbers or labels.
  take: (n, p, r, i, s, j, t, k) => { for (; n--; p += r, i += s, j += t) H[p] = H[i + k * H[j]]; },
  put: (n, p, r, i, s, j, t, k) => { for (; n--; p += r, i += s, j += t) H[p + k * H[j]] += H[i]; },
  where: (n, p, r, i, s, j, t, k, h, u) => { for (; n--; p += r, i += s, j += t, h += u) H[p] = H[i] ? H[j] : H[h]; },
};

// Over all axes but the last, how many there are, and where each operand is there.
function outer(shape, operands) {
  const count = shape.reduce((a, b) => a * b, 1);
  const at = operands.map(([begin, strides]) => {
    const places = new Int32Array(count), index = shape.map(() => 0);
    for (let q = 0; q < count; q++) {
      places[q] = index.reduce((sum, x, d) => sum + x * strides[d], begin);
      for (let d = shape.length - 1; d >= 0 && ++index[d] === shape[d]; d--) index[d] = 0;
    }
    return places;
  });
  return [count, ...at];
}

// What of simd.wasm does an operation on n numbers side by side, if anything.
function inRow(op, n, strides, k) {
  const fours = n % 4 === 0;
  if (strides === "1 1 1") return op === "gate" && !(fours && Math.fround(k) === k) ? null : simd[op];
  if (strides !== "1 1 0") return null;
  return op === "mul" ? simd.scale : op === "max" && fours ? simd.floor : null;
}

function rowwise(op, shape, operands, k) {
  const n = shape.at(-1) ?? 1, kernel = ROWS[op];
  const strides = operands.map(([, s]) => s.at(-1) ?? 0);
  const fast = simd && n >= 64 && shape.length === 1 && inRow(op, n, strides.join(" "), k);
  if (fast) {
    const [p, i, j] = operands.map(([at]) => 4 * at);
    return () => fast(n, p, i, j, k);
  }
  const [r, s, t = 0, u = 0] = strides;
  const [count, P, I, J = I, L = I] = outer(shape.slice(0, -1), operands);
  if (op === "take" && r === 1 && s === 1 && t === 0) { // whole rows, as they lie
    return () => { for (let q = 0, i; q < count; q++) H.copyWithin(P[q], i = I[q] + k * H[J[q]], i + n); };
  }
  if (count === 1) {
    const [p, i, j, h] = [P[0], I[0], J[0], L[0]];
    return () => kernel(n, p, r, i, s, j, t, k, h, u);
  }
  return () => { for (let q = 0; q < count; q++) kernel(n, P[q], r, I[q], s, J[q], t, k, L[q], u); };
}

const SUMS = {
  sum(count, P, I, many, R) {
    for (let q = 0; q < count; q++) {
      const i = I[q];
      let total = 0;
      for (let e = 0; e < many; e++) total += H[i + R[e]];
      H[P[q]] = total;
    }
  },
  amax(count, P, I, many, R) {
    for (let q = 0; q < count; q++) {
      const i = I[q];
      let most = -Infinity;
      for (let e = 0; e < many; e++) if (H[i + R[e]] > most) most = H[i + R[e]];
      H[P[q]] = most;
    }
  },
};

// m x n from m x k and k x n: two rows and four columns at a time, in doubles.
function product(M, K, N, op, om, on, ap, am, ak, bp, bk, bn) {
  if (simd) {
    if (on !== 1 && om === 1) return product(N, K, M, op, on, om, bp, bn, bk, ap, ak, am);
    if (on === 1 && bn === 1) return simd.columns(M, K, N, 4 * op, 4 * om, 4 * ap, 4 * am, 4 * ak, 4 * bp, 4 * bk);
    if (ak === 1 && bk === 1) return simd.dots(M, K, N, 4 * op, 4 * om, 4 * on, 4 * ap, 4 * am, 4 * bp, 4 * bn);
  }
  for (let m = 0; m < M; m += 2) {
    const two = m + 1 < M, a0 = ap + m * am, a1 = two ? a0 + am : a0;
    const o0 = op + m * om, o1 = two ? o0 + om : o0;
    let n = 0;
    for (; n + 3 < N; n += 4) {
      let s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
      let i = a0, j = a1, x = bp + n * bn, y = x + bn, z = y + bn, w = z + bn;
      for (let k = 0; k < K; k++, i += ak, j += ak, x += bk, y += bk, z += bk, w += bk) {
        const u = H[i], v = H[j], c = H[x], d = H[y], e = H[z], f = H[w];
        s00 += u * c; s01 += u * d; s02 += u * e; s03 += u * f;
        s10 += v * c; s11 += v * d; s12 += v * e; s13 += v * f;
      }
      let p = o1 + n * on;
      H[p] = s10; H[p += on] = s11; H[p += on] = s12; H[p += on] = s13;
      p = o0 + n * on;
      H[p] = s00; H[p += on] = s01; H[p += on] = s02; H[p += on] = s03;
    }
    for (; n < N; n++) {
      let s = 0, t = 0, i = a0, j = a1, x = bp + n * bn;
      for (let k = 0; k < K; k++, i += ak, j += ak, x += bk) { s += H[i] * H[x]; t += H[j] * H[x]; }
      H[o1 + n * on] = t;
      H[o0 + n * on] = s;
    }
  }
}

const SOFTMAX = {
  log_softmax(count, n, P, r, I, s) {
    for (let q = 0; q < count; q++) {
      const i = I[q], p = P[q];
      let most = -Infinity, total = 0;
      for (let e = 0; e < n; e++) if (H[i + e * s] > most) most = H[i + e * s];
      for (let e = 0; e < n; e++) total += Math.exp(H[i + e * s] - most);
      const shift = most + Math.log(total);
      for (let e = 0; e < n; e++) H[p + e * r] = H[i + e * s] - shift;
    }
  },
  // From the gradient and the log-softmax.
  log_softmax_back(count, n, P, r, I, s, J, t) {
    for (let q = 0; q < count; q++) {
      const p = P[q], i = I[q], j = J[q];
      let total = 0;
      for (let e = 0; e < n; e++) total += H[i + e * s];
      for (let e = 0; e < n; e++) H[p + e * r] = H[i + e * s] - Math.exp(H[j + e * t]) * total;
    }
  },
};

function bind([op, shape, operands, ...more], buffers) {
  const at = operands.map(([id, first, strides]) => [place(buffers[id]) + first, strides]);
  if (op === "bmm") {
    const [batch, M, K, N] = shape, [[o, [oB, om, on]], [a, [aB, am, ak]], [b, [bB, bk, bn]]] = at;
    return () => {
      for (let q = 0; q < batch; q++) product(M, K, N, o + q * oB, om, on, a + q * aB, am, ak, b + q * bB, bk, bn);
    };
  }
  if (op in SUMS) {
    const [over, strides] = more, [count, P, I] = outer(shape, at);
    const [many, R] = outer(over, [[0, strides]]);
    return () => SUMS[op](count, P, I, many, R);
  }
  if (op in SOFTMAX) {
    const [n, [r, s, t]] = more, [count, P, I, J] = outer(shape, at);
    return () => SOFTMAX[op](count, n, P, r, I, s, J, t);
  }
  if (more.length && (op === "add" || op === "sub")) return rowwise("plus", shape, at, op === "add" ? more[0] : -more[0]);
  if (!(op in ROWS)) throw new Error(`no operation ${op}`);
  return rowwise(op, shape, at, more[0] ?? 0);
}

export class Program {
  // `shared`: buffers that several programs read, by the names of inputs.
  constructor(spec, arena, shared = {}) {
    const buffers = [], known = Object.entries(spec.inputs).filter(([name]) => name in shared);
    for (const [name, id] of known) buffers[id] = shared[name];
    spec.sizes.forEach((n, id) => { buffers[id] ??= arena.allocate(n); });
    for (const [id, value] of Object.entries(spec.constants)) {
      if (typeof value === "number") buffers[id].fill(value);
      else buffers[id].set(value);
    }
    const named = (ids) => Object.fromEntries(Object.entries(ids).map(([n, id]) => [n, buffers[id]]));
    this.in = named(spec.inputs);
    this.out = named(spec.outputs);
    this.steps = spec.steps.map((step) => bind(step, buffers));
  }

  run() {
    for (const step of this.steps) step();
  }
}
