import {
  type Block,
  type Document,
  documentOf,
  figures,
  list,
  names,
  section,
  table,
  text,
  words,
} from '../document.ts';
import { formatMeasuredNs, formatPercent, formatRatioInterval } from '../format.ts';
import { shortKernelNames } from '../kernel-names.ts';
import type { LadderCell, LadderRow, LadderView } from '../ladder-view.ts';

type MeasuredCell = Extract<LadderCell, { outcome: 'measured' }>;

const teraflops = ({ flopPerSecond }: MeasuredCell): string => `${Number((flopPerSecond / 1e12).toPrecision(3))}`;

/** `69.13 µs, 7.23 TFLOP/s, 1.24× faster` than the row's peer; the peer itself says so. */
function cellText(cell: LadderCell): string {
  if (cell.outcome === 'failed') return cell.status;
  if (cell.outcome === 'not-applicable') return '–';
  const { summary, comparison } = cell;
  const beside = comparison ? `${comparison.ratio.toFixed(3)}× ${comparison.verdict}` : 'peer';
  return `${formatMeasuredNs(summary.medianNs)}, ${teraflops(cell)} TFLOP/s, ${beside}`;
}

/** One row per workload, one column per contender. */
const ladderTable = ({ rows, contenders }: LadderView): Block | null =>
  table('Contenders by workload', rows, [
    words('workload', ({ workload, cache }) => `${workload} (${cache})`),
    ...contenders.map(({ name, kind }, index) =>
      figures<LadderRow>(kind === 'library' ? `${name} (library)` : name, ({ cells }) => cellText(cells[index]!)),
    ),
  ]);

/** One row per workload and measured contender, with everything behind the first table. */
export const ladderDetail = ({ rows }: LadderView): Block | null =>
  table(
    'In detail',
    rows.flatMap((row) => row.cells.flatMap((cell) => (cell.outcome === 'measured' ? [{ row, cell }] : []))),
    [
      words('workload', ({ row }) => row.workload),
      names('contender', ({ cell }) => cell.contender),
      figures('measured time', ({ cell }) => formatMeasuredNs(cell.summary.medianNs)),
      words('95 % interval', ({ cell }) => `[${cell.summary.intervalNs.map(formatMeasuredNs).join(', ')}]`, 4),
      figures('CV', ({ cell }) => formatPercent(cell.summary.coefficientOfVariation), 5),
      figures('TFLOP/s', ({ cell }) => teraflops(cell), 1),
      figures('of attainable', ({ row, cell }) => formatPercent(row.attainableNs / cell.summary.medianNs), 3),
      figures('× peer', ({ cell }) => (cell.comparison ? `${cell.comparison.ratio.toFixed(3)}×` : '1×')),
      words(
        '95 % interval',
        ({ cell }) => (cell.comparison ? formatRatioInterval(cell.comparison.intervalRatio) : 'peer'),
        2,
      ),
      words('verdict', ({ cell }) => cell.comparison?.verdict),
      figures('blocks', ({ cell }) => cell.summary.blockCount, 5),
    ],
  );

/** What was not measured, and why; what disturbed what was. */
export const ladderNotes = ({ rows }: LadderView): Block | null =>
  list(
    rows.flatMap(({ workload, cells }) =>
      cells.flatMap((cell) => notesOf(cell).map((said) => `${workload}, ${cell.contender}: ${said}`)),
    ),
  );

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
  'All times are measured, all contenders of a row in the same blocks. × peer is peer time ÷ contender time (above 1 is ' +
  'faster than the peer), the peer being the fastest library of the row. TFLOP/s are of the problem, not of the kernel.';

const listed = (versions: Readonly<Record<string, string>>): string[] =>
  Object.entries(versions).map(([name, version]) => `${name} ${version}`);

export const ladderVersions = ({ versions, contenders }: LadderView): Block | null =>
  list([
    ...listed(versions),
    ...contenders.flatMap(({ name, versions: own }) => (own ? [`${name}: ${listed(own).join(', ')}`] : [])),
  ]);

/** Several kernels beside several libraries at several workloads. */
export function ladderDocument(view: LadderView): Document {
  const { problem, device, tier, seed, recordedAt } = view;
  const driver = device.driver ? `, driver ${device.driver}` : '';
  return documentOf(
    `${problem} on ${device.name} (${device.id}${driver}), tier ${tier}, seed ${seed}`,
    [text(LADDER_LEGEND)],
    [
      section('contenders', 'Contenders by workload', [ladderTable(view)]),
      section('detail', 'In detail', [ladderDetail(view)]),
      section('notes', 'Notes', [ladderNotes(view)]),
      section('versions', 'Versions', [ladderVersions(view)]),
    ],
    `Recorded ${recordedAt}.`,
  );
}
