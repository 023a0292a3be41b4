import type { CommandName } from '../../core/requests/commands.ts';
import type { Cache } from '../../core/requests/options.ts';
import { commandLine, type RequestOf } from '../../core/requests/request.ts';
import { assignments } from '../../core/values.ts';
import type { RunStartedEvent, WeightedWorkload } from '../../store/events.ts';

/** Characters that no shell gives a meaning. */
const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** A word of a POSIX shell command. */
const quote = (word: string): string => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);

/** The command that makes a request, as a shell takes it. */
export const shellCommand = <N extends CommandName>(name: N, request: RequestOf<N>): string =>
  commandLine(name, request).map(quote).join(' ');

const dimensionsText = ({ dimensions }: WeightedWorkload): string => assignments(dimensions).join(',');

/**
 * Whether a workload has the name that one gets which problem.json does not declare: its sizes, then the flags that are set.
 * Which dimensions are flags the log doesn't say: they are among those of 0 or 1.
 */
function isNamedBySizes({ name, dimensions }: WeightedWorkload): boolean {
  let rest = name;
  for (const [dimension, value] of Object.entries(dimensions)) {
    const size = `${dimension.toLowerCase()}${value}`;
    if (rest.startsWith(size)) rest = rest.slice(size.length);
    else if (value !== 0 && value !== 1) return false;
  }
  return rest === '' || rest.startsWith('-') || name === 'default';
}

/**
 * By dimensions, since a workload that problem.json doesn't declare has no name to be called by; by its name where it
 * must be a declared one: beside another of the same dimensions, or where caches differ and it is cold or has a name of its
 * own, since its dimensions might be those of another one.
 */
function workloadTexts(workloads: readonly WeightedWorkload[]): string[] {
  const texts = workloads.map(dimensionsText);
  const isMixed = cacheOf(workloads) === undefined;
  return workloads.map(({ name, cache, weight }, i) => {
    const isTwin = texts.filter((text) => text === texts[i]).length > 1;
    const isByName = isTwin || (isMixed && (cache === 'cold' || !isNamedBySizes(workloads[i]!)));
    const text = isByName ? name : texts[i]!;
    // Of one workload the weight says nothing.
    return workloads.length === 1 ? text : `${text}:${weight}`;
  });
}

/** `--cache` is for all workloads: where they differ, each has its own as declared. */
function cacheOf(workloads: readonly WeightedWorkload[]): Cache | undefined {
  const [cache, ...others] = new Set(workloads.map((workload) => workload.cache));
  return others.length === 0 ? cache : undefined;
}

const BUDGET_DIGITS = 4;

/** A share of a budget has digits that nobody would type: rounded, but never to less than there was. */
function roundUp(value: number | null): number | undefined {
  if (value === null || Number.isInteger(value)) return value ?? undefined;
  const near = Number(value.toPrecision(BUDGET_DIGITS));
  if (near >= value) return near;
  const unit = 10 ** (Math.floor(Math.log10(value)) - BUDGET_DIGITS + 1);
  return Number((near + unit).toPrecision(BUDGET_DIGITS));
}

/**
 * The command that does the same again: same problem, start, device, workloads, seed and budgets; on the device, though
 * this run may have been recorded or replayed.
 *
 * @param store where the run lies, unless that is the default.
 */
export function reproductionCommand(started: RunStartedEvent, store?: string): string {
  const { request, start, device, workloads, seed, strategy, budgets, goal } = started;
  const { record, replay, seedDrawn, problemFiles, ...asked } = request;
  return shellCommand('optimize', {
    ...asked,
    device: request.queue === undefined ? (request.devices ?? device.id) : undefined,
    workloads: workloadTexts(workloads),
    cache: cacheOf(workloads),
    parameters: start.parameters,
    seed,
    strategy: strategy as RequestOf<'optimize'>['strategy'],
    maximumEvaluations: budgets.maximumEvaluations ?? undefined,
    maximumMinutes: roundUp(budgets.maximumMinutes),
    maximumGpuMinutes: roundUp(budgets.maximumGpuMinutes),
    maximumMoney: roundUp(budgets.maximumMoney),
    gpuPricePerHour: budgets.gpuPricePerHour ?? undefined,
    goal: goal?.text,
    store,
  });
}
