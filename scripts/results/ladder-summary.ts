import type { Column } from '../../src/reports/document.ts';
import type { LadderCell, LadderRow, LadderView } from '../../src/reports/documents/ladder.ts';
import { formatMeasuredNs, formatNs, formatRatioInterval } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { intervalPlot } from './interval-plot.ts';

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

/** docs/results/h200-attention-libraries.json and h200-attention-whole-domain.json: kernels with chosen settings, each measured by a command of its own. */
export interface AgainstLibraries {
  schemaVersion: 1;
  kind: 'against-libraries';
  views: readonly (LadderView & { command: string; parameters: string })[];
}

/** A workload with its fastest kernel, and the fastest library call of the same blocks. */
interface Beside {
  readonly view: AgainstLibraries['views'][number];
  readonly row: LadderRow;
  readonly kernel: MeasuredCell;
  readonly library: MeasuredCell;
}

function bestOfWorkloads({ views }: AgainstLibraries): Beside[] {
  const measured = views.flatMap((view) =>
    view.rows.flatMap((row) => {
      const { kernel, library } = fastestOf(view, row);
      return kernel && library ? [{ view, row, kernel, library }] : [];
    }),
  );
  return [...Map.groupBy(measured, ({ row }) => row.workload).values()].map(
    (all) => all.toSorted((a, b) => a.kernel.summary.medianNs - b.kernel.summary.medianNs)[0]!,
  );
}

const ratioOf = ({ kernel, library }: Beside): number => library.summary.medianNs / kernel.summary.medianNs;

/** The ratio with its interval, where it was compared with that library. */
function intervalOf(beside: Beside): readonly [number, number] {
  const { comparison } = beside.kernel;
  const ratio = ratioOf(beside);
  return comparison?.baseline === beside.library.contender ? comparison.intervalRatio : [ratio, ratio];
}

/** In a sentence: of how many workloads, and by how much, the ladder's kernels are ahead of every library. */
export function aheadOfLibraries(recording: AgainstLibraries): string {
  const best = bestOfWorkloads(recording);
  const ratios = best.map(ratioOf);
  const ahead = best.filter((beside) => intervalOf(beside)[0] > 1).length;
  const measured = best.flatMap(({ view, row }) =>
    row.cells.flatMap(({ contender, outcome }) =>
      outcome === 'measured' && view.contenders.some(({ name, kind }) => name === contender && kind === 'library')
        ? [contender]
        : [],
    ),
  );
  const libraries = [...Map.groupBy(measured, (name) => name)]
    .toSorted(([, some], [, others]) => others.length - some.length)
    .map(([name, { length }], i) => `${name} at ${length}${i === 0 ? ' of them' : ''}`);
  return (
    `**Measured on an ${recording.views[0]!.device.name}: ahead of the fastest library at ${ahead} of ${best.length} workloads, ` +
    `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} times as fast.** In the same blocks ran ` +
    `${libraries.join(', ')}.`
  );
}

/** A figure: at each workload, how many times as fast as the fastest library the fastest kernel is. */
export const againstLibrariesPlot = (recording: AgainstLibraries): string =>
  intervalPlot({
    title: `Attention beside the fastest library, measured on ${recording.views[0]!.device.name}`,
    axis: 'time of the fastest library ÷ time of the fastest kernel of the ladder (logarithmic)',
    rows: bestOfWorkloads(recording).map((beside) => {
      const { row, library } = beside;
      const [low, high] = intervalOf(beside);
      return {
        ...{ label: row.workload, low, median: ratioOf(beside), high },
        note: `${ratioOf(beside).toFixed(2)}× ${library.contender}`,
        style: low > 1 ? ('kept' as const) : ('reverted' as const),
      };
    }),
    bounds: [{ at: 1, label: 'as fast' }],
    format: (ratio) => `${ratio}×`,
  });

/** One row per workload: its fastest kernel, the fastest library call of the same blocks, and their ratio. */
export const againstLibraries = (recording: AgainstLibraries): string => {
  const { views } = recording;
  const columns = ['Workload', 'Kernel', 'Fastest library call', 'library ÷ kernel', 'Attainable'].map((title, i) =>
    i < 3 ? { title } : right(title),
  );
  const rows = bestOfWorkloads(recording).map((beside) => {
    const { view, row, kernel, library } = beside;
    const { comparison } = kernel;
    const against = comparison?.baseline === library.contender ? formatRatioInterval(comparison.intervalRatio) : '';
    return [
      row.workload,
      `\`${kernel.contender}\` (${view.parameters}), ${formatMeasuredNs(kernel.summary.medianNs)}`,
      `${library.contender}, ${formatMeasuredNs(library.summary.medianNs)}`,
      `${ratioOf(beside).toFixed(2)} ${against}`.trim(),
      `${((100 * row.attainableNs) / kernel.summary.medianNs).toFixed(0)} %`,
    ];
  });
  const { device, versions } = views[0]!;
  const libraries = views.flatMap(({ contenders }) => contenders.map(({ versions: used }) => used ?? {}));
  const days = views.map(({ recordedAt }) => recordedAt.slice(0, 10)).toSorted();
  const { torch, cudnn } = libraries.find((used) => 'torch' in used) ?? {};
  const hasFa3 = views.some(({ contenders }) => contenders.some(({ name }) => name === 'fa3'));
  return (
    `${markdownTable(columns, rows)}\n\n` +
    'All times are measured, hot, by graph replay; the contenders of a row ran in the same blocks, each result checked. In brackets: ' +
    'the 95 % interval of the ratio. Attainable: share of the time that data and FLOP need at peak rates. ' +
    `${device.name}, driver ${device.driver ?? 'unknown'}, ${versions.compiler ?? 'nvrtc'}, PyTorch ${torch}, cuDNN ${cudnn}, ` +
    `${hasFa3 ? 'FlashAttention-3 0251105a' : 'no FlashAttention-3'}, ${[...new Set([days.at(0), days.at(-1)])].join(' to ')}.`
  );
};

/** Of the rows at which a library was measured: the row, and its fastest library call. */
const rowsWithLibrary = (view: LadderView): { row: LadderRow; library: MeasuredCell }[] =>
  view.rows.flatMap((row) => {
    const { library } = fastestOf(view, row);
    return library ? [{ row, library }] : [];
  });

const kernelCell = (row: LadderRow, name: string): MeasuredCell | undefined =>
  row.cells.find((cell): cell is MeasuredCell => cell.contender === name && cell.outcome === 'measured');

const shareOf = (library: MeasuredCell, { summary }: MeasuredCell): string =>
  `${((100 * library.summary.medianNs) / summary.medianNs).toPrecision(3)} %`;

const kernelsOf = ({ contenders }: LadderView): string[] =>
  contenders.filter(({ kind }) => kind === 'kernel').map(({ name }) => name);

/** A row per rung, with its default settings: its time and its share of the best library's speed at every workload. */
export const rungTable = (view: LadderView): string => {
  const rows = rowsWithLibrary(view);
  const columns = [
    { title: 'Rung' },
    ...rows.flatMap(({ row }) => [right(row.workload), right('% of the best library')]),
  ];
  const measured = kernelsOf(view).filter((name) => rows.some(({ row }) => kernelCell(row, name)));
  const cells = measured.map((name) => [
    `\`${name}\``,
    ...rows.flatMap(({ row, library }) => {
      const cell = kernelCell(row, name);
      return cell ? [formatMeasuredNs(cell.summary.medianNs), shareOf(library, cell)] : ['–', '–'];
    }),
  ]);
  const best = rows.map(
    ({ row, library }) => `${library.contender} at ${row.workload}, ${formatMeasuredNs(library.summary.medianNs)}`,
  );
  return (
    `${markdownTable(columns, cells)}\n\n` +
    `Every rung with its default settings, in the same blocks as the libraries; the best: ${best.join('; ')}. ` +
    `${view.device.name}, driver ${view.device.driver ?? 'unknown'}, ${view.recordedAt.slice(0, 10)}.`
  );
};

/** A figure per workload: the time of every rung, with the best library's as a line. */
export const rungPlots = (view: LadderView): Record<string, string> =>
  Object.fromEntries(
    rowsWithLibrary(view).map(({ row, library }) => [
      `docs/figures/h200-rungs-${row.workload}.svg`,
      intervalPlot({
        title: `Attention rung by rung at ${row.workload}, measured on ${view.device.name}`,
        axis: 'time (logarithmic); default settings',
        rows: kernelsOf(view).flatMap((name) => {
          const cell = kernelCell(row, name);
          if (!cell) return [];
          const { intervalNs, medianNs: median } = cell.summary;
          const [low, high] = intervalNs;
          const style = median <= library.summary.medianNs ? ('kept' as const) : ('reverted' as const);
          return [{ label: name, note: `${shareOf(library, cell)} of ${library.contender}`, low, median, high, style }];
        }),
        bounds: [{ at: library.summary.medianNs, label: library.contender }],
        format: formatNs,
      }),
    ]),
  );
