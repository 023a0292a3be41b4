import { userInfo } from 'node:os';
import { join } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { SLURM_ACTIONS, type SlurmAction } from '../core/requests/commands.ts';
import type { RequestOf } from '../core/requests/request.ts';
import { findExecutable } from '../process/find-executable.ts';
import { packageFolder } from '../process/package-folder.ts';
import { runProcess } from '../process/run-process.ts';
import { writeTemporaryFile } from '../process/temporary-file.ts';
import { withTemporaryFolder } from '../process/temporary-folder.ts';
import { checkQueue } from '../queue/connect.ts';
import { queueAccess } from '../queue/queue-access.ts';

/** A worker of a Slurm array. */
export interface SlurmWorker {
  /** e.g. `1234_5`. */
  readonly task: string;
  /** As Slurm says, e.g. `RUNNING`. */
  readonly state: string;
  readonly node: string;
  readonly elapsed: string;
}

export interface SlurmReport {
  readonly schemaVersion: 1;
  readonly kind: 'slurm';
  readonly action: SlurmAction;
  /** The array that was started, or those that were ended; none for `status`. */
  readonly jobs: readonly string[];
  /** Those of this user that wait or run. */
  readonly workers: readonly SlurmWorker[];
}

export interface SlurmSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

const NAME = 'warpsmith-worker';
const TIMEOUT_MS = 60_000;
const MOST_OUTPUT_BYTES = 1 << 20;

/** Its arguments are the worker's command line: nothing is ever put into a shell's text. */
const SCRIPT = '#!/bin/sh\nexec "$@"\n';

/** Starts workers as a Slurm array, lists them, or ends them. @throws WarpsmithError `unknown-action`, `no-slurm`, `slurm-refuses`; as `queueAccess`. */
export async function slurm(request: RequestOf<'slurm'>, surroundings: SlurmSurroundings): Promise<SlurmReport> {
  const { action } = request;
  if (!Object.hasOwn(ACTIONS, action)) throw unknownAction(action);
  return {
    ...{ schemaVersion: 1, kind: 'slurm', action },
    jobs: await ACTIONS[action](request, surroundings),
    workers: await listWorkers(surroundings),
  };
}

type Act = (request: RequestOf<'slurm'>, surroundings: SlurmSurroundings) => Promise<string[]>;

const ACTIONS: Readonly<Record<SlurmAction, Act>> = { up, status: async () => [], down };

async function up(request: RequestOf<'slurm'>, surroundings: SlurmSurroundings): Promise<string[]> {
  const { queue, gpus, device = 'cuda:0', idleMinutes, words } = request;
  if (queue === undefined) throw missing('--queue', 'the workers take candidates from a queue', 'redis://host:6379');
  if (gpus === undefined) throw missing('--gpus', 'that many workers are started, one for each GPU', '8');
  await checkQueue(queueAccess(queue, surroundings.environment));
  const idle = idleMinutes === undefined ? [] : ['--idle-minutes', `${idleMinutes}`];
  const program = join(packageFolder('bin'), 'warpsmith.mjs');
  const worker = [process.execPath, program, 'worker', '--queue', queue, '--device', device, ...idle];
  const gpu = device.startsWith('cuda:') ? ['--gres=gpu:1'] : [];
  const own = ['--parsable', `--job-name=${NAME}`, `--array=0-${gpus - 1}`, '--requeue', '--export=ALL', ...gpu];
  return withTemporaryFolder(async (folder) => {
    const script = writeTemporaryFile(folder, 'worker.sh', SCRIPT);
    // What the user says comes later, and so counts.
    const printed = await run('sbatch', [...own, ...words, script, ...worker], surroundings);
    return [printed.trim().split(';')[0]!];
  });
}

async function down({ words }: RequestOf<'slurm'>, surroundings: SlurmSurroundings): Promise<string[]> {
  const other = words.find((word) => !/^\d+(_\d+)?$/.test(word));
  if (other !== undefined) throw notAJob(other);
  const running = await listWorkers(surroundings);
  const jobs = words.length > 0 ? [...words] : [...new Set(running.map(({ task }) => task.split('_')[0]!))];
  if (jobs.length > 0) await run('scancel', [`--name=${NAME}`, `--user=${userInfo().username}`, ...jobs], surroundings);
  return jobs;
}

/** Fields that no name contains a separator of. */
const FORMAT = '%i|%T|%N|%M';

async function listWorkers(surroundings: SlurmSurroundings): Promise<SlurmWorker[]> {
  const filter = ['--noheader', '--array', `--name=${NAME}`, `--user=${userInfo().username}`, `--format=${FORMAT}`];
  const printed = await run('squeue', filter, surroundings);
  return printed
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [task = '', state = '', node = '', elapsed = ''] = line.trim().split('|');
      return { task, state, node, elapsed };
    });
}

async function run(
  command: string,
  args: readonly string[],
  { environment, signal }: SlurmSurroundings,
): Promise<string> {
  if (findExecutable(command) === undefined) throw noSlurm(command);
  const env = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const limits = { timeoutMs: TIMEOUT_MS, maximumOutputBytes: MOST_OUTPUT_BYTES, signal };
  const { end, exitCode, stdout, stderr } = await runProcess({ command, args, cwd: process.cwd(), env, ...limits });
  if (end === 'exited' && exitCode === 0) return stdout;
  throw new WarpsmithError(
    {
      code: 'slurm-refuses',
      message: `${command} failed.`,
      received: stderr.trim().split('\n')[0] || `${end}${exitCode === undefined ? '' : ` ${exitCode}`}`,
      expected: 'a Slurm that takes the job',
      hint: 'Options for sbatch come after --, for example -- --partition=gpu --time=4:00:00.',
    },
    EXIT.deviceOrToolMissing,
  );
}

const missing = (flag: string, why: string, example: string): WarpsmithError =>
  new WarpsmithError({
    code: 'option-missing',
    message: `slurm up needs ${flag}: ${why}.`,
    path: flag,
    received: 'nothing',
    expected: `${flag} ${example}`,
    hint: 'For example: warpsmith slurm up --queue redis://host:6379 --gpus 8 -- --partition=gpu',
  });

const noSlurm = (command: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'no-slurm',
      message: `There is no ${command} here.`,
      received: 'nothing on the search path',
      expected: 'the commands of Slurm',
      hint: 'Run this on a login node, or start workers otherwise: warpsmith worker.',
    },
    EXIT.deviceOrToolMissing,
  );

const unknownAction = (received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-action',
    message: `slurm can't "${received}".`,
    path: '<action>',
    received,
    expected: `one of ${SLURM_ACTIONS.join(', ')}`,
    hint: 'For example: warpsmith slurm status',
  });

const notAJob = (received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'not-a-job',
    message: `"${received}" is no number of a Slurm job.`,
    path: '[words...]',
    received,
    expected: 'numbers such as 1234 or 1234_5; none for all workers',
    hint: '`warpsmith slurm status` lists them.',
  });
