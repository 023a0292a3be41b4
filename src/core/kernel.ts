import { z } from 'zod';
import type { Bound } from './dtype.ts';
import {
  dtypeSchema,
  expressionSchema,
  identifierSchema,
  printableSchema,
  writtenDTypeSchema,
} from './schemas/common-schema.ts';

const hexadecimalSchema = z
  .string()
  .regex(/^(?:[0-9a-fA-F]{2})+$/, { error: 'pairs of hexadecimal digits, e.g. "0000803f"' });

const bufferReference = z.strictObject({ buffer: z.string(), offsetBytes: expressionSchema.optional() });

const argument = z
  .union([
    bufferReference,
    z.strictObject({ null: z.literal(true) }),
    z.strictObject({ scalar: expressionSchema, dtype: writtenDTypeSchema }),
    // By value: fields laid out in order with natural alignment.
    z.strictObject({
      struct: z.array(z.strictObject({ dtype: writtenDTypeSchema, value: expressionSchema })).min(1),
    }),
    // Raw bytes by value.
    z.strictObject({ bytes: hexadecimalSchema }),
    // A device array of pointers to these buffers.
    z.strictObject({ pointers: z.array(bufferReference).min(1) }),
    // As cuTensorMapEncodeTiled takes it.
    z.strictObject({
      tensorMap: z.strictObject({
        buffer: z.string(),
        dtype: writtenDTypeSchema,
        globalDim: z.array(expressionSchema).min(1).max(5).describe('Innermost first.'),
        globalStridesBytes: z.array(expressionSchema).max(4).describe('Of every axis but the innermost.'),
        boxDim: z.array(expressionSchema).min(1).max(5),
        elementStrides: z.array(expressionSchema).min(1).max(5).optional(),
        swizzle: z.enum(['none', '32B', '64B', '128B']).optional(),
        interleave: z.enum(['none', '16B', '32B']).optional(),
        l2Promotion: z.enum(['none', '64B', '128B', '256B']).optional(),
        fill: z.enum(['zeros', 'nan']).optional(),
      }),
    }),
  ])
  .meta({ id: 'Argument', description: 'One argument of the function, in order.' });

export type ArgumentDeclaration = Bound<z.infer<typeof argument>>;

const extent = z.array(expressionSchema).min(1).max(3);

const launchStep = z.strictObject({
  function: printableSchema.describe(
    'An extern "C" name, or an explicit template instantiation such as attention<64, 128>.',
  ),
  grid: extent.describe('CTAs in x, y, z.'),
  block: extent.describe('Threads in x, y, z.'),
  sharedBytes: expressionSchema.optional().describe('Dynamic shared memory.'),
  cluster: extent.optional(),
  cooperative: z.boolean().optional(),
  programmaticDependent: z.boolean().optional(),
  carveOut: z.number().min(0).max(100).optional().describe('Preferred shared-memory carve-out in percent.'),
  arguments: z.array(argument),
  when: expressionSchema.optional(),
  repeat: expressionSchema.optional(),
});

export type LaunchStepDeclaration = Bound<z.infer<typeof launchStep>>;

const memsetStep = z.strictObject({
  memset: z.strictObject({ buffer: z.string(), byteValue: z.int().min(0).max(255) }),
  when: expressionSchema.optional(),
});

export type MemsetStepDeclaration = Bound<z.infer<typeof memsetStep>>;

const copyStep = z.strictObject({
  copy: z.strictObject({
    from: bufferReference,
    to: bufferReference,
    bytes: expressionSchema.optional().describe('All of the source behind its offset when absent.'),
  }),
  when: expressionSchema.optional(),
});

export type CopyStepDeclaration = Bound<z.infer<typeof copyStep>>;

/** Steps that run several times in a row, in order. */
interface WrittenRepeatStep {
  repeat: z.infer<typeof expressionSchema>;
  /** A name for the number of the repetition, which steps at any depth may use. */
  index?: string;
  steps: WrittenStep[];
  when?: z.infer<typeof expressionSchema>;
}

type WrittenStep =
  | z.infer<typeof launchStep>
  | z.infer<typeof memsetStep>
  | z.infer<typeof copyStep>
  | WrittenRepeatStep;

const repeatStep = z.strictObject({
  repeat: expressionSchema,
  index: identifierSchema
    .optional()
    .describe('A name for the number of the repetition, from 0; steps at any depth may use it.'),
  get steps() {
    return z.array(step).min(1);
  },
  when: expressionSchema.optional(),
});

const step: z.ZodType<WrittenStep> = z
  .union([launchStep, memsetStep, copyStep, repeatStep])
  .meta({ id: 'Step', description: 'A launch, a memset, a copy, or steps that are repeated.' });

export type StepDeclaration = Bound<WrittenStep>;
export type RepeatStepDeclaration = Bound<WrittenRepeatStep>;

const rangeEnd = z.int().describe('The greatest allowed value; included if a step reaches it.');

const range = z.union([
  z.strictObject({
    from: z.int(),
    to: rangeEnd,
    step: z.int().positive().describe('Each value is so much more than the one before.'),
  }),
  z.strictObject({
    from: z.int().positive(),
    to: rangeEnd,
    factor: z.int().min(2).describe('Each value is so many times the one before.'),
  }),
]);

/**
 * Whole numbers from `from` up to `to` (included if a step reaches it): each is `step` more than the previous one, or
 * `factor` times as much.
 */
export type ParameterRange = z.infer<typeof range>;

const parameter = z.strictObject({
  description: z.string().optional(),
  values: z
    .union([z.array(expressionSchema).min(1).describe('Numbers, or expressions of dtype.bytes.'), ...range.options])
    .describe('The allowed values, listed or as a range of whole numbers.'),
  default: expressionSchema,
});

/** `values` in ascending order of "more" where there is one. */
export type ParameterDeclaration = Omit<z.infer<typeof parameter>, 'values' | 'default'> & {
  values: number[] | ParameterRange;
  default: number;
};

const contents = z
  .union([
    z.strictObject({ dtype: writtenDTypeSchema, value: expressionSchema.describe('Of every element.') }),
    z.strictObject({
      dtype: writtenDTypeSchema,
      from: expressionSchema.describe('The first element.'),
      step: expressionSchema.describe('Each element is so much more than the one before.'),
    }),
    z.strictObject({
      dtype: writtenDTypeSchema,
      values: z.array(expressionSchema).min(1).describe('Elements, repeated to the end.'),
    }),
    z.strictObject({ bytes: hexadecimalSchema.describe('Raw bytes, repeated to the end.') }),
  ])
  .meta({ id: 'Contents', description: 'What device memory holds at the start.' });

export type ContentsDeclaration = Bound<z.infer<typeof contents>>;

const workspace = z.strictObject({
  bytes: expressionSchema,
  alignmentBytes: z.int().positive().optional(),
  init: z
    .enum(['undefined', 'zero', 'once'])
    .describe(
      'zero: before each launch sequence, and timed; once: before the first only; then the kernel keeps it valid.',
    ),
  contents: contents.optional().describe('With `once`: what it holds before the first sequence, in place of zeros.'),
});

export type WorkspaceDeclaration = Bound<z.infer<typeof workspace>>;

/** Schema of kernel.json; unknown keys are refused. */
export const kernelFileSchema = z.strictObject({
  $schema: z.string().optional(),
  schemaVersion: z.literal(1),
  name: printableSchema,
  description: z.string(),
  problem: printableSchema.describe('Relative path of problem.json.'),
  dtypes: z
    .array(dtypeSchema)
    .min(1)
    .optional()
    .describe('Dtypes of a problem with several that this kernel computes in; all of them when absent.'),
  dtype: dtypeSchema.optional().describe('What T stood for; in files that warpsmith wrote.'),
  source: z.strictObject({
    kind: z.enum(['cuda', 'ptx', 'cubin']),
    files: z.array(printableSchema).min(1),
    flags: z.array(z.string()).optional(),
    includes: z.array(printableSchema).optional(),
    architectures: z
      .array(z.string().regex(/^sm_\d+[af]?$/, { error: 'an architecture such as "sm_89"' }))
      .min(1)
      .optional(),
  }),
  parameters: z.record(identifierSchema, parameter).optional(),
  constraints: z.array(expressionSchema).optional().describe('Parameter values are valid if every one is non-zero.'),
  remedies: z.array(z.string()).optional().describe('Ids of the findings this rung answers.'),
  limits: z
    .array(expressionSchema)
    .optional()
    .describe('Conditions over the dimensions; a workload that fails one is unsupported by this kernel.'),
  workspaces: z.record(identifierSchema, workspace).optional(),
  constants: z
    .record(identifierSchema, z.union([identifierSchema, contents]))
    .optional()
    .describe('What __constant__ variables without an initialiser hold: a buffer of this name, or values.'),
  steps: z.array(step).min(1),
});

/** kernel.json as written: `T` may stand for a dtype, and expressions and parameters may name `dtype.bytes`. */
export interface KernelSource extends z.infer<typeof kernelFileSchema> {}

/** A kernel for a problem of one dtype. All code except loading uses this type. */
export interface KernelFile extends Bound<Omit<KernelSource, 'parameters'>> {
  parameters?: Readonly<Record<string, ParameterDeclaration>>;
}

/** A loaded kernel folder. `sources` maps each listed file to its text. */
export interface Kernel {
  readonly folder: string;
  readonly file: KernelFile;
  readonly sources: Readonly<Record<string, string>>;
}

export type ParameterValues = Readonly<Record<string, number>>;

/** Kernel + parameter values; `id` is the first 12 hex digits of a SHA-256 over everything that defines it. */
export interface Candidate {
  readonly id: string;
  readonly kernel: Kernel;
  readonly parameters: ParameterValues;
}
