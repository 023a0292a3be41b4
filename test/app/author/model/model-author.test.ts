import { describe, expect, it } from 'vitest';
import { openSpending } from '../../../../src/app/author/model/spending.ts';
import type { RecordedEvent } from '../../../../src/store/events.ts';
import { ofType } from '../../../optimizer/fakes.ts';
import { answer, edit, kernelAnswer, modelRun } from './runs.ts';

describe.each(['anthropic', 'openai-compatible'] as const)('a model over %s', (protocol) => {
  it('writes a kernel that is judged and kept', async () => {
    const { events, result, evaluator } = await modelRun({
      protocol,
      script: [
        kernelAnswer('2.0f', { hypothesis: 'one multiplication', ratio: '1.9', levers: ['multiply once'] }),
        { text: 'I have no more ideas.' },
      ],
      verdicts: { '2.0f': { ns: 500 } },
    });
    const [move] = ofType(events, 'move-proposed');
    expect(move?.move).toMatchObject({
      kind: 'written',
      parent: { kernel: '01_first' },
      author: `${protocol}:fake`,
      mode: 'insight',
      hypothesis: 'one multiplication',
      levers: ['multiply once'],
      predictedRatio: 1.9,
      files: [{ file: 'kernel.cu', addedLines: 1, removedLines: 1 }],
      cost: { requests: 1, tokens: { input: 1000 } },
    });
    expect(move?.finding).toMatchObject({ id: 'bank-conflicts', evaluationId: 'e1' });
    expect(ofType(events, 'decision').map(({ decision }) => decision)).toEqual(['keep', 'keep']);
    expect(result.best?.ratioToStart).toBe(2);
    expect(result.stopReason).toBe('author-stuck');
    // The start, what was written, and its confirmation.
    expect(evaluator.all.length).toBe(3);
  });
});

describe('what a model is told', () => {
  it('mends a kernel that was wrong, with its feedback, and edits apply to that kernel', async () => {
    const { events, fake, evaluator } = await modelRun({
      script: [kernelAnswer('3.0f'), { text: answer({ parts: edit('3.0f *', '2.0f *') }) }, { text: 'Enough.' }],
      verdicts: {
        '3.0f': { status: 'wrong', reason: '32 of 64 elements wrong: all at columns ≥ 32' },
        '2.0f': { ns: 400 },
      },
    });
    expect(ofType(events, 'author-asked').slice(0, 2)).toMatchObject([
      { purpose: 'write', outcome: 'candidate' },
      { purpose: 'repair', outcome: 'candidate' },
    ]);
    const told = JSON.stringify(fake.sent[1]!.body.messages);
    expect(told).toContain('all at columns ≥ 32');
    expect(told).toContain('Edits now apply to that kernel');
    expect(ofType(events, 'move-proposed')[1]?.move).toMatchObject({ cost: { requests: 2 } });
    expect(evaluator.all.length).toBe(4);
  });
});

describe('a request that the user interrupts', () => {
  it('is counted and logged, is no failure, and is sent again when the run is resumed', async () => {
    const controller = new AbortController();
    const options = { seed: 1 };
    const first = await modelRun({
      script: () => {
        setTimeout(() => controller.abort(new Error('Ctrl-C')), 100);
        return { text: 'I begin to', afterwards: 'silence' };
      },
      author: { signal: controller.signal },
      options: { ...options, signal: controller.signal },
    });
    expect(first.result.stopReason).toBe('interrupted');
    const [asked] = ofType(first.events, 'author-asked');
    expect(asked).toMatchObject({ outcome: 'failed', code: 'interrupted', tokens: { isEstimate: true } });
    expect(asked!.tokensUsed).toBeGreaterThan(500);
    expect(first.exchanges).toMatchObject([{ request: 1, answer: { ok: false, failure: 'interrupted' } }]);

    const history = first.events
      .filter(({ type }) => type !== 'run-finished')
      .map((event, index) => ({ ...event, schemaVersion: 2, sequence: index + 1, time: '' }) as RecordedEvent);
    const again = await modelRun({
      script: [{ text: 'no', usage: { input: 1, output: 1 } }],
      author: {
        recorded: first.exchanges,
        spending: openSpending({ maximumTokens: asked!.tokensUsed + 9000, discounts: false }),
      },
      options: { ...options, history },
    });
    const [next] = ofType(again.events, 'author-asked');
    expect(next).toMatchObject({ request: 2, outcome: 'refused', tokensUsed: asked!.tokensUsed + 2 });
    expect(again.fake.sent[0]!.body.messages).toEqual(first.fake.sent[0]!.body.messages);
  });
});
