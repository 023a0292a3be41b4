import type { z } from 'zod';
import { parseJson } from '../json/parse-json.ts';
import type { KernelFile } from '../kernel.ts';
import type { ProblemFile } from '../problem.ts';
import { checkKernel } from './kernel-checks.ts';
import { kernelFileSchema } from './kernel-schema.ts';
import { checkProblem } from './problem-checks.ts';
import { problemFileSchema } from './problem-schema.ts';
import { schemaError } from './schema-error.ts';

/**
 * Reads the text of problem.json; dimensions of workloads and check shapes come back completed from defaults.
 *
 * @param file - its name in messages.
 * @throws WarpsmithError with file, JSON path, value received, what was expected, and a hint.
 */
export const parseProblemFile = (text: string, file: string): ProblemFile =>
  checkProblem(parseWith(problemFileSchema, text, file), file);

/**
 * Reads the text of kernel.json. What it says about its problem is checked by `checkKernelAgainstProblem`.
 *
 * @param file - its name in messages.
 * @throws WarpsmithError with file, JSON path, value received, what was expected, and a hint.
 */
export const parseKernelFile = (text: string, file: string): KernelFile => {
  const kernel = parseWith(kernelFileSchema, text, file);
  checkKernel(kernel, file);
  return kernel;
};

const parseWith = <Schema extends z.ZodType>(schema: Schema, text: string, file: string): z.infer<Schema> => {
  const document = parseJson(text, file);
  const outcome = schema.safeParse(document);
  if (outcome.success) return outcome.data;
  throw schemaError(schema, document, outcome.error.issues, file);
};
