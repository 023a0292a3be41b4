import { describe, expect, it } from 'vitest';
import { compare, evaluate, exportKernel, gate, inspect, optimize } from '../../src/index.ts';

/** Requests as JavaScript may write them, without types. */
type Loose = (request: never) => Promise<unknown>;
const CALLS: [name: string, call: Loose, request: object][] = [
  ['evaluate', evaluate, { target: 'softmax', paramters: {} }],
  ['optimize', optimize, { target: 'softmax', maxEvaluations: 3 }],
  // Of the process that runs a command.
  ['optimize', optimize, { target: 'softmax', releaseCommand: ['true'] }],
  ['compare', compare, { baseline: 'softmax', candidate: 'softmax', seeds: 1 }],
  ['gate', gate, { base: 'main', markdown: 'unused.md' }],
  ['inspect', inspect, { target: 'softmax', lines: 3 }],
  ['export', exportKernel, { target: 'softmax', output: 'unused', comit: true }],
];

describe('the library', () => {
  it.each(CALLS)(
    '%s refuses a field that its command does not have, before anything happens',
    async (name, call, request) => {
      const field = Object.keys(request).at(-1)!;
      await expect(call(request as never)).rejects.toMatchObject({
        details: { code: 'unknown-field', path: field, message: `A request to ${name} has no field \`${field}\`.` },
      });
    },
  );

  it('says what was probably meant', async () => {
    const misspelt = { target: 'softmax', paramters: {} };
    await expect(evaluate(misspelt as never)).rejects.toMatchObject({
      details: { hint: 'Did you mean `parameters`?' },
    });
  });

  it('points from one kernel for all workloads to one for each', async () => {
    await expect(optimize({ target: 'softmax', objective: 'per-workload' })).rejects.toMatchObject({
      details: { code: 'conflicting-options', hint: expect.stringContaining('optimizePerWorkload') },
    });
  });
});
