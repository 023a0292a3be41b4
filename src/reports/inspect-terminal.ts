import { formatFigure, formatParameters } from './format.ts';
import { hottestFirst, type InspectedAccess, type InspectedLine, type InspectView } from './inspect-view.ts';
import { type Paint, plainPaint } from './paint.ts';
import { type Column, textTable } from './table.ts';

export interface InspectTerminalOptions {
  /** Hot lines that are shown with their PTX. */
  readonly hotLines: number;
}

const percent = (share: number | null): string => {
  if (share === null || share === 0) return '';
  return share < 0.001 ? '<0.1 %' : `${(100 * share).toFixed(1)} %`;
};

const LISTING: readonly Column[] = [
  { title: 'line', align: 'right' },
  { title: 'issued', align: 'right' },
  { title: 'moved', align: 'right' },
  { title: 'PTX', align: 'right' },
  { title: '' },
  { title: 'source' },
];

const describeAccess = (name: string, unit: string, access: InspectedAccess | null): string[] =>
  access
    ? [`${name}: ${formatFigure(access.requests)} requests, ${formatFigure(access.unitsPerRequest)} ${unit} each`]
    : [];

const counts = (line: InspectedLine): string[] => [
  `${formatFigure(line.instructions)} warp instructions${
    line.lanesPerInstruction === null ? '' : `, ${formatFigure(line.lanesPerInstruction)} of 32 lanes active`
  }`,
  ...describeAccess('global loads', 'sectors', line.globalLoad),
  ...describeAccess('global stores', 'sectors', line.globalStore),
  ...describeAccess('shared loads', 'wavefronts', line.sharedLoad),
  ...describeAccess('shared stores', 'wavefronts', line.sharedStore),
  ...(line.barriers > 0 ? [`${formatFigure(line.barriers)} barriers`] : []),
  ...(line.atomics > 0 ? [`${formatFigure(line.atomics)} atomics`] : []),
];

/** What a line moves, waits for or multiplies as tensors; the rest is arithmetic and addresses. */
const TELLING = /^(?:@!?\S+ )?(?:ld(?!\.param)|st|red|atom|bar|mma|wgmma|wmma|ldmatrix|cp|shfl|vote)\b/;

/** PTX that a line became is often several copies of a few instructions (unrolled): more than this says no more. */
const MAXIMUM_PTX_LINES = 12;

/** As many as are shown: telling ones first, in the order of the PTX. */
function shownPtx(ptx: InspectedLine['ptx']): InspectedLine['ptx'] {
  const telling = ptx.filter(({ text }) => TELLING.test(text));
  const others = ptx.filter(({ text }) => !TELLING.test(text));
  return [...telling, ...others].slice(0, MAXIMUM_PTX_LINES).sort((left, right) => left.line - right.line);
}

function hotLine(line: InspectedLine, paint: Paint): string[] {
  const shown = shownPtx(line.ptx);
  const rest = line.ptx.length - shown.length;
  return [
    `${paint('bold', `${line.file}:${line.line}`)}  ${percent(line.instructionShare) || '0 %'} of issued instructions, ${percent(line.transactionShare) || '0 %'} of what is moved`,
    `    ${line.text.trim()}`,
    ...counts(line).map((text) => `      ${text}`),
    ...line.flags.map((flag) => `      ${paint('yellow', `! ${flag}`)}`),
    ...shown.map((ptx) => paint('dim', `      ${String(ptx.line).padStart(5)}  ${ptx.text}`)),
    ...(rest > 0 ? [paint('dim', `             … ${rest} more`)] : []),
  ];
}

const listingRow = (line: InspectedLine): string[] => [
  String(line.line),
  percent(line.instructionShare),
  percent(line.transactionShare),
  line.ptx.length === 0 ? '' : String(line.ptx.length),
  line.flags.length > 0 ? '!' : '',
  line.text,
];

function listings({ lines }: InspectView, paint: Paint): string[] {
  const files = [...new Set(lines.map(({ file }) => file))];
  return files.flatMap((file) => [
    '',
    paint('bold', `${file}, in source order`),
    textTable(LISTING, lines.filter((line) => line.file === file).map(listingRow), (text) => paint('dim', text)),
  ]);
}

const describeSource = ({ counters, attributedShare }: InspectView): string => {
  if (!counters) return 'Nothing was counted; below is what the compiler made of each line.';
  const lines = attributedShare === null ? '' : ` ${percent(attributedShare) || '0 %'} of them carry a source line.`;
  return `Counters: ${counters.kind} (${counters.detail}).${lines}`;
};

/** An inspection for a terminal: hot lines first, then every file in source order. */
export function inspectTerminal(
  view: InspectView,
  { hotLines }: InspectTerminalOptions,
  paint: Paint = plainPaint,
): string {
  const { candidate, device, workload, status, reason, totals } = view;
  const hot = hottestFirst(view.lines);
  const lines = [
    `${paint('bold', candidate.label)} (${formatParameters(candidate.parameters) || 'no parameters'}), ${workload} on ${device.name} (${device.id})`,
    `${paint(status === 'passed' ? 'green' : 'red', status)}${reason === undefined ? '' : `: ${reason}`}`,
    describeSource(view),
    `${formatFigure(totals.instructions)} warp instructions issued, ${formatFigure(totals.sectors)} sectors of global memory and ${formatFigure(totals.wavefronts)} wavefronts of shared memory moved; ${formatFigure(totals.ptxInstructions)} PTX instructions.`,
    ...(hot.length === 0
      ? []
      : ['', paint('bold', `The ${Math.min(hotLines, hot.length)} hottest of ${hot.length} lines`)]),
    ...hot.slice(0, hotLines).flatMap((line) => ['', ...hotLine(line, paint)]),
    ...listings(view, paint),
  ];
  return `${lines.join('\n')}\n`;
}
