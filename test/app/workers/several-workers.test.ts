import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { optimizeProblem } from '../../../src/app/optimize.ts';
import { resumeRun } from '../../../src/app/resume.ts';
import { chosenDevices } from '../../../src/app/workers/chosen-devices.ts';
import { ofType, type RecordedEvent } from '../../../src/store/events.ts';
import { eventually, isRunning } from '../../process/processes.ts';
import { smallRowSum } from '../../support/small-row-sum.ts';

const EVALUATIONS = 6;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-workers-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Worker processes of this one. */
const workers = (): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && isRunning(pid))
    .filter((pid) => {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      return parent === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('local-worker');
    });

const request = () => ({
  ...{ target: smallRowSum(folder), store: join(folder, 'store'), trust: true, fresh: true },
  ...{ device: 'virtual:l4', workers: '2', seed: 3, ablation: false, maximumEvaluations: EVALUATIONS },
});

describe('a run with two worker processes', () => {
  it('survives that one is killed and that it is stopped, counts nothing twice, and leaves no process', async () => {
    const stop = new AbortController();
    let known: RecordedEvent[] = [];
    const events: RecordedEvent[] = [];
    let killed: number | undefined;
    const onEvent = (event: RecordedEvent): void => {
      events.push(event);
      const begun = ofType(events, 'move-proposed').length;
      // Two are being judged by then.
      if (begun === 2 && killed === undefined) {
        killed = workers()[0]!;
        process.kill(killed, 'SIGKILL');
      }
      if (ofType(events, 'evaluation-finished').length === 4) stop.abort(new Error('Ctrl-C'));
    };
    const { result } = await optimizeProblem({ ...request(), signal: stop.signal, onEvent });
    expect(result.stopReason).toBe('interrupted');
    expect(killed).toBeDefined();
    await eventually(() => workers().length === 0);
    const after: RecordedEvent[] = [];
    const resumed = await resumeRun({
      store: join(folder, 'store'),
      trust: true,
      onHistory: (history) => {
        known = [...history];
      },
      onEvent: (event) => void after.push(event),
    });
    expect(resumed.result).toMatchObject({ evaluationsUsed: EVALUATIONS });
    const finished = ofType([...known, ...after], 'evaluation-finished').map(({ evaluation }) => evaluation);
    expect(finished.map(({ id }) => id)).toEqual(Array.from({ length: EVALUATIONS }, (_, i) => `e${i + 1}`));
    expect(finished.map(({ status }) => status)).not.toContain('device-failed');
    const searched = finished.slice(0, -1).map(({ candidate }) => candidate.id);
    expect(new Set(searched).size).toBe(searched.length);
    await eventually(() => workers().length === 0);
  }, 120_000);
});

describe('the devices of a run', () => {
  const chosen = (device: string, count?: number) =>
    chosenDevices({ device, workers: count === undefined ? undefined : String(count) });

  it('are workers of their own where there are several', () => {
    expect(chosen('virtual:l4')).toBeUndefined();
    expect(chosen('virtual:l4', 1)).toBeUndefined();
    expect(chosen('virtual:l4', 3)).toEqual(['virtual:l4', 'virtual:l4', 'virtual:l4']);
    expect(chosen('cuda:0')).toBeUndefined();
    expect(chosen('cuda:0, cuda:2')).toEqual(['cuda:0', 'cuda:2']);
    expect(chosen('cuda:0,cuda:2', 2)).toEqual(['cuda:0', 'cuda:2']);
    expect(chosenDevices({ device: 'recorded', replay: 'x', workers: '2' })).toBeUndefined();
  });

  it.each([
    ['cuda:0', 2, 'conflicting-options'],
    ['cuda:0,cuda:1', 3, 'conflicting-options'],
    ['cuda:0,cuda:0', undefined, 'bad-option-value'],
    ['virtual:l4,virtual:l4', undefined, 'bad-option-value'],
    ['cuda:0,virtual:l4', undefined, 'bad-option-value'],
  ])('%s with %s workers is refused', (device, count, code) => {
    expect(() => chosen(device, count)).toThrowError(
      expect.objectContaining({
        details: expect.objectContaining({ code, received: expect.stringContaining(device) }),
      }),
    );
  });
});
