// fedlab_core/keys.py, the order of engine/plan.py and PyTorch's first weights: the same
// numbers from the same keys. A key is 64 bits, held as two halves: [high, low].

function times(ah, al, bh, bl) {
  const a0 = al & 0xffff, a1 = al >>> 16, b0 = bl & 0xffff, b1 = bl >>> 16;
  const low = a0 * b0, x = a0 * b1, y = a1 * b0;
  const middle = Math.floor(low / 65536) + (x % 65536) + (y % 65536);
  const carry = Math.floor(middle / 65536) + Math.floor(x / 65536) + Math.floor(y / 65536);
  const high = a1 * b1 + carry + Math.imul(ah, bl) + Math.imul(al, bh);
  return [high >>> 0, Math.imul(al, bl) >>> 0];
}

function mix([h, l]) { // the finaliser of SplitMix64
  l = (l ^ ((l >>> 30) | (h << 2))) >>> 0; h = (h ^ (h >>> 30)) >>> 0;
  [h, l] = times(h, l, 0xbf58476d, 0x1ce4e5b9);
  l = (l ^ ((l >>> 27) | (h << 5))) >>> 0; h = (h ^ (h >>> 27)) >>> 0;
  [h, l] = times(h, l, 0x94d049bb, 0x133111eb);
  return [(h ^ (h >>> 31)) >>> 0, (l ^ ((l >>> 31) | (h << 1))) >>> 0];
}

function bitsAt([h, l], position) { // position and word below 2^53
  const next = position + 1, [gh, gl] = times(0x9e3779b9, 0x7f4a7c15, Math.floor(next / 2 ** 32), next >>> 0);
  const low = l + gl;
  return mix([(h + gh + (low > 0xffffffff ? 1 : 0)) >>> 0, low >>> 0]);
}

export const fold = (key, word) => bitsAt(mix(key), word);
export const keyOf = (...words) => words.reduce(fold, [0, 0]);
const uniformAt = (key, i) => (bitsAt(key, i)[0] >>> 8) / 2 ** 24;

const DRAWS = {
  uniform(key, out) {
    for (let i = 0; i < out.length; i++) out[i] = uniformAt(key, i);
  },
  normal(key, out) {
    for (let i = 0, n = out.length; i < n; i++) {
      const radius = Math.sqrt(-2 * Math.log1p(-uniformAt(key, i)));
      out[i] = radius * Math.cos(Math.fround(2 * Math.PI * uniformAt(key, n + i)));
    }
  },
};

// What a program asks for as a draw, [kind, how many, words of the key], into `out`.
export const draw = ([kind, , words], key, out) => DRAWS[kind](words.reduce(fold, key), out);

const ORDER = 0, STEPS = 1;
export const stepKey = (key, step) => fold(fold(key, STEPS), step);

// The samples of each mini-batch of a round, in the order in which a client meets them:
// those of so many epochs, or as many as there are `steps`.
export function batches(held, key, epochs, size, steps = epochs * Math.ceil(held.length / size)) {
  const all = [];
  for (let epoch = 0; held.length && all.length < steps; epoch++) {
    const own = fold(fold(key, ORDER), epoch);
    const drawn = held.map((_, i) => { const [h, l] = bitsAt(own, i); return h * 256 + (l >>> 24); });
    const order = [...held.keys()].sort((a, b) => drawn[a] - drawn[b]);
    for (let i = 0; i < held.length; i += size) all.push(order.slice(i, i + size).map((j) => held[j]));
  }
  return all.slice(0, steps);
}

// PyTorch's generator (MT19937) from a seed: numbers in [0, 1), 24 bits each.
export function twister(seed) {
  const N = 624, state = new Uint32Array(N);
  state[0] = seed;
  for (let i = 1; i < N; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let at = N;
  return () => {
    if (at === N) {
      for (let i = 0; i < N; i++) {
        const y = (state[i] & 0x80000000) | (state[(i + 1) % N] & 0x7fffffff);
        state[i] = state[(i + 397) % N] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let y = state[at++];
    y ^= y >>> 11; y ^= (y << 7) & 0x9d2c5680; y ^= (y << 15) & 0xefc60000; y ^= y >>> 18;
    return ((y >>> 0) & 0xffffff) / 2 ** 24;
  };
}

// What `nn.Linear` begins with, layer after layer: weights, then biases, in +-1/sqrt(inputs).
export function firstModel(shapes, seed) {
  const next = twister(seed), f = Math.fround, model = {};
  let bound = 1;
  for (const [name, shape] of Object.entries(shapes)) {
    if (shape.length === 2) bound = 1 / Math.sqrt(shape[1]);
    const low = f(-bound), wide = f(f(bound) - low);
    model[name] = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => f(f(next() * wide) + low));
  }
  return model;
}
