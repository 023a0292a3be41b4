import { z } from 'zod';
import { printableSchema } from '../schemas/common-schema.ts';
import { FINDING_IDS } from '../vocabulary.ts';
import { LESSON_FIGURES } from './figures.ts';

const hint = printableSchema
  .describe('What to think about while the goal does not hold; one sentence or two.')
  .optional();

const figureGoal = z
  .strictObject({
    kind: z.literal('figure'),
    figure: z.enum(LESSON_FIGURES),
    atMost: z.number().nonnegative().optional(),
    atLeast: z.number().nonnegative().optional(),
    ofStart: z.literal(true).describe('The limit is a multiple of what the start has.').optional(),
    hint,
  })
  .refine(({ atMost, atLeast }) => (atMost === undefined) !== (atLeast === undefined), {
    error: 'either `atMost` or `atLeast`',
  });

const findingGoal = z.strictObject({ kind: z.literal('no-finding'), finding: z.enum(FINDING_IDS), hint });

/** Beside the first goal of every lesson: the kernel is right on every check. */
const goalSchema = z
  .discriminatedUnion('kind', [figureGoal, findingGoal])
  .meta({ id: 'LessonGoal', description: 'A figure within a limit, or a finding that is gone.' });

export type LessonGoal = z.infer<typeof goalSchema>;

export const lessonFileSchema = z.strictObject({
  $schema: z.string().optional(),
  schemaVersion: z.literal(1),
  name: z
    .string()
    .regex(/^\d\d_[a-z][a-z_]*$/, { error: 'two digits and words in lower case, such as 03_bank_conflicts' })
    .describe('Of the folder.'),
  title: printableSchema,
  idea: printableSchema.describe('The one idea, in a sentence.'),
  device: z
    .string()
    .regex(/^virtual:[\w-]+$/, { error: 'a virtual device, such as virtual:l4' })
    .describe('Where the goals are judged, on every machine.'),
  workload: printableSchema.describe('Of problem.json: the one that is counted and timed.'),
  shown: z.array(z.enum(LESSON_FIGURES)).min(1).describe('The figures that the page shows of the start.'),
  goals: z.array(goalSchema).min(1).describe('What a solution reaches, beside being right.'),
});

/** What a lesson of the course asks: the text of its page and its kernel lie beside this file. */
export interface LessonFile extends z.infer<typeof lessonFileSchema> {}
