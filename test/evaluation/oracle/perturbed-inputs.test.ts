import { expect, it } from 'vitest';
import { perturbInputs } from '../../../src/evaluation/oracle/perturbed-inputs.ts';
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
