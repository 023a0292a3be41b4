import { Writable } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { createPlainProgress } from '../../src/cli/plain-progress.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { compareRuns } from '../../src/reports/documents/run-comparison.ts';
import { runEndDocument } from '../../src/reports/documents/run-end.ts';
import { buildRunView, type RunView } from '../../src/reports/run-view.ts';
import { refuseContradictions } from '../../src/store/contradictions.ts';
import type { RecordedEvent, WeightedWorkload } from '../../src/store/events.ts';
import { rowsOf } from '../../src/store/index/rows.ts';
import { CUDA, fakeGpu, type Script } from '../optimizer/fake-gpu.ts';
import { kernel, pattern, runLoop, tile } from '../optimizer/fakes.ts';
import { record } from '../optimizer/going-on.ts';
import { onTerminal, unwrapped } from '../support/printed.ts';
import { runHtml, runMarkdown, runTerminal } from './printed-run.ts';

const START = '01_first TILE=32';
const THRIFTY = '01_first TILE=64';

async function logged(script: Script, options: Partial<OptimizeOptions> = {}): Promise<RecordedEvent[]> {
  const first = kernel('01_first');
  const { events } = await runLoop({
    evaluator: fakeGpu({ sanitizer: 'clean', ...script }),
    device: CUDA,
    rungs: [first],
    start: makeCandidate(first, { TILE: 32 }),
    patterns: [pattern('p', 'bank-conflicts', [tile(64)])],
    minimised: 'energy',
    request: { target: 'problems/scale', minimise: 'energy' },
    ablation: true,

    ...options,
  });
  return record(events);
}

const script: Script = {
  ns: { [START]: 1000, [THRIFTY]: 1100 },
  joules: { [START]: 3e-4, [THRIFTY]: 2e-4, '01_first TILE=16': 9e-4 },
  idleW: 80,
};
let events: RecordedEvent[];
let view: RunView;
beforeAll(async () => {
  events = await logged(script);
  view = buildRunView('run-1', events);
});

describe('the report of a run that minimises energy', () => {
  test('tells joules first, with their interval, and the time beside them', () => {
    expect(view.minimisedEnergy).toMatchObject({
      start: { evaluationId: 'e1', joules: expect.closeTo(3e-4) },
      best: { evaluationId: 'e3', joules: expect.closeTo(2e-4) },
      ratio: expect.closeTo(1.5),
    });
    const sentence =
      'measured 1.50× less energy than the start [1.500, 1.500], at measured 0.91× its speed [0.909, 0.909], accepted: measured 300 µJ (e1) → measured 200 µJ (e3); measured 1 µs';
    for (const text of [runMarkdown(view), unwrapped(runTerminal(view)), unwrapped(onTerminal(runEndDocument(view)))])
      expect(text.replaceAll(/\[(e\d)\]\(#[^)]*\)/g, '$1')).toContain(sentence);
    expect(runHtml(view)).toContain('1.50×');
  });

  test('says by what a change was kept, and what it gives', () => {
    const text = runMarkdown(view);
    expect(text).toContain('TILE 32 → 64 1.50× less energy');
    expect(text).toContain('| Measured energy |');
    expect(text).toContain('joules without the change ÷ joules of the best');
    expect(text).toContain('less energy: the joules of the start ÷ its own, measured 1.500× [1.500, 1.500]');
    expect(view.ablation).toMatchObject([{ energy: { ratio: expect.closeTo(1.5) } }]);
  });

  test('gives a command that minimises energy again, and compares with energies', () => {
    expect(view.reproduction).toContain('--minimise energy');
    const read = { view, events, readSource: () => undefined };
    const { compareCommand } = compareRuns(read, read);
    expect(compareCommand).toContain('--energy');
  });

  test('of a run that found nothing says so', async () => {
    const none = buildRunView('r', await logged({ ...script, joules: { [THRIFTY]: 9e-4 } }));
    expect(none.minimisedEnergy).toMatchObject({ ratio: 1 });
    expect(runHtml(none)).toContain('No kernel with less energy');
  });

  test('over several workloads tells what each needs', async () => {
    const workload = (name: string, N: number): WeightedWorkload => ({
      ...{ name, dimensions: { N }, cache: 'hot', weight: 1 },
    });
    const workloads = [workload('n1024', 1024), workload('n4096', 4096)];
    const several = buildRunView('r', await logged(script, { workloads }));
    const text = runMarkdown(several);
    expect(text).toContain('needs more than 2 % more energy on any workload is reverted');
    expect(several.objective.workloads).toMatchObject([
      { energy: { verdict: 'less' } },
      { energy: { verdict: 'less' } },
    ]);
  });

  test('of a run that minimises time has none of it', async () => {
    const usual = buildRunView('r', await logged({ ...script, ns: { [THRIFTY]: 500 } }, { minimised: 'time' }));
    expect(usual.minimisedEnergy).toBeUndefined();
    expect(JSON.stringify(usual)).not.toContain('energy":{');
    expect(runMarkdown(usual)).not.toContain('less energy');
  });
});

test('progress says what is minimised, and what the best is confirmed to need', () => {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const progress = createPlainProgress(stream as NodeJS.WriteStream);
  for (const event of events) progress.onEvent(event);
  const text = lines.join('');
  expect(text).toContain('on Fake, for less energy');
  expect(text).toContain('keep: less energy: the joules of e1 ÷ its own, measured 1.500×');
  expect(text).toContain('and of energy 1.50×');
  expect(text).toContain("confirmed 1.50× less energy, confirmed 0.91× the start's speed");
});

test('what gained energy tells later runs nothing of times', async () => {
  expect(rowsOf('r', events).moves).toEqual([]);
  const usual = await logged({ ...script, ns: { [THRIFTY]: 500 } }, { minimised: 'time' });
  expect(rowsOf('r', usual).moves).toHaveLength(1);
});

describe('a log', () => {
  const changedLog = <T extends RecordedEvent['type']>(
    type: T,
    change: (event: RecordedEvent<T>) => RecordedEvent<T>,
  ) => {
    const at = events.findLastIndex((event) => event.type === type);
    return events.with(at, change(events[at] as RecordedEvent<T>) as RecordedEvent);
  };
  const refuse = (log: readonly RecordedEvent[]) => () => refuseContradictions(log, 'events.jsonl');
  type Energy = NonNullable<RecordedEvent<'decision'>['energy']>;

  test('as the run left it is accepted', () => {
    expect(refuse(events)).not.toThrow();
  });

  test.each<[string, (energy: Energy) => Energy | undefined]>([
    ['another ratio of joules', (energy) => ({ ...energy, ratio: 9 })],
    ['another interval', (energy) => ({ ...energy, intervalRatio: [1, 2] })],
    ['another verdict', (energy) => ({ ...energy, verdict: 'equal' })],
    ['no energy', () => undefined],
  ])('that keeps or accepts with %s is refused', (_what, change) => {
    const decided = changedLog('decision', (event) => ({ ...event, energy: change(event.energy!) }));
    const confirmed = changedLog('confirmation', (event) => ({ ...event, energy: change(event.energy!) }));
    for (const log of [decided, confirmed]) expect(refuse(log)).toThrow(/contradicts itself/);
  });
});
