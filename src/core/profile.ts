import { z } from 'zod';
import { count, numberOrNaN } from './schemas/common-schema.ts';
import { SANITIZER_TOOLS } from './vocabulary.ts';

const level = z.enum(['light', 'full']);

/** `light`: the sections that diagnosis needs; `full`: everything the profiler has, per source line. */
export type ProfileLevel = z.infer<typeof level>;

const metric = z.strictObject({ value: numberOrNaN, unit: z.string() });

/** A profiler's metric, with the unit it was printed in. */
export type ProfileMetric = z.infer<typeof metric>;

const rule = z.strictObject({
  id: z.string(),
  title: z.string(),
  message: z.string(),
  estimatedSpeedupPercent: z.number().describe('Its own estimate.').optional(),
  estimateScope: z
    .enum(['launch', 'unit'])
    .describe('Of what the estimate is: the launch’s time, or the inefficiency of one unit alone.')
    .optional(),
  functionName: z.string(),
});

/** One rule of the profiler itself. */
export type ProfilerRule = z.infer<typeof rule>;

export const profileSchema = z
  .strictObject({
    tool: z.literal('ncu'),
    version: z.string(),
    level,
    clockControl: z.literal('none').describe('Clocks are never changed.'),
    cacheControl: z.enum(['all', 'none']).describe('Caches are flushed before each pass (all) or left (none).'),
    launches: z.array(z.strictObject({ functionName: z.string(), metrics: z.record(z.string(), metric).readonly() })),
    rules: z.array(rule),
    reportObject: z.string().describe('Content hash of the profiler’s own report.').optional(),
    elapsedMs: count,
  })
  .meta({ id: 'Profile', description: 'A hardware profile. Times in it are never results.' });

/** A hardware profile of one launch sequence. */
export interface ProfileReport extends z.infer<typeof profileSchema> {}

export const countersSourceSchema = z
  .strictObject({
    kind: z.enum(['virtual-gpu', 'ncu']).describe('virtual-gpu: counted exactly on a virtual GPU, not on this one.'),
    detail: z
      .string()
      .describe('e.g. `counted on virtual:h200 (hardware counters are not permitted: ERR_NVGPUCTRPERM)`.'),
  })
  .meta({ id: 'CountersSource' });

/** Where counters come from. */
export type CountersSource = z.infer<typeof countersSourceSchema>;

const sanitizerTool = z.strictObject({
  tool: z.enum(SANITIZER_TOOLS),
  outcome: z
    .enum(['clean', 'errors', 'absent', 'failed', 'timed-out'])
    .describe('A tool that is absent, fails to start or times out has shown nothing, so it is not clean.'),
  errorCount: count,
  detail: z.string().describe('First errors, or why there is no result.'),
  elapsedMs: count,
});

export type SanitizerToolReport = z.infer<typeof sanitizerTool>;

export const sanitizerSchema = z
  .strictObject({
    outcome: z
      .enum(['clean', 'errors', 'unsanitized'])
      .describe(
        'clean: every tool ran and found nothing; errors: some tool found something; unsanitized: some tool did not run to its end.',
      ),
    version: z.string().nullable(),
    tools: z.array(sanitizerTool),
    doubt: z
      .strictObject({
        reason: z.literal('partial-barriers'),
        clearedBy: z
          .string()
          .describe('A virtual GPU whose race checker followed the candidate and found no race.')
          .optional(),
        uncleared: z.string().describe('Why no race checker followed it.').optional(),
      })
      .describe(
        'All errors are racecheck’s, and the code has barriers of some of a CTA’s threads, of which racecheck is known to lose track.',
      )
      .optional(),
  })
  .meta({ id: 'Sanitizer' });

/** What compute-sanitizer said of a candidate on the check shapes. */
export interface SanitizerReport extends z.infer<typeof sanitizerSchema> {}
