import { describe, expect, it } from 'vitest';
import type { ArtifactStore } from '../../src/core/artifacts.ts';
import type { EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import { nameOf, pattern, runLoop, scriptedEvaluator, tile } from './fakes.ts';

const store: ArtifactStore = { put: () => 'hash' };

/** Answers as the scripted evaluator does, with measured times, and keeps what it was asked. */
const observed = (answers: Record<string, { ns: number }>): Evaluator & { requests: EvaluationRequest[] } => {
  const requests: EvaluationRequest[] = [];
  const scripted = scriptedEvaluator({ '*': { ns: 1000 }, ...answers });
  return {
    requests,
    close: async () => {},
    async evaluate(request) {
      requests.push(request);
      const evaluation = await scripted.evaluate(request);
      return {
        ...evaluation,
        timing: { ...evaluation.timing!, kind: 'measured' },
        ...(request.keep && { artifacts: { ptx: `PTX of ${nameOf(request.candidate)}` } }),
      };
    },
  };
};

const CUDA = { id: 'cuda:0', kind: 'cuda', name: 'Fake' } as const;
const patterns = [pattern('p', 'bank-conflicts', [tile(64)])];

describe('a run with a store for artifacts', () => {
  it('has PTX kept of all it judges on a GPU, machine code only of what is measured for a verdict', async () => {
    const evaluator = observed({});
    const { events } = await runLoop({ evaluator, device: CUDA, patterns, artifacts: store });
    expect(evaluator.requests.length).toBeGreaterThan(1);
    for (const { keep, tier } of evaluator.requests) expect(keep).toEqual({ store, sass: tier === 'accept' });
    expect(new Set(evaluator.requests.map(({ tier }) => tier))).toContain('screen');
    for (const event of events)
      if (event.type === 'evaluation-finished')
        expect(event.evaluation.artifacts?.ptx).toMatch(`PTX of ${event.evaluation.candidate.kernel}`);
  });

  it.each([
    ['on a virtual GPU', { artifacts: store }],
    ['without a store', { device: CUDA }],
  ])('asks for nothing %s', async (_name, options) => {
    const evaluator = observed({});
    await runLoop({ evaluator, patterns, ...options });
    expect(evaluator.requests.map(({ keep }) => keep).filter(Boolean)).toEqual([]);
  });
});
