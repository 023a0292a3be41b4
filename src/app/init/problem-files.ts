import { isFloating, sizeOfDType } from '../../core/dtype.ts';
import type { KernelSource } from '../../core/kernel.ts';
import type { Dimensions, Generator, ProblemSource } from '../../core/problem.ts';
import { type Amount, constant, evaluateAmount, printAmount, rootsOf } from '../../cuda-source/amounts.ts';
import type { Draft, DraftArgument, DraftBuffer, DraftStep } from './draft.ts';
import type { DraftReference } from './draft-reference.ts';

/** An expression of the problem's files; plain numbers stay numbers. */
const expression = (amount: Amount): string | number =>
  amount.kind === 'constant' ? amount.value : printAmount(amount);

/** problem.json of a draft. */
export function problemFile(
  draft: Draft,
  { name, description, rungs }: { name: string; description: string; rungs: readonly string[] },
  reference: DraftReference,
): ProblemSource {
  const inputs = draft.buffers.filter(({ role }) => role === 'in' || role === 'inout');
  const outputs = draft.buffers.filter(({ role }) => role === 'out');
  const results = [...outputs, ...inputs.filter(({ role }) => role === 'inout')];
  const flop = reference.flop ?? elementsOf(results[0]!.shape);
  return {
    schemaVersion: 1,
    name,
    description,
    dimensions: Object.fromEntries(draft.dimensions.map(dimensionEntry)),
    inputs: Object.fromEntries(
      inputs.map((buffer) => [buffer.name, { ...bufferEntry(buffer), ...generatorOf(buffer, draft) }]),
    ),
    outputs: Object.fromEntries(outputs.map((buffer) => [buffer.name, bufferEntry(buffer)])),
    flop: expression(flop),
    minimumFlop: 0,
    minimumReadBytes: readBytes(reference.wholeInputs),
    workloads: workloadsOf(draft, flop),
    checkShapes: checkShapesOf(draft).map((dimensions) => ({ dimensions })),
    ...generatorSets(inputs),
    comparison: comparisonOf(results, reference.terms ?? longest(draft)),
    determinism: draft.addsAtomically ? 'tolerance' : 'bitwise',
    start: rungs[0]!,
    rungs: [...rungs],
  };
}

const dimensionEntry = ({
  name,
  value,
  isFixed,
}: Draft['dimensions'][number]): [string, ProblemSource['dimensions'][string]] => [
  name,
  isFixed
    ? { description: `${name}, a constant of the device code.`, values: [value] }
    : { description: `${name} of the file.`, minimum: 1 },
];

const bufferEntry = ({ dtype, shape, role }: DraftBuffer) => ({
  dtype,
  shape: shape.map(expression),
  access: role as 'in' | 'out' | 'inout',
});

/** Integers need a range. */
function generatorOf({ dtype, memory }: DraftBuffer, _draft: Draft): { generator?: Generator } {
  if (isFloating(dtype)) return {};
  const { filling } = memory;
  const high = filling?.kind === 'range' ? expression(filling.high) : sizeOfDType(dtype) === 1 ? 100 : 1000;
  return { generator: { kind: 'index-range', low: 0, high } };
}

/** Zero-mean values find more mistakes than values of one sign; these find what cancels among them. */
function generatorSets(inputs: readonly DraftBuffer[]): Pick<ProblemSource, 'generatorSets'> {
  const real = inputs.filter(({ dtype }) => isFloating(dtype));
  if (real.length === 0) return {};
  const all = (generator: Generator) => Object.fromEntries(real.map(({ name }) => [name, generator]));
  return { generatorSets: { normal: all({ kind: 'normal' }), positive: all({ kind: 'positive' }) } };
}

const elementsOf = (shape: readonly Amount[]): Amount =>
  shape.reduce((all, one): Amount => ({ kind: 'operation', operator: '*', operands: [all, one] }));

const readBytes = (buffers: readonly DraftBuffer[]): string | number =>
  buffers.length === 0
    ? 0
    : buffers.map(({ dtype, shape }) => `${sizeOfDType(dtype)} * ${printAmount(elementsOf(shape), 11)}`).join(' + ');

/** Without a reference to count: as long as the largest size. */
function longest({ dimensions }: Draft): Amount {
  const names = dimensions.map(({ name }) => name);
  if (names.length === 0) return constant(1);
  const roots = names.map((name): Amount => ({ kind: 'root', name, isFloating: false }));
  return roots.length === 1 ? roots[0]! : { kind: 'operation', operator: 'max', operands: roots };
}

/** Operations of fp32 functions such as expf, which err by a few units each, count as terms. */
const LEAST_TERMS = 16;

function comparisonOf(results: readonly DraftBuffer[], terms: Amount): ProblemSource['comparison'] {
  const real = results.find(({ dtype }) => isFloating(dtype));
  if (real === undefined) return { kind: 'exact' };
  const text =
    terms.kind === 'constant' ? Math.max(LEAST_TERMS, terms.value) : `max(${LEAST_TERMS}, ${printAmount(terms)})`;
  if (real.dtype === 'f16' || real.dtype === 'bf16')
    return { kind: 'calibrated', storage: real.dtype, accumulate: 'f32', terms: text };
  return { kind: 'conditioned', constant: 2, unit: real.dtype, terms: text };
}

/** A virtual device judges so much work in seconds. */
const QUICK_WORK = 1.5e8;
const LEAST_HALVED = 64;

/** The file's own sizes, and before them smaller ones that a virtual device judges quickly, if those are large. */
function workloadsOf(draft: Draft, flop: Amount): ProblemSource['workloads'] {
  const own = Object.fromEntries(draft.dimensions.map(({ name, value }) => [name, value]));
  const quick = { ...own };
  const open = draft.dimensions.filter(({ isFixed }) => !isFixed).map(({ name }) => name);
  while (workOf(draft, flop, quick) > QUICK_WORK) {
    const [largest] = open.filter((name) => quick[name]! >= 2 * LEAST_HALVED).sort((a, b) => quick[b]! - quick[a]!);
    if (largest === undefined) break;
    quick[largest] = Math.ceil(quick[largest]! / 2);
  }
  const shapes = workOf(draft, flop, quick) < workOf(draft, flop, own) ? [quick, own] : [own];
  return shapes.map((dimensions) => ({ name: shapeName(dimensions), dimensions }));
}

/** Operations, or elements where they are more. */
function workOf({ buffers, steps }: Draft, flop: Amount, at: Dimensions): number {
  const value = (amount: Amount): number => evaluateAmount(amount, (name) => at[name] ?? 1) ?? 0;
  const threads = steps.reduce(
    (all, { grid, block }) => all + [...grid, ...block].reduce((n, one) => n * value(one), 1),
    0,
  );
  const elements = buffers.reduce((all, { shape }) => all + value(elementsOf(shape)), 0);
  return Math.max(value(flop), 16 * elements, 16 * threads);
}

const shapeName = (dimensions: Dimensions): string =>
  Object.entries(dimensions)
    .map(([name, value]) => `${name.toLowerCase()}${value}`)
    .join('') || 'only';

const AWKWARD = [
  [33, 65, 17, 3, 2],
  [130, 70, 129, 2, 3],
  [5, 129, 64, 3, 2],
  [128, 64, 192, 2, 1],
];
const AWKWARD_LENGTHS = [31, 257, 1000, 4099];

/** Small sizes that no tile divides, and some that many divide. */
function checkShapesOf({ dimensions }: Draft): Dimensions[] {
  const open = dimensions.filter(({ isFixed }) => !isFixed);
  const fixed = Object.fromEntries(dimensions.filter(({ isFixed }) => isFixed).map(({ name, value }) => [name, value]));
  if (open.length === 0) return [fixed];
  const rows = open.length === 1 ? AWKWARD_LENGTHS.map((length) => [length]) : AWKWARD;
  return rows.map((sizes) => ({
    ...fixed,
    ...Object.fromEntries(open.map(({ name }, i) => [name, sizes[i % sizes.length]!])),
  }));
}

/** kernel.json of one rung. */
export function kernelFile(
  draft: Draft,
  steps: readonly DraftStep[],
  { name, description }: { name: string; description: string },
): KernelSource {
  const workspaces = draft.buffers.filter(({ role }) => role === 'workspace');
  const zeroed = draft.buffers.filter(({ role, isZeroed }) => role === 'out' && isZeroed);
  return {
    schemaVersion: 1,
    name,
    description,
    problem: '../problem.json',
    source: { kind: 'cuda', files: ['kernel.cu'] },
    ...(workspaces.length > 0 && {
      workspaces: Object.fromEntries(
        workspaces.map((buffer) => [
          buffer.name,
          {
            bytes: `${sizeOfDType(buffer.dtype)} * ${printAmount(elementsOf(buffer.shape), 11)}`,
            init: buffer.isZeroed ? ('zero' as const) : ('undefined' as const),
          },
        ]),
      ),
    }),
    steps: [
      ...zeroed.map(({ name: buffer }) => ({ memset: { buffer, byteValue: 0 } })),
      ...steps.map((step) => ({
        function: step.functionName,
        grid: step.grid.map(expression),
        block: step.block.map(expression),
        ...(isZero(step.sharedBytes) ? {} : { sharedBytes: expression(step.sharedBytes) }),
        arguments: step.arguments.map(argumentEntry),
      })),
    ],
  };
}

const isZero = (amount: Amount): boolean => amount.kind === 'constant' && amount.value === 0;

function argumentEntry(
  argument: DraftArgument,
): Extract<KernelSource['steps'][number], { function: string }>['arguments'][number] {
  if (argument.kind === 'null') return { null: true };
  if (argument.kind === 'scalar') return { scalar: expression(argument.value), dtype: argument.dtype };
  const { name } = argument.buffer;
  return isZero(argument.offset) ? { buffer: name } : { buffer: name, offsetBytes: expression(argument.offset) };
}

/** Names that the text of an amount uses, for checks. */
export const sizesIn = (amounts: readonly Amount[]): string[] => [...new Set(amounts.flatMap(rootsOf))];
