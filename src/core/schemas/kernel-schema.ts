import { z } from 'zod';
import type { KernelSource } from '../kernel.ts';
import {
  type Assert,
  dtypeSchema,
  expressionSchema,
  identifierSchema,
  type Matches,
  printableSchema,
  writtenDTypeSchema,
} from './common-schema.ts';

const bufferReference = z.strictObject({ buffer: z.string(), offsetBytes: expressionSchema.optional() });

const argument = z
  .union([
    bufferReference,
    z.strictObject({ null: z.literal(true) }),
    z.strictObject({ scalar: expressionSchema, dtype: writtenDTypeSchema }),
    z.strictObject({
      struct: z.array(z.strictObject({ dtype: writtenDTypeSchema, value: expressionSchema })).min(1),
    }),
    z.strictObject({
      bytes: z.string().regex(/^(?:[0-9a-fA-F]{2})+$/, { error: 'pairs of hexadecimal digits, e.g. "0000803f"' }),
    }),
    z.strictObject({ pointers: z.array(bufferReference).min(1) }),
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

const memsetStep = z.strictObject({
  memset: z.strictObject({ buffer: z.string(), byteValue: z.int().min(0).max(255) }),
  when: expressionSchema.optional(),
});

const rangeEnd = z.int().describe('The greatest allowed value; included if a step reaches it.');

const parameter = z.strictObject({
  description: z.string().optional(),
  values: z
    .union([
      z.array(expressionSchema).min(1).describe('Numbers, or expressions of dtype.bytes.'),
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
    ])
    .describe('The allowed values, listed or as a range of whole numbers.'),
  default: expressionSchema,
});

const workspace = z.strictObject({
  bytes: expressionSchema,
  alignmentBytes: z.int().positive().optional(),
  init: z
    .enum(['undefined', 'zero', 'once'])
    .describe('zero: before each launch sequence, and timed; once: before the first only.'),
});

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
  constraints: z.array(expressionSchema).optional(),
  remedies: z.array(z.string()).optional().describe('Ids of the findings this rung answers.'),
  limits: z.array(expressionSchema).optional().describe('Conditions over the dimensions.'),
  workspaces: z.record(identifierSchema, workspace).optional(),
  steps: z.array(z.union([launchStep, memsetStep])).min(1),
});

export type KernelSchemaMatchesContract = Assert<Matches<z.infer<typeof kernelFileSchema>, KernelSource>>;
