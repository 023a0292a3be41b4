import type { DeviceIdentity } from '../../core/device.ts';
import type { Energy } from '../../core/energy.ts';
import type { Comparison, MeasuredBlock, Measurement } from '../../core/measurement.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { FailureStatus } from '../../core/status.ts';
import { figure } from '../../core/values.ts';
import { compareContenders } from '../../stats/compare-contenders.ts';
import * as doc from '../document.ts';
import { formatMeasuredNs, formatPercent, formatRatioInterval, formatVersions, shortKernelNames } from '../format.ts';
import { energySection } from '../sections/energy.ts';

/** A column of the ladder: what was measured beside what. */
export interface LadderContender {
  name: string;
  /** `library`: by the Python worker. */
  kind: 'kernel' | 'library';
  /** Libraries: e.g. torch and cuDNN versions. */
  versions?: Readonly<Record<string, string>>;
}

interface MeasuredCell
  extends Pick<Measurement, 'summary' | 'conditions' | 'discardedBlockCount' | 'powerCapped' | 'disturbances'> {
  outcome: 'measured';
  /** FLOP of the problem, not of the kernel, ÷ median time. */
  flopPerSecond: number;
  /** Against the row's peer; absent for the peer itself. */
  comparison?: Comparison;
  /** Libraries: the GPU kernels that really ran. */
  gpuKernels?: string[];
}

/** One contender at one workload: measured, or why it was not. */
export type LadderCell = { contender: string } & (
  | MeasuredCell
  | { outcome: 'failed'; status: FailureStatus; reason: string }
  /** The contender does not take this workload. */
  | { outcome: 'not-applicable'; reason: string }
);

export interface LadderRow {
  workload: string;
  dimensions: Dimensions;
  cache: 'hot' | 'cold';
  /** FLOP of the problem, as problem.json counts them: half of a square where causal. */
  flop: number;
  vetoNs: number;
  attainableNs: number;
  /** What every other contender is compared with: the fastest library, or the first contender where there is none. */
  peer: string | null;
  cells: LadderCell[];
  /** If asked for: of the kernels, beside the first. */
  energy?: Energy | undefined;
}

/** Several kernels beside several library baselines at several workloads, all measured. `measure --json` prints it. */
export interface LadderView {
  schemaVersion: 1;
  kind: 'ladder';
  problem: string;
  device: DeviceIdentity;
  tier: 'screen' | 'accept';
  seed: number;
  /** ISO 8601, UTC. */
  recordedAt: string;
  /** e.g. warpsmith, driver, compiler. */
  versions: Readonly<Record<string, string>>;
  contenders: LadderContender[];
  rows: LadderRow[];
  /** Workloads that an interrupted call left out. */
  notMeasured?: string[];
}

export interface LadderRowInput extends Omit<LadderRow, 'peer' | 'cells'> {
  contenders: readonly LadderContender[];
  /** All contenders' samples, from the same blocks. */
  blocks: readonly MeasuredBlock[];
  measurements: ReadonlyMap<string, Measurement>;
  failed: readonly { contender: string; status: FailureStatus; reason: string }[];
  /** Contenders that do not take this workload, and why. */
  notApplicable: ReadonlyMap<string, string>;
  gpuKernels: ReadonlyMap<string, string[]>;
  seed: number;
}

function peerOf({ contenders, measurements }: LadderRowInput): string | null {
  const timed = contenders.filter(({ name }) => measurements.has(name));
  const medianNs = ({ name }: LadderContender): number => measurements.get(name)!.summary.medianNs;
  const libraries = timed.filter(({ kind }) => kind === 'library').sort((a, b) => medianNs(a) - medianNs(b));
  return (libraries[0] ?? timed[0])?.name ?? null;
}

function cellOf(input: LadderRowInput, name: string, peer: string | null): LadderCell {
  const measurement = input.measurements.get(name);
  if (!measurement) {
    const failure = input.failed.find(({ contender }) => contender === name);
    if (failure) return { contender: name, outcome: 'failed', status: failure.status, reason: failure.reason };
    const reason = input.notApplicable.get(name) ?? 'not measured at this workload';
    return { contender: name, outcome: 'not-applicable', reason };
  }
  const { summary, conditions, discardedBlockCount, powerCapped, disturbances } = measurement;
  const names = peer !== null && peer !== name ? { candidate: name, baseline: peer } : undefined;
  return {
    contender: name,
    outcome: 'measured',
    ...{ summary, conditions, discardedBlockCount, powerCapped, disturbances },
    flopPerSecond: (input.flop / summary.medianNs) * 1e9,
    comparison: names ? compareContenders(input.blocks, names, input.seed) : undefined,
    gpuKernels: input.gpuKernels.get(name),
  };
}

/** One workload's row, from what was measured in the same blocks. */
export function buildLadderRow(input: LadderRowInput): LadderRow {
  const { workload, dimensions, cache, flop, vetoNs, attainableNs, energy } = input;
  const peer = peerOf(input);
  const cells = input.contenders.map(({ name }) => cellOf(input, name, peer));
  return { workload, dimensions, cache, flop, vetoNs, attainableNs, peer, cells, energy };
}

interface DetailRow {
  readonly row: LadderRow;
  readonly cell: LadderCell & MeasuredCell;
}

const teraflops = ({ flopPerSecond }: MeasuredCell): string => figure(flopPerSecond / 1e12, 3);

/** `69.13 µs, 7.23 TFLOP/s, 1.24× faster` than the row's peer; the peer itself says so. */
function cellText(cell: LadderCell): string {
  if (cell.outcome === 'failed') return cell.status;
  if (cell.outcome === 'not-applicable') return '–';
  const { summary, comparison } = cell;
  const beside = comparison ? `${comparison.ratio.toFixed(3)}× ${comparison.verdict}` : 'peer';
  return `${formatMeasuredNs(summary.medianNs)}, ${teraflops(cell)} TFLOP/s, ${beside}`;
}

/** One row per workload, one column per contender. Of one workload the table in detail says as much. */
const ladderTable = ({ rows, contenders }: LadderView): doc.Block | null =>
  doc.table('Contenders by workload', rows.length > 1 ? rows : [], [
    doc.words('workload', ({ workload, cache }) => `${workload} (${cache})`),
    ...contenders.map(({ name, kind }, index) =>
      doc.figures<LadderRow>(kind === 'library' ? `${name} (library)` : name, ({ cells }) => cellText(cells[index]!)),
    ),
  ]);

/** One row per workload and measured contender: its time, how sure it is, and how it compares. */
export const ladderDetail = ({ rows }: LadderView): doc.Block | null =>
  doc.table(
    'In detail',
    rows.flatMap((row) =>
      row.cells.flatMap((cell): DetailRow[] => (cell.outcome === 'measured' ? [{ row, cell }] : [])),
    ),
    [
      rows.length > 1 && doc.words('workload', ({ row }) => row.workload),
      doc.names('contender', ({ cell }) => cell.contender),
      doc.figures('measured time', ({ cell }) => formatMeasuredNs(cell.summary.medianNs)),
      doc.words('95 % interval', ({ cell }) => `[${cell.summary.intervalNs.map(formatMeasuredNs).join(', ')}]`, 4),
      doc.figures('CV', ({ cell }) => formatPercent(cell.summary.coefficientOfVariation), 5),
      doc.figures('TFLOP/s', ({ cell }) => teraflops(cell), 1),
      doc.figures('of attainable', ({ row, cell }) => formatPercent(row.attainableNs / cell.summary.medianNs), 3),
      doc.figures('× peer', ({ cell }) => (cell.comparison ? `${cell.comparison.ratio.toFixed(3)}×` : '1×')),
      doc.words(
        '95 % interval',
        ({ cell }) => (cell.comparison ? formatRatioInterval(cell.comparison.intervalRatio) : 'peer'),
        2,
      ),
      doc.words('verdict', ({ cell }) => cell.comparison?.verdict),
      doc.figures('blocks', ({ cell }) => cell.summary.blockCount, 5),
    ],
  );

/** What was not measured, and why; what disturbed what was. */
export const ladderNotes = ({ rows, notMeasured = [] }: LadderView): doc.Block | null =>
  doc.list([
    ...(notMeasured.length > 0 ? [`interrupted: not measured at ${notMeasured.join(', ')}`] : []),
    ...rows.flatMap(({ workload, cells }) =>
      cells.flatMap((cell) =>
        notesOf(cell).map((said) => `${rows.length > 1 ? `${workload}, ` : ''}${cell.contender}: ${said}`),
      ),
    ),
  ]);

function notesOf(cell: LadderCell): string[] {
  if (cell.outcome === 'failed') return [`${cell.status}: ${cell.reason}`];
  if (cell.outcome === 'not-applicable') return [cell.reason];
  return [
    ...(cell.powerCapped ? ['at the power cap'] : []),
    ...(cell.discardedBlockCount > 0 ? [`blocks discarded: ${cell.discardedBlockCount}`] : []),
    ...cell.disturbances,
    ...(cell.gpuKernels ? [`GPU kernels: ${shortKernelNames(cell.gpuKernels)}`] : []),
  ];
}

/** How to read the tables. */
export const LADDER_LEGEND =
  'All times are measured, all contenders of a workload in the same blocks. The peer is the fastest library of the ' +
  'workload. × peer is peer time ÷ contender time; above 1, the contender is faster. TFLOP/s are of the problem, not of the kernel.';

/** Libraries of the same versions share a line. */
export function ladderVersions({ versions, contenders }: LadderView): doc.Block | null {
  const groups = Map.groupBy(contenders, ({ versions: own }) => own && formatVersions(own));
  return doc.list([
    ...Object.entries(versions).map((entry) => entry.join(' ')),
    ...[...groups].map(([own, group]) => own !== undefined && `${group.map(({ name }) => name).join(', ')}: ${own}`),
  ]);
}

/** Several kernels beside several libraries, at one workload or several. */
export function ladderDocument(view: LadderView): doc.Document {
  const { problem, device, tier, seed, recordedAt, rows } = view;
  const only = rows.length === 1 ? ` ${rows[0]!.workload} (${rows[0]!.cache})` : '';
  const driver = device.driver ? `, driver ${device.driver}` : '';
  return doc.documentOf(
    `${problem}${only} on ${device.name} (${device.id}${driver}), tier ${tier}, seed ${seed}`,
    [doc.text(LADDER_LEGEND)],
    [
      // A terminal prints each contender's row in detail, and the same by workload only when asked for more.
      doc.detail('contenders', 'Contenders by workload', [ladderTable(view)]),
      doc.section('detail', 'In detail', [ladderDetail(view)]),
      energySection(rows),
      doc.section('notes', 'Notes', [ladderNotes(view)]),
      doc.section('versions', 'Versions', [ladderVersions(view)]),
    ],
    `Recorded ${recordedAt}.`,
  );
}
