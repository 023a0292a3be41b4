import { z } from 'zod';
import { count, dim3 } from './schemas/common-schema.ts';

const printedLine = z.strictObject({
  step: count.describe('Of the launch plan, from 0.'),
  functionName: z.string(),
  cta: dim3,
  thread: dim3,
  text: z.string().describe('Characters that would move a cursor as \\x1b; at most 400.'),
});

export const printedSchema = z
  .strictObject({
    lines: z.array(printedLine).describe('The first 40 in the order of launches and CTAs.'),
    moreCalls: count
      .describe('Calls of printf whose text is not in `lines`. Absent where a launch was stopped.')
      .optional(),
  })
  .meta({ id: 'Printed' });

/** What kernels printed in one run of a launch sequence. */
export type Printed = z.infer<typeof printedSchema>;
