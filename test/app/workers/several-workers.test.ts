import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { optimizeProblem } from '../../../src/app/optimize.ts';
import { chosenDevices } from '../../../src/app/workers/chosen-devices.ts';
import { ofType, type RecordedEvent } from '../../../src/store/events.ts';
import { eventually } from '../../process/processes.ts';
import { interrupted } from '../../support/sampling/long-tests.ts';
import { smallRowSum } from '../../support/small-row-sum.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-workers-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Worker processes of this one. */
const workers = (): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const isOurs = state !== 'Z' && Number(parent) === process.pid;
        return isOurs && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('local-worker');
      } catch {
        return false;
      }
    });

const request = () => ({
  ...{ target: smallRowSum(folder), store: join(folder, 'store'), trust: true, fresh: true },
  ...{ device: 'virtual:l4', workers: '2', seed: 3, ablation: false, maximumEvaluations: 6 },
});

describe('a run with two worker processes', () => {
  // test/app/workers/queue.test.ts resumes one that was killed.
  interrupted('one of two workers')(
    'survives that one is killed, and leaves no process when it is stopped',
    async () => {
      const stop = new AbortController();
      const events: RecordedEvent[] = [];
      let killed: number | undefined;
      const onEvent = (event: RecordedEvent): void => {
        events.push(event);
        // Two are being judged by then.
        if (ofType(events, 'move-proposed').length === 2 && killed === undefined) {
          killed = workers()[0]!;
          process.kill(killed, 'SIGKILL');
        }
        if (ofType(events, 'evaluation-finished').length === 4) stop.abort(new Error('Ctrl-C'));
      };
      const { result } = await optimizeProblem({ ...request(), signal: stop.signal, onEvent });
      expect(result.stopReason).toBe('interrupted');
      expect(killed).toBeDefined();
      const finished = ofType(events, 'evaluation-finished').map(({ evaluation }) => evaluation);
      expect(finished.map(({ id, status }) => [id, status])).toEqual(
        ['e1', 'e2', 'e3', 'e4'].map((id) => [id, 'passed']),
      );
      expect(new Set(finished.map(({ candidate }) => candidate.id)).size).toBe(finished.length);
      await eventually(() => workers().length === 0);
    },
  );
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
    expect(chosen('cuda:0', 1)).toBeUndefined();
    expect(chosen('cuda:0', 2)).toEqual(['cuda:0', 'cuda:0']);
    expect(chosenDevices({ device: 'recorded', replay: 'x', workers: '2' })).toBeUndefined();
  });

  it.each([
    ['cuda:0,cuda:1', 4, 'conflicting-options'],
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
