import type { RunStartedEvent, WeightedWorkload } from '../../store/events.ts';

/** Characters that no shell gives a meaning. */
const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** A word of a POSIX shell command. */
const quote = (word: string): string => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);

const option = (name: string, value: string | number | null | undefined): string[] =>
  value === null || value === undefined ? [] : [`--${name}`, String(value)];

const flag = (name: string, isSet: boolean): string[] => (isSet ? [`--${name}`] : []);

const workloadOptions = (workloads: readonly WeightedWorkload[]): string[] =>
  workloads.flatMap(({ name, weight }) => ['--workload', weight === 1 ? name : `${name}:${weight}`]);

/** The command that does the same again: same problem, start, device, workloads, seed and budgets. */
export function reproductionCommand(started: RunStartedEvent): string {
  const { request, start, device, workload, workloads, seed, strategy, budgets, goal } = started;
  const parameters = Object.entries(start.parameters).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  return [
    ...['warpsmith', 'optimize', request.target],
    ...option('device', device.id),
    ...workloadOptions(workloads),
    ...option('cache', workload.cache),
    ...parameters,
    ...option('seed', seed),
    ...option('strategy', strategy),
    ...flag('no-diagnosis', request.diagnosis === false),
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
