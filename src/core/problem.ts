import { z } from 'zod';
import type { Bound, DType } from './dtype.ts';
import type { Kernel } from './kernel.ts';
import type { Rounding } from './rounding.ts';
import {
  dimensionsSchema,
  dtypeSchema,
  expressionSchema,
  identifierSchema,
  printableSchema,
  writtenDTypeSchema,
} from './schemas/common-schema.ts';
import type { SparseTensors } from './sparse-tensor.ts';
import { SPECIAL_VALUES, type SpecialValue } from './vocabulary.ts';

/** Values of the dimensions, e.g. `{ B: 1, H: 8, S: 512, D: 64, causal: 0 }`. All are integers. */
export type Dimensions = Readonly<Record<string, number>>;

const dimensionDeclaration = z.strictObject({
  description: z.string(),
  minimum: z.int().optional(),
  maximum: z.int().optional(),
  values: z.array(z.int()).min(1).optional().describe('When given, the only values allowed.'),
  default: expressionSchema
    .optional()
    .describe('Used when a workload list leaves the dimension out; an expression may name dimensions declared before.'),
});

export type DimensionDeclaration = z.infer<typeof dimensionDeclaration>;

const drawn = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('normal'),
    mean: z.number().optional(),
    standardDeviation: z.number().positive().optional(),
  }),
  z.strictObject({ kind: z.literal('uniform'), low: z.number(), high: z.number() }),
  z.strictObject({
    kind: z.literal('positive'),
    low: z.number().positive().optional(),
    high: z.number().positive().optional(),
  }),
  z.strictObject({ kind: z.literal('large'), magnitude: z.number().positive() }),
  z.strictObject({ kind: z.literal('one-hot'), magnitude: z.number().optional() }),
  z.strictObject({ kind: z.literal('constant'), value: z.number() }),
  z.strictObject({ kind: z.literal('index-range'), low: expressionSchema, high: expressionSchema }),
  z.strictObject({
    kind: z.literal('zipf'),
    count: expressionSchema,
    exponent: z.number().positive().optional(),
  }),
  z.strictObject({ kind: z.literal('permutation') }),
  z.strictObject({
    kind: z.literal('csr'),
    rows: expressionSchema,
    columns: expressionSchema,
    density: z.number().gt(0).lte(1),
  }),
  z.strictObject({ kind: z.literal('npy'), file: z.string().min(1) }),
  z.strictObject({
    kind: z.literal('sparse'),
    count: z.int().positive().optional().describe('Elements that are not zero; default 64.'),
    magnitude: z.number().optional(),
  }),
  z.strictObject({ kind: z.literal('off-grid') }),
  z.strictObject({
    kind: z.literal('alternating'),
    low: z.number().positive().optional().describe('Least magnitude; default 1/16.'),
    high: z.number().positive().optional().describe('Largest magnitude; default 1.'),
    axis: z.int().nonnegative().optional().describe('Along which signs alternate; the last when absent.'),
  }),
  z.strictObject({
    kind: z.literal('ramp'),
    low: z.number(),
    high: z.number(),
    axis: z.int().nonnegative().optional().describe('Along which values rise; the last when absent.'),
  }),
]);

const special = z.strictObject({
  kind: z.literal('special'),
  value: z.enum(SPECIAL_VALUES),
  ratio: z.number().gt(0).lte(1).optional().describe('Share of the elements; default 0.1.'),
  get of() {
    return generator.optional().describe('The generator of the other values; normal by default.');
  },
});

/** The rule that fills an input. Every generator is seeded; the seed never reaches a kernel. */
export type Generator =
  | z.infer<typeof drawn>
  | { kind: 'special'; value: SpecialValue; ratio?: number; of?: Generator };

const generator: z.ZodType<Generator> = z
  .discriminatedUnion('kind', [...drawn.options, special])
  .meta({ id: 'Generator', description: 'How an input is filled. Every generator is seeded.' });

const comparison = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('exact') }),
    z.strictObject({
      kind: z.literal('ulp'),
      maximumUlps: z.number().nonnegative(),
      terms: expressionSchema
        .optional()
        .describe(
          'Additions in the output’s precision behind one element, which may err by √terms units more. Default 0.',
        ),
    }),
    z.strictObject({
      kind: z.literal('calibrated'),
      storage: writtenDTypeSchema.describe('Dtype of inputs and outputs, narrower than the accumulator.'),
      accumulate: z.literal('f32'),
      roundings: z
        .record(identifierSchema, writtenDTypeSchema)
        .optional()
        .describe(
          'Intermediate results that a kernel may round, by the names reference.ts gives them (`round(weight, "P")`), and to ' +
            'what. {}: only the result may be rounded. Absent: one unnamed rounding of the result’s own size is allowed.',
        ),
      terms: expressionSchema
        .optional()
        .describe('Additions behind one output, for errors of the accumulator. Default 256.'),
      products: expressionSchema
        .optional()
        .describe(
          'Products in the longest sum behind one output. Tensor cores cut off what of each is below the last bit of the sum so far. Absent: there are none.',
        ),
      factor: z.number().positive().optional().describe('Allowed maximum error ÷ the naive run’s. Default 2.'),
      group: z
        .enum(['row', 'all'])
        .optional()
        .describe('Tolerances are set row by row (last axis), or for the whole output. Default row.'),
      rmsFactor: z.number().positive().optional().describe('Allowed RMS error ÷ the naive run’s. Default 1.5.'),
    }),
    // |got − want| ≤ atol + rtol · |want|, as in torch.allclose and numpy.allclose; for matching another test suite.
    z.strictObject({
      kind: z.literal('allclose'),
      atol: z.number().nonnegative().describe('Allowed absolute error.'),
      rtol: z.number().nonnegative().describe('Allowed error ÷ |want|, on top of atol.'),
    }),
    z.strictObject({
      kind: z.literal('conditioned'),
      constant: z.number().positive(),
      unit: writtenDTypeSchema,
      terms: expressionSchema.describe('Number of summed terms.'),
      magnitude: z
        .number()
        .positive()
        .optional()
        .describe(
          'What partial results are never below, whatever comes out: 1 for the logarithm of a sum of exponentials that are relative to their maximum.',
        ),
      roundings: z
        .record(identifierSchema, writtenDTypeSchema)
        .optional()
        .describe(
          'Intermediate results that a kernel may round, by the names the reference gives them, and to what: twice the ' +
            'largest error of the naive run in the row is allowed on top. For formulas that cancel, such as 1 + erf(x).',
        ),
    }),
  ])
  .meta({ id: 'Comparison' });

export type Tolerance = Bound<z.infer<typeof comparison>>;

const scaling = z.strictObject({
  least: z.number().positive().max(1).describe('Smallest factor.'),
  most: z.number().min(1).describe('Largest factor.'),
  offset: z.number().nonnegative().describe('Largest shift, either way, before the factor.'),
  contrast: z
    .number()
    .min(1)
    .optional()
    .describe('Largest factor between values of the input; `most` if absent. 1: all values are scaled alike.'),
});

/** Callers' values x against drawn ones z: x = factor · (z + shift). */
export type Scaling = z.infer<typeof scaling>;

const significant = z.strictObject({
  first: expressionSchema.describe(
    'So many elements in front: an expression of the dimensions, or the name of a buffer of integers with one number for each list along the axis.',
  ),
  axis: z.int().nonnegative().optional().describe('Along which they are counted; 0 when absent.'),
});

const bufferDeclaration = z
  .strictObject({
    description: z.string().optional(),
    dtype: writtenDTypeSchema,
    shape: z.array(expressionSchema).min(1).max(8).describe('One expression per axis, outermost first.'),
    strides: z
      .array(expressionSchema)
      .min(1)
      .max(8)
      .optional()
      .describe('Elements per step of each axis; row-major when absent.'),
    layout: z.string().optional().describe('Names of the axes, e.g. BHSD; documentation only.'),
    alignmentBytes: z.int().positive().optional().describe('Power of two; default 16.'),
    access: z.enum(['in', 'out', 'inout']),
    generator: generator.optional().describe('How the values are drawn; normal when absent. Inputs only.'),
    when: expressionSchema
      .optional()
      .describe('Outputs only: the buffer is there where this is not 0; else kernels get a null pointer for it.'),
    significant: significant
      .optional()
      .describe(
        'Outputs only: the elements that matter, where others may hold anything, such as those behind a length.',
      ),
    comparison: comparison.optional().describe('Outputs only, where the problem’s comparison does not fit.'),
    domain: z
      .array(z.enum(SPECIAL_VALUES))
      .min(1)
      .optional()
      .describe(
        'Special values that callers pass beside ordinary ones; each makes a generator set. Floating-point inputs only.',
      ),
    scaling: z
      .union([scaling, z.literal(false)])
      .optional()
      .describe(
        'How far callers’ values may differ in size from the generator’s; false: not at all. Floating-point inputs only.',
      ),
  })
  .meta({ id: 'Buffer' });

export type BufferDeclaration = Bound<z.infer<typeof bufferDeclaration>>;

const generatorSet = z.record(identifierSchema, generator);

/** One way to fill all inputs: input name → generator. Missing inputs use their own declaration. */
export type GeneratorSet = z.infer<typeof generatorSet>;

const generatorSets = z.record(printableSchema, generatorSet);

const dtypeVariant = z.strictObject({
  description: z.string().optional(),
  comparison: comparison.optional(),
  generatorSets: generatorSets.optional().describe('In place of sets of these names, or beside them.'),
});

/** Schema of problem.json; unknown keys are refused. */
export const problemFileSchema = z.strictObject({
  $schema: z.string().optional(),
  schemaVersion: z.literal(1),
  name: printableSchema,
  description: z.string(),
  dtypes: z
    .partialRecord(dtypeSchema, dtypeVariant)
    .optional()
    .describe('What T may stand for, and what differs between them. The first is meant where none is named.'),
  dimensions: z.record(identifierSchema, dimensionDeclaration),
  limits: z
    .array(expressionSchema)
    .min(1)
    .optional()
    .describe('Conditions over the dimensions that every shape meets, e.g. D % 8 == 0 && D <= 256.'),
  inputs: z.record(identifierSchema, bufferDeclaration),
  outputs: z.record(identifierSchema, bufferDeclaration),
  scalars: z
    .record(
      identifierSchema,
      z.strictObject({ description: z.string().optional(), dtype: writtenDTypeSchema, value: expressionSchema }),
    )
    .optional(),
  flop: expressionSchema.describe('Floating-point operations of the usual algorithm.'),
  minimumFlop: expressionSchema.describe('Floating-point operations no algorithm can avoid.'),
  minimumReadBytes: expressionSchema.describe('Bytes that must be read from DRAM when caches are cold.'),
  reducedAxis: z
    .strictObject({
      input: z.string(),
      axis: z.int().nonnegative(),
      symmetric: z
        .boolean()
        .optional()
        .describe('Whether the output is independent of the order along it, like a sum.'),
    })
    .optional()
    .describe('Axis of an input over which the operation reduces, for audit’s generic wrong kernels.'),
  independentDimensions: z
    .array(z.string())
    .min(1)
    .optional()
    .describe(
      'Dimensions whose growth only adds independent work, in the order in which to grow them, for workload advice.',
    ),
  workloads: z
    .array(
      z.strictObject({
        name: printableSchema,
        dimensions: dimensionsSchema,
        cache: z.enum(['hot', 'cold']).optional(),
        weight: z.number().positive().optional(),
      }),
    )
    .min(1),
  checkShapes: z
    .array(z.strictObject({ dimensions: dimensionsSchema, generators: z.array(z.string()).min(1).optional() }))
    .min(1)
    .describe('Shapes that are only verified: run whole, once per generator set, or once for each that is named.'),
  generatorSets: generatorSets.optional(),
  mistakes: z
    .record(printableSchema, z.string())
    .optional()
    .describe(
      'Mistakes that kernels for this problem make, by name, with a description. reference.ts exports them for audit.',
    ),
  comparison,
  toleranceShare: z
    .number()
    .gt(0)
    .lte(1)
    .optional()
    .describe('Largest tolerance ÷ spread of the right values with which a check still sees anything. Default 0.25.'),
  determinism: z.enum(['bitwise', 'tolerance']),
  start: printableSchema.describe('Folder name of the kernel a run starts from.'),
  rungs: z.array(printableSchema).min(1).describe('Folder names of all rungs, in ladder order.'),
  referenceFile: z
    .enum(['reference.ts', 'reference.js', 'reference.py'])
    .optional()
    .describe('The file that decides what is right, where the folder has several.'),
  originalKernel: printableSchema
    .optional()
    .describe(
      'Folder name of a kernel whose results on a virtual GPU are right by definition, in place of a reference. It proves that others compute the same, no more.',
    ),
  deviceReference: printableSchema
    .describe(
      'Folder name of a kernel that computes the reference on a GPU, for shapes that take long on a host. It fills a workspace ' +
        '`<output>_exact` (f64) for every output and, if the comparison names roundings, `<output>_naive` (the output’s ' +
        'dtype), both dense.',
    )
    .optional(),
});

/** problem.json as written: `T` may stand for a dtype, and expressions may name `dtype.bytes`. */
export interface ProblemSource extends z.infer<typeof problemFileSchema> {}

/** A problem of one dtype: what everything but loading knows. `dtype`: what `T` stands for, where there are several. */
export interface ProblemFile extends Bound<Omit<ProblemSource, 'dtypes'>> {
  dtype?: DType;
}

/** Reference inputs and outputs are decoded element by element to float64, row-major. */
export type ReferenceTensors = Readonly<Record<string, Float64Array>>;
/** What reference.ts exports. Pure: it changes none of its inputs. */
export type ReferenceFunction = (
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  /** Called on the result of each operation; with a `name` for results that problem.json may allow kernels to round. */
  round: (value: number, name?: string) => number,
  /** Absent where somebody else than warpsmith calls the reference. */
  float64Room?: (elements: number) => Float64Room,
) => ReferenceTensors;

/** Output → numbers of rows, ascending; a row is a run along the output's last axis. */
export type Rows = Readonly<Record<string, Uint32Array>>;

/**
 * Optional export `referenceRows` of reference.ts: computes only some rows of `reference`'s result, for shapes for which
 * the whole takes long. Returns, for every output, the requested rows one after the other. Checks of large shapes then compare
 * a sample of rows; where the whole takes hardly longer than reading the inputs, that would be a loss. Such a reference exports
 * the same function as `referenceRowsOfSparse` instead, which is used for sparse inputs only.
 */
export type ReferenceRowsFunction = (
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  round: (value: number, name?: string) => number,
  rows: Rows,
  float64Room?: (elements: number) => Float64Room,
) => ReferenceTensors;

/** Row-major values in arrays of a room. */
export interface Float64Matrix {
  readonly values: Float64Array;
  readonly rows: number;
  readonly columns: number;
  /** Elements from one row to the next; `columns` by default. */
  readonly stride?: number;
}

/**
 * Memory in which products of float64 matrices take a quarter of the time that loops in JavaScript take, and have the same bits:
 * each sum begins with 0 and has its terms in order, and each product and each sum is rounded. For references of large shapes.
 */
export interface Float64Room {
  /** Room for so many elements, of which the whole has as many as were asked for. They hold anything. @throws RangeError if there is none left. */
  array(length: number): Float64Array;
  /** c[m, n] = Σ_k a[m, k] · b[k, n]. `c` overlaps neither. @throws RangeError if matrices don't fit or lie elsewhere. */
  multiply(c: Float64Matrix, a: Float64Matrix, b: Float64Matrix): void;
  /** c[m, n] = Σ_k a[m, k] · b[n, k]. `c` overlaps neither. @throws RangeError if matrices don't fit or lie elsewhere. */
  multiplyByTransposed(c: Float64Matrix, a: Float64Matrix, b: Float64Matrix): void;
  /** In place: x = exp(x − subtracted), the bits of Math.exp. @returns their sum, in order. */
  exponentials(x: Float64Array, subtracted: number): number;
}

/** Small relative changes of some inputs, the same for the same `run`. */
export interface Perturbation {
  /** Of the inputs that change, in the problem's order. */
  readonly names: readonly string[];
  readonly run: number;
  /** Their standard deviation. */
  readonly relative: number;
}

/** One run of a problem's reference. */
export interface ReferenceRun {
  readonly inputs: ReferenceTensors;
  /**
   * Further inputs, which the reference is given whole and nobody else reads whole: that it leaves them as they are is not checked. Only for references that
   * `takesSparse`, with `rows` and without a `mistake`.
   */
  readonly sparse?: SparseTensors | undefined;
  readonly dimensions: Dimensions;
  readonly rounding: Rounding;
  /** Compute only these rows of every output, if the reference can; otherwise it returns all. */
  readonly rows?: Rows | undefined;
  /** One of problem.json's `mistakes` instead of the reference. */
  readonly mistake?: string | undefined;
  /** Only for references that `perturbs`: change the inputs so before the run. */
  readonly perturbation?: Perturbation | undefined;
  /** Aborting ends the run at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a problem's reference, in any process. Rejects with a WarpsmithError if the reference is at fault, and with the
 * signal's reason if aborted.
 */
export interface RunReference {
  (run: ReferenceRun): Promise<ReferenceTensors>;
  /** How many runs of some rows each go on side by side; 1 if the reference can't compute single rows. Absent: 1. */
  readonly sideBySide?: (signal?: AbortSignal) => Promise<number>;
  /** Whether it perturbs inputs itself, in its own process. Absent: whoever asks does. */
  readonly perturbs?: boolean;
  /** Whether it computes rows on sparse inputs. Absent: it can't. Rejects as a run does if the reference can't be loaded. */
  readonly takesSparse?: (signal?: AbortSignal) => Promise<boolean>;
}

/** A loaded problem folder. */
export interface Problem {
  readonly folder: string;
  readonly file: ProblemFile;
  /** Those that problem.json lists, of which `file` is bound to one; absent if each buffer has a fixed one. */
  readonly dtypes?: readonly DType[];
  readonly reference: RunReference;
  /** Where the reference lies; absent if it is the caller's own function. */
  readonly referenceFile?: string;
  /** Throws if the problem's host code may not run. Absent if the host code is the caller's own. */
  readonly requireTrusted?: () => void;
  /** Trusted as reference.ts is; problem.json's `deviceReference`. */
  readonly deviceReference?: Kernel;
}

/** One binding of the dimensions. `name` is the declared name, or a canonical one such as `b1h8s512d64`. */
export interface Workload {
  readonly name: string;
  readonly dimensions: Dimensions;
  readonly cache: 'hot' | 'cold';
}
