import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { Dimensions } from '../../core/problem.ts';
import { createStream } from '../../stats/random.ts';
import { type Check, DECLARED } from '../oracle/check.ts';
import { threadsOf } from '../oracle/checks/request.ts';

import { isLong, launchesOf, type VerifyRequest } from './verify-request.ts';

/**
 * The checks on which to look for races: of those that run twice, one of every shape except the timed one. It
 * takes up to seven times as long.
 */
export function watchedChecks(checks: readonly Check[], timed: Dimensions, seed: number): ReadonlySet<Check> {
  const byShape = Map.groupBy(
    checks.filter(({ dimensions, isOnce }) => dimensions !== timed && !isOnce),
    ({ dimensions }) => JSON.stringify(dimensions),
  );
  const draws = createStream(seed, 'checks on which races are looked for');
  return new Set([...byShape.values()].map((all, i) => all[draws.bits(i) % all.length]!));
}

/** Such launches are watched where CTAs tell one another: of dozens of CTAs, and no more than some seconds. */
const WATCHED = { threads: { least: 2 ** 12, most: 2 ** 17 }, flop: 2e7 } as const;

/** Reads from device memory that may find what another CTA has written. */
const READS_OTHERS = /\b(?:ld\.(?:volatile|relaxed|acquire)|atom)\.(?!(?:[\w:]+\.)*shared)/;

/**
 * Of a kernel whose CTAs tell one another something, the largest such shape, again: a look-back goes beyond the first few CTAs only where there are
 * many.
 */
export function largerToWatch(request: VerifyRequest, checks: readonly Check[]): Check[] {
  const { code } = request.module;
  const ptx = code.kind === 'ptx' ? code.text : code.ptx;
  if (!request.thorough || request.device.measuring || ptx === undefined || !READS_OTHERS.test(ptx)) return [];
  if (isLong(request)) return [];
  const threads = (check: Check): number => threadsOf(launchesOf(() => request.planFor(check.dimensions)));
  return checks
    .filter(({ isExtreme, isLarge, generatorSet }) => isExtreme && !isLarge && generatorSet === DECLARED)
    .filter(({ dimensions }) => evaluateExpression(request.problem.file.flop, dimensions) <= WATCHED.flop)
    .map((check) => ({ check, threads: threads(check) }))
    .filter((one) => one.threads >= WATCHED.threads.least && one.threads <= WATCHED.threads.most)
    .toSorted((a, b) => b.threads - a.threads)
    .slice(0, 1)
    .map(({ check }) => ({ ...check, isOnce: false }));
}
