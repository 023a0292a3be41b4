import { z } from 'zod';
import { type Generator, type ProblemSource, SPECIAL_VALUES } from '../problem.ts';
import {
  type Assert,
  dimensionsSchema,
  dtypeSchema,
  expressionSchema,
  identifierSchema,
  type Matches,
  printableSchema,
  writtenDTypeSchema,
} from './common-schema.ts';

const dimensionDeclaration = z.strictObject({
  description: z.string(),
  minimum: z.int().optional(),
  maximum: z.int().optional(),
  values: z.array(z.int()).min(1).optional().describe('When given, the only values allowed.'),
  default: expressionSchema
    .optional()
    .describe('Used when a workload list leaves the dimension out; an expression may name dimensions declared before.'),
});

const generator: z.ZodType<Generator> = z
  .discriminatedUnion('kind', [
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
      kind: z.literal('special'),
      value: z.enum(SPECIAL_VALUES),
      ratio: z.number().gt(0).lte(1).optional().describe('Share of the elements; default 0.1.'),
      get of() {
        return generator.optional().describe('The generator of the other values; normal by default.');
      },
    }),
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
  ])
  .meta({ id: 'Generator', description: 'How an input is filled. Every generator is seeded.' });

const comparison = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('exact') }),
    z.strictObject({ kind: z.literal('ulp'), maximumUlps: z.number().nonnegative() }),
    z.strictObject({
      kind: z.literal('calibrated'),
      storage: writtenDTypeSchema.describe('Dtype of inputs and outputs, narrower than the accumulator.'),
      accumulate: z.literal('f32'),
      roundings: z
        .record(identifierSchema, writtenDTypeSchema)
        .optional()
        .describe('Intermediate results that a kernel may round, by the names reference.ts gives them, and to what.'),
      terms: expressionSchema
        .optional()
        .describe('Additions behind one output, for errors of the accumulator. Default 256.'),
      factor: z.number().positive().optional().describe('Allowed maximum error ÷ the naive run’s. Default 2.'),
      group: z.enum(['row', 'all']).optional(),
      rmsFactor: z.number().positive().optional().describe('Allowed RMS error ÷ the naive run’s. Default 1.5.'),
    }),
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
    }),
  ])
  .meta({ id: 'Comparison' });

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
    generator: generator.optional(),
    when: expressionSchema
      .optional()
      .describe('Outputs only: the buffer is there where this is not 0; else kernels get a null pointer for it.'),
    comparison: comparison.optional().describe('Outputs only, where the problem’s comparison does not fit.'),
    domain: z
      .array(z.enum(SPECIAL_VALUES))
      .min(1)
      .optional()
      .describe('Special values that callers pass beside ordinary ones; each makes a generator set.'),
    scaling: z
      .union([
        z.strictObject({
          least: z.number().positive().max(1).describe('Smallest factor.'),
          most: z.number().min(1).describe('Largest factor.'),
          offset: z.number().nonnegative().describe('Largest shift, either way, before the factor.'),
          contrast: z
            .number()
            .min(1)
            .optional()
            .describe('Largest factor between values of the input; `most` if absent. 1: all values are scaled alike.'),
        }),
        z.literal(false),
      ])
      .optional()
      .describe('How far callers’ values may differ in size from the generator’s; false: not at all.'),
  })
  .meta({ id: 'Buffer' });

const generatorSets = z.record(printableSchema, z.record(identifierSchema, generator));

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
    .strictObject({ input: z.string(), axis: z.int().nonnegative(), symmetric: z.boolean().optional() })
    .optional(),
  independentDimensions: z.array(z.string()).min(1).optional(),
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
    .min(1),
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
  deviceReference: printableSchema
    .describe('Folder name of a kernel that computes the reference on a GPU, for shapes that take long on a host.')
    .optional(),
});

export type ProblemSchemaMatchesContract = Assert<Matches<z.infer<typeof problemFileSchema>, ProblemSource>>;
