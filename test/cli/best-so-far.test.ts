import { expect, test } from 'vitest';
import { createBestSoFar } from '../../src/cli/best-so-far.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { measuredRun } from '../reports/measured-run.ts';

const describeAfter = (events: readonly RecordedEvent[]): string => {
  const best = createBestSoFar();
  for (const event of events) best.note(event);
  return best.describe();
};

const upToConfirmation = (events: readonly RecordedEvent[]): RecordedEvent[] =>
  events.slice(
    0,
    events.findIndex(({ type }) => type === 'confirmation'),
  );

const START = /^e1, measured [\d.]+ µs$/;

test('of measured times there is no ratio before a confirmation', () => {
  const before = describeAfter(upToConfirmation(measuredRun('accepted')));
  expect(before).toMatch(/^e\d+, measured [\d.]+ µs$/);
  expect(before).not.toMatch(START);
});

test.each(['accepted', 'accepted, unsanitized'] as const)('%s: the ratio is the confirmation’s', (outcome) => {
  const events = measuredRun(outcome);
  const { ratio } = events.find((event) => event.type === 'confirmation')!;
  expect(describeAfter(events)).toBe(
    `${describeAfter(upToConfirmation(events))}, confirmed ${ratio!.toFixed(2)}× the start's speed`,
  );
});

test('what is refused gives way to the best before it', () => {
  expect(describeAfter(measuredRun('refused'))).toMatch(START);
});
