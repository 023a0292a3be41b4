import { WarpsmithError } from '../../core/errors.ts';
import { isDomainSet } from '../../core/plan/generator-sets.ts';
import { refuseBlindCheck } from '../audit/blind-checks.ts';
import { type Check, DECLARED } from '../oracle/check.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { levelsOf, type SecretSet, secretSetOf } from '../oracle/secret/secret-set.ts';
import { isStorable } from '../oracle/secret/storable.ts';
import { leavesSizes } from '../oracle/secret/variants/index.ts';
import { rmsOf } from '../oracle/tolerances/calibrated.ts';
import type { VerifyRequest } from './verify-request.ts';

/** A check as it is judged. */
export interface ReadyCheck {
  readonly check: Check;
  /** Why it is left out. */
  readonly trouble: { reason: string; code: string } | undefined;
}

/** A check with inputs that can be judged, and whether the problem can. `undefined` if it is not worth judging. @throws as the reference. */
export async function readied(request: VerifyRequest, chosen: Check): Promise<ReadyCheck | undefined> {
  const check = await bearable(request, chosen);
  if (!check) return undefined;
  const isAsked = check.isDrawn && secretSetOf(check.generatorSet) === undefined;
  return { check, trouble: isAsked ? await troubleWithDrawn(request, check) : undefined };
}

/**
 * A check with secret inputs, made milder until the right results are numbers that every honest kernel can compute and store,
 * and the tolerance shows wrong ones. If none is mild enough: the declared inputs at a drawn shape, nothing where those run
 * anyway. Other checks stay as they are.
 */
async function bearable(request: VerifyRequest, check: Check): Promise<Check | undefined> {
  const secret = secretSetOf(check.generatorSet);
  if (!secret) return check;
  for (const generatorSet of levelsOf(secret)) {
    const milder = { ...check, generatorSet };
    if (await isBearable(request, milder, secretSetOf(generatorSet)!)) return milder;
  }
  return check.isOnce && !check.isExtreme ? undefined : { ...check, generatorSet: DECLARED };
}

async function isBearable(request: VerifyRequest, check: Check, secret: SecretSet): Promise<boolean> {
  const { problem } = request;
  try {
    const prepared = await drawn(request, check);
    // Whole tolerances: what can't have them is made milder.
    const { expectations } = await prepared.sample();
    if (!isStorable(problem.file, { buffers: prepared.buffers, expectations, secret })) return false;
    if (leavesSizes(secret.kind) && !(await givesResultsAsLarge(request, check))) return false;
  } catch (error) {
    if (error instanceof WarpsmithError) return false;
    throw error;
  }
  return !check.isDrawn || (await troubleWithDrawn(request, check)) === undefined;
}

/** A check whose inputs threads have drawn, where there are any. */
async function drawn(
  { problem, seed, oracle }: VerifyRequest,
  { dimensions, generatorSet }: Pick<Check, 'dimensions' | 'generatorSet'>,
): Promise<PreparedCheck> {
  const key = { problem, seed, dimensions, generatorSet };
  await oracle.ahead(key);
  return oracle.check(key);
}

/** Results of other inputs from the same distribution are as large, give or take so much. */
const SAME_SIZE = 2;

/** Whether the inputs of a check give results as large as those of the declared ones at its shape; not asked where only some rows are computed. */
async function givesResultsAsLarge(request: VerifyRequest, check: Check): Promise<boolean> {
  const [ours, declared] = await Promise.all(
    [check, { ...check, generatorSet: DECLARED }].map(async (one) => (await drawn(request, one)).sample()),
  );
  if (ours!.rows || declared!.rows) return false;
  return [...declared!.expectations].every(([name, { want }]) => {
    const ratio = rmsOf(ours!.expectations.get(name)!.want) / rmsOf(want);
    return ratio >= 1 / SAME_SIZE && ratio <= SAME_SIZE;
  });
}

/**
 * Why the problem's own inputs or reference fail for a drawn shape. Its author never saw that shape, and the kernel is not
 * to blame, so the check is skipped.
 */
async function troubleWithDrawn(request: VerifyRequest, check: Check): Promise<ReadyCheck['trouble']> {
  const { problem, seed, oracle, signal } = request;
  const { dimensions, generatorSet } = check;
  try {
    const prepared = oracle.check({ problem, seed, dimensions, generatorSet });
    if (check.isExtreme) {
      // Whether results are too great, whatever their tolerances are.
      const { expectations } = await (prepared.leastSample ?? prepared.sample)();
      // Infinity is right where the inputs have it.
      if (isDomainSet(problem.file, generatorSet)) return undefined;
      return isStorable(problem.file, { buffers: prepared.buffers, expectations }) ? undefined : TOO_GREAT;
    }
    await refuseBlindCheck({ problem, check, prepared, seed, signal });
    return undefined;
  } catch (error) {
    return troubleOf(error);
  }
}

/** @throws what is no mistake of the problem. */
export function troubleOf(error: unknown): { reason: string; code: string } {
  if (error instanceof WarpsmithError) return { reason: error.message, code: error.details.code };
  throw error;
}

const TOO_GREAT = { reason: 'right results come near the largest value of their dtype', code: 'not-storable' };
