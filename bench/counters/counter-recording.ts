import type { LaunchCounters, LineCounters } from '../../src/core/counters.ts';

/** Counters of one launch sequence, by a GPU's own and by the virtual GPU, of the same PTX. */
export interface CountedKernel {
  readonly kernel: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly workload: string;
  readonly ptx: string;
  /** By ncu, a launch each; absent if it failed. */
  readonly ncu?: readonly ComparedLaunch[];
  /** Counters that this ncu did not have. */
  readonly detail?: string;
  readonly failure?: string;
  /** Filled in by bench/counters/compare.ts, on any machine. */
  virtual?: readonly ComparedLaunch[];
}

/** docs/results/h200-counters.json and h100-counters.json. */
export interface CounterRecording {
  readonly schemaVersion: 1;
  readonly device: string;
  readonly driver: string;
  readonly compiler: string;
  readonly recordedAt: string;
  readonly entries: Record<string, CountedKernel>;
}

/** What must come out the same, if ptxas leaves the accesses as they are. */
export const COMPARED = [
  'globalLoadRequests',
  'globalLoadSectors',
  'globalStoreRequests',
  'globalStoreSectors',
  'sharedLoadWavefronts',
  'sharedLoadBankConflicts',
  'sharedStoreWavefronts',
  'sharedStoreBankConflicts',
  'barriers',
  'globalAtomicRequests',
] as const;
export type Compared = (typeof COMPARED)[number];

/** What both sides count by source line. */
const COMPARED_BY_SITE = [
  'globalLoadSectors',
  'globalStoreSectors',
  'sharedLoadWavefronts',
  'sharedStoreWavefronts',
] as const;

/** The counters of a source line that are compared. */
type ComparedLine = Pick<LineCounters, 'location' | (typeof COMPARED_BY_SITE)[number]>;

/** The counters of a launch that are compared: a recording holds no others. */
export interface ComparedLaunch extends Pick<LaunchCounters, 'functionName' | Compared> {
  /** Those on which one of them is not 0. */
  readonly lines: readonly ComparedLine[];
}

const pick = <T, K extends keyof T>(whole: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, whole[name]])) as Pick<T, K>;

export const comparedPart = (launch: LaunchCounters): ComparedLaunch => ({
  ...pick(launch, ['functionName', ...COMPARED]),
  lines: launch.lines
    .filter((line) => COMPARED_BY_SITE.some((name) => line[name] > 0))
    .map((line) => pick(line, ['location', ...COMPARED_BY_SITE])),
});

export interface CounterAgreement {
  readonly counter: string;
  /** Launches, or source lines, in which either counts something. */
  readonly count: number;
  /** Of them, those with equal counts. */
  readonly equal: number;
  /** Geometric mean of virtual ÷ ncu where both count something. */
  readonly ratio: number;
}

/** Launch by launch. */
export function agreementOf(kernels: readonly CountedKernel[]): CounterAgreement[] {
  const pairs = kernels.flatMap(({ ncu = [], virtual = [] }) =>
    ncu.flatMap((launch, index) => (virtual[index] ? [{ real: launch, counted: virtual[index] }] : [])),
  );
  return COMPARED.map((counter) =>
    agreement(
      counter,
      pairs.map(({ real, counted }) => [real[counter], counted[counter]]),
    ),
  );
}

/** Sites are source lines. */
export function agreementBySite(kernels: readonly CountedKernel[]): CounterAgreement[] {
  return COMPARED_BY_SITE.map((counter) => {
    const pairs = kernels.flatMap(({ ncu = [], virtual = [] }) =>
      ncu.flatMap((launch, index) => {
        const others = new Map((virtual[index]?.lines ?? []).map((line) => [siteOf(line), line]));
        return launch.lines.map((line): [number, number] => [line[counter], others.get(siteOf(line))?.[counter] ?? 0]);
      }),
    );
    return agreement(counter, pairs);
  });
}

/** ncu may tell the path of a file, and the virtual GPU its name. */
const siteOf = ({ location }: ComparedLine): string => `${location.file.split('/').at(-1)}:${location.line}`;

function agreement(counter: string, pairs: readonly (readonly [number, number])[]): CounterAgreement {
  const counting = pairs.filter(([real, counted]) => real > 0 || counted > 0);
  const both = counting.filter(([real, counted]) => real > 0 && counted > 0);
  const logs = both.reduce((sum, [real, counted]) => sum + Math.log(counted / real), 0);
  return {
    counter,
    count: counting.length,
    equal: counting.filter(([real, counted]) => real === counted).length,
    ratio: Math.exp(logs / Math.max(1, both.length)),
  };
}
