import { z } from 'zod';

const evidenceItem = z.strictObject({
  counter: z.string().describe('Counter or derived figure, e.g. `sectors per global load request`.'),
  value: z.number(),
  unit: z.string().optional(),
  threshold: z.number(),
  comparison: z.enum(['above', 'below']).describe('How value relates to threshold when the rule fires.'),
  where: z.string().describe('Function, and source line if known.').optional(),
});

/** One counter that supports a finding. */
export interface EvidenceItem extends z.infer<typeof evidenceItem> {}

export const findingSchema = z.strictObject({
  id: z
    .string()
    .describe(
      'Kebab-case rule id, e.g. `bank-conflicts`; kernel.json’s `remedies` name these. A profiler’s: `ncu/CPIStall`.',
    ),
  title: z.string(),
  estimatedSpeedup: z
    .number()
    .describe('Old time ÷ new time if the defect vanished; ≥ 1. An estimate, never a result.'),
  arithmetic: z.string().describe('The estimate’s, in words and numbers.'),
  evidence: z.array(evidenceItem),
  advice: z.string(),
});

/** A diagnosis: what limits the kernel, with evidence and the estimated gain of a fix. */
export interface Finding extends z.infer<typeof findingSchema> {}
