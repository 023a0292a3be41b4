import { z } from 'zod';
import { identifierSchema, printableSchema } from './schemas/common-schema.ts';

const contender = z
  .strictObject({
    kernel: printableSchema.describe('A rung of the problem, or a kernel folder, relative to this file.'),
    parameters: z
      .record(identifierSchema, z.number())
      .describe('Those that are not to have their defaults.')
      .optional(),
    workloads: z
      .array(printableSchema)
      .min(1)
      .describe('The only workloads that it is a contender for, by name or dimensions; without it, all.')
      .optional(),
  })
  .meta({ id: 'Contender' });

export const contendersFileSchema = z.strictObject({
  $schema: z.string().optional(),
  schemaVersion: z.literal(1),
  kernels: z.array(contender).min(1),
});

/** Kernels with their settings, from which `dispatch --kernels` makes a table. */
export type ContendersFile = z.infer<typeof contendersFileSchema>;
