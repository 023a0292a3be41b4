import { describe, expect, it } from 'vitest';
import { createTensorKernel } from '../../../src/virtual-gpu/runtime/tensor-kernel.ts';
import { accumulatorFor, factorsOf, tensorModel } from '../../../src/virtual-gpu/runtime/tensor-model.ts';

const [M, N] = [16, 8];

/** Numbers in (0, 1), the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

/** Halves of exponents up to `spread` apart, among them zeros of both signs. */
function operands(k: number, spread: number, random: () => number) {
  const draw = (): number => {
    if (random() < 0.05) return random() < 0.5 ? 0 : -0;
    return Math.f16round((random() - 0.5) * 2 ** Math.floor(random() * spread - spread / 2));
  };
  return {
    a: Float64Array.from({ length: M * k }, draw),
    b: Float64Array.from({ length: k * N }, draw),
    c: Float64Array.from({ length: M * N }, () => Math.fround(draw() * random())),
  };
}

function multiply(kernel: ReturnType<typeof createTensorKernel>, { a, b, c }: ReturnType<typeof operands>): boolean {
  kernel.a.set(a);
  kernel.b.set(b);
  kernel.c.set(c);
  return kernel.multiply();
}

describe.each(['sm_89', 'sm_90'])('the tensor kernel of %s', (target) => {
  it.each([8, 16])('gives the bits of the model, element by element, at depth %i', (k) => {
    const { blockSize, fractionBits } = tensorModel(target);
    const kernel = createTensorKernel(k, blockSize.f16!, fractionBits);
    const accumulate = accumulatorFor('f32', 'f16', tensorModel(target))!;
    const random = randomNumbers(k);
    for (let round = 0; round < 60; round++) {
      const drawn = operands(k, (round % 3) * 12, random);
      expect(multiply(kernel, drawn)).toBe(true);
      const a = factorsOf(drawn.a);
      const b = factorsOf(Float64Array.from(drawn.b, (_, i) => drawn.b[(i % k) * N + Math.floor(i / k)]!));
      const expected = Array.from(drawn.c, (start, i) => accumulate(start, a, b, Math.floor(i / N), i % N, k));
      expect([...kernel.c]).toEqual(expected);
    }
  });

  it('says so when a result leaves the normal numbers of f32', () => {
    const { blockSize, fractionBits } = tensorModel(target);
    const kernel = createTensorKernel(16, blockSize.f16!, fractionBits);
    const drawn = operands(16, 4, randomNumbers(1));
    for (const outside of [2 ** 128, -(2 ** 128), 2 ** -140]) {
      const zeros = { a: drawn.a.map(() => 0), b: drawn.b, c: drawn.c.map((value, i) => (i === 77 ? outside : value)) };
      expect(multiply(kernel, zeros)).toBe(false);
    }
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'says so when an operand is %d',
    (value) => {
      const { blockSize, fractionBits } = tensorModel(target);
      const kernel = createTensorKernel(16, blockSize.f16!, fractionBits);
      const drawn = operands(16, 4, randomNumbers(1));
      expect(multiply(kernel, drawn)).toBe(true);
      for (const name of ['a', 'b', 'c'] as const) {
        for (const at of [0, 77, 127]) {
          const other = drawn[name].map((x, i) => (i === at ? value : x));
          expect(multiply(kernel, { ...drawn, [name]: other }), `${name} ${at}`).toBe(false);
        }
      }
    },
  );
});
