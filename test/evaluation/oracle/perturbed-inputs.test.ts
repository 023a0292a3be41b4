import { expect, it } from 'vitest';
import { lazilyMapped, type SparseTensors } from '../../../src/core/sparse-tensor.ts';
import { perturbInputs, perturbSparse } from '../../../src/evaluation/oracle/perturbed-inputs.ts';
import { createStream } from '../../../src/stats/random.ts';

const COUNT = 65_537;
const stream = createStream('relative perturbations of inputs');
const noise = Float64Array.from({ length: COUNT }, (_, i) => Math.sqrt(12) * (stream.uniform(i) - 0.5));

it('multiplies each element by the multiplier of its place, and begins again after the last, to the bit', () => {
  const inputs = { A: new Float64Array(150_000).fill(1), I: Float64Array.of(1, 2), B: Float64Array.of(0, 2, -4) };
  const [names, run, relative] = [['A', 'B'], 3, 2 ** -20] as const;
  const changed = perturbInputs(inputs, { names, run, relative });
  for (const [position, name] of names.entries()) {
    const start = createStream('where noise begins', position, run).bits(0) % COUNT;
    const wanted = inputs[name].map((value, i) => value * (1 + relative * noise[(start + i) % COUNT]!));
    expect(changed[name]).toEqual(wanted);
  }
  expect(changed.I).toBe(inputs.I);
  expect(inputs.A.every((value) => value === 1)).toBe(true);
});

it('changes each element of a sparse input as it would be changed in the whole one, and others not', () => {
  const piece = (at: number, count: number) => ({ at, values: new Float64Array(count).fill(at + 1) });
  const sparse: SparseTensors = {
    // A piece with more elements than there are multipliers, and one behind as many.
    B: { length: 300_000, pieces: [piece(7, 70_000), piece(140_000, 3)] },
    I: { length: 10, pieces: [piece(2, 2)] },
  };
  const perturbation = { names: ['A', 'B'], run: 3, relative: 2 ** -20 };
  const changed = perturbSparse(sparse, perturbation);
  const whole = { A: Float64Array.of(1), B: lazilyMapped(sparse.B!) };
  expect(lazilyMapped(changed.B!)).toEqual(perturbInputs(whole, perturbation).B);
  expect(changed.I).toBe(sparse.I);
  expect(sparse.B!.pieces[1]).toEqual(piece(140_000, 3));
  // Each its own.
  expect(perturbInputs({ A: whole.A }, perturbation).A).toEqual(perturbInputs(whole, perturbation).A);
});
