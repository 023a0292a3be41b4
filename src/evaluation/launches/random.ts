/**
 * Counter-based random numbers: value i of a stream is a pure function of the stream's key and i, so that any part of
 * an input can be drawn alone and the same input is drawn on every machine. Not cryptographic, and need not be: seeds
 * never reach a kernel.
 *
 * bits(i) = mix(mix(i + k0) ^ k1), mix being a 32-bit xor-shift-multiply bijection.
 * Source of mix's constants: C. Wellons, hash-prospector, "lowbias32" (public domain), bias 0.17.
 */
export interface RandomStream {
  /** Uniform over the 32-bit integers. */
  bits(index: number): number;
  /** Uniform in the open interval (0, 1), 32 bits fine. */
  uniform(index: number): number;
  /** Standard normal, by Box–Muller over the pair of counters that `index` belongs to. */
  normal(index: number): number;
  /** Fills `target` with `mean + standardDeviation · normal(i)`, at half the cost of drawing them one by one. */
  fillNormal(target: Float64Array, mean: number, standardDeviation: number): void;
}

const mix = (value: number): number => {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
};

const FNV_PRIME = 0x01000193;

/** 32-bit FNV-1a over the labels' UTF-16 code units, finished with `mix`. Labels are separated, so ("a","b") ≠ ("ab"). */
const hashLabels = (labels: readonly (string | number)[], basis: number): number => {
  let hash = basis | 0;
  for (const label of labels) {
    const text = String(label);
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
    hash = Math.imul(hash ^ 0x1f, FNV_PRIME);
  }
  return mix(hash);
};

/** The stream named by these labels, e.g. run seed, check and input name. Equal labels give equal streams. */
export const createStream = (...labels: readonly (string | number)[]): RandomStream => {
  const key0 = hashLabels(labels, 0x811c9dc5);
  const key1 = hashLabels(labels, 0x5bd1e995);
  const bits = (index: number): number => mix(mix(index + key0) ^ key1);
  const uniform = (index: number): number => (bits(index) + 0.5) / 4294967296;
  const normal = (index: number): number => {
    const first = index - (index % 2);
    const radius = Math.sqrt(-2 * Math.log(uniform(first)));
    const angle = 2 * Math.PI * uniform(first + 1);
    return radius * (index === first ? Math.cos(angle) : Math.sin(angle));
  };
  const fillNormal = (target: Float64Array, mean: number, standardDeviation: number): void => {
    for (let first = 0; first < target.length; first += 2) {
      const radius = Math.sqrt(-2 * Math.log(uniform(first)));
      const angle = 2 * Math.PI * uniform(first + 1);
      target[first] = mean + standardDeviation * (radius * Math.cos(angle));
      if (first + 1 < target.length) target[first + 1] = mean + standardDeviation * (radius * Math.sin(angle));
    }
  };
  return { bits, uniform, normal, fillNormal };
};

/** A non-zero seed for a CTA and warp order, from the same labels as the inputs. */
export const orderSeedOf = (...labels: readonly (string | number)[]): number =>
  1 + (createStream('order', ...labels).bits(0) % 0x7ffffffe);
