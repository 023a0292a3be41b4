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
function workloadOptions(workloads: readonly WeightedWorkload[]): string[] {
  const texts = workloads.map(dimensionsText);
  const isMixed = cacheOf(workloads) === undefined;
  return workloads.flatMap(({ name, cache, weight }, i) => {
    const isTwin = texts.filter((text) => text === texts[i]).length > 1;
    const isByName = isTwin || (isMixed && (cache === 'cold' || !isNamedBySizes(workloads[i]!)));
    const text = isByName ? name : texts[i]!;
    // Of one workload the weight says nothing.
    return ['--workload', workloads.length === 1 ? text : `${text}:${weight}`];
  });
}

/** `--cache` is for all workloads: where they differ, each has its own as declared. */
const cacheOf = (workloads: readonly WeightedWorkload[]): string | undefined => {
  const [cache, ...others] = new Set(workloads.map((workload) => workload.cache));
  return others.length === 0 ? cache : undefined;
};

const BUDGET_DIGITS = 4;

/** A share of a budget has digits that nobody would type: rounded, but never to less than there was. */
function roundUp(value: number | null): number | null {
  if (value === null || Number.isInteger(value)) return value;
  const near = Number(value.toPrecision(BUDGET_DIGITS));
  if (near >= value) return near;
  const unit = 10 ** (Math.floor(Math.log10(value)) - BUDGET_DIGITS + 1);
  return Number((near + unit).toPrecision(BUDGET_DIGITS));
}

/**
 * The command that does the same again: same problem, start, device, workloads, seed and budgets.
 *
 * @param store where the run lies, unless that is the default.
 */
export function reproductionCommand(started: RunStartedEvent, store?: string): string {
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
    ...option('max-minutes', roundUp(budgets.maximumMinutes)),
    ...option('max-gpu-minutes', roundUp(budgets.maximumGpuMinutes)),
    ...option('max-money', roundUp(budgets.maximumMoney)),
    ...option('gpu-price', budgets.gpuPricePerHour),
    ...option('goal', goal?.text),
    ...option('toolchain', request.toolchain),
    ...option('threads', request.threads),
    ...option('run-timeout', request.runTimeoutSeconds),
    ...flag('require-sanitizer', request.requireSanitizer === true),
    ...option('store', store),
  ]
    .map(quote)
    .join(' ');
}
