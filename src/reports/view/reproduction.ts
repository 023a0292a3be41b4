import type { RunStartedEvent, WeightedWorkload } from '../../store/events.ts';

/** Characters that no shell gives a meaning. */
const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** A word of a POSIX shell command. */
const quote = (word: string): string => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);

const option = (name: string, value: string | number | null | undefined): string[] =>
  value === null || value === undefined ? [] : [`--${name}`, String(value)];

const flag = (name: string, isSet: boolean): string[] => (isSet ? [`--${name}`] : []);

const dimensionsText = ({ dimensions }: WeightedWorkload): string =>
  Object.entries(dimensions)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

/**
 * By dimensions, since a workload that problem.json doesn't declare has no name to be called by; by its name where it
 * must be a declared one: beside another of the same dimensions, or cold where others are hot.
 */
function workloadOptions(workloads: readonly WeightedWorkload[]): string[] {
  const texts = workloads.map(dimensionsText);
  const isMixed = cacheOf(workloads) === undefined;
  return workloads.flatMap(({ name, cache, weight }, i) => {
    const isTwin = texts.filter((text) => text === texts[i]).length > 1;
    const text = isTwin || (isMixed && cache === 'cold') ? name : texts[i]!;
    // Of one workload the weight says nothing.
    return ['--workload', workloads.length === 1 ? text : `${text}:${weight}`];
  });
}

/** `--cache` is for all workloads: where they differ, each has its own as declared. */
const cacheOf = (workloads: readonly WeightedWorkload[]): string | undefined => {
  const [cache, ...others] = new Set(workloads.map((workload) => workload.cache));
  return others.length === 0 ? cache : undefined;
};

/** The command that does the same again: same problem, start, device, workloads, seed and budgets. */
export function reproductionCommand(started: RunStartedEvent): string {
  const { request, start, device, workloads, seed, strategy, budgets, goal } = started;
  const parameters = Object.entries(start.parameters).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  return [
    ...['warpsmith', 'optimize', request.target],
    ...option('device', device.id),
    ...workloadOptions(workloads),
    ...option('cache', cacheOf(workloads)),
    ...parameters,
    ...option('seed', seed),
    ...option('strategy', strategy),
    ...flag('no-diagnosis', request.diagnosis === false),
    ...flag('no-exploring', request.exploring === false),
    ...flag('no-ablation', request.ablation === false),
    ...option('max-evaluations', budgets.maximumEvaluations),
    ...option('max-minutes', budgets.maximumMinutes),
    ...option('max-gpu-minutes', budgets.maximumGpuMinutes),
    ...option('max-money', budgets.maximumMoney),
    ...option('gpu-price', budgets.gpuPricePerHour),
    ...option('goal', goal?.text),
    ...option('toolchain', request.toolchain),
    ...option('threads', request.threads),
    ...option('run-timeout', request.runTimeoutSeconds),
    ...flag('require-sanitizer', request.requireSanitizer === true),
  ]
    .map(quote)
    .join(' ');
}
