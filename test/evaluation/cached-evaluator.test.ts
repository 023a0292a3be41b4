import { describe, expect, it } from 'vitest';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import { createCachedEvaluator } from '../../src/evaluation/cached-evaluator.ts';
import { toyCandidate, toyProblem, toyWorkload } from '../support/toy-problem.ts';

const request: EvaluationRequest = {
  problem: toyProblem(),
  candidate: toyCandidate(),
  workload: toyWorkload,
  seed: 1,
  id: 'e1',
};

const counting = (): Evaluator & { calls: number } => ({
  calls: 0,
  async evaluate({ id }) {
    this.calls++;
    if (this.calls === 1 && id === 'fails') throw new Error('aborted');
    return { id: id! } as Evaluation;
  },
  close: async () => {},
});

describe('a cached evaluator', () => {
  it('judges a candidate once and answers with the first evaluation and its id', async () => {
    const inner = counting();
    const cached = createCachedEvaluator(inner, 'virtual:l4');
    const answers = await Promise.all([cached.evaluate(request), cached.evaluate({ ...request, id: 'e2' })]);
    expect(answers.map(({ id }) => id)).toEqual(['e1', 'e1']);
    expect(inner.calls).toBe(1);
  });

  it('judges again for another seed, workload or candidate', async () => {
    const inner = counting();
    const cached = createCachedEvaluator(inner, 'virtual:l4');
    await cached.evaluate(request);
    await cached.evaluate({ ...request, seed: 2 });
    await cached.evaluate({ ...request, workload: { ...toyWorkload, dimensions: { R: 1, C: 1 } } });
    await cached.evaluate({ ...request, candidate: toyCandidate({ description: 'another' }) });
    expect(inner.calls).toBe(4);
  });

  it('forgets an evaluation that was aborted', async () => {
    const inner = counting();
    const cached = createCachedEvaluator(inner, 'virtual:l4');
    await expect(cached.evaluate({ ...request, id: 'fails' })).rejects.toThrow('aborted');
    expect((await cached.evaluate(request)).id).toBe('e1');
  });
});
