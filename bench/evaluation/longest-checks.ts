/**
 * Which checks of a thorough verification take how long: the longest ones, and all others together.
 *
 *     node bench/evaluation/longest-checks.ts --device cuda:0 KERNEL[@WORKLOAD] …
 *
 * A check takes from its beginning to that of the next one: waiting for what was made ready ahead is part of it. Each kernel is screened before, so that what a process does
 * once is not counted. For a comparison, run it in turns with a checkout of what was before.
 */
import { parseArgs } from 'node:util';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { openSession } from '../../src/app/session.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { EvaluationStage } from '../../src/core/evaluation.ts';
import { completeParameters } from '../../src/core/plan/parameters.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';

// What is timed here is done here.
process.env.WARPSMITH_REPEATS = 'off';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { device: { type: 'string', default: 'cuda:0' }, seed: { type: 'string', default: '7' } },
});

const LONGEST = 30;
const PRINTED = 8;
const MS = 1000;
const seconds = (ms: number): string => (ms / MS).toFixed(2);
const sum = (all: readonly { ms: number }[]): number => all.reduce((total, { ms }) => total + ms, 0);

await using session = await openSession({ device: values.device });
for (const target of positionals) {
  const [folder, name] = target.split('@') as [string, string?];
  const { kernel, problem } = await loadKernel(folder);
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, {}));
  const workload = resolveWorkload(problem.file, name ?? problem.file.workloads[0]!.name);
  const begun: { check: string; atMs: number }[] = [];
  const onStage = (stage: EvaluationStage): void => {
    if (stage.stage === 'verify') begun.push({ check: stage.check, atMs: performance.now() });
  };
  const request = { problem, candidate, workload, tier: 'screen' } as const;
  await session.evaluator.evaluate({ ...request, seed: 1 });
  const startMs = performance.now();
  const { status, elapsedMs } = await session.evaluator.evaluate({
    ...{ ...request, seed: Number(values.seed), thorough: true, onStage },
  });
  const endMs = startMs + elapsedMs.compile + elapsedMs.verify;
  const checks = begun
    .map(({ check, atMs }, i) => ({ check, ms: (begun[i + 1]?.atMs ?? endMs) - atMs }))
    .toSorted((a, b) => b.ms - a.ms);
  process.stdout.write(
    `${target}: ${status}, ${checks.length} checks in ${seconds(elapsedMs.verify)} s, the longest ${LONGEST} in ${seconds(sum(checks.slice(0, LONGEST)))} s\n`,
  );
  for (const { check, ms } of checks.slice(0, PRINTED)) process.stdout.write(`  ${seconds(ms)} s  ${check}\n`);
}
