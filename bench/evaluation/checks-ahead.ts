/**
 * What preparing the checks of a winner's confirmation asks of the main thread, with threads that draw inputs and work out tolerances and without. Nothing is run
 * on a GPU; the reference runs in its own processes either way.
 *
 *     node bench/evaluation/checks-ahead.ts [attention]
 *
 * Prints seconds in which the main thread was busy, which count where it also has to keep a GPU supplied, and seconds in all.
 */
import { performance } from 'node:perf_hooks';
import { loadProblemTarget } from '../../src/app/target.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import { checksFor } from '../../src/evaluation/oracle/checks/choose.ts';
import { createExpectationCache } from '../../src/evaluation/oracle/expectation-cache.ts';
import { isLarge } from '../../src/evaluation/oracle/reference-runs.ts';
import { createOracleThreads } from '../../src/evaluation/oracle/threads/oracle-threads.ts';

const SEED = 5;
const AHEAD = 4;
const THREADS = 4;
const H200_SMS = 132;

const { problem, start } = await loadProblemTarget(process.argv[2] ?? 'attention');
const { dimensions } = chooseWorkload(problem.file, undefined);
const { checks } = checksFor({
  ...{ problem: problem.file, kernel: start.file, parameters: makeCandidate(start, {}).parameters, dimensions },
  ...{ seed: SEED, thorough: true, fits: () => true, smCount: H200_SMS },
});
const quick = checks.filter((check) => !isLarge(problem, check.dimensions));

for (const count of [0, THREADS]) {
  const threads = createOracleThreads(count);
  const oracle = createExpectationCache({ threads });
  const startMs = performance.now();
  const before = performance.eventLoopUtilization();
  const begun: Promise<void>[] = [];
  for (const [i, { isOnce }] of quick.entries()) {
    for (const next of quick.slice(begun.length, i + 1 + AHEAD))
      begun.push(oracle.ahead({ problem, seed: SEED, dimensions: next.dimensions, generatorSet: next.generatorSet }));
    await begun[i];
    const { dimensions: shape, generatorSet } = quick[i]!;
    const prepared = oracle.check({ problem, seed: SEED, dimensions: shape, generatorSet });
    await (isOnce ? prepared.sample() : prepared.expectations()).catch(() => {});
  }
  const busy = performance.eventLoopUtilization(before).active / 1000;
  const seconds = (performance.now() - startMs) / 1000;
  process.stdout.write(
    `${quick.length} checks, ${count} threads: busy ${busy.toFixed(1)} s, in all ${seconds.toFixed(1)} s\n`,
  );
  await threads?.close();
}
process.exit(0);
