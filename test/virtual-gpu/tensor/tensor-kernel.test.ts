import { describe, expect, it } from 'vitest';
import { f16ToNumber, numberToF16 } from '../../../src/virtual-gpu/runtime/half-numbers.ts';
import type { HalfFormat } from '../../../src/virtual-gpu/runtime/product-emitter.ts';
import { createTensorKernel } from '../../../src/virtual-gpu/runtime/tensor-kernel.ts';
import { accumulatorFor, factorsOf, tensorModel } from '../../../src/virtual-gpu/runtime/tensor-model.ts';

const [M, N, LANES, REGISTER_BYTES] = [16, 8, 32, 128];

/** Numbers in (0, 1), the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

const bf16Bits = (value: number): number => new Uint32Array(new Float32Array([value]).buffer)[0]! >>> 16;
const bf16Value = (bits: number): number => new Float32Array(new Uint32Array([bits << 16]).buffer)[0]!;

const FORMATS: Readonly<Record<HalfFormat, { bits: (value: number) => number; value: (bits: number) => number }>> = {
  f16: { bits: numberToF16, value: f16ToNumber },
  bf16: { bits: bf16Bits, value: bf16Value },
};

/** A row-major, B by rows, C row-major; of 16-bit numbers the values. */
interface Operands {
  a: number[];
  b: number[];
  c: number[];
}

/** Halves of exponents up to `spread` apart, among them zeros of both signs. */
function drawOperands(format: HalfFormat, k: number, spread: number, random: () => number): Operands {
  const { bits, value } = FORMATS[format];
  const draw = (): number => {
    if (random() < 0.05) return random() < 0.5 ? 0 : -0;
    return value(bits((random() - 0.5) * 2 ** Math.floor(random() * spread - spread / 2)));
  };
  return {
    a: Array.from({ length: M * k }, draw),
    b: Array.from({ length: k * N }, draw),
    c: Array.from({ length: M * N }, () => Math.fround(draw() * random())),
  };
}

/** A warp's registers: A, B, C and, apart from it or over it, D. Layouts: PTX ISA, matrix fragments for mma.m16n8k*. */
function warpOf(target: string, format: HalfFormat, k: number, { inPlace = false } = {}) {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const [words, numbers] = [new Uint32Array(memory.buffer), new Float32Array(memory.buffer)];
  const { blockSize, fractionBits } = tensorModel(target);
  const kernel = createTensorKernel(memory, { format, k, block: blockSize[format]!, fractionBits });
  const [aCount, bCount] = [k / 4, k / 8];
  const [b, c] = [aCount, aCount + bCount];
  const d = inPlace ? c : c + 4;
  const word = (register: number, lane: number) => (1 + register) * LANES + lane;
  const pack = (low: number, high: number) => FORMATS[format].bits(low) | (FORMATS[format].bits(high) << 16);
  const place = (r: number, lane: number) => ((lane >> 2) + (r >> 1) * 8) * N + (lane & 3) * 2 + (r & 1);
  return {
    multiply(operands: Operands): boolean {
      for (let lane = 0; lane < LANES; lane++) {
        const [group, pair] = [lane >> 2, (lane & 3) * 2];
        for (let r = 0; r < aCount; r++) {
          const at = (group + (r & 1) * 8) * k + pair + (r >> 1) * 8;
          words[word(r, lane)] = pack(operands.a[at]!, operands.a[at + 1]!);
        }
        for (let r = 0; r < bCount; r++) {
          const row = pair + r * 8;
          words[word(b + r, lane)] = pack(operands.b[row * N + group]!, operands.b[(row + 1) * N + group]!);
        }
        for (let r = 0; r < 4; r++) numbers[word(c + r, lane)] = operands.c[place(r, lane)]!;
      }
      const registers = [...Array.from({ length: c + 4 }, (_, i) => i), ...[0, 1, 2, 3].map((r) => d + r)];
      return kernel(...registers.map((register) => (1 + register) * REGISTER_BYTES)) === 1;
    },
    /** Row-major. */
    result(): number[] {
      const result = new Array<number>(M * N);
      for (let lane = 0; lane < LANES; lane++)
        for (let r = 0; r < 4; r++) result[place(r, lane)] = numbers[word(d + r, lane)]!;
      return result;
    },
  };
}

function modelOf(target: string, format: HalfFormat, k: number, { a, b, c }: Operands): number[] {
  const accumulate = accumulatorFor('f32', format, tensorModel(target))!;
  const rows = factorsOf(Float64Array.from(a));
  const columns = factorsOf(Float64Array.from(b, (_, i) => b[(i % k) * N + Math.floor(i / k)]!));
  return c.map((start, i) => accumulate(start, rows, columns, Math.floor(i / N), i % N, k));
}

describe.each(['sm_89', 'sm_90'])('the tensor kernel of %s', (target) => {
  describe.each(['f16', 'bf16'] as const)('for %s', (format) => {
    it.each([8, 16])('gives the bits of the model, element by element, at depth %i', (k) => {
      const random = randomNumbers(k);
      for (let round = 0; round < 120; round++) {
        const warp = warpOf(target, format, k, { inPlace: round % 2 === 0 });
        const drawn = drawOperands(format, k, (round % 4) * 10, random);
        expect(warp.multiply(drawn)).toBe(true);
        expect(warp.result()).toEqual(modelOf(target, format, k, drawn));
      }
    });

    it('keeps operands for the next product, but none that changed, nor that one is out of range', () => {
      const warp = warpOf(target, format, 16);
      const [first, second] = [1, 2].map((seed) => drawOperands(format, 16, 10, randomNumbers(seed)));
      const one = { a: first!.a, b: first!.b, c: first!.c };
      const changed = (values: number[], at: number, value: number) => values.map((x, i) => (i === at ? value : x));
      const infinite = Number.POSITIVE_INFINITY;
      for (const [name, values] of [
        ['a', first!.a],
        ['a', changed(first!.a, 200, 3)],
        ['b', changed(first!.b, 100, -1)],
        ['b', second!.b],
        ['a', changed(one.a, 255, infinite)],
        ['c', second!.c],
        ['a', second!.a],
        ['b', changed(one.b, 1, infinite)],
        ['a', first!.a],
        ['b', first!.b],
        ['b', Array(16 * N).fill(0)],
      ] as const) {
        one[name] = values;
        const areFinite = ![...one.a, ...one.b].includes(infinite);
        expect(warp.multiply(one)).toBe(areFinite);
        if (areFinite) expect(warp.result()).toEqual(modelOf(target, format, 16, one));
      }
    });

    it('adds sixteen products of the largest significands, and the largest sum to them', () => {
      const largest = FORMATS[format].value(0x3fff); // just below 2, in both
      for (const sign of [1, -1]) {
        const warp = warpOf(target, format, 16);
        const all = {
          a: Array(M * 16).fill(largest),
          b: Array(16 * N).fill(sign * largest),
          c: Array(M * N).fill(sign * 3.9999997),
        };
        expect(warp.multiply(all)).toBe(true);
        expect(warp.result()).toEqual(modelOf(target, format, 16, all));
      }
    });

    it('keeps the sign of a zero that only negative terms made', () => {
      const warp = warpOf(target, format, 16);
      for (const [a, c] of [
        [-0, -0],
        [-0, 0],
        [0, -0],
      ] as const) {
        const zeros = { a: Array(M * 16).fill(a), b: Array(16 * N).fill(1), c: Array(M * N).fill(c) };
        expect(warp.multiply(zeros)).toBe(true);
        expect(warp.result()).toEqual(modelOf(target, format, 16, zeros));
      }
    });

    it('says so when a sum is too large or too small for it, and leaves D as it was', () => {
      const drawn = drawOperands(format, 16, 4, randomNumbers(1));
      const small = [2 ** -85, -(2 ** -140)];
      for (const outside of [Number.POSITIVE_INFINITY, Number.NaN, 2 ** 120, 3.4028234663852886e38, ...small]) {
        const warp = warpOf(target, format, 16, { inPlace: true });
        const c = drawn.c.map((value, i) => (i === 77 ? outside : value));
        // A row of zeros: no product is larger than the sum.
        const a = drawn.a.map((value, i) => (Math.floor(i / 16) === Math.floor(77 / N) ? 0 : value));
        expect(warp.multiply({ ...drawn, a, c })).toBe(false);
        expect(warp.result()).toEqual(c.map(Math.fround));
      }
    });

    it('adds products to sums that are far larger or smaller', () => {
      const drawn = drawOperands(format, 16, 4, randomNumbers(1));
      for (const far of [2 ** 119, -(2 ** 99), 2 ** -84, 2 ** -85, -(2 ** -140)]) {
        const warp = warpOf(target, format, 16);
        const one = { ...drawn, c: drawn.c.map((value, i) => (i % 7 === 0 ? far : value)) };
        expect(warp.multiply(one)).toBe(true);
        expect(warp.result()).toEqual(modelOf(target, format, 16, one));
      }
    });

    it('adds zeros and small products to sums from 2^20 to 2^30', () => {
      // From 2^25 on, or 2^26, what aligns is less than 1, and can't be added to the exponent of a zero.
      const drawn = drawOperands(format, 16, 4, randomNumbers(1));
      const a = drawn.a.map((value, i) => (i % 16 < 3 ? -0 : Math.floor(i / 16) % 3 === 0 ? 0 : value));
      for (let exponent = 20; exponent <= 30; exponent++) {
        const warp = warpOf(target, format, 16, { inPlace: true });
        const c = drawn.c.map((value, i) => (i % 5 === 0 ? (-1) ** i * 1.75 * 2 ** exponent : i % 5 === 1 ? 0 : value));
        const one = { ...drawn, a, c };
        expect(warp.multiply(one)).toBe(true);
        expect(warp.result()).toEqual(modelOf(target, format, 16, one));
      }
    });

    it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
      'says so when a factor is %d',
      (value) => {
        const drawn = drawOperands(format, 16, 4, randomNumbers(1));
        const warp = warpOf(target, format, 16);
        expect(warp.multiply(drawn)).toBe(true);
        for (const name of ['a', 'b'] as const) {
          for (const at of [0, 77, 127]) {
            const other = drawn[name].map((x, i) => (i === at ? value : x));
            expect(warp.multiply({ ...drawn, [name]: other }), `${name} ${at}`).toBe(false);
          }
        }
      },
    );
  });

  it('takes every finite half', () => {
    const finite = Array.from({ length: 65_536 }, (_, bits) => bits).filter((bits) => (bits & 0x7c00) !== 0x7c00);
    const warp = warpOf(target, 'f16', 16);
    for (let first = 0; first < finite.length; first += M * 16) {
      const a = Array.from({ length: M * 16 }, (_, i) => f16ToNumber(finite[(first + i) % finite.length]!));
      const one = {
        a,
        b: Array.from({ length: 16 * N }, (_, i) => (i % N === Math.floor(i / N) % N ? 1 : 0)),
        c: Array(M * N).fill(0),
      };
      expect(warp.multiply(one)).toBe(true);
      expect(warp.result()).toEqual(modelOf(target, 'f16', 16, one));
    }
  });

  it('leaves bf16 far from 1 to the general product', () => {
    const drawn = drawOperands('bf16', 16, 4, randomNumbers(1));
    for (const far of [2 ** 41, 2 ** -41, -(2 ** 100), 2 ** -130]) {
      const a = drawn.a.map((x, i) => (i === 5 ? far : x));
      expect(warpOf(target, 'bf16', 16).multiply({ ...drawn, a })).toBe(false);
    }
  });
});
