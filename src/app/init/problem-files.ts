import { type DType, isFloating, sizeOfDType } from '../../core/dtype.ts';
import type { KernelSource } from '../../core/kernel.ts';
import { GRID_LIMITS } from '../../core/launch-plan.ts';
import type { Dimensions, Generator, ProblemSource } from '../../core/problem.ts';
import { nonEmpty } from '../../core/values.ts';
import { type Amount, constant, evaluateAmount, printAmount, root, rootsOf } from '../../cuda-source/amounts.ts';
import { PRECEDENCE } from '../../cuda-source/parser.ts';
import { bothSigns, comparisonFor, distinctShapes } from '../drafted-problem.ts';
import {
  type Draft,
  type DraftArgument,
  type DraftBuffer,
  type DraftStep,
  elementsOf,
  isInput,
  isNumber,
} from './draft.ts';
import type { DraftReference } from './draft-reference.ts';
import type { Parameter } from './parameters/find-parameters.ts';
import type { Parametrised } from './parameters/parametrise.ts';
import type { Multiples } from './probe-limits.ts';

/** An expression of the problem's files; plain numbers stay numbers. */
const expression = (amount: Amount): string | number =>
  amount.kind === 'constant' ? amount.value : printAmount(amount);

/** problem.json of a draft. */
export function problemFile(
  draft: Draft,
  {
    name,
    description,
    rungs,
    multiples,
  }: { name: string; description: string; rungs: readonly string[]; multiples: Multiples },
  reference: DraftReference,
): ProblemSource {
  const inputs = draft.buffers.filter(isInput);
  const outputs = draft.buffers.filter(({ role }) => role === 'out');
  const results = [...outputs, ...inputs.filter(({ role }) => role === 'inout')];
  const flop = reference.flop ?? elementsOf(results[0]!.shape);
  const needed = multiplesOfShapes(draft);
  return {
    schemaVersion: 1,
    name,
    description,
    dimensions: Object.fromEntries(draft.dimensions.map(dimensionEntry)),
    inputs: Object.fromEntries(
      inputs.map((buffer) => [buffer.name, { ...bufferEntry(buffer), ...generatorOf(buffer) }]),
    ),
    outputs: Object.fromEntries(outputs.map((buffer) => [buffer.name, bufferEntry(buffer)])),
    flop: expression(flop),
    minimumFlop: 0,
    minimumReadBytes: readBytes(reference.wholeInputs),
    limits: nonEmpty(limitsOf(needed)),
    workloads: workloadsOf(draft, flop),
    checkShapes: checkShapesOf(draft, flop, multiples, needed).map((dimensions) => ({ dimensions })),
    ...bothSigns(inputs.filter(({ dtype }) => isFloating(dtype)).map(({ name }) => name)),
    comparison: reference.isCopy
      ? { kind: 'exact' }
      : comparisonOf(results, reference.terms ?? longest(draft), reference.isElementwiseFunction ?? false),
    determinism: draft.addsAtomically ? 'tolerance' : 'bitwise',
    start: rungs[0]!,
    rungs: [...rungs],
  };
}

const dimensionEntry = ({
  name,
  value,
  isFixed,
  minimum,
}: Draft['dimensions'][number]): [string, ProblemSource['dimensions'][string]] => [
  name,
  isFixed
    ? { description: `${name}, a constant of the device code.`, values: [value] }
    : { description: `${name} of the file.`, minimum },
];

const bufferEntry = ({ dtype, shape, role }: DraftBuffer) => ({
  dtype,
  shape: shape.map(expression),
  access: role as 'in' | 'out' | 'inout',
});

/** Integers need a range. */
function generatorOf({ dtype, filling }: DraftBuffer): { generator?: Generator } {
  if (isFloating(dtype)) return {};
  const high = filling?.kind === 'range' ? expression(filling.high) : sizeOfDType(dtype) === 1 ? 100 : 1000;
  return { generator: { kind: 'index-range', low: 0, high } };
}

const readBytes = (buffers: readonly DraftBuffer[]): string | number =>
  buffers.length === 0 ? 0 : buffers.map(({ dtype, shape }) => bytesOf(dtype, shape)).join(' + ');

/** `4 * M * N`. */
function bytesOf(dtype: DType, shape: readonly Amount[]): string {
  const elements = elementsOf(shape);
  const factors = elements.kind === 'operation' && elements.operator === '*' ? elements.operands : [elements];
  return printAmount({ kind: 'operation', operator: '*', operands: [constant(sizeOfDType(dtype)), ...factors] });
}

/** Without a reference to count: as long as the largest size. */
function longest({ dimensions }: Draft): Amount {
  const names = dimensions.map(({ name }) => name);
  if (names.length === 0) return constant(1);
  const roots = names.map((name) => root(name));
  return roots.length === 1 ? roots[0]! : { kind: 'operation', operator: 'max', operands: roots };
}

/** Operations of fp32 functions such as expf, which err by a few units each, count as terms. */
const LEAST_TERMS = 16;

/**
 * Of functions such as 1 + tanh(x), which cancel what their inputs do not show: what fp32 keeps of numbers about 1. With
 * these, secret inputs keep their size.
 */
const ELEMENTWISE: ProblemSource['comparison'] = { kind: 'allclose', atol: 1e-6, rtol: 1e-5 };

function comparisonOf(
  results: readonly DraftBuffer[],
  terms: Amount,
  isElementwiseFunction: boolean,
): ProblemSource['comparison'] {
  const real = results.find(({ dtype }) => isFloating(dtype));
  if (real === undefined) return { kind: 'exact' };
  return isElementwiseFunction && real.dtype === 'f32'
    ? ELEMENTWISE
    : comparisonFor(real.dtype, atLeast(LEAST_TERMS, terms));
}

function atLeast(least: number, amount: Amount): string | number {
  if (amount.kind === 'constant') return Math.max(least, amount.value);
  const isMaximum = amount.kind === 'operation' && amount.operator === 'max';
  return isMaximum
    ? `max(${least}, ${amount.operands.map((one) => printAmount(one)).join(', ')})`
    : `max(${least}, ${printAmount(amount)})`;
}

/** A virtual device judges so much work in seconds. */
const QUICK_WORK = 1.5e8;
const LEAST_HALVED = 64;

/** The file's own sizes, and before them smaller ones that a virtual device judges quickly, if those are large. */
function workloadsOf(draft: Draft, flop: Amount): ProblemSource['workloads'] {
  const own = Object.fromEntries(draft.dimensions.map(({ name, value }) => [name, value]));
  const quick = reduced(
    draft,
    flop,
    QUICK_WORK,
    own,
    new Map(draft.dimensions.map(({ name }) => [name, LEAST_HALVED])),
  );
  const shapes = workOf(draft, flop, quick) < workOf(draft, flop, own) ? [quick, own] : [own];
  return shapes.map((dimensions) => ({ name: shapeName(dimensions), dimensions }));
}

/** Operations, or elements where they are more. */
function workOf({ buffers, steps, dimensions }: Draft, flop: Amount, at: Dimensions): number {
  const value = (amount: Amount): number => evaluateAmount(amount, (name) => at[name] ?? 1) ?? 0;
  const threads = steps.reduce(
    (all, { grid, block }) => all + [...grid, ...block].reduce((n, one) => n * value(one), 1),
    0,
  );
  const elements = buffers.reduce((all, { shape }) => all + value(elementsOf(shape)), 0);
  // Without a reference to count, about what a product of matrices takes.
  const product = dimensions.reduce((all, { name }) => all * at[name]!, 1);
  return Math.max(value(flop), 16 * elements, 16 * threads, product);
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

/** Most work of a check shape: every candidate runs all of them, several times. */
const CHECK_WORK = 1e7;

/** Small sizes that no tile divides, and some that many divide. */
function checkShapesOf(draft: Draft, flop: Amount, multiples: Multiples, needed: Multiples): Dimensions[] {
  const open = draft.dimensions.filter(({ isFixed }) => !isFixed);
  const fixed = draft.dimensions.filter(({ isFixed }) => isFixed);
  const shape = (sizes: readonly number[], unit: Multiples): Dimensions => {
    const wanted = open.map(({ name, minimum }, i) => {
      const tile = unit.get(name) ?? 1;
      return [name, tile * Math.ceil(Math.max(minimum, sizes[i % sizes.length]!) / tile)] as const;
    });
    const shaped = Object.fromEntries([...fixed.map(({ name, value }) => [name, value] as const), ...wanted]);
    return reduced(draft, flop, CHECK_WORK, shaped, unit);
  };
  if (open.length === 0) return [shape([1], needed)];
  const both = new Map([...needed, ...multiples]);
  const even =
    multiples.size === 0
      ? []
      : EVEN_TILES.map((tiles) => tiles.map((count, i) => count * (both.get(open[i]?.name ?? '') ?? 1)));
  const rows = open.length === 1 ? AWKWARD_LENGTHS.map((length) => [length]) : AWKWARD;
  const shapes = [...even.map((sizes) => shape(sizes, both)), ...rows.map((sizes) => shape(sizes, needed))];
  return distinctShapes(shapes);
}

/** Sizes halved, the largest first, until the work is small enough. */
function reduced(draft: Draft, flop: Amount, most: number, sizes: Dimensions, unit: Multiples): Dimensions {
  const smaller: Record<string, number> = { ...sizes };
  const least = new Map(
    draft.dimensions.map(({ name, minimum }) => [name, Math.max(minimum, unit.get(name) ?? 1)] as const),
  );
  const open = draft.dimensions.filter(({ isFixed }) => !isFixed).map(({ name }) => name);
  while (workOf(draft, flop, smaller) > most) {
    const [largest] = open
      .filter((name) => smaller[name]! >= 2 * least.get(name)!)
      .sort((a, b) => smaller[b]! - smaller[a]!);
    if (largest === undefined) break;
    const tile = unit.get(largest) ?? 1;
    smaller[largest] = tile * Math.max(1, Math.floor(smaller[largest]! / 2 / tile));
  }
  return smaller;
}

const limitsOf = (multiples: Multiples): string[] => [...multiples].map(([name, tile]) => `${name} % ${tile} == 0`);

/** Dimensions of which a buffer has a part: `head_dim / 2`. */
export const multiplesOfShapes = ({ buffers }: Draft): Multiples => dividedRoots(buffers.flatMap(({ shape }) => shape));

/** For kernels that take whole tiles only: how many of them. */
const EVEN_TILES = [
  [3, 2, 5],
  [1, 3, 2],
  [2, 1, 1],
];

/** Dimensions that a grid divides by a tile and rounds down. */
export const multiplesOfGrid = (steps: readonly DraftStep[]): Multiples =>
  dividedRoots(steps.flatMap(({ grid }) => grid));

function dividedRoots(amounts: readonly Amount[]): Multiples {
  const multiples = new Map<string, number>();
  const look = (amount: Amount): void => {
    if (amount.kind !== 'operation') return;
    const [whole, tile] = amount.operands;
    if (amount.operator === '//' && whole!.kind === 'root' && tile!.kind === 'constant')
      multiples.set(whole!.name, Math.max(tile!.value, multiples.get(whole!.name) ?? 1));
    amount.operands.forEach(look);
  };
  amounts.forEach(look);
  return multiples;
}

/** Extents along y and z that grow with a dimension: there a grid ends long before the memory does. */
function growingGrids({ dimensions }: Draft, steps: readonly DraftStep[]): Amount[] {
  const open = new Set(dimensions.filter(({ isFixed }) => !isFixed).map(({ name }) => name));
  const extents = steps
    .flatMap(({ grid }) => grid.slice(1))
    .filter((one) => rootsOf(one).some((name) => open.has(name)));
  return [...new Map(extents.map((extent) => [printAmount(extent), extent])).values()];
}

const gridLimit = (extent: Amount): string => `${printAmount(extent, PRECEDENCE['<<'])} <= ${GRID_LIMITS[1]}`;

const parameterEntry = ({ name, value, values }: Parameter): [string, { values: number[]; default: number }] => [
  name,
  { values: [...values], default: value },
];

interface KernelText {
  readonly name: string;
  readonly description: string;
  readonly multiples: Multiples;
  /** Steps and workspaces by parameters, in place of those with numbers. */
  readonly parametrised?: Parametrised | undefined;
  /** What dimensions must be multiples of, where that follows from parameters. */
  readonly tiles?: ReadonlyMap<string, Amount> | undefined;
}

/** kernel.json of one rung. */
export function kernelFile(
  draft: Draft,
  steps: readonly DraftStep[],
  { name, description, multiples, parametrised, tiles = new Map() }: KernelText,
): KernelSource {
  const workspaces = draft.buffers.filter(({ role }) => role === 'workspace');
  const shapeOf = (buffer: DraftBuffer): readonly Amount[] => parametrised?.workspaces.get(buffer) ?? buffer.shape;
  const ofTiles = [...tiles].filter(([, tile]) => tile.kind !== 'constant');
  const launched = parametrised?.steps ?? steps;
  const endedGrids = growingGrids(draft, launched);
  const isTuned = (extent: Amount): boolean =>
    rootsOf(extent).some((name) => parametrised?.parameters.some((one) => one.name === name));
  const constraints = [
    ...(parametrised?.constraints ?? []).map((one) => printAmount(one)),
    ...ofTiles.map(([dimension, tile]) => `${dimension} % ${printAmount(tile, PRECEDENCE['*']! + 1)} == 0`),
    ...endedGrids.filter(isTuned).map(gridLimit),
  ];
  const plain = new Map([...multiples].filter(([dimension]) => !ofTiles.some(([one]) => one === dimension)));
  const limits = [...limitsOf(plain), ...endedGrids.filter((extent) => !isTuned(extent)).map(gridLimit)];
  const zeroed = draft.buffers.filter(({ role, isZeroed }) => role === 'out' && isZeroed);
  return {
    schemaVersion: 1,
    name,
    description,
    problem: '../problem.json',
    source: { kind: 'cuda', files: ['kernel.cu'] },
    parameters: parametrised && Object.fromEntries(parametrised.parameters.map(parameterEntry)),
    constraints: nonEmpty(constraints),
    limits: nonEmpty(limits),
    workspaces:
      workspaces.length === 0
        ? undefined
        : Object.fromEntries(
            workspaces.map((buffer) => [
              buffer.name,
              {
                bytes: bytesOf(buffer.dtype, shapeOf(buffer)),
                init: buffer.isZeroed ? ('zero' as const) : ('undefined' as const),
              },
            ]),
          ),
    steps: [
      ...zeroed.map(({ name: buffer }) => ({ memset: { buffer, byteValue: 0 } })),
      ...launched.map((step) => ({
        function: step.functionName,
        grid: step.grid.map(expression),
        block: step.block.map(expression),
        ...(isNumber(step.sharedBytes, 0) ? {} : { sharedBytes: expression(step.sharedBytes) }),
        arguments: step.arguments.map(argumentEntry),
      })),
    ],
  };
}

function argumentEntry(
  argument: DraftArgument,
): Extract<KernelSource['steps'][number], { function: string }>['arguments'][number] {
  if (argument.kind === 'null') return { null: true };
  if (argument.kind === 'scalar') return { scalar: expression(argument.value), dtype: argument.dtype };
  const { name } = argument.buffer;
  return isNumber(argument.offset, 0) ? { buffer: name } : { buffer: name, offsetBytes: expression(argument.offset) };
}
