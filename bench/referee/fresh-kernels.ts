/**
 * Judges wrong kernels from outside of the repository that were written without knowing the referee, thoroughly, as `evaluate` does. Beside each
 * kernel.json lies a truth.json: { "kind": "bug" | "gaming" | "sabotage", "wrong_when": "…", "example": { dimensions at which it is wrong } }.
 *
 *     node bench/referee/fresh-kernels.ts --batch NAME --pass first|again [--output …] [--device virtual:l4] FOLDER…
 *
 * `first` is before anybody looked at them; `again` takes those that passed, after the referee learned from them. One that is recorded is not
 * judged twice.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { FreshEntry, FreshRecording } from '../../scripts/results/referee-recordings.ts';
import { openSession } from '../../src/app/session.ts';
import { conditionsOf } from '../../src/core/compared-sizes.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../src/core/problem.ts';
import { measuredWith } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { judgeThoroughly } from './judge-thoroughly.ts';
import { recordedVerdict } from './recorded-verdict.ts';

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    batch: { type: 'string' },
    pass: { type: 'string', default: 'first' },
    output: { type: 'string', default: 'docs/results/fresh-wrong-kernels.json' },
    device: { type: 'string', default: 'virtual:l4' },
  },
});
const { batch: name, pass, output, device } = values;
if (name === undefined || (pass !== 'first' && pass !== 'again') || positionals.length === 0)
  throw new Error('usage: fresh-kernels.ts --batch NAME --pass first|again FOLDER…');

await using session = await openSession({ device });
const { recording, save } = await openRecording<FreshRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(session),
  batches: [],
}));
if (!recording.batches.some((one) => one.name === name)) recording.batches.push({ name, first: [], again: [] });
const batch = recording.batches.find((one) => one.name === name)!;

/** What a verdict that passed says itself: that it is not about the sizes at which the kernel is wrong. */
function reservationOf(
  evaluation: Evaluation,
  file: ProblemFile,
  example: Dimensions | undefined,
): FreshEntry['reservation'] {
  if (evaluation.status !== 'passed') return undefined;
  const compared = evaluation.coverage?.compared;
  const shape = example && completeDimensions(file.dimensions, example);
  const isClaimed = (): boolean =>
    conditionsOf(file, compared!).every(({ condition }) => evaluateExpression(condition, shape!) !== 0);
  return shape && compared && !isClaimed() ? 'sizes' : undefined;
}

async function judge(folder: string): Promise<FreshEntry> {
  const truth = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8'));
  const { problem, seed, evaluation } = await judgeThoroughly(session, device, folder);
  return {
    name: basename(folder),
    problem: problem.file.name,
    kind: truth.kind,
    wrongWhen: truth.wrong_when,
    seed,
    ...recordedVerdict(evaluation),
    reservation: reservationOf(evaluation, problem.file, truth.example),
    totalMs: Math.round(evaluation.elapsedMs.total),
  };
}

const done = new Set(batch[pass].map((entry) => entry.name));
const passedFirst = new Set(batch.first.filter(({ status }) => status === 'passed').map((entry) => entry.name));
const isAsked = (name: string): boolean => !done.has(name) && (pass === 'first' || passedFirst.has(name));
for (const folder of positionals.filter((one) => isAsked(basename(one)))) {
  const entry = await judge(folder);
  batch[pass].push(entry);
  await save();
  process.stderr.write(`${entry.name}: ${entry.status}, ${entry.totalMs} ms: ${entry.reason ?? ''}\n`);
}
const passed = batch[pass].filter(({ status }) => status === 'passed');
process.stdout.write(
  `${passed.length} of ${batch[pass].length} passed: ${passed.map((entry) => entry.name).join(', ')}\n`,
);
