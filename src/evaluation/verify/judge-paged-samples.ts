import { ptxOf } from '../../core/compiled-code.ts';
import { sizeOfDType } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { LaunchPlan, PlannedBuffer } from '../../core/launch-plan.ts';
import { BUFFER_PAGE_BYTES, type PagedBuffer } from '../../core/paged-buffer.ts';
import type { Dimensions, ReferenceTensors, Rows } from '../../core/problem.ts';
import type { SparsePiece, SparseTensors } from '../../core/sparse-tensor.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { elementCountOf, isDense } from '../launches/layout.ts';
import { planOrRefusal } from '../launches/plan-refusal.ts';
import { NAN_POISON } from '../launches/poison.ts';
import type { Refused } from '../launches/refusal.ts';
import { DECLARED, describeCheck } from '../oracle/check.ts';
import { compareGatheredRows } from '../oracle/compare-rows.ts';
import { drawInputs } from '../oracle/draw-inputs.ts';
import { chooseFrom } from '../oracle/expected-rows.ts';
import { expectationsOfRowsOfSparse } from '../oracle/expected-rows-of-sparse.ts';
import { outputsOf } from '../oracle/reference-runs.ts';
import { rowLength } from '../oracle/row-parts.ts';
import { countElements } from '../oracle/shapes/cost.ts';
import { writtenElements } from './compare-written.ts';
import { CorrectnessTally } from './correctness-tally.ts';
import { ctasWithin, onlyLaunch, type SamplesRequest } from './judge-samples.ts';
import { describeWrong, mayBeChance, passes, refused, type Verdicts } from './judged-check.ts';

/**
 * Beside the limits of {@link ctasWithin}: milliseconds, and bytes of pages that the CTAs touch. One CTA is run in any case: most places beyond the first half of a buffer show what a wrapped
 * offset does.
 */
const SAMPLE = { ctas: 24, elements: 2 ** 21, flop: 2e8, timeoutMs: 2500, pageBytes: 2 ** 28 } as const;

/** Rows of each output that are compared, and elements of them: a few, because the reference may walk through all of an input for each. */
const COMPARED = { least: 4, most: 16, elements: 2 ** 20 } as const;

/** Elements after which the contents of a large input begin again. A prime, so that an element and the one which a wrapped offset reaches differ. */
const PERIOD = 1_048_573;

/**
 * Runs a few CTAs at shapes that are larger than a virtual GPU's memory, and compares what they wrote: offsets that have too few bits go wrong there. Inputs repeat {@link PERIOD} drawn
 * elements where a CTA reads, and are zero elsewhere. Only for kernels of one launch whose CTAs do not depend on one another.
 *
 * @returns the shapes of which something was compared.
 */
export async function judgePagedSamples(
  request: SamplesRequest,
  shapes: readonly Dimensions[],
): Promise<{ readonly ok: true; readonly sampled: readonly Dimensions[] } | Refused> {
  const sampled: Dimensions[] = [];
  if (!request.device.runPaged || !(await request.problem.reference.takesSparse?.(request.signal)))
    return { ok: true, sampled };
  for (const dimensions of shapes) {
    request.signal?.throwIfAborted();
    const result = await judgeOne(request, dimensions);
    if (result === undefined) continue;
    if (result !== 'right') return result;
    sampled.push(dimensions);
  }
  return { ok: true, sampled };
}

/** `undefined` if the sample says nothing. */
async function judgeOne(request: SamplesRequest, dimensions: Dimensions): Promise<Refused | 'right' | undefined> {
  const { device, module, problem, timeoutMs } = request;
  const name = describeCheck({ dimensions, generatorSet: DECLARED });
  const plan = planOrRefusal(request, dimensions, name);
  // Plans of sizes that nobody timed are refused elsewhere.
  const launch = 'ok' in plan ? undefined : onlyLaunch(plan, ptxOf(module.code));
  if ('ok' in plan || !launch || !canBeCompared(plan)) return undefined;
  request.onSample?.(name);
  try {
    const inputs = drawPeriods(request, plan.buffers, dimensions);
    const buffers = plan.buffers.map((buffer) => pagedBuffer(buffer, inputs));
    const flop = evaluateExpression(problem.file.flop, dimensions);
    const ctas = ctasWithin(SAMPLE, launch, countElements(plan.buffers), flop);
    const run = await device.runPaged!(module, launch, buffers, {
      sampleCtas: Math.max(1, ctas),
      timeoutMs: Math.min(timeoutMs, SAMPLE.timeoutMs),
      mostBytes: SAMPLE.pageBytes,
    });
    if (!run || (!run.ok && run.status === 'timed-out')) return undefined;
    const where = `${name} · a sample of CTAs, of buffers larger than the device's memory`;
    if (!run.ok) return refused(run.status, run.message, where);
    const verdicts = await compareWrittenPages({ ...request, dimensions, plan, inputs, pages: run.pages });
    if (verdicts === undefined) return undefined;
    if (passes(verdicts) || mayBeChance(verdicts)) return 'right';
    const tally = new CorrectnessTally();
    tally.add(verdicts);
    return { ...refused('wrong', describeWrong(verdicts)!, where), correctness: tally.summary() };
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined; // Its author never saw this shape, nor did the problem's.
    throw error;
  }
}

/** Other outputs hold values from the start, and elements of strided buffers have no numbers by their place. */
const canBeCompared = ({ buffers }: LaunchPlan): boolean =>
  buffers.every(
    (buffer) => (buffer.role === 'in' || buffer.role === 'out') && buffer.significant === undefined && isDense(buffer),
  );

/** What inputs hold over and over, by name. */
interface Periods {
  readonly bytes: ReadonlyMap<string, Uint8Array>;
  readonly tensors: ReferenceTensors;
}

const isRepeated = (buffer: PlannedBuffer): boolean => elementCountOf(buffer) > PERIOD;

/** @throws WarpsmithError if the problem's generators can't fill so many elements. */
function drawPeriods(
  { problem, seed }: SamplesRequest,
  buffers: readonly PlannedBuffer[],
  dimensions: Dimensions,
): Periods {
  const cut = buffers.map((buffer) =>
    isRepeated(buffer)
      ? { ...buffer, shape: [PERIOD], strides: [1], bytes: PERIOD * sizeOfDType(buffer.dtype) }
      : buffer,
  );
  const inputs = cut.filter(({ role }) => role === 'in');
  return drawInputs({ problem, buffers: inputs, dimensions, seed, generatorSet: DECLARED });
}

const pagedBuffer = ({ name, bytes }: PlannedBuffer, inputs: Periods): PagedBuffer => ({
  name,
  bytes,
  period: inputs.bytes.get(name),
});

type Pages = ReadonlyMap<number, Uint8Array>;

interface PagesRequest extends SamplesRequest {
  readonly dimensions: Dimensions;
  readonly plan: LaunchPlan;
  readonly inputs: Periods;
  /** By buffer. */
  readonly pages: ReadonlyMap<string, Pages>;
}

/** `undefined` if nothing was written, or nothing is known of what should have been. */
async function compareWrittenPages(request: PagesRequest): Promise<Verdicts | undefined> {
  const { problem, dimensions, seed, signal, plan, pages } = request;
  const outputs = outputsOf(plan.buffers);
  const rows: Rows = Object.fromEntries(
    outputs.map((buffer) => {
      const stream = createStream(seed, valuesKey(dimensions), 'rows in pages', buffer.name);
      const wanted = Math.floor(COMPARED.elements / rowLength(buffer));
      const count = Math.max(COMPARED.least, Math.min(COMPARED.most, wanted));
      return [buffer.name, chooseFrom(rowsWritten(buffer, pages.get(buffer.name)!), count, stream)];
    }),
  );
  const gathered = new Map(
    outputs.map((buffer) => [buffer.name, rowsFrom(buffer, pages.get(buffer.name)!, rows[buffer.name]!)]),
  );
  if ([...gathered.values()].every(({ marks }) => !marks.includes(1))) return undefined;
  const { sparse, inputs } = sparseInputs(request);
  const asked = { problem, dimensions, generatorSet: DECLARED, buffers: plan.buffers, sparse, inputs, rows, signal };
  const compared = async (how: { isLeast?: true; sure?: true }): Promise<Verdicts | undefined> => {
    const expected = await expectationsOfRowsOfSparse({ ...asked, ...how });
    if (!expected?.rows) return undefined;
    const expectations = new Map(
      outputs.map(({ name }) => {
        const insignificant = gathered.get(name)!.marks.map((mark) => 1 - mark);
        return [name, { ...expected.expectations.get(name)!, insignificant }];
      }),
    );
    const bytes = new Map(outputs.map(({ name }) => [name, gathered.get(name)!.bytes]));
    return compareGatheredRows(outputs, { rows, expectations }, bytes);
  };
  const least = await compared({ isLeast: true });
  return least === undefined || passes(least) ? least : compared({ sure: true });
}

/** Ascending. */
function rowsWritten(buffer: PlannedBuffer, pages: Pages): number[] {
  const [size, length] = [sizeOfDType(buffer.dtype), rowLength(buffer)];
  const rows = new Set<number>();
  for (const [page, bytes] of pages) {
    const first = (page * BUFFER_PAGE_BYTES) / size;
    writtenElements(buffer, bytes).forEach((mark, i) => {
      if (mark) rows.add(Math.floor((first + i) / length));
    });
  }
  return [...rows].sort((a, b) => a - b);
}

/** Rows one after the other, and a mark for each of their elements: 1 where something was written. */
function rowsFrom(buffer: PlannedBuffer, pages: Pages, rows: Uint32Array): { bytes: Uint8Array; marks: Uint8Array } {
  const rowBytes = rowLength(buffer) * sizeOfDType(buffer.dtype);
  const gathered = new Uint8Array(rows.length * rowBytes).fill(NAN_POISON.byteValue);
  rows.forEach((row, i) => {
    const [start, end] = [row * rowBytes, (row + 1) * rowBytes];
    for (let page = Math.floor(start / BUFFER_PAGE_BYTES); page * BUFFER_PAGE_BYTES < end; page++) {
      const bytes = pages.get(page);
      if (!bytes) continue;
      const at = page * BUFFER_PAGE_BYTES;
      const [from, to] = [Math.max(start, at), Math.min(end, at + bytes.length)];
      gathered.set(bytes.subarray(from - at, to - at), i * rowBytes + from - start);
    }
  });
  return { bytes: gathered, marks: writtenElements(buffer, gathered) };
}

/** Large inputs are what was read of them. */
function sparseInputs({ plan, inputs, pages }: PagesRequest): { sparse: SparseTensors; inputs: ReferenceTensors } {
  const read = plan.buffers.filter(({ role }) => role === 'in');
  const [large, small] = [read.filter(isRepeated), read.filter((buffer) => !isRepeated(buffer))];
  return {
    sparse: Object.fromEntries(
      large.map((buffer) => {
        const pieces = piecesOf(buffer, inputs.tensors[buffer.name]!, [...pages.get(buffer.name)!.keys()]);
        return [buffer.name, { length: elementCountOf(buffer), pieces }];
      }),
    ),
    inputs: Object.fromEntries(small.map(({ name }) => [name, inputs.tensors[name]!])),
  };
}

/** Neighbouring pages are one piece. */
function piecesOf(buffer: PlannedBuffer, period: Float64Array, pages: number[]): SparsePiece[] {
  const perPage = BUFFER_PAGE_BYTES / sizeOfDType(buffer.dtype);
  const count = elementCountOf(buffer);
  pages.sort((a, b) => a - b);
  const pieces: SparsePiece[] = [];
  for (let i = 0; i < pages.length; ) {
    const first = i;
    do i++;
    while (i < pages.length && pages[i] === pages[i - 1]! + 1);
    const at = pages[first]! * perPage;
    const values = new Float64Array(Math.min(count, (pages[i - 1]! + 1) * perPage) - at);
    for (let j = 0; j < values.length; j++) values[j] = period[(at + j) % PERIOD]!;
    pieces.push({ at, values });
  }
  return pieces;
}
