// Randomises an answer before it leaves the browser, as docs/reports.md describes it: exact, with WebCrypto's bits only.
// randomise(parameters, value) gives the bytes of a report; parameters are what the mechanism's parameters() gave.
"use strict";

const randomise = (() => {
  const WHOLE = 2 ** 53;
  const STEPS = 2 ** 16;

  const random = (count) => crypto.getRandomValues(new Uint8Array(count));

  // Uniform on 0 … 2^53 − 1: all of them are exact as numbers.
  const word = () => {
    const view = new DataView(random(8).buffer);
    return (view.getUint32(0, true) & 0x1fffff) * 2 ** 32 + view.getUint32(4, true);
  };

  // True with probability chance/2^53.
  const coin = (chance) => word() < chance;

  // Uniform on 0 … limit − 1: the high bits of words, drawn again until they are below.
  const below = (limit) => {
    let size = 1;
    while (size < limit) size *= 2;
    for (;;) {
      const drawn = Math.floor(word() / (WHOLE / size));
      if (drawn < limit) return drawn;
    }
  };

  const index = (number) => {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, number, true);
    return bytes;
  };

  const bitmap = (size, isSet) => {
    const bytes = new Uint8Array(Math.ceil(size / 8));
    for (let i = 0; i < size; i++) if (isSet(i)) bytes[i >> 3] |= 1 << (i & 7);
    return bytes;
  };

  const join = (...parts) => {
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
    return bytes;
  };

  // The value by a coin, else another of so many, each as likely.
  const response = (chance, size, value) => {
    const shift = 1 + below(size - 1);
    return coin(chance) ? value : (value + shift) % size;
  };

  const isEven = (bits) => {
    let even = true;
    for (; bits; bits &= bits - 1) even = !even;
    return even;
  };

  const unary = (p, value) => bitmap(p.size, (i) => coin(i === value ? p.one : p.zero));

  const kary = (p, value) => index(response(p.chance, p.size, value));

  const hashing = (p, value) => {
    const seeds = random(16);
    const view = new DataView(seeds.buffer);
    const line = view.getBigUint64(0, true) * BigInt(value) + view.getBigUint64(8, true);
    const hash = Number(BigInt.asUintN(64, line) >> BigInt(64 - p.width));
    return join(seeds, index(response(p.chance, 2 ** p.width, hash)));
  };

  const hadamard = (p, value) => {
    const row = value + 1;
    const column = below(2 ** p.width);
    return index(isEven(row & column) === coin(p.chance) ? column : column ^ (row & -row));
  };

  const subset = (p, value) => {
    const within = coin(p.chance);
    const others = [];
    for (let i = 0; i < p.size; i++) if (i !== value) others.push(i);
    const members = new Set(within ? [value] : []);
    for (let i = 0; members.size < p.chosen; i++) {
      const at = i + below(others.length - i);
      [others[i], others[at]] = [others[at], others[i]];
      members.add(others[i]);
    }
    return bitmap(p.size, (i) => members.has(i));
  };

  const step = (p, value) => Math.round(((Math.min(Math.max(value, p.low), p.high) - p.low) / (p.high - p.low)) * STEPS);

  const oneBit = (p, value) => index(coin(WHOLE / 2 + (2 * step(p, value) - STEPS) * p.rise) ? 1 : 0);

  const piecewise = (p, value) => {
    const start = step(p, value);
    const near = coin(p.chance);
    const inside = start + below(p.window);
    const other = below(STEPS);
    return index(near ? inside : other < start ? other : other + p.window);
  };

  const payloads = {
    "two-coins": kary, "k-ary": kary, "symmetric-unary": unary, "optimized-unary": unary, "local-hashing": hashing,
    hadamard, "subset-selection": subset, "one-bit-mean": oneBit, "piecewise-mean": piecewise,
  };

  return (parameters, value) => {
    const payload = payloads[parameters.mechanism];
    if (parameters.version !== 1 || !payload) throw new RangeError("these parameters are of another version");
    const numeric = "low" in parameters;
    if (numeric ? !Number.isFinite(value) : !(Number.isInteger(value) && value >= 0 && value < parameters.size))
      throw new RangeError("the value is not one of the domain");
    const header = Uint8Array.from(parameters.header.match(/../g), (pair) => parseInt(pair, 16));
    return join(header, payload(parameters, value));
  };
})();
