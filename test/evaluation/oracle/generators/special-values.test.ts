import { describe, expect, it } from 'vitest';
import type { DType } from '../../../../src/core/dtype.ts';
import { generatorSetsOf } from '../../../../src/core/plan/generator-sets.ts';
import type { Generator } from '../../../../src/core/problem.ts';
import { decode, encode } from '../../../../src/core/rounding.ts';
import { planLaunches } from '../../../../src/evaluation/launches/plan-launches.ts';
import { drawInputs } from '../../../../src/evaluation/oracle/draw-inputs.ts';
import { generate } from '../../../../src/evaluation/oracle/generators/index.ts';
import { DEVICE_SPECS } from '../../../../src/hardware/device-specs.ts';
import { createStream } from '../../../../src/stats/random.ts';
import { toyCandidate, toyProblem } from '../../../support/toy-problem.ts';

const draw = (generator: Generator, shape: number[] = [8, 100], dtype: DType = 'f32'): Float64Array =>
  generate(generator, {
    ...{ input: 'X', dtype, shape, dimensions: {}, folder: '' },
    elementCount: shape.reduce((product, extent) => product * extent, 1),
    stream: createStream(3, 'X'),
    sharedStream: (label) => createStream(3, 'shared', label),
  });

describe('special values', () => {
  it.each([
    ['-infinity', (value: number) => value === Number.NEGATIVE_INFINITY],
    ['infinity', (value: number) => value === Number.POSITIVE_INFINITY],
    ['nan', Number.isNaN],
    ['zero', (value: number) => value === 0],
  ] as const)('%s: a tenth of the elements, and in no row all', (value, is) => {
    const drawn = draw({ kind: 'special', value });
    expect(drawn.filter(is).length).toBeGreaterThan(40);
    expect(drawn.filter(is).length).toBeLessThan(160);
    const masked = draw({ kind: 'special', value, ratio: 0.999 }, [200, 2]);
    for (let row = 0; row < 200; row++) expect(masked.subarray(2 * row, 2 * row + 2).every(is)).toBe(false);
  });

  it.each(['f16', 'bf16', 'f32', 'f64'] as const)(
    'subnormals of %s survive rounding and are below every normal',
    (dtype) => {
      const drawn = draw({ kind: 'special', value: 'subnormal', ratio: 1 }, [1000], dtype);
      const stored = decode(encode(drawn, dtype), dtype);
      const normal = { f16: 2 ** -14, bf16: 2 ** -126, f32: 2 ** -126, f64: 2 ** -1022 }[dtype];
      expect(stored).toEqual(drawn);
      expect(stored.every((value) => value !== 0 && Math.abs(value) < normal)).toBe(true);
      expect(new Set([...stored].map(Math.sign)).size).toBe(2);
    },
  );

  it('of an input’s domain make a generator set each', () => {
    const { file } = toyProblem();
    const X = { ...file.inputs.X!, domain: ['subnormal', '-infinity'] as const };
    const sets = generatorSetsOf({ ...file, inputs: { ...file.inputs, X: { ...X, domain: [...X.domain] } } });
    expect(Object.keys(sets)).toEqual(['subnormal:X', '-infinity:X', 'normal', 'large']);
    expect(sets['subnormal:X']).toEqual({ X: { kind: 'special', value: 'subnormal', ratio: 1 } });
  });
});

describe('NaNs of inputs', () => {
  it('have the bits of the host in one element of two, and those of a GPU in the other', () => {
    const { file } = toyProblem();
    const problem = toyProblem({ inputs: { ...file.inputs, X: { ...file.inputs.X!, domain: ['nan'] } } });
    const dimensions = { R: 40, C: 50 };
    const { buffers } = planLaunches({ problem, candidate: toyCandidate(), dimensions, spec: DEVICE_SPECS.get('l4')! });
    const { bytes, tensors } = drawInputs({ problem, buffers, dimensions, seed: 1, generatorSet: 'nan:X' });
    const words = new Uint16Array(bytes.get('X')!.slice().buffer);
    const nans = [...tensors.X!.keys()].filter((i) => Number.isNaN(tensors.X![i]));
    expect(new Set(nans.filter((i) => i % 2 === 1).map((i) => words[i]))).toEqual(new Set([0x7fff]));
    expect(new Set(nans.filter((i) => i % 2 === 0).map((i) => words[i]))).toEqual(new Set([0x7e00]));
  });
});

describe('alternating', () => {
  it('changes its sign at every step along an axis, the last unless given', () => {
    const drawn = draw({ kind: 'alternating', low: 1, high: 2 }, [4, 6]);
    expect(drawn.every((value, i) => Math.abs(value) >= 1 && Math.sign(value) === (i % 2 === 0 ? 1 : -1))).toBe(true);
    const down = draw({ kind: 'alternating', axis: 0 }, [4, 6]);
    expect(down.every((value, i) => Math.sign(value) === (Math.floor(i / 6) % 2 === 0 ? 1 : -1))).toBe(true);
  });
});

describe('ramp', () => {
  it('rises from low to high along an axis, the last unless given', () => {
    const drawn = draw({ kind: 'ramp', low: -3, high: 5 }, [5, 40]);
    expect(drawn.every((value, i) => i % 40 === 0 || value > drawn[i - 1]!)).toBe(true);
    expect([Math.min(...drawn) >= -3, Math.max(...drawn) < 5]).toEqual([true, true]);
    const down = draw({ kind: 'ramp', low: 0, high: 1, axis: 0 }, [5, 40]);
    expect(down.every((value, i) => i < 40 || value > down[i - 40]!)).toBe(true);
  });
});

describe('sparse', () => {
  it('is zero but for a few places', () => {
    const drawn = draw({ kind: 'sparse', count: 16 }, [10_000]);
    expect(drawn.filter((value) => value !== 0).length).toBeGreaterThan(8);
    expect(drawn.filter((value) => value !== 0).length).toBeLessThanOrEqual(16);
  });
});

describe('off-grid', () => {
  it.each([11, 13])('errs in one direction when it is rounded to %s bits', (bits) => {
    const drawn = draw({ kind: 'off-grid' });
    const unit = 2 ** -(bits - 1);
    const errors = drawn.map((value) => Math.round(value / unit) * unit - value);
    expect(new Set([...errors].map(Math.sign)).size).toBe(1);
    expect(decode(encode(drawn, 'f32'), 'f32').every((value, i) => Math.abs(value - drawn[i]!) < 1e-7)).toBe(true);
  });
});
