import { z } from 'zod';
import type { ComparedSizes } from '../compared-sizes.ts';
import { type Assert, count, identifierSchema, type Matches } from './common-schema.ts';

const range = z.strictObject({
  least: z.int(),
  most: z.int(),
  values: z
    .array(z.int())
    .describe('Every compared value, if problem.json lists the values of the dimension.')
    .optional(),
});

export const comparedSizesSchema = z
  .strictObject({
    dimensions: z.record(identifierSchema, range),
    elements: z.record(z.string(), count).describe('The most elements of each input and output.'),
  })
  .meta({ id: 'ComparedSizes', description: 'Sizes at which results were compared with the reference.' });

export type ComparedSizesMatch = Assert<Matches<z.infer<typeof comparedSizesSchema>, ComparedSizes>>;
