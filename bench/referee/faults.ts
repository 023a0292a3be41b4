/**
 * Judges kernels that hang, trap, touch memory that is not theirs or ask for too much, each between two evaluations of
 * an honest kernel, which must come out as if nothing had been.
 *
 *     node bench/referee/faults.ts [--output docs/results/h200-faults.json] [--only name,name] [--device cuda:0]
 */
import type { FaultEntry, FaultRecording, HonestRun } from '../../scripts/results/referee-recordings.ts';
import { openSession } from '../../src/app/session.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { FAULT_TIMEOUT_SECONDS, faults, type JudgedFault, judgeFault } from '../../test/faults/judge-fault.ts';
import { measuredWith } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { recordedVerdict, roundMs } from './recorded-verdict.ts';
import { namesToDo, refereeOptions } from './referee-options.ts';

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';

const WORKLOAD = 'large';

const honestRun = (evaluation: Evaluation): HonestRun => ({
  ...recordedVerdict(evaluation),
  ...(evaluation.timing && { medianNs: evaluation.timing.medianNs }),
  elapsedMs: roundMs(evaluation.elapsedMs.total),
});

const entryOf = (name: string, judged: JudgedFault): FaultEntry => ({
  name,
  mistake: judged.mistake,
  ...recordedVerdict(judged.evaluation),
  expected: { statuses: judged.expected.statuses, reason: judged.expected.reason.source },
  reportedAfterMs: roundMs(judged.reportedAfterMs),
  runTimeoutMs: FAULT_TIMEOUT_SECONDS * 1000,
  before: honestRun(judged.before),
  after: honestRun(judged.after),
  asExpected: judged.disagreements.length === 0,
  disagreements: judged.disagreements,
});

const { device, output, only } = refereeOptions({ output: 'docs/results/h200-faults.json' });
await using session = await openSession({ device, runTimeoutSeconds: FAULT_TIMEOUT_SECONDS });
const { recording, save } = await openRecording<FaultRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(session),
  workload: WORKLOAD,
  faults: [],
}));
const recorded = recording.faults.map(({ name }) => name);
for (const name of namesToDo(faults(), only, recorded)) {
  const seed = 1 + recording.faults.length;
  const entry = entryOf(name, await judgeFault(session.evaluator, name, { kind: 'cuda', workload: WORKLOAD, seed }));
  recording.faults.push(entry);
  await save();
  const { status, reason, reportedAfterMs, before, after, disagreements } = entry;
  const verdict = entry.asExpected ? 'as expected' : `NOT AS EXPECTED: ${disagreements.join('; ')}`;
  const times = `honest ${before.medianNs} ns, then ${after.medianNs} ns`;
  process.stderr.write(`${name}: ${status} after ${reportedAfterMs} ms (${reason}); ${times}; ${verdict}\n`);
}
const others = recording.faults.filter(({ asExpected }) => !asExpected).map(({ name }) => name);
process.stdout.write(
  `${recording.faults.length - others.length} of ${recording.faults.length} faults as expected${others.length > 0 ? `, not ${others.join(', ')}` : ''}\n`,
);
