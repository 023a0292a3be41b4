import { z } from 'zod';
import type { CountersSource, ProfileReport } from '../profile.ts';
import { SANITIZER_TOOLS, type SanitizerReport } from '../sanitizer-report.ts';
import { type Assert, count, type Matches, numberOrNaN } from './common-schema.ts';

export const profileSchema = z
  .strictObject({
    tool: z.literal('ncu'),
    version: z.string(),
    level: z.enum(['light', 'full']),
    clockControl: z.literal('none'),
    cacheControl: z.enum(['all', 'none']),
    launches: z.array(
      z.strictObject({
        functionName: z.string(),
        metrics: z.record(z.string(), z.strictObject({ value: numberOrNaN, unit: z.string() })).readonly(),
      }),
    ),
    rules: z.array(
      z.strictObject({
        id: z.string(),
        title: z.string(),
        message: z.string(),
        estimatedSpeedupPercent: z.number().optional(),
        estimateScope: z.enum(['launch', 'unit']).optional(),
        functionName: z.string(),
      }),
    ),
    reportObject: z.string().describe('Content hash of the profiler’s own report.').optional(),
    elapsedMs: count,
  })
  .meta({ id: 'Profile', description: 'A hardware profile. Times in it are never results.' });

export const countersSourceSchema = z
  .strictObject({ kind: z.enum(['virtual-gpu', 'ncu']), detail: z.string() })
  .meta({ id: 'CountersSource' });

export const sanitizerSchema = z
  .strictObject({
    outcome: z.enum(['clean', 'errors', 'unsanitized']),
    version: z.string().nullable(),
    tools: z.array(
      z.strictObject({
        tool: z.enum(SANITIZER_TOOLS),
        outcome: z.enum(['clean', 'errors', 'absent', 'failed', 'timed-out']),
        errorCount: count,
        detail: z.string(),
        elapsedMs: count,
      }),
    ),
  })
  .meta({ id: 'Sanitizer' });

export type ProfileSchemaMatchesContract = Assert<Matches<z.infer<typeof profileSchema>, ProfileReport>>;
export type CountersSourceSchemaMatchesContract = Assert<Matches<z.infer<typeof countersSourceSchema>, CountersSource>>;
export type SanitizerSchemaMatchesContract = Assert<Matches<z.infer<typeof sanitizerSchema>, SanitizerReport>>;
