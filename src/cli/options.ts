import type { Command } from 'commander';
import { TOOLCHAIN_NAMES, type ToolchainName } from '../app/session.ts';
import { CACHES, type Cache } from '../app/workload.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Tier } from '../core/measurement.ts';
import type { ProfileLevel } from '../core/profile.ts';
import { DEFAULT_STORE } from '../store/run-folder.ts';
import { choiceOption, collectParameter, collectText, integerOption, positiveOption } from './option-values.ts';

/** A day. */
const LONGEST_RUN_SECONDS = 86_400;
const MAXIMUM_SEED = 2 ** 32 - 1;
const MAXIMUM_THREADS = 256;
const MAXIMUM_BLOCKS = 10_000;

/** Options that say where kernels are judged. */
export interface DeviceOptions {
  device?: string;
  threads?: number;
  toolchain?: ToolchainName;
  runTimeout?: number;
  record?: string;
  replay?: string;
  trust?: boolean;
  json?: boolean;
}

/** Options of commands that judge kernels. */
export interface JudgingOptions extends DeviceOptions {
  workload?: string;
  cache?: Cache;
  set?: ParameterValues;
  seed?: number;
}

/** Options of what is asked for beside a time, on real GPUs. */
export interface EvidenceOptions {
  tier?: Tier;
  profile?: ProfileLevel | 'none';
  baseline?: string[];
  sanitize?: boolean;
}

/** Options of `evaluate` alone. */
export interface KeepOptions {
  keep?: string;
}

/** What `--seed` is for where a kernel is judged. */
export const SEED_HELP = 'seeds inputs, orders and drawn shapes, to do it again (default: drawn, and said afterwards)';

export const seedOption = integerOption('--seed', 0, MAXIMUM_SEED);

export const TIERS = ['screen', 'accept'] as const;
const PROFILES = ['none', 'light', 'full'] as const;

export const withJson = (command: Command): Command => command.option('--json', 'print one JSON object on stdout');

export const withSet = (command: Command): Command =>
  command.option('--set <name=value>', 'set a parameter; repeatable', collectParameter('--set'));

export const withStore = (command: Command): Command =>
  command.option('--store <folder>', 'folder that holds runs/', DEFAULT_STORE);

export const withRunFilter = (command: Command): Command =>
  command
    .option('--problem <problem>', 'only runs of this problem, by its name')
    .option('--device <device>', 'only runs on this device, by its id or name, e.g. virtual:l4');

export const withTrust = (command: Command): Command =>
  command.option('--trust', "run the problem's reference.ts and baseline.py without asking");

const FIRST_DEVICE = 'first GPU, else virtual:l4';
/** What `withDevice` says of commands that are about runs. */
export const DEVICE_OF_RUN = `the run's; without one ${FIRST_DEVICE}`;

export function withDevice(command: Command, byDefault = FIRST_DEVICE): Command {
  return withTrust(command)
    .option('--device <id>', `where kernels are judged; see \`warpsmith devices\` (default: ${byDefault})`)
    .option(
      '--threads <count>',
      'worker threads of a virtual device; never changes a result',
      integerOption('--threads', 1, MAXIMUM_THREADS),
    )
    .option(
      '--toolchain <name>',
      'what compiles: nvrtc, nvcc or clang (default: the first of them that is there; clang on virtual devices)',
      choiceOption('--toolchain', TOOLCHAIN_NAMES),
    )
    .option(
      '--run-timeout <seconds>',
      "wall-clock limit of one run of the kernel's launches (default: 10 on a GPU, 20 on a virtual one, more for large workloads)",
      positiveOption('--run-timeout', LONGEST_RUN_SECONDS),
    )
    .option('--record <file>', 'keep every evaluation, samples and counters included, in this .jsonl.gz file')
    .option('--replay <file>', 'answer from a recording instead of a device');
}

export const withMeasuring = (command: Command): Command =>
  command
    .option('--cache <state>', "hot or cold, instead of the workload's own", choiceOption('--cache', CACHES))
    .option('--seed <seed>', SEED_HELP, seedOption);

export const withJudging = (command: Command, deviceByDefault?: string): Command =>
  withMeasuring(
    withSet(
      withDevice(command, deviceByDefault).option(
        '--workload <workload>',
        "a workload's name, or dimensions such as B=1,H=8,S=512,D=64",
      ),
    ),
  );

export const withBaselines = (command: Command): Command =>
  command.option(
    '--baseline <name>',
    'measure beside it: start, a rung, a kernel folder, a library baseline, or all (every library); repeatable; GPUs only',
    collectText('--baseline'),
  );

export const withEvidence = (command: Command): Command =>
  withBaselines(command)
    .option(
      '--tier <tier>',
      'how long a GPU measures: screen (short) or accept (for a verdict)',
      choiceOption('--tier', TIERS),
    )
    .option('--profile <level>', 'profile on a GPU: none, light or full', choiceOption('--profile', PROFILES))
    .option('--sanitize', 'have compute-sanitizer look at the kernel, on a GPU');

export const withKeep = (command: Command): Command =>
  command.option(
    '--keep <folder>',
    "write PTX, machine code and the profiler's report into this folder, as far as there are any",
  );

export const withBlocks = (command: Command): Command =>
  command
    .option('--tier <tier>', 'how long to measure: screen or accept', choiceOption('--tier', TIERS), 'accept')
    .option(
      '--blocks <count>',
      'exactly this many blocks, whatever they show',
      integerOption('--blocks', 1, MAXIMUM_BLOCKS),
    );
