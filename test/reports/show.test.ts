import { describe, expect, test } from 'vitest';
import type { Shown, ShownEvaluation, ShownRun } from '../../src/reports/documents/show.ts';
import { showDocument } from '../../src/reports/documents/show.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import type { MoveRow } from '../../src/store/index/rows.ts';
import { onTerminal, unwrapped } from '../support/printed.ts';
import { sampleRun } from './sample-run.ts';

const find = <T extends RecordedEvent['type']>(type: T) =>
  sampleRun.filter((event): event is Extract<RecordedEvent, { type: T }> => event.type === type);
const [proposal] = find('move-proposed');
const decision = find('decision').find(({ iteration }) => iteration === proposal!.iteration)!;
const { evaluation } = find('evaluation-finished').find(({ iteration }) => iteration === proposal!.iteration)!;

const blind = {
  ...proposal!,
  pattern: { id: 'tpe', title: 'What the tpe strategy asks for' },
  finding: { ...proposal!.finding, id: 'none', evidence: 'a blind strategy chose it; it uses no findings' },
};

const print = (shown: Shown): string => unwrapped(onTerminal(showDocument(shown)));

describe('why an evaluation was made', () => {
  const shown: ShownEvaluation = {
    schemaVersion: 1,
    kind: 'evaluation',
    run: 'r',
    evaluation,
    proposal: null,
    decision,
    sources: [],
  };

  test('a finding, its evidence and the pattern', () => {
    const text = print({ ...shown, proposal: proposal! });
    expect(text).toContain(', for serial-sections of e1: ');
    expect(text).toMatch(/pattern .+; expected \d/);
  });

  test('a strategy that asks no findings is named instead', () => {
    const text = print({ ...shown, proposal: blind });
    expect(text).toContain('asked for by tpe: a blind strategy chose it; it uses no findings');
    expect(text).not.toMatch(/none of|expected \d/);
  });
});

test('what a run kept names the finding, or the strategy', () => {
  const row = (finding: string, pattern: string) =>
    ({
      evaluation: 'e2',
      change: JSON.stringify(proposal!.move),
      finding,
      findingEvaluation: 'e1',
      ratio: 2,
      pattern,
    }) as MoveRow;
  const run = { id: 'r', kind: 'predicted', state: 'finished', workloads: 1, best: null } as ShownRun['run'];
  const text = print({
    schemaVersion: 1,
    kind: 'run',
    run,
    kept: [row('serial-sections', 'reduce'), row('none', 'tpe')],
    revertedCount: 0,
    files: { log: 'events.jsonl', report: null, best: null },
  });
  expect(text).toContain(
    'predicted 2.00× faster than the best before, because of serial-sections of e1 (pattern reduce)',
  );
  expect(text).toContain('predicted 2.00× faster than the best before, asked for by tpe');
  expect(text).not.toContain('none of');
});
