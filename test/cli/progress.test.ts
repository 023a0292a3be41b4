import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createProgress } from '../../src/cli/progress.ts';
import { createStatusLine } from '../../src/cli/status-line.ts';
import { fullRun } from '../reports/full-run.ts';
import { sampleRun } from '../reports/sample-run.ts';

/** A stream that remembers what was written, and may call itself a terminal. */
function fakeStream(terminal?: { columns: number }): { stream: NodeJS.WriteStream; written: () => string } {
  let text = '';
  const stream = new PassThrough() as unknown as NodeJS.WriteStream;
  stream.write = (chunk: string | Uint8Array) => {
    text += String(chunk);
    return true;
  };
  if (terminal) Object.assign(stream, { isTTY: true, columns: terminal.columns });
  return { stream, written: () => text };
}

const ESCAPE = '\u001b';

/** What is left on the screen of a terminal that redraws lines. */
const screen = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.split(`\r${ESCAPE}[2K`).at(-1) ?? '')
    .map(stripVTControlCharacters);

describe('progress of a run', () => {
  test('elsewhere than on a terminal: plain lines that say what, why, result, best and budget', () => {
    const { stream, written } = fakeStream();
    const progress = createProgress(stream);
    for (const event of sampleRun) progress.onEvent(event);
    progress.end();
    expect(written()).not.toContain(ESCAPE);
    expect(written().split('\n')).toEqual([
      'Optimising attention b1h1s64d64 on NVIDIA L4 (virtual), goal 10x',
      '[0] start 02_tiled, e1: passed, predicted 100 µs, bound by issue',
      '[1] trying 02_tiled → 03_rows',
      '    why: serial-sections of e1: active lanes per instruction 9.31, below 16 (pattern: Reduce across lanes)',
      '    result e2: passed, predicted 50 µs, bound by issue',
      '    keep: predicted 2.00× faster than e1',
      '[2] trying 03_rows: PAD 0 → 8',
      '    why: bank-conflicts of e2: wavefronts per request 3, above 1.5 (pattern: Pad rows)',
      '    result e3: wrong: O[0, 0, 3, 1] is 2, should be 1',
      '    revert: wrong: O[0, 0, 3, 1] is 2, should be 1',
      '    giving up pad/03_rows.PAD: 3 attempts in a row did not help',
      '    advice for bank-conflicts: use mma.sync | wgmma',
      'Stopped: no-moves-left: every move has been tried',
      '',
    ]);
  });

  test('best so far and budget left', () => {
    const { stream, written } = fakeStream();
    const progress = createProgress(stream);
    for (const event of sampleRun.slice(0, 6)) progress.onEvent(event);
    const budget = {
      type: 'budget',
      iteration: 1,
      evaluationsUsed: 2,
      evaluationsLeft: 2,
      minutesUsed: 1,
      minutesLeft: 0.5,
      ledger: { compileMs: 1000, verifyMs: 2000, timeMs: 3000, gpuMs: 90_000, money: 0.075 },
    } as const;
    progress.onEvent({ schemaVersion: 2, sequence: 7, time: '', ...budget });
    expect(written()).toContain(
      "best so far: e2, predicted 50 µs, 2.00× the start's speed; budget left: 2 evaluations, 0.5 minutes",
    );
  });

  test('over several workloads: results say on which, the ratio is the weighted geometric mean', () => {
    const { stream, written } = fakeStream();
    const progress = createProgress(stream);
    for (const event of fullRun.slice(0, 11)) progress.onEvent(event);
    expect(written()).toContain('Optimising attention b1h1s64d64, ');
    expect(written()).toMatch(/result e2b on \S+: passed, predicted 100 µs/);
    // 100 → 50 µs, and 400 → 100 µs with twice the weight: (2 × 4 × 4)^(1/3).
    expect(written()).toContain(
      "best so far: e2, predicted 50 µs, 3.17× the start's speed over 2 workloads; budget left",
    );
  });

  test('what could be tried: a table with the arithmetic at each turn', () => {
    const { stream, written } = fakeStream();
    const progress = createProgress(stream);
    for (const event of fullRun.filter(({ type }) => type === 'options-ranked')) progress.onEvent(event);
    const lines = written().split('\n');
    expect(lines[0]).toMatch(/^\[0\] 4 open moves, a share of 1\.5 evaluations each$/);
    expect(lines[1]).toMatch(/^ {4}option +\(gain − 1\) × confidence ÷ cost +kept before$/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines[4]).toBe('    and 2 more');
    expect(lines[2]).toMatch(/^ {4}.+÷.+ = 0\.167 +/);
  });

  test('a move that no finding suggested says who asked for it', () => {
    const { stream, written } = fakeStream();
    const progress = createProgress(stream);
    const proposed = sampleRun.find((event) => event.type === 'move-proposed')!;
    progress.onEvent({
      ...proposed,
      finding: { ...proposed.finding, id: 'none' },
      reason: 'asked for by the tpe strategy',
    });
    expect(written()).toContain('    why: asked for by the tpe strategy\n');
  });

  test('a further run has a start of its own', () => {
    const { stream, written } = fakeStream();
    const progress = createProgress(stream);
    for (const event of [...sampleRun, ...fullRun.slice(0, 11)]) progress.onEvent(event);
    expect(written()).toContain("3.17× the start's speed over 2 workloads");
  });

  test('a resumed run remembers its start and its best', () => {
    const { stream, written } = fakeStream();
    const progress = createProgress(stream);
    progress.onHistory(sampleRun.slice(0, 3));
    for (const event of sampleRun.slice(3, 6)) progress.onEvent(event);
    progress.onHistory(sampleRun.slice(0, 6));
    const lines = written().split('\n');
    expect(lines[0]).toBe("Going on after 1 evaluation; best so far: e1, predicted 100 µs, 1.00× the start's speed");
    expect(lines.at(-2)).toContain("best so far: e2, predicted 50 µs, 2.00× the start's speed");
  });

  test('on a terminal: the same lines stay, the status line is redrawn and gone at the end', () => {
    const { stream, written } = fakeStream({ columns: 60 });
    const progress = createProgress(stream);
    for (const event of sampleRun.slice(0, 4)) progress.onEvent(event);
    expect(screen(written()).at(-1)).toBe('… [1] 02_tiled → 03_rows (0 s)');
    for (const event of sampleRun.slice(4)) progress.onEvent(event);
    progress.end();
    expect(screen(written()).at(-1)).toBe('');
    expect(screen(written())).toContain('    keep: predicted 2.00× faster than e1');
  });
});

describe('the status line', () => {
  test('never wraps: it is cut to the width of the terminal', () => {
    const { stream, written } = fakeStream({ columns: 30 });
    const status = createStatusLine(stream);
    status.busy('a text that is much longer than thirty columns');
    expect([...(screen(written()).at(-1) ?? '')].length).toBe(29);
    status.clear();
  });

  test('steps replace each other on a terminal and are lines elsewhere', () => {
    const plain = fakeStream();
    const terminal = fakeStream({ columns: 80 });
    for (const { stream } of [plain, terminal]) {
      const status = createStatusLine(stream);
      status.step('one');
      status.step('two');
      status.clear();
    }
    expect(plain.written()).toBe('one\ntwo\n');
    expect(screen(terminal.written())).toEqual(['']);
  });
});
