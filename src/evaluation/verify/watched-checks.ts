import { ptxOf } from '../../core/compiled-code.ts';
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
 * many. Shapes beyond all others, as they are or with their largest size halved until they are small enough.
 */
export function largerToWatch(
  request: VerifyRequest,
  checks: readonly Check[],
  takes: (shape: Dimensions) => boolean,
): Check[] {
  const { code } = request.module;
  const ptx = ptxOf(code);
  if (!request.thorough || request.device.measuring || ptx === undefined || !READS_OTHERS.test(ptx)) return [];
  if (isLong(request)) return [];
  const threads = (check: Check): number => threadsOf(launchesOf(() => request.planFor(check.dimensions)));
  const isSmall = (check: Check): boolean =>
    evaluateExpression(request.problem.file.flop, check.dimensions) <= WATCHED.flop &&
    threads(check) <= WATCHED.threads.most;
  return checks
    .filter(({ isExtreme, isLarge, generatorSet }) => isExtreme && !isLarge && generatorSet === DECLARED)
    .flatMap(
      (check) =>
        halved(check)
          .filter(({ dimensions }) => takes(dimensions))
          .find(isSmall) ?? [],
    )
    .filter((check) => threads(check) >= WATCHED.threads.least)
    .toSorted((a, b) => threads(b) - threads(a))
    .slice(0, 1)
    .map((check) => ({ ...check, isOnce: false }));
}

/** The check, and the same at shapes whose largest size is a half, a quarter and so on. */
function halved(check: Check): Check[] {
  const [name, size] = Object.entries(check.dimensions).toSorted(([, a], [, b]) => b - a)[0]!;
  return Array.from({ length: Math.floor(Math.log2(size)) }, (_, k) => ({
    ...check,
    dimensions: { ...check.dimensions, [name]: Math.ceil(size / 2 ** k) },
  }));
}
