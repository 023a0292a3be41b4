import { z } from 'zod';
import { DTYPES } from '../dtype.ts';

/** Names usable in expressions and as macros. */
export const identifierSchema = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
  error: 'a name of letters, digits and underscores that does not start with a digit',
});

export const expressionSchema = z
  .union([z.number(), z.string().min(1)])
  .meta({ id: 'Expression', description: 'A number, or an expression such as `ceilDiv(S, BLOCK_M)`.' });

export const dtypeSchema = z.enum(DTYPES).meta({ id: 'DType', description: 'Element type.' });

export const dimensionsSchema = z
  .record(identifierSchema, z.int())
  .meta({ id: 'Dimensions', description: 'Values of the dimensions, e.g. { "B": 1, "S": 512 }.' });

/** True where both types are assignable to each other, element by element. */
export type MutuallyAssignable<Left, Right> = [Left] extends [Right] ? ([Right] extends [Left] ? true : false) : false;
/** Compile-time assertion: does not type-check unless its argument is `true`. */
export type Assert<Claim extends true> = Claim;
