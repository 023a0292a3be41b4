import { basename } from 'node:path';
import { z } from 'zod';
import { isFloating } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { Dimensions, ProblemSource } from '../../core/problem.ts';
import { bothSigns, comparisonFor, distinctShapes } from '../drafted-problem.ts';
import { dtypeNamed, type Imported, type Signature, START, stubKernel, stubText } from './imported.ts';

/*
 * Definitions and workloads of FlashInfer Trace, as problems. Source of the format: flashinfer-bench, "FlashInfer Trace Schema".
 */

const axis = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('const'), value: z.int().positive() }),
  z.looseObject({ type: z.literal('var') }),
]);

const tensor = z.looseObject({ shape: z.array(z.string()).nullable(), dtype: z.string() });

const definitionSchema = z.looseObject({
  name: z.string().regex(/^[\w.-]+$/),
  description: z.string().optional(),
  axes: z.record(z.string().regex(/^[A-Za-z_]\w*$/), axis),
  inputs: z.record(z.string().regex(/^[A-Za-z_]\w*$/), tensor),
  outputs: z.record(z.string().regex(/^[A-Za-z_]\w*$/), tensor),
  reference: z.string().min(1),
});

export type Definition = z.infer<typeof definitionSchema>;
type Tensor = z.infer<typeof tensor>;

const workloadSchema = z.looseObject({
  workload: z.looseObject({
    axes: z.record(z.string(), z.int().positive()),
    inputs: z.record(z.string(), z.looseObject({ type: z.string(), value: z.number().optional() })).optional(),
  }),
});

type TraceWorkload = z.infer<typeof workloadSchema>['workload'];

/** @throws WarpsmithError `invalid-json`, `not-a-definition`. */
export function parseDefinition(text: string, file: string): Definition {
  const parsed = definitionSchema.safeParse(parseJson(text, file));
  if (parsed.success) return parsed.data;
  throw notADefinition(
    file,
    'not-a-definition',
    parsed.error,
    'a definition of FlashInfer Trace: name, axes, inputs, outputs, reference',
  );
}

/** One workload a line. @throws WarpsmithError `invalid-json`, `not-a-workload`. */
export function parseWorkloads(text: string, file: string): TraceWorkload[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const parsed = workloadSchema.safeParse(parseJson(line, file));
    if (parsed.success) return parsed.data.workload;
    throw notADefinition(
      file,
      'not-a-workload',
      parsed.error,
      'lines of FlashInfer Trace, each with "workload": { "axes", "inputs" }',
    );
  });
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    throw new WarpsmithError({
      ...{ code: 'invalid-json', message: `${file} is not JSON: ${message}`, file, received: message },
      ...{ expected: 'JSON', hint: 'A definition is one JSON object; workloads are one a line.' },
    });
  }
}

function notADefinition(file: string, code: string, error: z.ZodError, expected: string): WarpsmithError {
  const [issue] = error.issues;
  const path = issue!.path.join('.');
  return new WarpsmithError({
    ...{ code, message: `${file}: ${path}: ${issue!.message}.`, file, path, received: issue!.message },
    ...{ expected, hint: 'Only definitions and workloads of FlashInfer Trace are imported from JSON.' },
  });
}

/**
 * A problem from a definition and its workloads.
 *
 * @param values numbers of scalar inputs, and of axes where there are no workloads.
 * @throws WarpsmithError `unsupported-type`, `missing-value`, `unsupported-input`.
 */
export function importDefinition(
  definition: Definition,
  workloads: readonly TraceWorkload[],
  values: ParameterValues,
  file: string,
): Imported {
  const tensors = Object.entries(definition.inputs).filter(([, { shape }]) => shape !== null);
  const scalars = Object.entries(definition.inputs).filter(([, { shape }]) => shape === null);
  const numbers = Object.fromEntries(scalars.map(([name]) => [name, scalarValue(name, workloads, values, file)]));
  refuseStored(workloads, file);
  const floating = tensors.filter(([, { dtype }]) => isFloating(dtypeOf(dtype, file)));
  const shapes = workloadShapes(definition, workloads, values, file);
  const whole = tensors.filter(([, { dtype }]) => !isFloating(dtypeOf(dtype, file))).map(([name]) => name);
  const problem: ProblemSource = {
    schemaVersion: 1,
    name: definition.name,
    description: definition.description ?? `${definition.name}, from FlashInfer Trace.`,
    dimensions: Object.fromEntries(
      Object.entries(definition.axes).map(([name, one]) => [
        name,
        one.type === 'const'
          ? { description: `${name}, constant.`, values: [one.value], default: one.value }
          : { description: name, minimum: 1 },
      ]),
    ),
    inputs: Object.fromEntries(
      tensors.map(([name, one]) => {
        const generator = isFloating(dtypeOf(one.dtype, file))
          ? {}
          : { generator: { kind: 'index-range' as const, low: 0, high: 2 } };
        return [name, { ...buffer(one, file), access: 'in' as const, ...generator }];
      }),
    ),
    outputs: Object.fromEntries(
      Object.entries(definition.outputs).map(([name, one]) => [
        name,
        {
          ...buffer(one, file),
          access: 'out' as const,
          comparison: comparisonFor(dtypeOf(one.dtype, file), termsOf(definition)),
        },
      ]),
    ),
    scalars:
      scalars.length === 0
        ? undefined
        : Object.fromEntries(
            scalars.map(([name, { dtype }]) => [name, { dtype: dtypeOf(dtype, file), value: numbers[name]! }]),
          ),
    flop: Object.values({ ...Object.fromEntries(tensors), ...definition.outputs })
      .map(elements)
      .join(' + '),
    minimumFlop: 0,
    minimumReadBytes: 0,
    workloads: shapes.map((dimensions) => ({ name: nameOf(definition, dimensions), dimensions })),
    checkShapes: checkShapes(definition).map((dimensions) => ({ dimensions })),
    ...bothSigns(floating.map(([name]) => name)),
    comparison: { kind: 'exact' },
    determinism: 'bitwise',
    start: START,
    rungs: [START],
  };
  const signature = signatureOf(definition, file);
  return {
    problem,
    kernel: stubKernel(signature),
    files: {
      'definition.py': `${definition.reference.trimEnd()}\n`,
      'reference.py': referenceText(definition, numbers, file),
      [`${START}/kernel.cu`]: stubText(signature),
    },
    notes: [
      'reference.py calls run() of definition.py with NumPy’s or PyTorch’s narrower floating types standing for float64: read it before you trust a verdict.',
      `${START} is a stub: write the kernel, and how to launch it.`,
      'flop counts elements, minimumFlop and minimumReadBytes are 0: nothing in a definition says more. Correct them for useful bounds.',
      ...(whole.length > 0
        ? [`Integers of ${whole.join(', ')} are drawn from 0 and 1, a guess: correct their generators.`]
        : []),
    ],
    // flashinfer-bench's defaults.
    original: {
      inputs: 'normal inputs, at the first workload’s shape',
      tolerances: [{ kind: 'allclose', atol: 1e-2, rtol: 1e-2 }],
    },
  };
}

const dtypeOf = dtypeNamed('Pack narrower types into int32 or uint8 by hand.');

const buffer = ({ shape, dtype }: Tensor, file: string) => ({
  dtype: dtypeOf(dtype, file),
  shape: shape!.length === 0 ? [1] : [...shape!],
});

const elements = ({ shape }: Tensor): string => (shape!.length === 0 ? '1' : shape!.join(' * '));

/** Sums are taken to be as long as the longest constant axis, or as any axis that varies. */
const termsOf = ({ axes }: Definition): string => `max(16, ${Object.keys(axes).join(', ') || '16'})`;

function scalarValue(name: string, workloads: readonly TraceWorkload[], values: ParameterValues, file: string): number {
  const given = values[name];
  if (given !== undefined) return given;
  const found = new Set(workloads.flatMap(({ inputs = {} }) => inputs[name]?.value ?? []));
  const [only] = found;
  if (found.size === 1) return only!;
  throw new WarpsmithError({
    code: 'missing-value',
    message: `${name} has ${found.size === 0 ? 'no value' : 'several values in the workloads'}.`,
    file,
    path: '--value',
    received: [...found].join(', ') || 'none',
    expected: 'one number: a problem has one value of each scalar',
    hint: `Say it: --value ${name}=0.125`,
  });
}

function refuseStored(workloads: readonly TraceWorkload[], file: string): void {
  const stored = workloads.flatMap(({ inputs = {} }) =>
    Object.entries(inputs).filter(([, { type }]) => type !== 'random' && type !== 'scalar'),
  );
  if (stored.length === 0) return;
  const [name, { type }] = stored[0]!;
  throw new WarpsmithError({
    ...{
      code: 'unsupported-input',
      message: `${name} of a workload comes from ${type}.`,
      file,
      path: name,
      received: type,
    },
    expected: 'inputs that are random, or scalars',
    hint: 'Import the definition without --workloads, and give such inputs a generator in problem.json, e.g. npy.',
  });
}

function workloadShapes(
  { axes }: Definition,
  workloads: readonly TraceWorkload[],
  values: ParameterValues,
  file: string,
): Dimensions[] {
  const complete = (given: ParameterValues): Dimensions =>
    Object.fromEntries(
      Object.entries(axes).map(([name, one]) => {
        const value = one.type === 'const' ? one.value : given[name];
        if (value !== undefined) return [name, value];
        throw new WarpsmithError({
          ...{
            code: 'missing-value',
            message: `Nothing says how long axis ${name} is.`,
            file,
            path: '--value',
            received: 'no workload',
          },
          ...{ expected: 'workloads, or a value', hint: `--workloads FILE.jsonl, or --value ${name}=128` },
        });
      }),
    );
  const shapes = (workloads.length > 0 ? workloads.map((one) => one.axes) : [values]).map(complete);
  return distinctShapes(shapes);
}

const nameOf = ({ axes }: Definition, dimensions: Dimensions): string =>
  Object.entries(dimensions)
    .filter(([name]) => axes[name]!.type === 'var')
    .map(([name, value]) => `${name}${value}`)
    .join('-') || 'only';

/** Small and awkward in every axis that varies. */
const SIZES = [
  [5, 3, 2],
  [1, 2, 5],
  [17, 1, 3],
];

function checkShapes({ axes }: Definition): Dimensions[] {
  const varying = Object.entries(axes).filter(([, { type }]) => type === 'var');
  const fixed = Object.fromEntries(
    Object.entries(axes).flatMap(([name, one]) => (one.type === 'const' ? [[name, one.value]] : [])),
  );
  const rows = varying.length === 0 ? SIZES.slice(0, 1) : SIZES;
  return rows.map((sizes) => ({
    ...fixed,
    ...Object.fromEntries(varying.map(([name], i) => [name, sizes[i % sizes.length]!])),
  }));
}

function referenceText(
  { name, inputs, outputs, reference }: Definition,
  numbers: ParameterValues,
  file: string,
): string {
  const passed = Object.entries(inputs).map(([input, { shape, dtype }]) => {
    if (shape === null) return `${input}=${numbers[input]}`;
    const value = `inputs[${JSON.stringify(input)}]`;
    return `${input}=${isFloating(dtypeOf(dtype, file)) ? value : `whole(${value})`}`;
  });
  const libraries = ['numpy', 'torch'].filter((library) =>
    new RegExp(`^\\s*(?:import|from)\\s+${library}\\b`, 'm').test(reference),
  );
  return [
    `"""DRAFT. Calls run() of definition.py, the reference of ${name}, with float64 in place of narrower types. Then remove this text."""`,
    '',
    ...libraries.map((library) => `import ${library}  # noqa: F401`),
    'from warpsmith_reference.widen import whole, widen  # noqa: F401',
    '',
    'widen()',
    '',
    'import definition  # noqa: E402',
    '',
    '',
    'def reference(inputs, dimensions):',
    `    results = definition.run(${passed.join(', ')})`,
    '    if isinstance(results, dict):',
    '        return results',
    '    if not isinstance(results, tuple):',
    '        results = (results,)',
    `    return dict(zip(${JSON.stringify(Object.keys(outputs))}, results))`,
    '',
  ].join('\n');
}

function signatureOf({ name, inputs, outputs, axes }: Definition, file: string): Signature {
  const constants = Object.entries(axes).flatMap(([axis, one]) => (one.type === 'const' ? [[axis, one.value]] : []));
  return {
    ...{ name, about: basename(file) },
    inputs: Object.entries(inputs).map(([input, { shape, dtype }]) => ({
      ...{ name: input, dtype: dtypeOf(dtype, file), isScalar: shape === null },
    })),
    outputs: Object.entries(outputs).map(([output, { dtype }]) => ({ name: output, dtype: dtypeOf(dtype, file) })),
    dimensions: Object.keys(axes).filter((axis) => axes[axis]!.type === 'var'),
    constants: Object.fromEntries(constants),
  };
}
