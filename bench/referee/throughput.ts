/**
 * How many candidates a minute are judged on a real GPU, as a run judges them: compiled ahead, verified, screened beside
 * the best so far. Then what one evaluation with a light profile takes. Prints what one screen is made of: its parts as the
 * evaluation times them, messages to the GPU's process, and calls of the driver.
 *
 *     node bench/referee/throughput.ts [--output docs/results/h200-throughput.json] [--seconds 45] [--device cuda:0]
 */
import type { ThroughputRecording } from '../../scripts/results/referee-recordings.ts';
import { openSession } from '../../src/app/session.ts';
import type { Tier } from '../../src/core/measurement.ts';
import { PREPARED_AHEAD } from '../../src/optimizer/proposers/proposer.ts';
import { measuredWith } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { costsOfOne } from './costs-of-one.ts';
import { distinctCandidates } from './distinct-candidates.ts';
import { refereeOptions } from './referee-options.ts';
import { screenCandidates, timedEvaluation } from './screen-candidates.ts';

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';

const WORKLOAD = 'b1h8s512d64';
const SEED = 1;
/** Kernels whose settings are screened, and each one's share of the time. */
const KERNELS = [
  { folder: 'problems/attention/04_warp', share: 2 / 3 },
  { folder: 'problems/attention/03_rows', share: 1 / 3 },
];
const TIERS: readonly Tier[] = ['screen', 'accept'];

const { device, output, seconds } = refereeOptions({ output: 'docs/results/h200-throughput.json', seconds: 45 });
await using session = await openSession({ device });
const { evaluator } = session;
const { recording, save } = await openRecording<ThroughputRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(session),
  workload: WORKLOAD,
  preparedAhead: PREPARED_AHEAD,
  screens: [],
  lightProfile: {},
}));

const spaces = await Promise.all(
  KERNELS.map(async ({ folder, share }) => ({ folder, share, ...(await distinctCandidates(folder, WORKLOAD)) })),
);
const { problem, workload, candidates } = spaces[0]!;
const [start, ...forProfiles] = candidates.slice(0, 1 + TIERS.length);
const request = { problem, workload, seed: SEED };

// Whatever a session does only once happens here.
recording.start = timedEvaluation(await evaluator.evaluate({ ...request, candidate: start!, tier: 'screen' }));
await save();
process.stderr.write(`start: ${recording.start.status}, ${recording.start.elapsedMs.total} ms\n`);

for (const { folder, share, candidates: all } of spaces) {
  if (recording.screens.some(({ kernel }) => kernel === folder)) continue;
  const limitMs = seconds * 1000 * share;
  const fresh = all.filter((candidate) => candidate !== start && !forProfiles.includes(candidate));
  const tally = session.device.tally?.bind(session.device);
  const run = await screenCandidates({ evaluator, request, candidates: fresh, best: start!, limitMs, tally });
  recording.screens.push({ kernel: folder, ...run });
  await save();
  const { evaluations, wallMs, evaluationsPerMinute } = run;
  process.stderr.write(`${folder}: ${evaluations.length} in ${wallMs} ms: ${evaluationsPerMinute} a minute\n`);
  process.stderr.write(costsOfOne(run));
}

for (const [index, tier] of TIERS.entries()) {
  if (recording.lightProfile[tier]) continue;
  const evaluation = await evaluator.evaluate({ ...request, candidate: forProfiles[index]!, tier, profile: 'light' });
  const { countersSource = 'none' } = evaluation;
  recording.lightProfile[tier] = { ...timedEvaluation(evaluation), countersSource };
  await save();
}

const screened = recording.screens.flatMap(({ evaluations }) => evaluations);
const wallMs = recording.screens.reduce((sum, run) => sum + run.wallMs, 0);
const failed = screened.filter(({ status }) => status !== 'passed').length;
const profiles = TIERS.map((tier) => `${tier} ${recording.lightProfile[tier]?.elapsedMs.total} ms`).join(', ');
process.stdout.write(
  `${((screened.length / wallMs) * 60_000).toFixed(1)} screens a minute (${screened.length}, ${failed} not passed); ` +
    `with a light profile: ${profiles}\n`,
);
