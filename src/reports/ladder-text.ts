import { formatMeasuredNs, formatRatioInterval } from './format.ts';
import { shortKernelNames } from './kernel-names.ts';
import type { LadderCell, LadderRow, LadderView } from './ladder-view.ts';
import type { Column } from './table.ts';

/** Words and tables that the terminal's and the Markdown ladder share. */

type MeasuredCell = Extract<LadderCell, { outcome: 'measured' }>;

/** `1.24×: faster` of the row's peer; the peer itself says so. */
function againstPeer({ comparison }: MeasuredCell): string {
  return comparison ? `${comparison.ratio.toFixed(3)}× ${comparison.verdict}` : 'peer';
}

const teraflops = (flopPerSecond: number): string => `${Number((flopPerSecond / 1e12).toPrecision(3))}`;

function cellText(cell: LadderCell): string {
  if (cell.outcome === 'failed') return cell.status;
  if (cell.outcome === 'not-applicable') return '–';
  const time = formatMeasuredNs(cell.summary.medianNs);
  return `${time}, ${teraflops(cell.flopPerSecond)} TFLOP/s, ${againstPeer(cell)}`;
}

/** One row per workload, one column per contender. */
export const ladderColumns = (view: LadderView): Column[] => [
  { title: 'workload' },
  ...view.contenders.map(({ name, kind }) => ({ title: kind === 'library' ? `${name} (library)` : name })),
];

export const ladderCells = (row: LadderRow): string[] => [`${row.workload} (${row.cache})`, ...row.cells.map(cellText)];

export const DETAIL_COLUMNS: readonly Column[] = [
  { title: 'workload' },
  { title: 'contender' },
  { title: 'measured time', align: 'right' },
  { title: '95 % interval' },
  { title: 'CV', align: 'right' },
  { title: 'TFLOP/s', align: 'right' },
  { title: 'of attainable', align: 'right' },
  { title: '× peer', align: 'right' },
  { title: '95 % interval' },
  { title: 'verdict' },
  { title: 'blocks', align: 'right' },
];

const percent = (ratio: number): string => `${(100 * ratio).toFixed(1)} %`;

function detailOf(row: LadderRow, cell: MeasuredCell): string[] {
  const { summary, comparison, flopPerSecond } = cell;
  return [
    row.workload,
    cell.contender,
    formatMeasuredNs(summary.medianNs),
    `[${summary.intervalNs.map(formatMeasuredNs).join(', ')}]`,
    percent(summary.coefficientOfVariation),
    teraflops(flopPerSecond),
    percent(row.attainableNs / summary.medianNs),
    comparison ? `${comparison.ratio.toFixed(3)}×` : '1×',
    comparison ? formatRatioInterval(comparison.intervalRatio) : 'peer',
    comparison?.verdict ?? '–',
    String(summary.blockCount),
  ];
}

/** One row per workload and measured contender, with everything behind the first table. */
export const detailCells = (view: LadderView): string[][] =>
  view.rows.flatMap((row) => row.cells.flatMap((cell) => (cell.outcome === 'measured' ? [detailOf(row, cell)] : [])));

/** What was not measured, and why; what disturbed what was. */
export const ladderNotes = (view: LadderView): string[] =>
  view.rows.flatMap(({ workload, cells }) =>
    cells.flatMap((cell) => notesOf(cell).map((note) => `${workload}, ${note}`)),
  );

function notesOf(cell: LadderCell): string[] {
  if (cell.outcome === 'failed') return [`${cell.contender}: ${cell.status}: ${cell.reason}`];
  if (cell.outcome === 'not-applicable') return [`${cell.contender}: ${cell.reason}`];
  return [
    ...(cell.powerCapped ? ['at the power cap'] : []),
    ...(cell.discardedBlockCount > 0 ? [`blocks discarded: ${cell.discardedBlockCount}`] : []),
    ...cell.disturbances,
    ...(cell.gpuKernels ? [`GPU kernels: ${shortKernelNames(cell.gpuKernels)}`] : []),
  ].map((note) => `${cell.contender}: ${note}`);
}

/** How to read the tables. */
export const LADDER_LEGEND =
  'All times are measured, all contenders of a row in the same blocks. × peer is peer time ÷ contender time (above 1 is ' +
  'faster than the peer), the peer being the fastest library of the row. TFLOP/s are of the problem, not of the kernel.';

export const describeLadder = ({ problem, device, tier, seed }: LadderView): string =>
  `${problem} on ${device.name} (${device.id}${device.driver ? `, driver ${device.driver}` : ''}), tier ${tier}, seed ${seed}`;

export function libraryVersions(view: LadderView): string[] {
  const own = Object.entries(view.versions).map(([name, version]) => `${name} ${version}`);
  const libraries = view.contenders.flatMap(({ name, versions }) =>
    versions
      ? [
          `${name}: ${Object.entries(versions)
            .map((entry) => entry.join(' '))
            .join(', ')}`,
        ]
      : [],
  );
  return [...own, ...libraries];
}
