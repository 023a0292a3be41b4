import { basename } from 'node:path';
import { type DType, isFloating } from '../../core/dtype.ts';
import type { Dimensions, Generator, ProblemSource } from '../../core/problem.ts';
import { nonEmpty } from '../../core/values.ts';
import type { ModuleDescription } from '../../evaluation/oracle/reference-process/describe-module.ts';
import { comparisonFor, distinctShapes, identifierOf } from '../drafted-problem.ts';
import { DTYPES, dtypeNamed, type Imported, type Signature, START, stubKernel, stubText } from './imported.ts';

/*
 * Modules of KernelBench as problems. Source of the format and of its checks: github.com/ScalingIntelligence/KernelBench, README.md
 * and src/kernelbench/eval.py.
 */

/** As eval.py compares in fp32: 0.01 in the published version 0.1, 1e-4 since. */
const TOLERANCES = [1e-2, 1e-4];
const TRIALS = 5;

type Input = ModuleDescription['inputs'][number];
type TensorInput = Extract<Input, { kind: 'tensor' }>;
type Parameter = ModuleDescription['tensors'][number];

/** A buffer that kernels read: an input of forward(), or a tensor of the model. */
interface Read {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly string[];
  readonly of: TensorInput | Parameter;
}

/**
 * A problem from a module and what running it showed.
 *
 * @throws WarpsmithError `unsupported-type` for tensors that problems can't hold.
 */
export function importModule(module: ModuleDescription, text: string, file: string): Imported {
  const name = identifierOf(basename(file, '.py'));
  const taken = new Set(module.dimensions.map((one) => one.name));
  const named = (wanted: string): string => {
    let free = identifierOf(wanted);
    while (taken.has(free)) free = `${free}_`;
    taken.add(free);
    return free;
  };
  const inputs = module.inputs.map((of) => ({ of, name: named(of.name) }));
  const kept = module.tensors.filter(({ isState }) => !isState).map((of) => ({ of, name: named(of.name) }));
  const numbers = inputs.flatMap(({ of, name: own }) => (of.kind === 'number' ? [{ of, name: own }] : []));
  const reads: Read[] = [
    ...inputs.flatMap(({ of, name: own }) => (of.kind === 'tensor' ? [{ of, name: own }] : [])),
    ...kept,
  ].map(({ of, name: own }) => ({ of, name: own, dtype: dtypeOf(of.dtype, file), shape: shapeOf(of.shape) }));
  const outputs = module.results.map(({ shape, dtype }, i) => ({
    name: named(module.results.length === 1 ? 'out' : `out${i}`),
    ...{ dtype: dtypeOf(dtype, file), shape: shapeOf(shape) },
  }));
  const signature: Signature = {
    ...{ name, about: basename(file) },
    inputs: inputs
      .map(({ of, name: own }) => ({
        name: own,
        dtype: of.kind === 'tensor' ? dtypeOf(of.dtype, file) : numberType(of),
        isScalar: of.kind === 'number',
      }))
      .concat(kept.map(({ of, name: own }) => ({ name: own, dtype: dtypeOf(of.dtype, file), isScalar: false }))),
    ...{ outputs, dimensions: module.dimensions.map((one) => one.name) },
  };
  const floating = reads.filter(({ dtype }) => isFloating(dtype));
  const all = (generator: Generator) => Object.fromEntries(floating.map((one) => [one.name, drawnFor(one, generator)]));
  const limits = module.dimensions.filter(({ step }) => step > 1).map(({ name: own, step }) => `${own} % ${step} == 0`);
  const problem: ProblemSource = {
    ...{ schemaVersion: 1, name, description: `${name}, from a module of KernelBench.` },
    dimensions: dimensionsOf(module),
    limits: nonEmpty(limits),
    inputs: Object.fromEntries(
      reads.map(({ name: own, dtype, shape, of }) => [
        own,
        { dtype, shape: [...shape], access: 'in' as const, ...wholeGenerator(dtype, of) },
      ]),
    ),
    outputs: Object.fromEntries(
      outputs.map(({ name: own, dtype, shape }) => [
        own,
        { dtype, shape: [...shape], access: 'out' as const, comparison: comparisonOf(dtype, reads, module.reach) },
      ]),
    ),
    scalars:
      numbers.length === 0
        ? undefined
        : Object.fromEntries(numbers.map(({ name: own, of }) => [own, { dtype: numberType(of), value: of.value }])),
    flop: [...reads, ...outputs].map(({ shape }) => shape.map(inBrackets).join(' * ')).join(' + '),
    ...{ minimumFlop: 0, minimumReadBytes: 0 },
    workloads: workloadsOf(module),
    checkShapes: checkShapes(module).map((dimensions) => ({ dimensions })),
    generatorSets: floating.length > 0 ? setsOf(module, reads, all) : undefined,
    ...{ comparison: { kind: 'exact' }, determinism: 'bitwise', start: START, rungs: [START] },
  };
  return {
    problem,
    kernel: stubKernel(signature),
    files: {
      'model.py': `${text.trimEnd()}\n`,
      'reference.py': referenceText(module, inputs, kept, outputs, basename(file)),
      [`${START}/kernel.cu`]: stubText(signature),
    },
    notes: notesOf(module, reads),
    original: {
      inputs: `${TRIALS} trials with the module’s own inputs and parameters, of one shape`,
      tolerances: TOLERANCES.map((one) => ({ kind: 'allclose', atol: one, rtol: one })),
      generatorSets: trials(reads),
    },
  };
}

const dtypeOf = dtypeNamed(
  'Let the module take and return another type: mask.to(torch.uint8) in place of a bool tensor.',
);

const numberType = ({ isWhole }: Extract<Input, { kind: 'number' }>): DType => (isWhole ? 'i32' : 'f32');
const shapeOf = (shape: readonly string[]): readonly string[] => (shape.length === 0 ? ['1'] : shape);
const inBrackets = (expression: string): string => (/^\w+$/.test(expression) ? expression : `(${expression})`);

/** A problem has at least one dimension. */
const ONLY = 'fixed';

const dimensionsOf = ({ dimensions }: ModuleDescription): ProblemSource['dimensions'] =>
  dimensions.length === 0
    ? { [ONLY]: { description: 'No size of the module can change.', values: [1], default: 1 } }
    : Object.fromEntries(
        dimensions.map(({ name, minimum }) => [name, { description: `${name} of the module.`, minimum }]),
      );

/** Zero-mean and positive inputs, where the module has results for them; else its own. */
function setsOf(
  { bears }: ModuleDescription,
  reads: readonly Read[],
  all: (generator: Generator) => Record<string, Generator>,
): ProblemSource['generatorSets'] {
  const sets = {
    ...(bears.normal && { normal: all({ kind: 'normal' }) }),
    ...(bears.positive && { positive: all({ kind: 'positive' }) }),
  };
  return Object.keys(sets).length > 0 ? sets : { own: ownInputs(reads) };
}

/** Statistics such as a variance, which models keep in buffers, stay positive. */
const drawnFor = ({ of }: Read, wanted: Generator): Generator =>
  'isBuffer' in of && of.isBuffer && isPositive(of) ? { kind: 'positive' } : wanted;

const isPositive = ({ spread }: Parameter): boolean =>
  spread.kind === 'constant' ? spread.value > 0 : spread.kind === 'uniform' && spread.low > 0;

function wholeGenerator(dtype: DType, of: Read['of']): { generator?: Generator } {
  if (isFloating(dtype)) return {};
  const { low, high } = 'filling' in of && of.filling?.kind === 'whole' ? of.filling : rangeOf(of);
  return { generator: { kind: 'index-range', low, high } };
}

function rangeOf({ spread }: Read['of']): { low: number; high: number } {
  if (spread.kind === 'constant') return { low: spread.value, high: spread.value + 1 };
  const [low, high] =
    spread.kind === 'uniform' ? [spread.low, spread.high] : [spread.mean, spread.mean + 3 * spread.standardDeviation];
  return { low: Math.floor(low), high: Math.ceil(high) + 1 };
}

/** The run in which this is rounded computes in float32, as PyTorch does: gelu's 1 + erf(x) loses digits there. */
const SINGLE = 'single';

/** What layers do with a sum: a bias, a factor, an activation. */
const OPERATIONS_BESIDE = 16;

/**
 * Sums are taken to be as long as a result follows from elements of one input, where that is known, else as the longest axis of an
 * input; or as all axes of a parameter but its first, which is the result's. Each term is a product and an addition.
 */
function comparisonOf(dtype: DType, reads: readonly Read[], reach: string | null): ProblemSource['comparison'] {
  const ofInputs = reach === null ? reads.flatMap(({ shape, of }) => ('isBuffer' in of ? [] : [...shape])) : [reach];
  const ofParameters = reads.flatMap(({ shape, of }) =>
    'isBuffer' in of && shape.length > 1 ? [shape.slice(1).map(inBrackets).join(' * ')] : [],
  );
  const lengths = [...ofInputs, ...ofParameters];
  const terms = `2 * max(${[...new Set(['1', '2', ...lengths])].join(', ')}) + ${OPERATIONS_BESIDE}`;
  return { ...comparisonFor(dtype, terms), ...(dtype === 'f32' && { roundings: { [SINGLE]: dtype } }) };
}

function workloadsOf({ dimensions, quick }: ModuleDescription): ProblemSource['workloads'] {
  if (dimensions.length === 0) return [{ name: 'only', dimensions: { [ONLY]: 1 } }];
  const own = Object.fromEntries(dimensions.map(({ name, value }) => [name, value]));
  const isSmaller = dimensions.some(({ name, value }) => quick[name]! < value);
  return (isSmaller ? [quick, own] : [own]).map((sizes) => ({ name: nameOf(sizes), dimensions: sizes }));
}

const nameOf = (sizes: Dimensions): string =>
  Object.entries(sizes)
    .map(([name, value]) => `${name}${value}`)
    .join('-');

/** Small and awkward in every size: how many steps beyond the least. */
const AWKWARD = [
  [4, 2, 6, 1, 3],
  [16, 32, 2, 6, 0],
  [2, 12, 9, 4, 7],
];

function checkShapes({ dimensions }: ModuleDescription): Dimensions[] {
  if (dimensions.length === 0) return [{ [ONLY]: 1 }];
  const shapes = AWKWARD.map((steps) =>
    Object.fromEntries(
      dimensions.map(({ name, minimum, step }, i) => [name, minimum + step * steps[i % steps.length]!]),
    ),
  );
  return distinctShapes(shapes);
}

/** Inputs and parameters as the module draws them. */
function ownInputs(reads: readonly Read[]): Record<string, Generator> {
  const drawn = reads.flatMap(({ name, dtype, of }): [string, Generator][] => {
    if (!isFloating(dtype)) return [];
    const filling = 'filling' in of ? of.filling : null;
    if (filling?.kind === 'uniform') return [[name, { kind: 'uniform', low: 0, high: 1 }]];
    return [[name, filling?.kind === 'normal' ? { kind: 'normal' } : of.spread]];
  });
  return Object.fromEntries(drawn);
}

/** The same, once for each trial. */
function trials(reads: readonly Read[]): ProblemSource['generatorSets'] {
  const set = ownInputs(reads);
  if (Object.keys(set).length === 0) return undefined;
  return Object.fromEntries(Array.from({ length: TRIALS }, (_, i) => [`trial ${i + 1}`, set]));
}

function notesOf(
  { fixed, dimensions, inputs, tensors, bears, reach }: ModuleDescription,
  reads: readonly Read[],
): string[] {
  const made = inputs.filter((one) => one.kind === 'tensor' && one.filling === null).map(({ name }) => name);
  const state = tensors.filter(({ isState }) => isState).map(({ name }) => name);
  const changed = Object.entries(fixed).map(([name, value]) => `${name}=${value}`);
  return [
    'reference.py runs model.py in float64, with the kernel’s inputs, parameters and buffers: read both before you trust a verdict.',
    `${START} is a stub: write the kernel, and how to launch it.`,
    dimensions.length === 0
      ? 'No whole number at the top of the module is a size that may change: every check has the one shape.'
      : `Sizes that may change: ${dimensions.map(({ name }) => name).join(', ')}. Everything else of the module stays as it is.`,
    ...(changed.length > 0 ? [`Given in place of the module’s: ${changed.join(', ')}.`] : []),
    ...(made.length > 0
      ? [
          `${made.join(', ')}: made from random numbers by the module. Here all elements are drawn: give them a generator if kernels may rely on how they are made.`,
        ]
      : []),
    ...(bears.normal
      ? []
      : [
          `With zero-mean inputs its results are not finite: they are not drawn, ${bears.positive ? 'positive ones are' : 'only its own kind is'}.`,
        ]),
    ...(state.length > 0 ? [`Left out, because a run only updates them: ${state.join(', ')}.`] : []),
    ...(reads.some(({ of }) => 'isBuffer' in of)
      ? ['Parameters are inputs, drawn like them; the module’s own would be the same in every trial.']
      : []),
    `flop counts elements, minimumFlop and minimumReadBytes are 0: correct them for useful bounds. terms of the comparison ${reach === null ? 'are guessed from the shapes' : 'say how many elements of an input a result follows from'}.`,
  ];
}

function referenceText(
  { dimensions, fixed }: ModuleDescription,
  inputs: readonly { readonly of: Input; readonly name: string }[],
  kept: readonly { readonly of: Parameter; readonly name: string }[],
  outputs: readonly { readonly name: string; readonly dtype: DType }[],
  file: string,
): string {
  const passed = inputs.map(({ of, name }) => {
    if (of.kind === 'number') return of.isWhole ? String(of.value) : floatText(of.value);
    const value = `inputs[${JSON.stringify(name)}]`;
    return isFloating(DTYPES[of.dtype]!) ? value : `whole(${value})`;
  });
  const sizes = [
    ...Object.entries(fixed)
      .filter(([name]) => dimensions.every((one) => one.name !== name))
      .map(([name, value]) => `${JSON.stringify(name)}: ${value}`),
    ...dimensions.map(({ name }) => `${JSON.stringify(name)}: dimensions[${JSON.stringify(name)}]`),
  ];
  const places = kept.map(({ of, name }) => `${JSON.stringify(of.name)}: inputs[${JSON.stringify(name)}]`);
  return [
    `"""Runs model.py (${file}, a module of KernelBench) in float64: its Model at these sizes, with these parameters."""`,
    '',
    'import os',
    '',
    'import torch  # noqa: F401',
    'from warpsmith_reference.kernelbench import Module, is_single',
    'from warpsmith_reference.widen import whole, widen  # noqa: F401',
    '',
    'widen()',
    '',
    'MODULE = Module(os.path.join(os.path.dirname(__file__), "model.py"))',
    '',
    '',
    'def reference(inputs, dimensions, round):',
    `    sizes = {${sizes.join(', ')}}`,
    `    tensors = {${places.join(', ')}}`,
    `    results = MODULE.run(sizes, tensors, [${passed.join(', ')}], is_single(round))`,
    `    return dict(zip(${JSON.stringify(outputs.map(({ name }) => name))}, results))`,
    '',
    '',
    '# Its layers round nothing one by one.',
    'reference.rounds_named_only = True',
    '',
  ].join('\n');
}

/** As Python reads it. */
const floatText = (value: number): string => (Number.isInteger(value) ? `${value}.0` : String(value));
