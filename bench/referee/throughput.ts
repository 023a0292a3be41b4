/**
 * How many candidates a minute are judged on a real GPU, as a run judges them: compiled ahead, verified, screened beside
 * the best so far. Then what one evaluation with a light profile takes.
 *
 *     node bench/referee/throughput.ts [--output docs/results/h200-throughput.json] [--seconds 45] [--device cuda:0]
 */
import type { ThroughputRecording, TimedEvaluation } from '../../scripts/results/referee-recordings.ts';
import { openSession } from '../../src/app/session.ts';
import type { Evaluation, EvaluationRequest } from '../../src/core/evaluation.ts';
import type { Candidate } from '../../src/core/kernel.ts';
import type { Tier } from '../../src/core/measurement.ts';
import { measuredWith } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { distinctCandidates } from './distinct-candidates.ts';
import { PREPARED_AHEAD } from './prepared-ahead.ts';
import { recordedMs, recordedVerdict, roundMs } from './recorded-verdict.ts';
import { refereeOptions } from './referee-options.ts';

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

const timed = ({ candidate, timing, elapsedMs, ...evaluation }: Evaluation): TimedEvaluation => ({
  kernel: candidate.kernel,
  parameters: candidate.parameters,
  ...recordedVerdict(evaluation),
  ...(timing && { medianNs: timing.medianNs }),
  elapsedMs: recordedMs(elapsedMs),
});

const spaces = await Promise.all(
  KERNELS.map(async (kernel) => ({ ...kernel, ...(await distinctCandidates(kernel.folder, WORKLOAD)) })),
);
const { problem, workload, candidates } = spaces[0]!;
const [start, forScreenProfile, forAcceptProfile] = candidates;
const evaluate = (candidate: Candidate, more: Partial<EvaluationRequest>): Promise<Evaluation> =>
  evaluator.evaluate({ problem, workload, candidate, seed: SEED, ...more });

recording.start = timed(await evaluate(start!, { tier: 'screen' }));
await save();
process.stderr.write(`start: ${recording.start.status}, ${recording.start.elapsedMs.total} ms\n`);

for (const { folder, share, candidates: all } of spaces) {
  if (recording.screens.some(({ kernel }) => kernel === folder)) continue;
  const toScreen = all.filter((candidate) => ![start, forScreenProfile, forAcceptProfile].includes(candidate));
  const startMs = performance.now();
  const evaluations: TimedEvaluation[] = [];
  for (const [index, candidate] of toScreen.entries()) {
    if (performance.now() - startMs > seconds * 1000 * share) break;
    evaluator.prepare?.(toScreen.slice(index + 1, index + 1 + PREPARED_AHEAD));
    evaluations.push(
      timed(await evaluate(candidate, { tier: 'screen', against: [{ name: 'best', candidate: start! }] })),
    );
  }
  const wallMs = roundMs(performance.now() - startMs);
  const evaluationsPerMinute = roundMs((evaluations.length / wallMs) * 60_000);
  recording.screens.push({ kernel: folder, wallMs, evaluationsPerMinute, evaluations });
  await save();
  process.stderr.write(`${folder}: ${evaluations.length} in ${wallMs} ms: ${evaluationsPerMinute} a minute\n`);
}

for (const [index, tier] of TIERS.entries()) {
  if (recording.lightProfile[tier]) continue;
  const candidate = [forScreenProfile!, forAcceptProfile!][index]!;
  const evaluation = await evaluate(candidate, { tier, profile: 'light' });
  recording.lightProfile[tier] = { ...timed(evaluation), countersSource: evaluation.countersSource ?? 'none' };
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
