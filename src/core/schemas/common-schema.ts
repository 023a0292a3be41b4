import { z } from 'zod';
import { ASKED_DTYPE, DTYPES } from '../dtype.ts';
import { CONTROL_CHARACTERS } from '../json/json-path.ts';

/** Names usable in expressions and as macros. */
export const identifierSchema = z
  .string()
  .refine((name) => !(name in {}), { message: 'a name that JavaScript has taken; choose another' })
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
    error: 'a name of letters, digits and underscores that does not start with a digit',
  });

/** Names that are printed, and written into headers and commits. */
export const printableSchema = z
  .string()
  .min(1)
  .regex(new RegExp(`^[^${CONTROL_CHARACTERS}]*$`), { error: 'one line of text without control characters' });

export const expressionSchema = z
  .union([z.number(), z.string().min(1)])
  .meta({ id: 'Expression', description: 'A number, or an expression such as `ceilDiv(S, BLOCK_M)`.' });

export const dtypeSchema = z.enum(DTYPES).meta({ id: 'DType', description: 'Element type.' });

export const writtenDTypeSchema = z
  .enum([...DTYPES, ASKED_DTYPE])
  .meta({ id: 'WrittenDType', description: 'Element type; T where the problem takes several dtypes.' });

export const dimensionsSchema = z
  .record(identifierSchema, z.int())
  .meta({ id: 'Dimensions', description: 'Values of the dimensions, e.g. { "B": 1, "S": 512 }.' });

export const count = z.number().nonnegative();
export const ratio = z.number();

export const dim3 = z.tuple([z.int(), z.int(), z.int()]).readonly();

/** A tuple's type can't name its elements otherwise. */
type Interval = [low: number, high: number];

/** An interval whose ends may be NaN or infinite. */
export const intervalOrNaN = (what: string) =>
  z.tuple([numberOrNaN, numberOrNaN]).describe(what) as unknown as z.ZodType<Interval>;

export const interval = z.tuple([z.number(), z.number()]) as unknown as z.ZodType<Interval>;

/** A number that may be NaN or infinite, which JSON prints as null; the contract's type knows no null. */
export const numberOrNaN = z.number().nullable().describe('null when NaN or infinite.') as unknown as z.ZodType<number>;
