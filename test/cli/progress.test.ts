import { PassThrough } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { plainStream } from '../../src/cli/plain-stream.ts';
import { createProgress } from '../../src/cli/progress.ts';
import { sparkline } from '../../src/cli/sparkline.ts';
import { createStatusLine, withStatus } from '../../src/cli/status-line.ts';
import type { EvaluationStage } from '../../src/core/evaluation.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
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
});

/** A terminal's screen after what was written to it: line feeds, cursor up, erasing, and no wrapping. */
function screen(text: string): string[] {
  const rows = [''];
  let [row, column] = [0, 0];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is told.
  for (const [token, up, erased] of text.matchAll(/\u001b\[(?:(\d+)A|\??\d*([JK])|[?\d]*[hlm])|[\s\S]/gu)) {
    if (up !== undefined) row -= Number(up);
    else if (erased !== undefined) {
      rows[row] = [...rows[row]!].slice(0, column).join('');
      if (erased === 'J') rows.length = row + 1;
    } else if (token === '\r') column = 0;
    else if (token === '\n') {
      row += 1;
      column = 0;
      rows[row] ??= '';
    } else if (!token.startsWith(ESCAPE)) {
      const characters = [...rows[row]!.padEnd(column)];
      characters[column] = token;
      rows[row] = characters.join('');
      column += 1;
    }
  }
  return rows.map((line) => line.trimEnd());
}

/** What was being shown after some of the events, on a terminal so wide. */
function shownAfter(events: readonly RecordedEvent[], columns: number, stage?: EvaluationStage): string[] {
  const { stream, written } = fakeStream({ columns });
  const progress = createProgress(plainStream(stream));
  for (const event of events) progress.onEvent(event);
  if (stage) progress.onStage(stage);
  const shown = screen(written());
  progress.end();
  return shown;
}

describe('on a terminal', () => {
  const check = { stage: 'verify', check: 'S=77,D=64 with large inputs', index: 3, count: 12 } as const;

  test('a line for each decision, and below them how far the run is and what it does', () => {
    const shown = shownAfter(sampleRun.slice(0, 6), 80, check);
    expect(shown).toEqual([
      'Optimising attention b1h1s64d64 on NVIDIA L4 (virtual), goal 10x',
      '[0] start    02_tiled, predicted 100 µs',
      '[1] kept     02_tiled → 03_rows, predicted 50 µs, 2.00×',
      expect.stringMatching(/^2 (?:of \d+ )?evaluations {2}▁█$/),
      "best e2, predicted 50 µs, 2.00× the start's speed",
      expect.stringMatching(/^\d s elapsed/),
      '… [1] 02_tiled → 03_rows: check 3 of 12: S=77,D=64 with large inputs (0 s)',
    ]);
  });

  test.each([40, 60, 80, 120])('%i columns: no line is wider, and the area is gone at the end', (columns) => {
    const { stream, written } = fakeStream({ columns });
    const progress = createProgress(plainStream(stream));
    for (const event of fullRun.slice(0, -1)) {
      progress.onEvent(event);
      progress.onStage(check);
      for (const line of screen(written())) expect([...line].length, line).toBeLessThan(columns);
    }
    progress.onEvent(fullRun.at(-1)!);
    progress.end();
    progress.end();
    const shown = screen(written());
    expect(shown.at(-1)).toBe('');
    expect(shown.join('\n')).not.toMatch(/elapsed|^…/m);
  });

  test('what others write appears above the area, which stays whole', () => {
    const { stream, written } = fakeStream({ columns: 80 });
    const plain = plainStream(stream);
    const progress = createProgress(plain);
    for (const event of sampleRun.slice(0, 3)) progress.onEvent(event);
    const before = screen(written());
    plain.write('Stopping; press Ctrl-C again to leave at once.\n');
    expect(screen(written())).toEqual([
      ...before.slice(0, 2),
      'Stopping; press Ctrl-C again to leave at once.',
      ...before.slice(2),
    ]);
    progress.end();
  });

  test('what is drawn anew is not erased first', () => {
    const { stream, written } = fakeStream({ columns: 80 });
    const progress = createProgress(plainStream(stream));
    for (const event of sampleRun.slice(0, 2)) progress.onEvent(event);
    const length = written().length;
    progress.onStage(check);
    const frame = written().slice(length);
    expect(frame).toContain('check 3 of 12');
    expect(frame).not.toContain(`${ESCAPE}[2K`);
    expect(frame.indexOf(`${ESCAPE}[J`), 'only below the last line').toBeGreaterThan(frame.indexOf('check 3'));
    progress.end();
  });

  test('a resumed run counts what it made before, and a further run begins anew', () => {
    const { stream, written } = fakeStream({ columns: 80 });
    const progress = createProgress(plainStream(stream));
    progress.onHistory(sampleRun.slice(0, 6));
    expect(screen(written())[0]).toMatch(/^Going on after 2 evaluations; best so far: e2, predicted 50 µs, /);
    expect(screen(written()).join('\n')).toMatch(/^2 (?:of \d+ )?evaluations {2}▁█$/m);
    for (const event of fullRun.slice(0, 1)) progress.onEvent(event);
    expect(screen(written()).join('\n')).toMatch(/^0 (?:of \d+ )?evaluations$/m);
    progress.end();
  });

  test('--verbose and a terminal that can move no cursor get every step in a line', () => {
    for (const [term, verbose] of [
      ['xterm', true],
      ['dumb', false],
    ] as const) {
      vi.stubEnv('TERM', term);
      const { stream, written } = fakeStream({ columns: 80 });
      const progress = createProgress(plainStream(stream), { verbose });
      for (const event of sampleRun) progress.onEvent(event);
      progress.end();
      expect(screen(written())).toContain(
        '    why: bank-conflicts of e2: wavefronts per request 3, above 1.5 (pattern: Pad rows)',
      );
      vi.unstubAllEnvs();
    }
  });
});

test('a sparkline: faster is higher, what has no time is a dot, the last ones where there is no room', () => {
  expect(sparkline([1, 2, null, 4], 10)).toBe('▁▅·█');
  expect(sparkline([1, 2, null, 4], 2)).toBe('·▁');
  expect(sparkline([1], 5)).toBe('▁');
  expect(sparkline([], 5)).toBe('');
});

describe('the status line', () => {
  test('never wraps: it is cut to the width of the terminal', () => {
    const { stream, written } = fakeStream({ columns: 30 });
    const status = createStatusLine(plainStream(stream));
    status.busy('a text that is much longer than thirty columns');
    expect(screen(written())).toEqual(['… a text that is much longer…']);
    status.clear();
  });

  test('says the step and the check of it; elsewhere the step alone', async () => {
    const plain = fakeStream();
    const terminal = fakeStream({ columns: 80 });
    for (const { stream, shown } of [
      { ...plain, shown: plain.written },
      { ...terminal, shown: () => screen(terminal.written()).join('\n') },
    ]) {
      await withStatus(plainStream(stream), async ({ onStep, onStage }) => {
        onStep('n256: judging the baseline');
        onStage({ stage: 'verify', check: 'N=77, large inputs', index: 3, count: 12 });
        expect(shown()).toContain('n256: judging the baseline');
      });
    }
    expect(terminal.written()).toContain('… n256: judging the baseline: check 3 of 12: N=77, large inputs (0 s)');
    expect(plain.written()).toBe('n256: judging the baseline\n');
  });

  test('steps replace each other on a terminal and are lines elsewhere', () => {
    const plain = fakeStream();
    const terminal = fakeStream({ columns: 80 });
    for (const { stream } of [plain, terminal]) {
      const status = createStatusLine(plainStream(stream));
      status.step('one');
      status.step('two');
      status.clear();
    }
    expect(plain.written()).toBe('one\ntwo\n');
    expect(screen(terminal.written())).toEqual(['']);
  });
});
