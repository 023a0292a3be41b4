import { z } from 'zod';
import { printableSchema } from './schemas/common-schema.ts';

const best = z
  .strictObject({
    kernel: printableSchema.describe('The kernel folder, from the top of the repository.'),
    workload: printableSchema,
    device: printableSchema.describe('`virtual:l4`; of a real GPU its name.'),
    kind: z.enum(['predicted', 'measured']),
    ns: z.number().positive().describe('The best median so far.'),
    warpsmith: z.string().describe('The version that said so: predictions of another one are not compared.'),
    candidate: z.string().describe('Id of the kernel with its settings.'),
    counters: z.record(z.string(), z.number()).describe('What was counted then, to tell what got worse.').optional(),
  })
  .meta({ id: 'GateBest' });

/** The best time of a kernel so far, on one workload and device. */
export type GateBest = z.infer<typeof best>;

export const gateBaselineSchema = z.strictObject({
  $schema: z.string().optional(),
  schemaVersion: z.literal(1),
  best: z.array(best),
});

/** What `warpsmith gate --baseline` holds kernels to, in the order of kernel, workload and device. */
export type GateBaseline = z.infer<typeof gateBaselineSchema>;
