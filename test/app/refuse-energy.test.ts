import { expect, test } from 'vitest';
import { compareCandidates } from '../../src/app/compare.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';

const asked = { device: 'virtual:l4', energy: true } as const;

test.each([
  ['evaluate', () => evaluateKernel({ ...asked, target: 'softmax' })],
  ['compare', () => compareCandidates({ ...asked, baseline: 'softmax', candidate: 'softmax' })],
  ['optimize', () => optimizeProblem({ ...asked, target: 'softmax' })],
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
