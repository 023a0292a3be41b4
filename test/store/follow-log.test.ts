import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type Appended, followLog } from '../../src/store/follow-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-follow-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const line = (sequence: number): string => `${JSON.stringify({ sequence })}\n`;

it('tells whole lines once, waits for the rest of one, and begins anew when the log is cut', async () => {
  const path = join(folder, 'events.jsonl');
  const ending = new AbortController();
  writeFileSync(path, line(1) + line(2).slice(0, 5));
  const following = followLog(path, ending.signal);
  const next = async () => {
    const { events, isAnew } = (await following.next()).value as Appended;
    return { events: events.map(({ sequence }) => sequence), isAnew };
  };
  expect(await next()).toEqual({ events: [1], isAnew: true });
  appendFileSync(path, line(2).slice(5) + line(3));
  expect(await next()).toEqual({ events: [2, 3], isAnew: false });
  expect(await next()).toEqual({ events: [], isAnew: false });
  truncateSync(path, line(1).length);
  expect(await next()).toEqual({ events: [1], isAnew: true });
  ending.abort();
  expect((await following.next()).done).toBe(true);
});
