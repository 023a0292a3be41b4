import type { z } from 'zod';
import { bindKernel, bindProblem, dtypesOf } from '../bind-dtype.ts';
import { type ContendersFile, contendersFileSchema } from '../contenders-file.ts';
import type { DType } from '../dtype.ts';
import { WarpsmithError } from '../errors.ts';
import { type GateBaseline, gateBaselineSchema } from '../gate-baseline.ts';
import { type GpuPrices, gpuPricesSchema } from '../gpu-prices.ts';
import { parseJson } from '../json/parse-json.ts';
import { type KernelFile, type KernelSource, kernelFileSchema } from '../kernel.ts';
import { type LessonFile, lessonFileSchema } from '../lessons/lesson.ts';
import { suggestName } from '../nearest-name.ts';
import { completeShape } from '../plan/dimensions.ts';
import { generatorSetsOf } from '../plan/generator-sets.ts';
import { type ProblemFile, type ProblemSource, problemFileSchema } from '../problem.ts';
import { combinationsOf, type Suite, suitesFileSchema } from '../suites.ts';
import { checkKernel } from './kernel-checks.ts';
import { checkProblem } from './problem-checks.ts';
import { schemaError } from './schema-error.ts';

/**
 * Parses problem.json; if it takes several dtypes, for one of them. Completes the dimensions of workloads and check shapes
 * from defaults. Also finds mistakes in the fields of other dtypes.
 *
 * @param file - its name in messages.
 * @param choose - selects one of the problem's dtypes; the first by default.
 * @throws WarpsmithError with file, JSON path, value received, expected value, and a hint; `unknown-dtype`.
 */
export function parseProblemFile(
  text: string,
  file: string,
  choose: (dtypes: readonly DType[]) => DType | undefined = ([first]) => first,
): ProblemFile {
  const source: ProblemSource = parseWith(problemFileSchema, text, file);
  const dtypes = dtypesOf(source);
  const chosen = choose(dtypes);
  for (const other of dtypes) if (other !== chosen) checkProblem(bindProblem(source, other, file), file);
  return checkProblem(bindProblem(source, chosen, file), file);
}

/**
 * Parses kernel.json. `checkKernelAgainstProblem` checks its references to the problem.
 *
 * @param file - its name in messages.
 * @throws WarpsmithError with file, JSON path, value received, expected value, and a hint.
 */
export const parseKernelFile = (text: string, file: string): KernelSource => parseWith(kernelFileSchema, text, file);

/** A list of kernels with settings, as {@link parseKernelFile}. Whether they are there is not checked. */
export const parseContendersFile = (text: string, file: string): ContendersFile =>
  parseWith(contendersFileSchema, text, file);

/** A list of prices of GPUs, as {@link parseKernelFile}. */
export const parseGpuPrices = (text: string, file: string): GpuPrices => parseWith(gpuPricesSchema, text, file);

/** The file that `warpsmith gate` holds kernels to, as {@link parseKernelFile}. */
export const parseGateBaseline = (text: string, file: string): GateBaseline =>
  parseWith(gateBaselineSchema, text, file);

/** lesson.json, as {@link parseKernelFile}. */
export const parseLessonFile = (text: string, file: string): LessonFile => parseWith(lessonFileSchema, text, file);

/**
 * A kernel for a problem of one dtype, with all checks that do not need the problem.
 *
 * @throws WarpsmithError as {@link parseKernelFile}.
 */
export function bindKernelFile(source: KernelSource, dtype: DType | undefined, file: string): KernelFile {
  const kernel = bindKernel(source, dtype, file);
  checkKernel(kernel, file);
  return kernel;
}

/**
 * Parses suites.json.
 *
 * @param file - its name in messages.
 * @throws WarpsmithError with file, JSON path, value received, expected value, and a hint; as `completeShape`.
 */
export function parseSuitesFile(text: string, file: string, problem: ProblemFile): Suite[] {
  const { suites } = parseWith(suitesFileSchema, text, file);
  const known = Object.keys(generatorSetsOf(problem));
  return Object.entries(suites).map(([name, { shapes, generators }]) => {
    for (const [index, set] of (generators ?? []).entries()) {
      if (!known.includes(set)) throw unknownSet(set, known, { file, path: `suites.${name}.generators[${index}]` });
    }
    return {
      name,
      generators,
      shapes: shapes.flatMap((shape, index) =>
        combinationsOf(shape).map((dimensions) =>
          completeShape(problem, dimensions, { file, path: `suites.${name}.shapes[${index}]` }),
        ),
      ),
    };
  });
}

const unknownSet = (set: string, known: readonly string[], place: { file: string; path: string }): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-name',
    message: `There is no generator set \`${set}\`.`,
    ...place,
    received: set,
    expected: `one of ${known.join(', ')}`,
    hint: suggestName(set, known, 'Generator sets'),
  });

function parseWith<Schema extends z.ZodType>(schema: Schema, text: string, file: string): z.infer<Schema> {
  const document = parseJson(text, file);
  const outcome = schema.safeParse(document);
  if (outcome.success) return outcome.data;
  throw schemaError(schema, document, outcome.error.issues, file);
}
