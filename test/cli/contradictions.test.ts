import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Json, runCli, runJson, SCALE, temporaryFolder } from './run-cli.ts';

let store: string;
let file: string;
let lines: string[];

beforeAll(async () => {
  store = temporaryFolder();
  const options = ['--device', 'virtual:l4', '--max-evaluations', '4', '--no-ablation', '--store', store];
  expect((await runCli(['optimize', SCALE, ...options])).code).toBe(0);
  file = join(store, 'runs', readdirSync(join(store, 'runs'))[0]!, 'events.jsonl');
  lines = readFileSync(file, 'utf8').trimEnd().split('\n');
});

/** The log with the last event of a type changed. */
const tamper = (type: string, change: (event: Json) => void): void => {
  const at = lines.findLastIndex((line) => JSON.parse(line).type === type);
  const event = JSON.parse(lines[at]!) as Json;
  change(event);
  writeFileSync(file, `${lines.with(at, JSON.stringify(event)).join('\n')}\n`);
};

test('a log as the run left it has a report', async () => {
  writeFileSync(file, `${lines.join('\n')}\n`);
  expect((await runCli(['report', '--store', store])).code).toBe(0);
});

const CASES: [what: string, type: string, change: (event: Json) => void, received: string][] = [
  ['a speed-up', 'run-finished', (event) => (event.speedup = 3.86), 'speed-up 3.86'],
  ['a best', 'run-finished', (event) => (event.best = 'e1'), 'the best is e1'],
  ['a speed-up by a thousandth', 'run-finished', (event) => (event.speedup *= 1.001), 'speed-up'],
  ['a ratio', 'decision', (event) => (event.ratio = 9), 'ratio of'],
  ['a ratio by a billionth', 'decision', (event) => (event.ratio *= 1 + 1e-9), 'ratio of'],
  ['a time', 'evaluation-finished', (event) => (event.evaluation.timing.medianNs = 1e-3), 'passed in 0.001 ns'],
  ['a device', 'evaluation-finished', (event) => (event.evaluation.device.id = 'virtual:h200'), 'on virtual:h200'],
  ['an outcome', 'confirmation', (event) => (event.outcome = 'rejected'), 'outcome rejected'],
  ['a confirmation of another', 'confirmation', (event) => (event.candidate.id = '0123456789ab'), '0123456789ab'],
  ['a confirmation by the search', 'confirmation', (event) => (event.evaluationId = 'e2'), 'e2 is accepted'],
  ['a wrong winner', 'evaluation-finished', (event) => (event.evaluation.status = 'wrong'), 'is accepted'],
  ['an error', 'evaluation-finished', (event) => (event.evaluation.correctness.worstErrorRatio = 2), 'passed'],
];

test.each(CASES)(
  '%s that does not follow is refused by report, export and resume',
  async (_what, type, change, received) => {
    tamper(type, change);
    const report = await runJson(['report', '--store', store]);
    expect(report.code).toBe(2);
    expect(report.json.error).toMatchObject({
      code: 'contradictory-log',
      path: expect.stringMatching(/^event \d+$/),
      received: expect.stringContaining(received),
    });
    const exported = await runJson(['export', 'latest', '--store', store, '-o', join(temporaryFolder(), 'out')]);
    expect(exported.json.error.code).toBe('contradictory-log');
    const resumed = await runJson(['resume', 'latest', '--max-evaluations', '5', '--store', store]);
    expect(resumed).toMatchObject({ code: 2, json: { error: { code: 'contradictory-log' } } });
  },
);
