import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/main.ts';
import { SCALE } from './run-cli.ts';

/** What the main commands print on a terminal of 80 and one of 120 columns, whole. New texts: `npx vitest run test/cli/screens.test.ts -u`. */
const WIDTHS = [80, 120] as const;
/** Nothing is cut in so many columns. */
const WIDE = 2000;

/** Where a line breaks depends on the lengths of paths: they are of one length everywhere. */
const PATH_LENGTH = 44;
const room = PATH_LENGTH - tmpdir().length - 1;
const folder = join(tmpdir(), `screens-${randomBytes(PATH_LENGTH).toString('hex')}`.slice(0, room));
const SHOWN_FOLDER = '/tmp/screens'.padEnd(PATH_LENGTH, '-');
const isLongEnough = room >= 'screens-'.length + 8;

const problem = join(folder, 'scale');
const ON_L4 = ['--device', 'virtual:l4', '--seed', '1'];
const STORE = ['--store', join(folder, 'store')];
/** Made on a GPU. */
const RECORDINGS = join(import.meta.dirname, '../fixtures/recordings');
const MEASURED = [
  ...['measure', join(RECORDINGS, 'attention'), '--replay', join(RECORDINGS, 'h200-attention-ladder-small.jsonl.gz')],
  ...['--workload', 'b1h8s512d64', '--seed', '1', '--baseline', 'all'],
];

/** Screen → command line. */
const SCREENS: Readonly<Record<string, readonly string[]>> = {
  help: ['--help'],
  'help-optimize': ['optimize', '--help'],
  check: ['check', problem],
  'check-verbose': ['check', problem, '--verbose'],
  evaluate: ['evaluate', join(problem, '01_strided'), ...ON_L4],
  'evaluate-verbose': ['evaluate', join(problem, '01_strided'), ...ON_L4, '--verbose'],
  diagnose: ['diagnose', join(problem, '01_strided'), ...ON_L4],
  'diagnose-verbose': ['diagnose', join(problem, '01_strided'), ...ON_L4, '--verbose'],
  compare: ['compare', join(problem, '01_strided'), join(problem, '02_coalesced'), ...ON_L4],
  inspect: ['inspect', join(problem, '01_strided'), ...ON_L4],
  // A run that has ended prints its end again.
  'optimize-end': ['resume', ...STORE],
  'optimize-end-verbose': ['resume', ...STORE, '--verbose'],
  show: ['show', ...STORE],
  'show-evaluation': ['show', 'latest/e2', ...STORE],
  report: ['report', ...STORE],
  runs: ['runs', ...STORE],
  patterns: ['patterns', ...STORE],
  measure: MEASURED,
  devices: ['devices'],
  doctor: ['doctor'],
};

async function printed(args: readonly string[], columns: number): Promise<string> {
  let text = '';
  const write = (chunk: unknown, _encoding: unknown, done: () => void): void => {
    text += String(chunk);
    done();
  };
  const terminal = { isTTY: true, columns, getColorDepth: () => 1, hasColors: () => false };
  const out = Object.assign(new Writable({ decodeStrings: false, write }), terminal);
  const err = new Writable({ decodeStrings: false, write: (_chunk, _encoding, done) => done() });
  const { columns: before } = process.stdout;
  process.stdout.columns = columns;
  try {
    await runCli(args, { out, err } as unknown as Parameters<typeof runCli>[1]);
  } finally {
    process.stdout.columns = before;
  }
  return text;
}

/** The same on every machine and every day. Nothing changes its length but what ends its line. */
const normalised = (text: string): string =>
  text
    .replaceAll(folder, SHOWN_FOLDER)
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d/g, '2026-01-01T00-00-00')
    .replaceAll(/^(Took: .* evaluations.*?), [\d hmins]+ (?=min|s\b)/gm, '$1, <time> ')
    .replaceAll(/^( +wall time +)[\d.]+ min/gm, (line) => line.replaceAll(/\d/g, '0'))
    .replaceAll(/(Wall time of the evaluations: )[^.]*(?:\.\d[^.]*)*\.$/gm, '$1<times>.')
    .replaceAll(/^Environment\n(?: +\S.*\n)+/gm, 'Environment\n  <machine>\n')
    .replaceAll(/^(Ready: )\d+ of \d+ checks passed.*$/gm, '$1<checks> passed');

const wordsOf = (text: string): Set<string> => new Set(text.split(/\s+/));

/** Lines that are wider than the terminal, but for those that hold one long word, such as a path, after its name. */
const tooWide = (text: string, columns: number): string[] =>
  text.split('\n').filter((line) => [...line].length > columns && /\S\s/.test(line.trim().replace(/^[\w ]+: /, '')));

/** What was cut within a word: what stands before `…` is no word of the whole text. */
const broken = (text: string, whole: Set<string>): string[] =>
  [...text.matchAll(/(\S+)…(?=\s|$)/gm)].map(([, word]) => word!).filter((word) => !whole.has(word));

beforeAll(async () => {
  // A terminal without colours, and a machine without a GPU.
  vi.stubEnv('NO_COLOR', '1');
  vi.stubEnv('FORCE_COLOR', undefined);
  vi.stubEnv('CUDA_VISIBLE_DEVICES', '');
  mkdirSync(folder);
  cpSync(SCALE, problem, { recursive: true });
  const file = join(problem, 'problem.json');
  const workloads = [256, 512].map((N) => ({ name: `n${N}`, dimensions: { N } }));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), workloads }));
  await printed(['optimize', problem, ...ON_L4, '--max-evaluations', '6', ...STORE], 80);
}, 120_000);

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!isLongEnough)('what a terminal shows', () => {
  test.each(Object.keys(SCREENS))('%s', { timeout: 120_000 }, async (name) => {
    const whole = wordsOf(await printed(SCREENS[name]!, WIDE));
    for (const columns of WIDTHS) {
      const text = await printed(SCREENS[name]!, columns);
      expect(tooWide(text, columns)).toEqual([]);
      expect(broken(text, whole)).toEqual([]);
      await expect(normalised(text)).toMatchFileSnapshot(`screens/${name}.${columns}.txt`);
    }
  });

  test('a run ends on a screen, nothing well is told in more than a line, and a move takes one', async () => {
    const lines = async (name: string): Promise<string[]> => (await printed(SCREENS[name]!, 80)).trimEnd().split('\n');
    expect((await lines('optimize-end')).length).toBeLessThanOrEqual(20);
    expect(await lines('doctor')).toHaveLength(1);
    const moves = (await lines('diagnose')).join('\n').split('What to try')[1]!;
    expect(moves.match(/01_strided → 02_coalesced/g)).toHaveLength(1);
  });
});

test('the checks see what they are for', () => {
  const whole = wordsOf('01_strided → 02_coalesced and more');
  expect(broken('01_strided → 02_coal…', whole)).toEqual(['02_coal']);
  expect(broken('01_strided →…', whole)).toEqual([]);
  expect(tooWide('a line of words\nlong', 10)).toEqual(['a line of words']);
  expect(tooWide('Report: /a/path/that/is/long', 10)).toEqual([]);
});
