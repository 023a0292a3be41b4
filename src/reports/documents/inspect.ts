import * as doc from '../document.ts';
import { formatCandidate, formatFigure } from '../format.ts';
import { hottestFirst, type InspectedAccess, type InspectedLine, type InspectView } from '../inspect-view.ts';
import { statusText } from './evaluation.ts';

function percent(share: number | null): string {
  if (share === null || share === 0) return '';
  return share < 0.001 ? '<0.1 %' : `${(100 * share).toFixed(1)} %`;
}

const describeAccess = (name: string, unit: string, access: InspectedAccess | null): string | null =>
  access && `${name}: ${formatFigure(access.requests)} requests, ${formatFigure(access.unitsPerRequest)} ${unit} each`;

function counts({ instructions, lanesPerInstruction, barriers, atomics, ...line }: InspectedLine) {
  const lanes = lanesPerInstruction === null ? '' : `, ${formatFigure(lanesPerInstruction)} of 32 lanes active`;
  return [
    `${formatFigure(instructions)} warp instructions${lanes}`,
    describeAccess('global loads', 'sectors', line.globalLoad),
    describeAccess('global stores', 'sectors', line.globalStore),
    describeAccess('shared loads', 'wavefronts', line.sharedLoad),
    describeAccess('shared stores', 'wavefronts', line.sharedStore),
    barriers > 0 && `${formatFigure(barriers)} barriers`,
    atomics > 0 && `${formatFigure(atomics)} atomics`,
  ];
}

/** What a line moves, waits for or multiplies as tensors; the rest is arithmetic and addresses. */
const TELLING = /^(?:@!?\S+ )?(?:ld(?!\.param)|st|red|atom|bar|mma|wgmma|wmma|ldmatrix|cp|shfl|vote)\b/;

/** PTX that a line became is often several copies of a few instructions (unrolled): more than this says no more. */
const MAXIMUM_PTX_LINES = 12;

/** As many as are shown: telling ones first, in the order of the PTX. */
function ptxLines({ ptx }: InspectedLine): doc.Inline[] {
  const telling = ptx.filter(({ text: line }) => TELLING.test(line));
  const others = ptx.filter(({ text: line }) => !TELLING.test(line));
  const shown = [...telling, ...others].slice(0, MAXIMUM_PTX_LINES).sort((left, right) => left.line - right.line);
  const rest = ptx.length - shown.length;
  return [
    ...shown.map(({ line, text: instruction }) => doc.dim(`${String(line).padStart(5)}  ${instruction}`)),
    ...(rest > 0 ? [doc.dim(`       … ${rest} more`)] : []),
  ];
}

const hotLine = (line: InspectedLine): doc.Part => [
  doc.heading(
    `${line.file}:${line.line}  ${percent(line.instructionShare) || '0 %'} of issued instructions, ${percent(line.transactionShare) || '0 %'} of what is moved`,
  ),
  doc.list([line.text.trim(), ...counts(line), ...line.flags.map((flag) => doc.warn(`! ${flag}`)), ...ptxLines(line)]),
];

const listing = (file: string, lines: readonly InspectedLine[]) =>
  doc.table(
    file,
    lines.filter((line) => line.file === file),
    [
      doc.figures('line', ({ line }) => String(line)),
      doc.figures('issued', ({ instructionShare }) => percent(instructionShare)),
      doc.figures('moved', ({ transactionShare }) => percent(transactionShare)),
      doc.figures('PTX', ({ ptx }) => (ptx.length === 0 ? '' : String(ptx.length))),
      doc.words('', ({ flags }) => (flags.length > 0 ? '!' : '')),
      doc.words('source', ({ text: source }) => source),
    ],
  );

function describeCounters({ counters, attributedShare }: InspectView): string {
  if (!counters) return 'Nothing was counted. Below is the PTX of each line.';
  const lines = attributedShare === null ? '' : ` ${percent(attributedShare) || '0 %'} of them carry a source line.`;
  return `Counters: ${counters.kind} (${counters.detail}).${lines}`;
}

/** An inspection: hot lines first, with their PTX, then every file in source order. */
export function inspectDocument(view: InspectView, hotLines: number): doc.Document {
  const { candidate, device, workload, totals, lines } = view;
  const hot = hottestFirst(lines);
  const files = [...new Set(lines.map(({ file }) => file))];
  return doc.documentOf(
    `${formatCandidate({ ...candidate, kernel: candidate.label })}, ${workload} on ${device.name} (${device.id})`,
    [
      doc.text(statusText(view)),
      doc.text(describeCounters(view)),
      doc.text(
        `${formatFigure(totals.instructions)} warp instructions issued, ${formatFigure(totals.sectors)} sectors of global memory and ${formatFigure(totals.wavefronts)} wavefronts of shared memory moved; ${formatFigure(totals.ptxInstructions)} PTX instructions.`,
      ),
    ],
    [
      doc.section('hot', `The ${Math.min(hotLines, hot.length)} hottest of ${hot.length} lines`, [
        hot.slice(0, hotLines).map(hotLine),
      ]),
      ...files.map((file) => doc.section(file, `${file}, in source order`, [listing(file, lines)])),
    ],
  );
}
