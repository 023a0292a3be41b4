import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { runCli } from '../../src/cli/main.ts';
import { COMMANDS } from '../../src/core/requests/commands.ts';
import { OUTPUT_SCHEMAS } from '../../src/core/schemas/output-schemas.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { gateRepository } from './gate-repository.ts';
import { repository, SCALE, temporaryFolder } from './run-cli.ts';

const KERNEL = join(SCALE, '01_strided');
/** A space of eight settings in the T4 format. */
const SPACE = join(temporaryFolder(), 'space.json');
const results = [1, 2, 3, 4, 5, 6, 7, 8].map((block) => ({
  configuration: { block },
  invalidity: 'correct',
  measurements: [{ name: 'time', value: 10 - block, unit: 'ms' }],
  objectives: ['time'],
}));
writeFileSync(SPACE, JSON.stringify({ schema_version: '1.0.0', metadata: { timeunit: 'ms' }, results }));
const ON_L4 = ['--device', 'virtual:l4'];
/** A problem of its own for two workloads, both small. */
const SMALL = join(temporaryFolder(), 'scale');
const GATHER = join(repository, 'test/app/import/fixtures/gather.json');
cpSync(SCALE, SMALL, { recursive: true });
const file = join(SMALL, 'problem.json');
const workloads = [256, 512].map((N) => ({ name: `n${N}`, dimensions: { N } }));
writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), workloads }));
const SEARCH = ['--max-evaluations', '4', '--no-ablation'];
/** Made on a GPU; the problem and its kernels as they were then lie beside it. */
const RECORDINGS = join(import.meta.dirname, '../fixtures/recordings');
const MEASURED = [
  ...['measure', join(RECORDINGS, 'attention'), '--replay', join(RECORDINGS, 'h200-attention-ladder-small.jsonl.gz')],
  ...['--workload', 'b1h8s512d64', '--seed', '1', '--baseline', 'all'],
];

const sink = (chunks: string[]) =>
  new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  }) as unknown as NodeJS.WriteStream;

async function printed(args: readonly string[]): Promise<{ kind: keyof typeof OUTPUT_SCHEMAS }> {
  const chunks: string[] = [];
  await runCli([...args, '--json'], { out: sink(chunks), err: sink([]) });
  return JSON.parse(chunks.join(''));
}

let store: string[];

beforeAll(async () => {
  process.env.XDG_CONFIG_HOME = temporaryFolder();
  store = ['--store', temporaryFolder()];
  await printed(['optimize', SCALE, ...ON_L4, '--max-evaluations', '2', ...store]);
});

/** What editors and programs are given, whole: a document of any kind. */
const published = z.fromJSONSchema(
  JSON.parse(readFileSync(join(import.meta.dirname, '../../schemas/output.schema.json'), 'utf8')),
);

const OUTPUTS: readonly [keyof typeof OUTPUT_SCHEMAS, (out: string) => string[]][] = [
  ['error', () => ['check', 'nowhere']],
  ['error', () => ['no-such-command']],
  ['error', () => ['mcp', 'nowhere']],
  ['error', () => ['ui', '--port', '70000']],
  ['error', () => ['worker', '--queue', 'nowhere', ...ON_L4]],
  ['slurm', () => withoutWorkers(['slurm', 'status'])],
  ['init', (out) => ['init', SCALE, '--agent', join(out, 'agent')]],
  ['new-problem', (out) => ['new', out]],
  ['import', (out) => ['import', GATHER, '--value', 'rows=3', '--value', 'count=4', '--output', join(out, 'gather')]],
  ['course', () => ['learn']],
  ['lesson', (out) => ['learn', '01', '-o', join(out, 'lesson')]],
  ['lesson-check', () => ['learn', 'check', brokenLesson()]],
  ['doctor', () => ['doctor']],
  ['devices', () => ['devices']],
  ['completion', () => ['completion', 'bash']],
  ['check', () => ['check', SCALE]],
  ['evaluate', () => ['evaluate', KERNEL, ...ON_L4]],
  ['diagnosis', () => ['diagnose', KERNEL, ...ON_L4]],
  ['audit', () => ['audit', SCALE]],
  ['run-report', () => ['report', ...store]],
  ['run-report', () => ['resume', ...store]],
  ['run-comparison', () => ['report', ...store, '--against', 'latest']],
  ['export', (out) => ['export', ...store, '-o', out]],
  ['gate', () => ['gate', gateRepository().folder, '--base', 'main', ...ON_L4]],
  ['compare', () => ['compare', KERNEL, join(SCALE, '02_coalesced'), ...ON_L4]],
  ['inspect', () => ['inspect', KERNEL, ...ON_L4]],
  ['log', () => ['log', ...store]],
  ['runs', () => ['runs', ...store]],
  ['run', () => ['show', ...store]],
  ['evaluation', () => ['show', 'latest/e1', ...store]],
  ['patterns', () => ['patterns', ...store]],
  ['search-bench', () => ['search-bench', SPACE, '--seeds', '1', '--evaluations', '5', '--strategy', 'random']],
  ['ladder', () => MEASURED],
  ['run-report', (out) => ['optimize', SMALL, ...ON_L4, ...SEARCH, '--store', out]],
  ['per-workload', () => ['optimize', SMALL, ...ON_L4, ...SEARCH, '--objective', 'per-workload', ...BOTH, ...small()]],
  ['dispatch-table', (out) => ['dispatch', ...runsOf(small()[1]!), ...ON_L4, ...small(), '-o', out]],
  ['candidate', () => ['show', bestOf(small()[1]!), ...small()]],
];
/** Finds a Slurm that has no jobs. */
function withoutWorkers(args: string[]): string[] {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'squeue'), '#!/bin/sh\n', { mode: 0o755 });
  process.env.PATH = `${folder}:${process.env.PATH}`;
  return args;
}
/** A lesson whose kernel does not compile, which is judged at once. */
function brokenLesson(): string {
  const folder = join(temporaryFolder(), 'lesson');
  cpSync(join(repository, 'course/01_coalescing'), folder, { recursive: true });
  writeFileSync(join(folder, 'kernel/kernel.cu'), 'nothing');
  return folder;
}
const BOTH = ['--workload', 'n256', '--workload', 'n512'];
const smallStore = temporaryFolder();
const small = () => ['--store', smallStore];
const runsOf = (folder: string): string[] => readdirSync(join(folder, 'runs'));
/** The id of the candidate that a store's first run began with. */
const bestOf = (folder: string): string => {
  const log = readFileSync(join(folder, 'runs', runsOf(folder)[0]!, 'events.jsonl'), 'utf8');
  return (JSON.parse(log.slice(0, log.indexOf('\n'))) as { start: { id: string } }).start.id;
};

/** Kinds whose commands judge kernels for seconds: some of them run. All others run always. */
const LONG: readonly string[] = ['evaluate', 'compare', 'run-report'];
const isLong = ([kind]: (typeof OUTPUTS)[number]): boolean => LONG.includes(kind);

async function isAsItsSchemaSays(kind: keyof typeof OUTPUT_SCHEMAS, args: (out: string) => string[]): Promise<void> {
  const document = await printed(args(join(temporaryFolder(), 'out')));
  expect(document.kind).toBe(kind);
  const outcome = OUTPUT_SCHEMAS[kind].safeParse(document);
  expect(outcome.success ? [] : outcome.error.issues).toEqual([]);
  expect(published.safeParse(document).error).toBeUndefined();
}

const TITLE = '%s is what its schema says';
test.each(OUTPUTS.filter((output) => !isLong(output)))(TITLE, isAsItsSchemaSays);
sampled('long outputs', OUTPUTS.filter(isLong), { oneIn: 3, placeOf: () => 'src/core/schemas' })(
  TITLE,
  isAsItsSchemaSays,
);

test('no kind and no command is left out', () => {
  expect([...new Set(OUTPUTS.map(([kind]) => kind))].sort()).toEqual(Object.keys(OUTPUT_SCHEMAS).sort());
  const commands: string[] = Object.keys(COMMANDS);
  expect(
    [...new Set(OUTPUTS.map(([, args]) => args('')[0]!))].filter((name) => commands.includes(name)).sort(),
  ).toEqual(commands.sort());
});

test('a document that lacks a field is refused', () => {
  expect(OUTPUT_SCHEMAS.runs.safeParse({ schemaVersion: 1, kind: 'runs', store: 's' }).success).toBe(false);
  expect(OUTPUT_SCHEMAS.runs.safeParse({ schemaVersion: 1, store: 's', runs: [] }).success).toBe(false);
});
