import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CHILD, killRun, withoutTimes } from '../../bench/soak/kill-runs.ts';
import type { ChildRequest } from '../../bench/soak/killed-child.ts';
import { mulberry32 } from '../../src/stats/random.ts';
import { readEventLog } from '../../src/store/event-log.ts';
import { withRunIndex } from '../../src/store/index/run-index.ts';
import { eventsPath, findRun, listRuns } from '../../src/store/run-folder.ts';
import { interrupted } from '../support/sampling/long-tests.ts';

describe('runs killed at random moments and resumed until they are finished', () => {
  // bench/soak/kill.ts does this a hundred times, in every scenario.
  for (const scenario of ['guided-measured', 'tpe'])
    interrupted(`runs at random moments: ${scenario}`)(`${scenario}: as if nothing had been`, async () => {
      const { problems, kills, begun, evaluations } = await killRun({
        scenario,
        evaluations: 20,
        pauseMs: 5,
        kills: 3,
        random: mulberry32(11),
      });
      expect(problems).toEqual([]);
      expect(kills).toBeGreaterThan(0);
      expect(begun - evaluations).toBeLessThanOrEqual(kills);
    });
});

interrupted('two runs on one store')(
  'two runs on one store at once: both logs are whole, and the index knows both',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'warpsmith-two-'));
    const run = (request: Partial<ChildRequest> & Pick<ChildRequest, 'store' | 'scenario'>): Promise<number | null> =>
      new Promise((resolve, reject) => {
        const whole = { journal: join(folder, 'journal'), evaluations: 15, pauseMs: 1, fresh: true, ...request };
        const child = spawn(process.execPath, [CHILD, JSON.stringify(whole)], { stdio: 'ignore' });
        child.on('error', reject);
        child.on('close', resolve);
      });
    const log = (store: string, id: string) => readEventLog(eventsPath(findRun(store, id))).events.map(withoutTimes);
    try {
      const [shared, alone] = [join(folder, 'shared'), join(folder, 'alone')];
      const codes = await Promise.all([
        run({ store: shared, scenario: 'random' }),
        run({ store: shared, scenario: 'random' }),
        run({ store: alone, scenario: 'random' }),
      ]);
      expect(codes).toEqual([0, 0, 0]);
      expect(listRuns(shared)).toEqual(['random', 'random-2']);
      expect(log(shared, 'random')).toEqual(log(alone, 'random'));
      expect(log(shared, 'random-2')).toEqual(log(alone, 'random'));
      expect(withRunIndex(shared, (index) => index.runs().map(({ stopReason }) => stopReason))).toEqual([
        'evaluations-spent',
        'evaluations-spent',
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
