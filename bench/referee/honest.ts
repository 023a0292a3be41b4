/**
 * Judges honest candidates again and again, with ever new seeds: whatever does not pass is a false alarm.
 *
 *     node bench/referee/honest.ts [--output docs/results/h200-honest.json] [--count 200] [--device cuda:0]
 */
import type { HonestRecording } from '../../scripts/results/referee-recordings.ts';
import { openSession } from '../../src/app/session.ts';
import type { EvaluationRequest } from '../../src/core/evaluation.ts';
import { PREPARED_AHEAD } from '../../src/optimizer/proposers/proposer.ts';
import { HONEST_CANDIDATES } from '../../test/red-team/honest.ts';
import { HONEST_WORKLOAD, requestFor } from '../../test/red-team/judge-on-gpu.ts';
import { measuredWith } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { recordedMs, recordedVerdict } from './recorded-verdict.ts';
import { refereeOptions } from './referee-options.ts';

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';

/** What a seed's inputs demand is worked out once for all of them, which takes longer than to judge a candidate. */
const EVALUATIONS_PER_SEED = 4;

const { device, output, count } = refereeOptions({ output: 'docs/results/h200-honest.json', count: 200 });
await using session = await openSession({ device });
const { recording, save } = await openRecording<HonestRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(session),
  workload: HONEST_WORKLOAD,
  evaluations: [],
}));
const { evaluations } = recording;
const requests: EvaluationRequest[] = [];
for (const candidate of HONEST_CANDIDATES)
  requests.push(await requestFor(candidate, { workload: HONEST_WORKLOAD, seed: 0 }));
const requestAt = (index: number) => requests[index % requests.length]!;

while (evaluations.length < count) {
  const index = evaluations.length;
  const next = Array.from({ length: PREPARED_AHEAD }, (_, ahead) => requestAt(index + 1 + ahead).candidate);
  session.evaluator.prepare?.(next);
  const seed = 1 + Math.floor(index / EVALUATIONS_PER_SEED);
  const { title } = HONEST_CANDIDATES[index % HONEST_CANDIDATES.length]!;
  const evaluation = await session.evaluator.evaluate({ ...requestAt(index), seed });
  const elapsedMs = recordedMs(evaluation.elapsedMs);
  evaluations.push({ title, seed, ...recordedVerdict(evaluation), elapsedMs });
  await save();
  const { status, reason = '' } = evaluation;
  process.stderr.write(`${evaluations.length} of ${count}: ${title}: ${status} ${reason} ${elapsedMs.total} ms\n`);
}
const alarms = evaluations.filter(({ status }) => status !== 'passed');
const details = alarms.map(({ title, seed, status, reason }) => `; ${title}, seed ${seed}: ${status}: ${reason}`);
process.stdout.write(`${alarms.length} alarms in ${evaluations.length} evaluations${details.join('')}\n`);
