/**
 * Judges every kernel of test/red-team on a real GPU and records what was said of each.
 *
 *     node bench/referee/red-team.ts [--output docs/results/h200-red-team.json] [--only name,name] [--device cuda:0]
 */
import type { RedTeamEntry, RedTeamRecording } from '../../scripts/results/referee-recordings.ts';
import { openSession } from '../../src/app/session.ts';
import { lieOf, redTeamKernels } from '../../test/red-team/expected.ts';
import { type Judged, judgeRedTeamKernel, RUN_TIMEOUT_SECONDS } from '../../test/red-team/judge-on-gpu.ts';
import { measuredWith } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { recordedMs, recordedVerdict } from './recorded-verdict.ts';
import { namesToDo, refereeOptions } from './referee-options.ts';

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';

const entryOf = (name: string, { expected, evaluation, stage, disagreements }: Judged): RedTeamEntry => {
  const found = evaluation.sanitizer?.tools.filter(({ outcome }) => outcome === 'errors') ?? [];
  return {
    name,
    lie: lieOf(name),
    ...recordedVerdict(evaluation),
    expected: { statuses: expected.statuses, reason: expected.reason.source, caughtBy: expected.caughtBy },
    caughtBy: stage,
    ...(found.length > 0 && { sanitizerErrors: found.map(({ tool, detail }) => `${tool}: ${detail}`) }),
    asExpected: disagreements.length === 0,
    disagreements,
    elapsedMs: recordedMs(evaluation.elapsedMs),
  };
};

const { device, output, only } = refereeOptions({ output: 'docs/results/h200-red-team.json' });
await using session = await openSession({ device, runTimeoutSeconds: RUN_TIMEOUT_SECONDS });
const { recording, save } = await openRecording<RedTeamRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(session),
  kernels: [],
}));
const recorded = recording.kernels.map(({ name }) => name);
for (const name of namesToDo(redTeamKernels(), only, recorded)) {
  const entry = entryOf(name, await judgeRedTeamKernel(session.evaluator, name));
  recording.kernels.push(entry);
  await save();
  const { status, reason = '', caughtBy = 'nothing', disagreements, elapsedMs } = entry;
  const verdict = entry.asExpected ? 'as expected' : `NOT AS EXPECTED: ${disagreements.join('; ')}`;
  process.stderr.write(`${name}: ${status} by ${caughtBy}, ${elapsedMs.total} ms, ${verdict}: ${reason}\n`);
}
const { kernels } = recording;
const others = kernels.filter(({ asExpected }) => !asExpected).map(({ name }) => name);
process.stdout.write(
  `${kernels.length - others.length} of ${kernels.length} as expected${others.length > 0 ? `, not ${others.join(', ')}` : ''}\n`,
);
