import { type CounterTotals, type LaunchCounters, sharedBytes } from '../counters.ts';
import type { Evaluation } from '../evaluation.ts';

/** Names of the figures that goals of lessons are about. */
export const LESSON_FIGURES = [
  'time',
  'occupancy',
  'ctas',
  'launches',
  'instructions',
  'active-lanes',
  'load-requests',
  'load-sectors',
  'store-sectors',
  'sectors-per-load',
  'sectors-per-store',
  'loads-per-sector',
  'bytes-per-lane',
  'shared-wavefronts',
  'bank-conflicts',
  'barriers',
  'global-atomics',
  'tensor-share',
  'copied-ahead',
  'shared-bytes',
] as const;
export type LessonFigure = (typeof LESSON_FIGURES)[number];

/** A figure of an evaluation. */
export interface FigureRow {
  readonly label: string;
  /** After the number, such as ` %`. Absent for counts. */
  readonly unit?: string;
  /** Undefined where the evaluation does not have it, such as a time of a kernel that is wrong. */
  readonly of: (evaluation: Evaluation) => number | undefined;
}

const LANES_PER_WARP = 32;
const PERCENT = 100;

/** Undefined for a quotient without a divisor: a kernel that loads nothing has no sectors per request. */
const quotient = (a: number, b: number): number | undefined => (b > 0 ? a / b : undefined);

const counted =
  (of: (totals: CounterTotals) => number | undefined): FigureRow['of'] =>
  ({ counters }) =>
    counters && of(counters.totals);

const ofLaunches =
  (of: (launches: readonly LaunchCounters[]) => number | undefined): FigureRow['of'] =>
  ({ counters }) =>
    counters && of(counters.launches);

const sum = (launches: readonly LaunchCounters[], of: (launch: LaunchCounters) => number): number =>
  launches.reduce((total, launch) => total + of(launch), 0);

const instructionsOf = ({ instructionsByClass }: CounterTotals, name: 'async-copy'): number =>
  instructionsByClass[name] ?? 0;

/** What each figure is, and where it comes from. */
export const FIGURE_ROWS: Readonly<Record<LessonFigure, FigureRow>> = {
  time: { label: 'predicted time', unit: ' ns', of: ({ timing }) => timing?.medianNs },
  occupancy: {
    label: 'occupancy (theoretical)',
    unit: ' %',
    of: ({ timing }) =>
      timing?.launches && Math.min(...timing.launches.map(({ occupancy }) => PERCENT * occupancy.ratio)),
  },
  ctas: { label: 'CTAs', of: ofLaunches((launches) => sum(launches, ({ ctaCount }) => ctaCount)) },
  launches: { label: 'launches', of: ofLaunches(({ length }) => length) },
  instructions: { label: 'warp instructions', of: counted(({ instructions }) => instructions) },
  'active-lanes': {
    label: `active lanes of ${LANES_PER_WARP}`,
    of: counted(({ instructions, threadInstructions }) => quotient(threadInstructions, instructions)),
  },
  'load-requests': { label: 'global load requests', of: counted(({ globalLoadRequests }) => globalLoadRequests) },
  'load-sectors': { label: 'global load sectors', of: counted(({ globalLoadSectors }) => globalLoadSectors) },
  'store-sectors': { label: 'global store sectors', of: counted(({ globalStoreSectors }) => globalStoreSectors) },
  'sectors-per-load': {
    label: 'sectors per global load request',
    of: counted(({ globalLoadSectors, globalLoadRequests }) => quotient(globalLoadSectors, globalLoadRequests)),
  },
  'sectors-per-store': {
    label: 'sectors per global store request',
    of: counted(({ globalStoreSectors, globalStoreRequests }) => quotient(globalStoreSectors, globalStoreRequests)),
  },
  'loads-per-sector': {
    label: 'loads of each distinct sector',
    of: ofLaunches((launches) =>
      quotient(
        sum(launches, ({ globalLoadSectors }) => globalLoadSectors),
        sum(launches, ({ distinctSectorsRead }) => distinctSectorsRead),
      ),
    ),
  },
  'bytes-per-lane': {
    label: 'bytes per lane and global load',
    of: counted(({ globalLoadBytes, globalLoadRequests }) =>
      quotient(globalLoadBytes, globalLoadRequests * LANES_PER_WARP),
    ),
  },
  'shared-wavefronts': {
    label: 'shared-memory wavefronts',
    of: counted(({ sharedLoadWavefronts, sharedStoreWavefronts }) => sharedLoadWavefronts + sharedStoreWavefronts),
  },
  'bank-conflicts': {
    label: 'bank conflicts',
    of: counted(
      ({ sharedLoadBankConflicts, sharedStoreBankConflicts }) => sharedLoadBankConflicts + sharedStoreBankConflicts,
    ),
  },
  barriers: { label: 'barriers (warps that waited)', of: counted(({ barriers }) => barriers) },
  'global-atomics': {
    label: 'global atomic requests',
    of: counted(({ globalAtomicRequests }) => globalAtomicRequests),
  },
  'tensor-share': {
    label: 'FLOP on tensor cores',
    unit: ' %',
    of: counted(({ flop: { fp16, fp32, fp64, tensor } }) => quotient(PERCENT * tensor, fp16 + fp32 + fp64 + tensor)),
  },
  'copied-ahead': {
    label: 'asynchronous-copy instructions',
    of: counted((totals) => instructionsOf(totals, 'async-copy')),
  },
  'shared-bytes': {
    label: 'shared memory of a CTA',
    unit: ' B',
    of: ofLaunches((launches) => Math.max(...launches.map(({ resources }) => sharedBytes(resources)))),
  },
};
