import type { Column } from '../../src/reports/document.ts';
import { formatMeasuredNs } from '../../src/reports/format.ts';
import type { LadderCell, LadderRow, LadderView } from '../../src/reports/ladder-view.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';

type MeasuredCell = Extract<LadderCell, { outcome: 'measured' }>;

const right = (title: string): Column => ({ title, align: 'right' });

const cellText = (cell: LadderCell | undefined): string => {
  if (cell === undefined || cell.outcome === 'not-applicable') return '–';
  return cell.outcome === 'measured' ? formatMeasuredNs(cell.summary.medianNs) : `\`${cell.status}\``;
};

const fastest = (cells: readonly LadderCell[]): MeasuredCell | undefined =>
  cells
    .filter((cell): cell is MeasuredCell => cell.outcome === 'measured')
    .toSorted((a, b) => a.summary.medianNs - b.summary.medianNs)[0];

/** The fastest kernel and the fastest library call of a row. */
const fastestOf = (view: LadderView, { cells }: LadderRow): Record<'kernel' | 'library', MeasuredCell | undefined> => {
  const ofKind = (kind: 'kernel' | 'library') =>
    fastest(
      cells.filter(({ contender }) => view.contenders.some((one) => one.name === contender && one.kind === kind)),
    );
  return { kernel: ofKind('kernel'), library: ofKind('library') };
};

/** The ladder with the fastest kernel and the fastest library call of each row alone, without the libraries' GPU kernels. */
export const fastestContenders = (view: LadderView): LadderView => ({
  ...view,
  rows: view.rows.map((row) => {
    const { kernel, library } = fastestOf(view, row);
    const cells = [kernel, library].filter((cell) => cell !== undefined);
    return { ...row, cells: cells.map(({ gpuKernels: _recorded, ...cell }) => cell) };
  }),
});

const rowOf = (view: LadderView, row: LadderRow): string[] => {
  const { workload, cells } = row;
  const { kernel, library } = fastestOf(view, row);
  const kernels = view.contenders.filter(({ kind }) => kind === 'kernel');
  return [
    workload,
    ...kernels.map(({ name }) => cellText(cells.find(({ contender }) => contender === name))),
    library ? `${library.contender}, ${formatMeasuredNs(library.summary.medianNs)}` : '–',
    kernel && library ? (library.summary.medianNs / kernel.summary.medianNs).toFixed(3) : '–',
  ];
};

/** One row per workload: the time of every kernel, the fastest library call, and how near the best kernel comes to it. */
export const ladderSummary = (view: LadderView): string => {
  const kernels = view.contenders.filter(({ kind }) => kind === 'kernel').map(({ name }) => right(name));
  const columns = [
    { title: 'Workload' },
    ...kernels,
    { title: 'Fastest library call' },
    right('library ÷ best kernel'),
  ];
  return (
    `${markdownTable(
      columns,
      view.rows.map((row) => rowOf(view, row)),
    )}\n\n` +
    'All times are measured. The contenders of a row ran in the same blocks. A ratio above 1 means that the best kernel is ' +
    `faster than every library call. ${view.device.name}, driver ${view.device.driver ?? 'unknown'}, ${view.recordedAt.slice(0, 10)}.`
  );
};
