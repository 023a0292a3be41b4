import { describe, expect, test } from 'vitest';
import { evaluationSchema } from '../../src/core/evaluation.ts';
import { diagnosisDocument } from '../../src/reports/documents/diagnosis.ts';
import { evaluationDocument } from '../../src/reports/documents/evaluation.ts';
import { onTerminal, unwrapped } from '../support/printed.ts';
import { measuredEvaluation } from './measured-evaluation.ts';

const text = unwrapped(onTerminal(evaluationDocument(measuredEvaluation())));

describe('a measured evaluation on the terminal', () => {
  test('is JSON of the schema, before and after a round trip', () => {
    const evaluation = measuredEvaluation();
    expect(evaluationSchema.parse(JSON.parse(JSON.stringify(evaluation)))).toEqual(evaluation);
  });

  test.each([
    'measured 69.19 µs [69.16 µs … 69.21 µs]',
    'median of 10 blocks, 20 samples (tier accept); the interval is of 95 %',
    'cold cache: a ring of 90 slots, 180 MiB (3 × L2)',
    'a sample is 1 replay of 90 launch sequences; inputs drawn anew on the device before every replay',
    'a replay takes 1.5 µs beside its launches, taken off every replay; launched alone, outside a graph: 75 µs',
    '150 slots compared with the oracle after being timed',
    'clocks 1,950–1,980 MHz SM, 2,619 MHz memory, 40–50 °C, 350 W of 700 W',
    'throttling: sw-power-cap; power-capped in 1 of 11 blocks',
    'discarded: 1 of 11 blocks (thermal-slowdown)',
    'disturbed: another process held a context on this GPU',
    'lower bound 4.43 µs; attainable 8.3 µs (12 % reached)',
    'cudnn was not measured: does not take fp32',
    'torch 2.11.0+cu130 flash_fwd_kernel',
    'Large (rows, its own estimate: 41.5 % of the launch’s time): c',
    'Small (rows, its own estimate: 60 % of one unit’s work, not of the time): a b',
    'compute-sanitizer 2025.3.0: unsanitized',
    'racecheck: timed-out: over 60 s',
    'times under a profiler are not results and are not shown',
  ])('says: %s', (line) => expect(text).toContain(line));

  test('the comparison, with its verdict and both statistics', () => {
    expect(text).toMatch(/flash +faster +1\.401× +\[1\.401, 1\.401\] +10 +\S+e-\d+ +\S+ +1\.00/);
  });

  test('never says predicted, and shows no time of the profiler', () => {
    expect(text).not.toMatch(/predicted/i);
    expect(text).not.toContain('123');
  });

  test('the largest of the profiler’s rules first', () => {
    expect(text.indexOf('Large (')).toBeLessThan(text.indexOf('Small ('));
    expect(text).toContain(': a b');
  });

  test('what NVML does not tell is said to be untold', () => {
    const { timing } = measuredEvaluation();
    const blocks = timing!.measurement!.blocks.map((block) => ({ ...block, before: {}, after: {} }));
    const untold = onTerminal(
      evaluationDocument({
        ...measuredEvaluation(),
        timing: { ...timing!, measurement: { ...timing!.measurement!, blocks } },
      }),
    );
    expect(untold).toContain('clocks, temperature and power: not reported');
    expect(untold).toContain('throttling: not reported');
  });
});

test('a diagnosis says where counters come from and what the profiler itself says', () => {
  const diagnosis = onTerminal(
    diagnosisDocument({ schemaVersion: 1, kind: 'diagnosis', evaluation: measuredEvaluation(), moves: [], advice: [] }),
  );
  expect(diagnosis).toContain('counters: counted on virtual:h200, not on this GPU');
  expect(diagnosis).toContain('What ncu 2025.3.0 itself says (its estimates, not results)\n  Large');
  expect(diagnosis).not.toMatch(/bound by|predicted/);
});
