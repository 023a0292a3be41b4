import { parseArgs } from 'node:util';
import type { SelfComparisons } from '../../scripts/results/measuring-recordings.ts';
import { openRecording } from '../recording-file.ts';
import { type Bench, comparePair, measuredWith, type Pair } from './open-bench.ts';

export interface RepeatOptions {
  readonly device: string;
  readonly output: string;
  readonly count: number;
  /** No comparison is begun after this. */
  readonly minutes: number;
  readonly seed: number;
}

/** The options that both recordings take. */
export function repeatOptions(defaults: { output: string; count: number }): RepeatOptions {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cuda:0' },
      output: { type: 'string', default: defaults.output },
      count: { type: 'string', default: String(defaults.count) },
      minutes: { type: 'string', default: '600' },
      seed: { type: 'string', default: '1' },
    },
  });
  const { device, output } = values;
  return { device, output, count: Number(values.count), minutes: Number(values.minutes), seed: Number(values.seed) };
}

const tally = ({ comparisons, failures }: SelfComparisons): string => {
  const counts = new Map<string, number>();
  for (const { verdict } of comparisons) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts, ...(failures.length > 0 ? [['failed', failures.length] as const] : [])]
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');
};

/**
 * Makes `count` comparisons, each with a seed of its own, and writes the recording after every one. A recording that is
 * already there is continued, so that limited time on a machine can be used in parts.
 *
 * @param begin what the recording says beside its comparisons; called only when there is none yet.
 */
export async function compareRepeatedly<R extends SelfComparisons>(
  bench: Bench,
  pair: Pair,
  options: RepeatOptions,
  begin: () => Promise<Omit<R, keyof SelfComparisons>>,
): Promise<R> {
  const startMs = performance.now();
  const { output, count, minutes, seed } = options;
  const { recording, save } = await openRecording(
    output,
    async () =>
      ({
        schemaVersion: 1,
        ...measuredWith(bench),
        kernel: pair.kernel,
        workload: pair.workload.name,
        ...(await begin()),
        comparisons: [],
        discardedBlockCount: 0,
        failures: [],
      }) as unknown as R,
  );
  const done = (): number => recording.comparisons.length + recording.failures.length;
  while (done() < count && performance.now() - startMs < minutes * 60_000) {
    const outcome = await comparePair(bench, pair, seed + done());
    if (outcome.ok) {
      recording.comparisons.push(outcome.comparison);
      recording.discardedBlockCount += outcome.discardedBlockCount;
    } else recording.failures.push(outcome.reason);
    await save();
    process.stderr.write(`${done()} of ${count}: ${tally(recording)}\n`);
    if (!outcome.ok) break;
  }
  return recording;
}
