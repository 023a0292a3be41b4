import { z } from 'zod';
import type { Dimensions } from './problem.ts';
import { printableSchema } from './schemas/common-schema.ts';

const size = z.number().int();

const suite = z
  .strictObject({
    description: z.string().min(1),
    shapes: z
      .array(z.record(z.string(), z.union([size, z.array(size).min(1)])))
      .min(1)
      .describe('Dimensions by name. Where some have a list of sizes, all combinations.'),
    generators: z
      .array(z.string())
      .min(1)
      .describe('Generator sets of each shape; by default the inputs as they are declared.')
      .optional(),
  })
  .meta({ id: 'Suite' });

/** suites.json, beside problem.json: named sets of shapes that `evaluate --suite` verifies beside a problem's own checks. */
export const suitesFileSchema = z.strictObject({
  $schema: z.string().optional(),
  schemaVersion: z.literal(1),
  suites: z.record(printableSchema, suite),
});

/** Shapes that somebody's own tests use, by name. */
export interface Suite {
  readonly name: string;
  readonly shapes: readonly Dimensions[];
  /** Absent: the inputs as they are declared. */
  readonly generators?: readonly string[] | undefined;
}

type ShapeDeclaration = z.infer<typeof suite>['shapes'][number];

/** Every combination of the listed sizes, the last dimension fastest. */
export const combinationsOf = (shape: ShapeDeclaration): Dimensions[] =>
  Object.entries(shape).reduce<Dimensions[]>(
    (shapes, [name, sizes]) => shapes.flatMap((one) => [sizes].flat().map((size) => ({ ...one, [name]: size }))),
    [{}],
  );
