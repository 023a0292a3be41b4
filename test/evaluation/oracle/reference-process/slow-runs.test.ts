import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { onSlowRun, type SlowRun, watchRun } from '../../../../src/evaluation/oracle/reference-process/slow-runs.ts';

it('tells of a run when it has taken long, twice as long, four times as long', async () => {
  const told: SlowRun[] = [];
  const forget = onSlowRun((run) => told.push(run));
  const unwatch = watchRun({ problem: 'gemm', dimensions: { M: 1 } }, 10);
  while (told.length < 3) await sleep(5);
  unwatch();
  const count = told.length;
  await sleep(100);
  expect(told).toHaveLength(count);
  const [first, second, third] = told;
  expect(first).toMatchObject({ problem: 'gemm', dimensions: { M: 1 } });
  expect(first!.elapsedMs).toBeGreaterThanOrEqual(9);
  expect(second!.elapsedMs).toBeGreaterThanOrEqual(19);
  expect(third!.elapsedMs).toBeGreaterThanOrEqual(39);
  forget();
});
