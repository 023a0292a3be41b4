import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { runCli } from '../../src/cli/main.ts';
import { HOSTILE, mutateJson, mutateLines, mutateText } from './mutate.ts';
import { Random } from './random.ts';

const SCALE = join(import.meta.dirname, '../cli/fixtures/scale');

/** What one command line did to a mutated input. */
export interface Outcome {
  readonly seed: number;
  readonly argv: readonly string[];
  readonly exitCode: number;
  readonly output: string;
  readonly elapsedMs: number;
}

const EXIT_CODES: ReadonlySet<number> = new Set([0, 1, 2, 3, 130]);
/** A line of a stack trace, or what stands before one. */
const TRACE = /^\s+at .*(file:|node:|\.ts:\d)|internal-error|This is a bug in warpsmith/m;
const LONGEST_MS = 20_000;

/** What is wrong with how a command ended; undefined where nothing is. */
export function complaint({ exitCode, output, elapsedMs }: Outcome): string | undefined {
  if (!EXIT_CODES.has(exitCode)) return `exit code ${exitCode}`;
  if (TRACE.test(output)) return 'a stack trace';
  return elapsedMs > LONGEST_MS ? `${Math.round(elapsedMs)} ms` : undefined;
}

const sink = (chunks: string[]): NodeJS.WriteStream =>
  new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  }) as unknown as NodeJS.WriteStream;

async function run(seed: number, argv: readonly string[]): Promise<Outcome> {
  const chunks: string[] = [];
  const startMs = performance.now();
  const exitCode = await runCli(argv, { out: sink(chunks), err: sink(chunks) });
  return { seed, argv, exitCode, output: chunks.join(''), elapsedMs: performance.now() - startMs };
}

/** Inputs that every case starts from, in a folder of their own. */
export interface Fixtures {
  /** Lines of a whole run's log. */
  readonly log: readonly string[];
}

type Act = (random: Random, folder: string, fixtures: Fixtures) => string[];

const mutateFile = (path: string, random: Random): void => {
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    random.below(3) === 0 ? mutateText(text, random) : JSON.stringify(mutateJson(JSON.parse(text) as never, random)),
  );
};

/** problem.json and kernel.json. */
const files: Act = (random, folder) => {
  const problem = join(folder, 'scale');
  cpSync(SCALE, problem, { recursive: true });
  const kernel = join(problem, random.of(['01_strided', '02_coalesced']));
  mutateFile(random.below(2) === 0 ? join(problem, 'problem.json') : join(kernel, 'kernel.json'), random);
  const flags = random.below(2) === 0 ? ['--json'] : [];
  return ['check', random.below(2) === 0 ? problem : kernel, ...flags];
};

const READERS: readonly (readonly string[])[] = [
  ['report'],
  ['report', '--format', 'html'],
  ['report', '--format', 'markdown'],
  ['report', '--json'],
  ['runs'],
  ['runs', '--rebuild', '--json'],
  ['show'],
  ['show', 'latest/e2', '--json'],
  ['show', 'latest/e1'],
  ['patterns', '--evidence'],
  ['resume'],
];

const storeWith = (folder: string, events: string): string => {
  const store = join(folder, 'store');
  mkdirSync(join(store, 'runs', 'r1', 'objects'), { recursive: true });
  writeFileSync(join(store, 'runs', 'r1', 'events.jsonl'), events);
  return store;
};

/** events.jsonl. */
const logs: Act = (random, folder, { log }) => {
  const store = storeWith(folder, mutateLines(log, random));
  const [command, ...rest] = random.of(READERS);
  const exporting = random.below(12) === 0 ? ['export', 'latest', '-o', join(folder, 'out')] : undefined;
  return [...(exporting ?? [command!, ...rest]), '--store', store];
};

/** What a store may have become: each replaces or damages one of its parts. */
const DAMAGES: readonly ((store: string, random: Random) => void)[] = [
  (store) => replace(join(store, 'runs/r1/events.jsonl'), (path) => writeFileSync(path, '')),
  (store) => replace(join(store, 'runs/r1/events.jsonl'), (path) => symlinkSync('/nowhere/at/all', path)),
  (store) => replace(join(store, 'runs/r1/events.jsonl'), (path) => symlinkSync('/dev/zero', path)),
  (store) => replace(join(store, 'runs/r1/events.jsonl'), (path) => symlinkSync('events.jsonl', path)),
  (store) => replace(join(store, 'runs/r1/events.jsonl'), (path) => mkdirSync(path)),
  (store) => replace(join(store, 'runs/r1/objects'), (path) => writeFileSync(path, 'x')),
  (store) => replace(join(store, 'runs/r1'), (path) => writeFileSync(path, 'x')),
  (store) => replace(join(store, 'runs'), (path) => symlinkSync('runs', path)),
  (store) => replace(join(store, 'runs'), (path) => writeFileSync(path, 'x')),
  (store) => mkdirSync(join(store, 'index.sqlite')),
  (store, random) =>
    writeFileSync(join(store, 'index.sqlite'), Buffer.from(Array.from({ length: 4096 }, () => random.below(256)))),
  (store) => symlinkSync('/dev/zero', join(store, 'index.sqlite')),
  (store) => writeFileSync(join(store, 'runs/r1/events.jsonl'), '\0'.repeat(1000)),
  (store) => writeFileSync(join(store, 'runs/r1/events.jsonl'), `${'['.repeat(100_000)}\n`),
];

const replace = (path: string, create: (path: string) => void): void => {
  rmSync(path, { recursive: true, force: true });
  create(path);
};

const stores: Act = (random, folder, { log }) => {
  const store = storeWith(folder, log.map((line) => `${line}\n`).join(''));
  for (const hash of new Set(log.join('').match(/\b[0-9a-f]{64}\b/g) ?? [])) {
    const object = join(store, 'runs/r1/objects', hash.slice(0, 2), hash.slice(2));
    mkdirSync(object, { recursive: true });
  }
  random.of(DAMAGES)(store, random);
  return [...random.of(READERS), '--store', store];
};

const COMMANDS: readonly (readonly string[])[] = [
  ...[
    ['check', 'nowhere'],
    ['evaluate', 'nowhere'],
    ['diagnose', 'nowhere'],
    ['audit', 'nowhere'],
  ],
  ...[['measure', 'nowhere'], ['optimize', 'nowhere'], ['resume'], ['report'], ['dispatch', 'nowhere'], ['export']],
  ...[['compare', 'nowhere', 'there'], ['inspect', 'nowhere'], ['runs'], ['show'], ['patterns']],
  ...[['search-bench', 'nowhere'], ['devices'], ['check', SCALE]],
];
const OPTIONS = [
  ...['--workload', '--set', '--seed', '--device', '--threads', '--toolchain', '--run-timeout', '--record', '--replay'],
  ...['--store', '--format', '--output', '--problem', '--strategy', '--seeds', '--evaluations', '--within', '--goal'],
  ...['--max-evaluations', '--max-minutes', '--max-money', '--gpu-price', '--tier', '--blocks', '--kernel', '--lines'],
  ...['--fail-on', '--name', '--cache', '--baseline', '--set-baseline', '--objective', '--json', '--nonsense', '-o'],
];
const VALUES = [
  ...HOSTILE.map(String),
  ...[
    '/dev/zero',
    '/dev/full',
    '3000000',
    '1e309',
    '-0',
    '__proto__=1',
    'A=__proto__',
    'N=1',
    'N=1e9',
    'N=-1',
    'N=NaN',
  ],
  ...['constructor=1', 'b1:0', 'b1:NaN', '2x', '0us', '--', '=', '\n', 'latest/e999999999999999999999'],
].filter((text) => !text.includes('\0'));

/** Command lines. */
const options: Act = (random, folder) => {
  const argv: string[] = [...random.of(COMMANDS)];
  if (random.below(3) === 0) argv[1] = random.of(VALUES);
  for (let count = 1 + random.below(3); count > 0; count -= 1) {
    const option = random.of(OPTIONS);
    // What is written stays in the folder of the case.
    if (option === '--output' || option === '-o' || option === '--record') argv.push(option, join(folder, 'out'));
    else argv.push(option, random.of(VALUES));
  }
  return argv.filter((word) => word !== undefined);
};

export const KINDS: Readonly<Record<string, Act>> = { files, logs, stores, options };

/** Runs the case of a seed. */
export async function runCase(kind: string, seed: number, fixtures: Fixtures): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-fuzz-'));
  try {
    return await run(seed, KINDS[kind]!(new Random(seed), folder, fixtures));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
