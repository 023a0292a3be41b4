import { join } from 'node:path';
import { z } from 'zod';
import { EXIT, WarpsmithError } from '../../../core/errors.ts';
import type { ParameterValues } from '../../../core/kernel.ts';
import { networkWall } from '../../../process/network-wall.ts';
import { packageFolder } from '../../../process/package-folder.ts';
import { type ProcessOutcome, runProcess } from '../../../process/run-process.ts';
import { ENVIRONMENT, FLAGS, interpreter, moduleMissing } from './python-program.ts';
import { referenceLimits } from './reference-host.ts';

const tensor = z.strictObject({ shape: z.array(z.string()), dtype: z.string() });

const spread = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('constant'), value: z.number() }),
  z.strictObject({ kind: z.literal('uniform'), low: z.number(), high: z.number() }),
  z.strictObject({ kind: z.literal('normal'), mean: z.number(), standardDeviation: z.number() }),
]);

const filling = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['uniform', 'normal']) }),
  z.strictObject({ kind: z.literal('whole'), low: z.int(), high: z.string() }),
]);

const description = z.strictObject({
  fixed: z.record(z.string(), z.int()).describe('Numbers given in place of the module’s.'),
  dimensions: z.array(
    z.strictObject({ name: z.string(), value: z.int(), step: z.int().positive(), minimum: z.int().positive() }),
  ),
  quick: z.record(z.string(), z.int()).describe('Sizes that a virtual device judges in seconds.'),
  bears: z
    .strictObject({ normal: z.boolean(), positive: z.boolean() })
    .describe('Whether results are finite where all inputs are drawn so.'),
  reach: z
    .string()
    .nullable()
    .describe('How many elements of one input a result follows from; null where that could not be told.'),
  inputs: z.array(
    z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('number'), name: z.string(), value: z.number(), isWhole: z.boolean() }),
      tensor.extend({ kind: z.literal('tensor'), name: z.string(), filling: filling.nullable(), spread }),
    ]),
  ),
  tensors: z.array(tensor.extend({ name: z.string(), isBuffer: z.boolean(), isState: z.boolean(), spread })),
  results: z.array(tensor),
});

/** What a module of KernelBench computes on: shapes as expressions of its sizes. */
export type ModuleDescription = z.infer<typeof description>;

const answerSchema = z.union([
  z.strictObject({
    error: z.looseObject({
      code: z.string(),
      message: z.string(),
      received: z.string(),
      expected: z.string().optional(),
      hint: z.string().optional(),
      line: z.int().optional(),
    }),
  }),
  description,
]);

const TIMEOUT_MS = 10 * 60_000;
const MOST_OUTPUT_BYTES = 16 * 1024 ** 2;

/**
 * Runs a module of KernelBench, confined as a reference in Python is, at several sizes.
 *
 * @param text of the module; `file` is its name in messages.
 * @param given numbers in place of those that the module names at its top.
 * @throws WarpsmithError `python-missing`, `python-module-missing`, `not-a-module`, `module-failed`, …, each with the next step.
 */
export async function describeModule(
  text: string,
  file: string,
  given: ParameterValues,
  signal?: AbortSignal,
): Promise<ModuleDescription> {
  const [wall, python] = await Promise.all([networkWall(), interpreter()]);
  const { memoryBytes } = referenceLimits;
  const program = join(packageFolder('python'), 'warpsmith_reference', 'describe_module.py');
  const args = [...FLAGS, program, String(Math.round(memoryBytes)), JSON.stringify(given)];
  const outcome = await runProcess({
    ...wall.around(python, args),
    ...{ cwd: '/', env: ENVIRONMENT, stdin: text, timeoutMs: TIMEOUT_MS, signal },
    ...{ maximumOutputBytes: MOST_OUTPUT_BYTES, maximumMemoryBytes: memoryBytes },
  });
  signal?.throwIfAborted();
  if (outcome.end !== 'exited' || outcome.exitCode !== 0) throw ended(file, outcome);
  const answer = answerSchema.parse(JSON.parse(outcome.stdout));
  if (!('error' in answer)) return answer;
  const { code, message, received, expected, hint, line } = answer.error;
  if (code === 'python-module-missing') throw moduleMissing({ problem: file, file, folder: file }, received);
  throw new WarpsmithError({
    ...{ code, message: `${file} ${message}.`, file, received },
    path: line === undefined ? undefined : `line ${line}`,
    expected: expected ?? 'a module of KernelBench that runs on the CPU, at sizes that fit into memory',
    hint: hint ?? 'Try it in Python: Model(*get_init_inputs())(*get_inputs()). Smaller sizes are said by --value.',
  });
}

const ended = (file: string, { end, stderr }: ProcessOutcome): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'module-ended',
      message: `The process that runs ${file} ended before it had an answer (${end}).`,
      file,
      received: stderr.trim().split('\n').at(-1) ?? '',
      expected: 'a module that runs on the CPU in ten minutes and half of the memory',
      hint: 'Smaller sizes are said by --value, such as --value batch_size=16.',
    },
    EXIT.usage,
  );
