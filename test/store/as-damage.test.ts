import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { asDamage, readEventLog } from '../../src/store/event-log.ts';
import { fullRun } from '../reports/full-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-damage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bug = new TypeError('x is not a function');
const logOf = (events: readonly object[]): string => {
  const path = join(folder, `${events.length}-${Math.random()}.jsonl`);
  writeFileSync(path, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  return path;
};

it('takes a stumble over a sound log for what it is: a bug of ours', () => {
  readEventLog(logOf(fullRun));
  expect(asDamage(bug)).toBe(bug);
});

it('takes a stumble after a damaged log was read for the damage, by line and field', () => {
  const at = fullRun.findIndex(({ type }) => type === 'options-ranked');
  const event = structuredClone(fullRun[at]!) as { options: { move: { kind: string } }[] };
  event.options[0]!.move.kind = 'leap';
  const path = logOf(fullRun.with(at, event as never));
  readEventLog(path);
  expect(asDamage(bug)).toMatchObject({
    details: { code: 'damaged-event-log', file: path, path: `line ${at + 1}`, received: 'options.0.move.kind' },
  });
});
