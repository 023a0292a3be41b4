import { expect, test } from 'vitest';
import { compareCandidates } from '../../src/app/compare.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { optimizeProblem, prepareRun } from '../../src/app/optimize.ts';

const asked = { device: 'virtual:l4', energy: true } as const;

test.each([
  ['evaluate', () => evaluateKernel({ ...asked, target: 'softmax' })],
  ['compare', () => compareCandidates({ ...asked, baseline: 'softmax', candidate: 'softmax' })],
  ['optimize', () => optimizeProblem({ ...asked, target: 'softmax' })],
  ['optimize --minimise', () => optimizeProblem({ device: 'virtual:l4', minimise: 'energy', target: 'softmax' })],
  [
    'optimize --workers',
    () => optimizeProblem({ ...asked, device: 'queue', queue: 'redis://x', workers: 'virtual:l4', target: 'softmax' }),
  ],
])('%s: a virtual device predicts no joules', async (_, judge) => {
  await expect(judge()).rejects.toMatchObject({
    exitCode: 3,
    details: {
      code: 'energy-needs-a-gpu',
      message: expect.stringContaining('predicts no joules'),
      received: 'virtual:l4',
    },
  });
});

test.each([
  ['--author', { author: ['my-agent'] }],
  ['--objective', { objective: 'per-workload' }],
  ['--prior', { prior: 'latest' }],
  ['--goal', { goal: '50us' }],
] as const)('a run that minimises energy takes no %s: that is about times', async (path, options) => {
  const asked = { device: 'cuda:0', minimise: 'energy', target: 'softmax', ...options } as const;
  await expect(prepareRun(asked)).rejects.toMatchObject({
    details: { code: 'conflicting-options', path, message: expect.stringContaining('--minimise energy') },
  });
});

test('a ratio is a goal of energy, too, and the log keeps what is minimised', async () => {
  const prepared = await prepareRun({
    ...{ device: 'cuda:0', minimise: 'energy', goal: '1.5x', target: 'softmax', trust: true },
  });
  expect(prepared.goal).toMatchObject({ kind: 'speed-up', ratio: 1.5 });
  expect(prepared.request.minimise).toBe('energy');
});
