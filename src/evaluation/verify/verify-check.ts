import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { refuseBlindNamedCheck } from '../audit/blind-checks.ts';
import { planOrRefusal } from '../launches/plan-refusal.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { type UnwaitedLaunch, unwaitedLaunch } from '../launches/unwaited-launch.ts';
import { type Check, DECLARED, describeCheck } from '../oracle/check.ts';
import type { CheckKey } from '../oracle/draw-inputs.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { CheckRuns } from './check-runs.ts';
import type { CorrectnessTally } from './correctness-tally.ts';
import { judgeCheck } from './judge-check.ts';
import { judgeOnce } from './judge-once.ts';
import { judgeMemory, judgeRepeatedLaunches } from './judge-repeated-launches.ts';
import { refused } from './judged-check.ts';
import type { Verified, VerifyRequest } from './verify-request.ts';

/**
 * `remembers`: the kernel may find something of earlier launches. `neededMore`: the check's least tolerances were not enough for it.
 */
type CheckResult =
  | ({ ok: true; remembers: boolean; neededMore: boolean } & Pick<Verified, 'plan' | 'counters' | 'printed'>)
  | Refused;

/** A thorough verification has larger shapes beyond all others: a run there may take so many times as long. */
const EXTREME_PATIENCE = 3;

/** Whether it read shared memory that it had not written. */
const readsLeftovers = ({ uninitialisedRead }: RunResult): boolean => uninitialisedRead !== undefined;

export async function verifyCheck(
  request: VerifyRequest,
  check: Check,
  tally: CorrectnessTally,
  options: {
    findsRaces: boolean;
    overZeros: boolean;
    repeatWith: Pick<CheckKey, 'generatorSet' | 'seed'> | undefined;
    /** The kernel may find something of earlier launches. */
    remembers: boolean;
    /** Begun while the device runs, when this check's expectations are known; not waited for. */
    beside: () => void;
  },
): Promise<CheckResult> {
  const { findsRaces, overZeros, repeatWith, remembers, beside } = options;
  const { problem, seed, oracle } = request;
  const { dimensions, generatorSet, isMain } = check;
  const name = describeCheck(check);
  const plan = planOrRefusal(request, dimensions, name, check.multiprocessors);
  if ('ok' in plan) return plan;
  const unwaited = unwaitedLaunch(plan, request.module.code, request.candidate.kernel.sources);
  if (unwaited) return refused('unsafe', describeUnwaited(unwaited), name);
  const preparedWith = (seed: number): PreparedCheck => oracle.check({ problem, seed, dimensions, generatorSet });
  const prepared = preparedWith(seed);
  if (!check.isOnce && !isMain && !check.isExtreme)
    await refuseBlindNamedCheck({ problem, check, prepared, seed, signal: request.signal }, preparedWith);
  const memory = { contents: prepared.inputs.bytes, overZeros };
  const timeoutMs = request.timeoutMs * (request.thorough && check.isExtreme ? EXTREME_PATIENCE : 1);
  const runs = await CheckRuns.open({ ...request, timeoutMs, name, plan, ...memory, isMain, findsRaces });
  const isBitwise = problem.file.determinism === 'bitwise';
  const judge = async (): Promise<CheckResult> => {
    if (check.isOnce) {
      // A sum of millions of terms bears more than what a sample of them is off by.
      const isCounted = check.isLarge === true && generatorSet === DECLARED;
      const refuse = isCounted ? (run: RunResult) => refuseUnread(problem, dimensions, plan, run, name) : undefined;
      const mustAgree = isBitwise && runs.addsInAnyOrder;
      const refusal = await judgeOnce({ runs, prepared, tally, seed, isCounted, mustAgree, refuse, beside });
      return refusal ?? { ok: true, plan, counters: [], remembers: runs.remembers, neededMore: false };
    }
    const passed = await judgeCheck({ runs, prepared, tally, isBitwise, beside });
    if (!passed.ok) return passed;
    const unread = isMain && refuseUnread(problem, dimensions, plan, passed.first, name);
    if (unread) return unread;
    const other = repeatWith && oracle.check({ problem, dimensions, ...repeatWith });
    const repeated = { problem, dimensions, passed, seed };
    const refusal = check.isForMemory
      ? await judgeMemory(repeated, remembers)
      : other && (await judgeRepeatedLaunches({ ...repeated, other, goesOn: request.thorough === true && !isMain }));
    return (
      refusal ?? {
        ok: true,
        plan,
        counters: passed.first.counters,
        neededMore: passed.neededMore,
        printed: passed.first.printed,
        remembers: runs.remembers || readsLeftovers(passed.first),
      }
    );
  };
  try {
    const result = await judge();
    return result.ok ? result : { ...result, printed: result.printed ?? runs.printed };
  } finally {
    await runs.close();
  }
}

const describeUnwaited = (unwaited: UnwaitedLaunch): string =>
  `race: ${unwaited.functionName} may start before ${unwaited.earlier} has ended (programmaticDependent) and ${whyUnwaited(unwaited)}`;

function whyUnwaited({ earlier, buffer, early, between }: UnwaitedLaunch): string {
  if (between !== undefined)
    return `waits for ${between} alone (griddepcontrol.wait), which does not wait for ${earlier}; both get ${buffer}, and one of them writes it`;
  if (early === undefined)
    return `never executes griddepcontrol.wait (cudaGridDependencySynchronize), but both get ${buffer}`;
  const place = early === 'somewhere' ? '' : ` at ${early.file}:${early.line}`;
  return `reads ${buffer}${place} before griddepcontrol.wait (cudaGridDependencySynchronize), though ${earlier} writes it`;
}

/**
 * Refuses a kernel that read fewer distinct bytes of its inputs than the problem requires: it samples, or knows the answer.
 * The requirement never exceeds the size of the inputs. Only a virtual device counts read bytes.
 */
function refuseUnread(
  { file }: Problem,
  dimensions: Dimensions,
  { buffers }: LaunchPlan,
  { readBytes, conditions }: RunResult,
  check: string,
): Refused | undefined {
  if (!readBytes) return undefined;
  const inputs = buffers.filter(({ role }) => role === 'in' || role === 'inout');
  const sum = (bytesOf: (input: LaunchPlan['buffers'][number]) => number): number =>
    inputs.reduce((total, input) => total + bytesOf(input), 0);
  const needed = Math.min(
    evaluateExpression(file.minimumReadBytes, dimensions),
    sum(({ bytes }) => bytes),
  );
  const read = sum(({ name }) => readBytes.get(name) ?? 0);
  if (read >= needed) return undefined;
  const each = inputs.map(({ name, bytes }) => `${name}: ${readBytes.get(name) ?? 0} of ${bytes}`).join(', ');
  return refused(
    'wrong',
    `reads ${read} distinct bytes of its inputs (${each}); at least ${needed} must be read ` +
      `(minimumReadBytes = ${file.minimumReadBytes})`,
    `${check} · ${conditions.name}`,
  );
}
