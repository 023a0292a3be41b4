import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createEventLog, openEventLog, readEventLog } from '../../src/store/event-log.ts';
import type { RunEvent } from '../../src/store/events.ts';

const budget = (iteration: number): RunEvent => ({
  type: 'budget',
  iteration,
  evaluationsUsed: iteration,
  evaluationsLeft: null,
  minutesUsed: 0,
  minutesLeft: null,
  ledger: { compileMs: 0, verifyMs: 0, timeMs: 0, gpuMs: 0, money: null },
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const logPath = () => join(folder, 'events.jsonl');

/** A log with `count` events. */
function writeLog(count: number): string {
  const log = createEventLog(logPath(), { now: () => new Date(0) });
  for (let iteration = 1; iteration <= count; iteration += 1) log.append(budget(iteration));
  log.close();
  return log.path;
}

describe('writing', () => {
  test('one line per event, numbered from 1, with time and schemaVersion', () => {
    const lines = readFileSync(writeLog(2), 'utf8').split('\n');
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[1]!)).toEqual({
      schemaVersion: 2,
      sequence: 2,
      time: '1970-01-01T00:00:00.000Z',
      ...budget(2),
    });
    expect(lines[2]).toBe('');
  });

  test('an event is readable as soon as append returns', () => {
    const log = createEventLog(logPath());
    log.append(budget(1));
    expect(readEventLog(log.path).events).toHaveLength(1);
    log.close();
  });

  test('never continues an existing log', () => {
    writeLog(1);
    expect(() => createEventLog(logPath())).toThrow('Results cannot be written');
  });

  test('refuses to write after close', () => {
    const log = createEventLog(logPath());
    log.close();
    expect(() => log.append(budget(1))).toThrow('closed');
  });

  test.each(['every-event', 'milestones', 'never'] as const)('fsync policy %s writes the same bytes', (fsync) => {
    const log = createEventLog(logPath(), { fsync, now: () => new Date(0) });
    log.append(budget(1));
    log.close();
    expect(readEventLog(log.path).events).toHaveLength(1);
  });

  test('newlines inside an event stay inside its line', () => {
    const log = createEventLog(logPath());
    log.append({
      type: 'move-abandoned',
      iteration: 1,
      moveKey: 'a',
      failureCount: 3,
      why: 'failed',
      reason: 'first line\nsecond line\u2028third',
    });
    log.close();
    expect(readEventLog(log.path).events[0]).toMatchObject({ reason: 'first line\nsecond line\u2028third' });
  });
});

describe('reading', () => {
  test('a torn last line is left out, and said so', () => {
    const path = writeLog(2);
    appendFileSync(path, '{"schemaVersion":1,"sequence":3,"ti');
    expect(readEventLog(path)).toMatchObject({ tornLastLine: true, events: [{ sequence: 1 }, { sequence: 2 }] });
  });

  test('a whole log is not torn', () => {
    expect(readEventLog(writeLog(2)).tornLastLine).toBe(false);
  });

  test('damage before the last line is refused, with its line', () => {
    const path = writeLog(3);
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [lines[0], 'garbage', lines[2], ''].join('\n'));
    expect(() => readEventLog(path)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'damaged-event-log', path: 'line 2' }) }),
    );
  });

  test('a missing event is noticed', () => {
    const path = writeLog(3);
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [lines[0], lines[2], ''].join('\n'));
    expect(() => readEventLog(path)).toThrow('Event 2 of the log carries number 3');
  });

  test('a log of a newer version is refused', () => {
    writeFileSync(logPath(), '{"schemaVersion":3,"sequence":1}\n');
    expect(() => readEventLog(logPath())).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'newer-event-log' }) }),
    );
  });

  const workload = { name: 'b1', dimensions: { B: 1 }, cache: 'hot' };
  const old = {
    ...{ schemaVersion: 1, sequence: 1, time: '2025-11-20T18:41:03.000Z', type: 'run-started' },
    ...{ problem: { name: 'p', folder: '/p' }, start: { id: 'a', kernel: 'k', parameters: {} }, workload },
    ...{ device: { id: 'virtual:l4', kind: 'virtual', name: 'L4' }, seed: 1, goal: null, environment: {} },
    budgets: { maximumEvaluations: 4, maximumMinutes: null },
  };

  test('a log of fp16 products from when they were a problem of their own is one of gemm in fp16', () => {
    const problem = { name: 'gemm-f16', folder: '/problems/gemm-f16' };
    writeFileSync(logPath(), `${JSON.stringify({ ...old, problem })}\n`);
    expect(readEventLog(logPath()).events[0]).toMatchObject({
      problem: { name: 'gemm-f16', folder: '/problems/gemm', dtype: 'f16' },
    });
  });

  test('a log of version 1 says what was implied then; its version stays', () => {
    writeFileSync(logPath(), `${JSON.stringify(old)}\n`);
    expect(readEventLog(logPath()).events).toEqual([
      {
        ...old,
        workloads: [{ ...workload, weight: 1 }],
        strategy: 'guided',
        priors: { patterns: [], costs: [] },
        request: { target: '/p' },
        budgets: {
          ...{ maximumEvaluations: 4, maximumMinutes: null, maximumGpuMinutes: null },
          ...{ maximumMoney: null, gpuPricePerHour: null },
          // The limit was the search's alone.
          allowance: { confirmation: 0, ablation: 0, advice: 0 },
        },
      },
    ]);
  });

  test('a missing log is said so', () => {
    expect(() => readEventLog(logPath())).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'no-event-log' }) }),
    );
  });
});

describe('going on with a log', () => {
  test('numbering continues, and the log is one', () => {
    const log = openEventLog(writeLog(2), { now: () => new Date(0) });
    expect(log.history.map(({ sequence }) => sequence)).toEqual([1, 2]);
    log.append(budget(3));
    log.close();
    const whole = readFileSync(log.path, 'utf8');
    rmSync(log.path);
    writeLog(3);
    expect(whole).toBe(readFileSync(log.path, 'utf8'));
  });

  test.each([
    ['half a line', '{"schemaVersion":2,"sequence":3,"ti'],
    ['half a letter', Buffer.from('{"reason":"3 µ').subarray(0, -1)],
    ['zeros, as a power cut leaves', Buffer.alloc(4096)],
    ['half a line and zeros', Buffer.concat([Buffer.from('{"schema'), Buffer.alloc(100), Buffer.from('\n')])],
  ])('a torn end is cut off: %s', (_what, tail) => {
    const path = writeLog(2);
    const before = readFileSync(path);
    appendFileSync(path, tail);
    expect(readEventLog(path).tornLastLine).toBe(true);
    const log = openEventLog(path);
    expect(readFileSync(path)).toEqual(before);
    log.append(budget(3));
    log.close();
    expect(readEventLog(path).events.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  test('what is taken back stays beside the log', () => {
    const path = writeLog(3);
    const log = openEventLog(path, {}, (events) => events.length - 1);
    log.close();
    expect(readEventLog(path).events).toHaveLength(2);
    expect(JSON.parse(readFileSync(join(folder, 'events.after-2.jsonl'), 'utf8'))).toMatchObject({ sequence: 3 });
  });

  test('a damaged log is not touched', () => {
    const path = writeLog(2);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"sequence":1', '"sequence":7'));
    const before = readFileSync(path);
    expect(() => openEventLog(path)).toThrow('carries number 7');
    expect(readFileSync(path)).toEqual(before);
  });

  test('a log that was deleted takes no more events', () => {
    const log = openEventLog(writeLog(1));
    rmSync(log.path);
    expect(() => log.append(budget(2))).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'run-folder-deleted' }) }),
    );
    log.close();
  });
});
