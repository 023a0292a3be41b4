import { describe, expect, test } from 'vitest';
import { describeEvidence, evidenceOf } from '../../src/app/export.ts';
import type { EvaluationFinishedEvent, RunStartedEvent } from '../../src/store/events.ts';
import { measuredRun } from '../reports/measured-run.ts';

function sentencesOf(outcome: Parameters<typeof measuredRun>[0]) {
  const events = measuredRun(outcome);
  const run = { id: 'r', folder: '/r', started: events[0] as RunStartedEvent, events };
  const event = events.find(
    (one) => one.type === 'evaluation-finished' && one.evaluation.id === 'e3',
  ) as EvaluationFinishedEvent;
  const evidence = evidenceOf(run, 'e3');
  return { evidence, text: describeEvidence({ origin: { run, event } }, evidence).join(' ') };
}

describe('what is said of a candidate that was to be confirmed', () => {
  test('confirmed', () => {
    const { evidence, text } = sentencesOf('accepted');
    expect(evidence.comparedWithStart).toMatchObject({ ratio: 1.4, confirmed: true });
    expect(text).toContain('measured 1.40× faster [1.380, 1.420], confirmed on fresh blocks: faster.');
  });

  test('the sanitizer has not cleared it', () => {
    expect(sentencesOf('accepted, unsanitized').text).toContain(': faster; the sanitizer has not cleared it.');
  });

  test('refused: its ratio is not called confirmed', () => {
    const { evidence, text } = sentencesOf('refused');
    expect(evidence.comparedWithStart).toMatchObject({ confirmed: false, confirmation: { outcome: 'refused' } });
    expect(text).toContain('refused when it was confirmed on fresh blocks: same: measured 1.004×');
    expect(text).not.toContain(', confirmed on fresh blocks');
  });
});
