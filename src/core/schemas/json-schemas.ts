import { z } from 'zod';
import { contendersFileSchema } from '../contenders-file.ts';
import { evaluationSchema } from '../evaluation.ts';
import { gateBaselineSchema } from '../gate-baseline.ts';
import { gpuPricesSchema } from '../gpu-prices.ts';
import { kernelFileSchema } from '../kernel.ts';
import { lessonFileSchema } from '../lessons/lesson.ts';
import { problemFileSchema } from '../problem.ts';
import { COMMANDS, type CommandName } from '../requests/commands.ts';
import { requestSchema } from '../requests/request.ts';
import { suitesFileSchema } from '../suites.ts';
import { outputSchema } from './output-schemas.ts';

function described(schema: z.ZodType, title: string, description: string): object {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12' });
  return { $schema, title, description, ...rest };
}

/** JSON Schemas of the files that warpsmith reads and prints, by file name. Editors find them through `$schema`. */
export const jsonSchemas = (): Readonly<Record<string, object>> => ({
  'problem.schema.json': described(
    problemFileSchema,
    'warpsmith problem',
    'What to compute, for which shapes, and how right it must be.',
  ),
  'kernel.schema.json': described(
    kernelFileSchema,
    'warpsmith kernel',
    'How to compile and launch the device code beside this file.',
  ),
  'contenders.schema.json': described(
    contendersFileSchema,
    'warpsmith contenders',
    'Kernels with settings, from which `warpsmith dispatch --kernels` makes a table.',
  ),
  'gate-baseline.schema.json': described(
    gateBaselineSchema,
    'warpsmith gate baseline',
    'The best times of kernels so far, which `warpsmith gate --baseline` holds them to.',
  ),
  'gpu-prices.schema.json': described(
    gpuPricesSchema,
    'warpsmith prices',
    'What GPUs cost an hour, with source and date, for `warpsmith optimize --prices`.',
  ),
  'lesson.schema.json': described(
    lessonFileSchema,
    'warpsmith lesson',
    'A lesson of the course: what `warpsmith learn check` asks of a kernel.',
  ),
  'suites.schema.json': described(
    suitesFileSchema,
    'warpsmith suites',
    'Named sets of shapes that are verified on request, beside the checks of problem.json.',
  ),
  'evaluation.schema.json': described(
    evaluationSchema,
    'warpsmith evaluation',
    'One candidate judged on one workload and device: what `warpsmith evaluate --json` prints.',
  ),
  'output.schema.json': described(
    outputSchema,
    'warpsmith output',
    'What every command prints under `--json`, by its `kind`: the fields that programs may rely on.',
  ),
  'requests.schema.json': {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'warpsmith requests',
    description: 'What each command is asked, by the names that the programming interface has.',
    type: 'object',
    properties: Object.fromEntries(COMMAND_NAMES.map((name) => [name, { $ref: `#/$defs/${name}` }])),
    additionalProperties: false,
    $defs: Object.fromEntries(COMMAND_NAMES.map((name) => [name, requestSchema(name)])),
  },
});

const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];
