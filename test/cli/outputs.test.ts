import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import { runCli } from '../../src/cli/main.ts';
import { OUTPUT_SCHEMAS } from '../../src/core/schemas/output-schemas.ts';
import { SCALE, temporaryFolder } from './run-cli.ts';

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
  store = ['--store', temporaryFolder()];
  await printed(['optimize', SCALE, ...ON_L4, '--max-evaluations', '2', ...store]);
}, 120_000);

test.each<[keyof typeof OUTPUT_SCHEMAS, (out: string) => string[]]>([
  ['error', () => ['check', 'nowhere']],
  ['error', () => ['no-such-command']],
  ['doctor', () => ['doctor']],
  ['devices', () => ['devices']],
  ['check', () => ['check', SCALE]],
  ['evaluate', () => ['evaluate', KERNEL, ...ON_L4]],
  ['diagnosis', () => ['diagnose', KERNEL, ...ON_L4]],
  ['audit', () => ['audit', SCALE]],
  ['run-report', () => ['report', ...store]],
  ['run-report', () => ['resume', ...store]],
  ['export', (out) => ['export', ...store, '-o', out]],
  ['compare', () => ['compare', KERNEL, join(SCALE, '02_coalesced'), ...ON_L4]],
  ['inspect', () => ['inspect', KERNEL, ...ON_L4]],
  ['runs', () => ['runs', ...store]],
  ['run', () => ['show', ...store]],
  ['evaluation', () => ['show', 'latest/e1', ...store]],
  ['patterns', () => ['patterns', ...store]],
  ['search-bench', () => ['search-bench', SPACE, '--seeds', '1', '--evaluations', '5', '--strategy', 'random']],
])('%s is what its schema says', async (kind, args) => {
  const document = await printed(args(join(temporaryFolder(), 'out')));
  expect(document.kind).toBe(kind);
  const outcome = OUTPUT_SCHEMAS[kind].safeParse(document);
  expect(outcome.success ? [] : outcome.error.issues).toEqual([]);
});

test('a document that lacks a field is refused', () => {
  expect(OUTPUT_SCHEMAS.runs.safeParse({ schemaVersion: 1, kind: 'runs', store: 's' }).success).toBe(false);
  expect(OUTPUT_SCHEMAS.runs.safeParse({ schemaVersion: 1, store: 's', runs: [] }).success).toBe(false);
});
