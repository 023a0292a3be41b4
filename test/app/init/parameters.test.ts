import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkTarget } from '../../../src/app/check.ts';
import { initProblem } from '../../../src/app/init/init-problem.ts';
import { couplings } from '../../../src/app/init/parameters/couplings.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';
import { printAmount } from '../../../src/cuda-source/amounts.ts';
import { runJson } from '../../cli/run-cli.ts';
import { narrowFolder } from '../../support/narrowed.ts';
import { longTests, sampled } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const PUBLISHED = join(import.meta.dirname, 'published');
const FIXTURES = join(import.meta.dirname, '../../cuda-source/fixtures');

interface Offered {
  /** NAME: the values that gave the same results. */
  readonly parameters: Readonly<Record<string, readonly number[]>>;
  readonly constraints: readonly string[];
  /** Text of a note about a number that is none. */
  readonly stays?: string;
  /** Where the block has a parameter. */
  readonly block: readonly (string | number)[];
}

const around = (...values: number[]): readonly number[] => values;

/** What each file's first kernel gets. The values follow from what the kernel computes with them. */
const EXPECTED: Readonly<Record<string, Offered>> = {
  'published/sgemm-shared': {
    parameters: { TILE_WIDTH: around(8, 16, 32) },
    constraints: ['TILE_WIDTH * TILE_WIDTH <= 1024'],
    block: ['TILE_WIDTH', 'TILE_WIDTH'],
  },
  'published/sgemm-coalesced': {
    parameters: { BLOCKSIZE: around(8, 16, 32) },
    constraints: ['BLOCKSIZE * BLOCKSIZE <= 1024'],
    block: ['BLOCKSIZE * BLOCKSIZE'],
  },
  'published/sgemm-block2d': {
    parameters: {
      BN: around(16, 32, 64, 128),
      BM: around(16, 32, 64, 128),
      TM: around(2, 4, 8, 16),
      TN: around(2, 4, 8, 16),
      BK: around(4, 8, 16, 32),
    },
    constraints: [
      'floor(BM * BN / (TM * TN)) <= 1024',
      'BM * BN % (TM * TN) == 0',
      'M % BM == 0',
      'N % BN == 0',
      'K % BK == 0',
    ],
    block: ['floor(BM * BN / (TM * TN))'],
  },
  'published/sgemm-vectorized': {
    parameters: { BN: around(32, 64, 128), BM: around(32, 64, 128), TM: around(4, 8, 16), BK: around(4, 8, 16) },
    constraints: ['BN == BM', 'BN == TM * BK', 'M % BM == 0', 'N % BN == 0', 'K % BK == 0'],
    stays: 'TN stays 4',
    block: ['floor(BM * BN / (TM * 4))'],
  },
  'published/reduction-template': {
    parameters: { BLOCKS: around(16, 32, 64, 128, 256), BLOCK_SIZE: around(64, 128, 256, 512) },
    constraints: ['BLOCK_SIZE <= 1024'],
    block: ['BLOCK_SIZE'],
  },
  'published/softmax-block': {
    parameters: { BLOCK: around(64, 128, 256, 512, 1024) },
    constraints: ['BLOCK <= 1024'],
    block: ['BLOCK'],
  },
  'published/convolution-tiled': {
    parameters: { TILE_SIZE: around(32, 64, 128, 256, 512) },
    constraints: ['TILE_SIZE <= 1024'],
    block: ['TILE_SIZE'],
  },
  'published/stencil-radius': {
    parameters: { BLOCK_SIZE: around(32, 64, 128, 256, 512) },
    constraints: ['BLOCK_SIZE <= 1024'],
    stays: 'RADIUS stays 3: RADIUS=4 gives other results.',
    block: ['BLOCK_SIZE'],
  },
  'published/histogram-coarse': {
    parameters: { BLOCK_SIZE: around(64, 128, 256, 512, 1024), COARSE_FACTOR: around(1, 2, 4, 8, 16) },
    constraints: ['BLOCK_SIZE <= 1024'],
    block: ['BLOCK_SIZE'],
  },
  'fixtures/sgemm-blocktiled': {
    parameters: { BN: around(32, 64, 128), BM: around(32, 64, 128), TM: around(4, 8, 16), BK: around(4, 8) },
    constraints: ['BN == BM', 'BN == TM * BK', 'm % BM == 0', 'n % BN == 0', 'k % BK == 0'],
    block: ['floor(BM * BN / TM)'],
  },
  'fixtures/sgemm-tiled': {
    parameters: { TILE_SIZE: around(4, 8, 16, 32) },
    constraints: ['TILE_SIZE * TILE_SIZE <= 1024'],
    block: ['TILE_SIZE', 'TILE_SIZE'],
  },
  'fixtures/transpose': {
    parameters: { TILE_DIM: around(8, 16, 32, 64, 128), BLOCK_ROWS: around(2, 4, 8, 16, 32) },
    constraints: ['TILE_DIM * BLOCK_ROWS <= 1024'],
    block: ['TILE_DIM', 'BLOCK_ROWS'],
  },
  'fixtures/matvec': {
    parameters: { WARP: around(8, 16, 32), BLOCK: around(32, 64, 128, 256, 512) },
    constraints: ['BLOCK <= 1024'],
    block: ['BLOCK'],
  },
  'fixtures/layernorm': {
    parameters: { THREADS: around(64, 128, 256, 512, 1024) },
    constraints: ['THREADS <= 1024'],
    block: ['THREADS'],
  },
};

const out = mkdtempSync(join(tmpdir(), 'warpsmith-init-parameters-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));
let count = 0;
const fresh = (): string => join(out, `problem${count++}`);
const pathOf = (name: string): string =>
  name.startsWith('published/') ? join(PUBLISHED, `${basename(name)}.cu`) : join(FIXTURES, `${basename(name)}.cu`);

async function init(path: string, parameters?: readonly string[]) {
  const report = await initProblem(path, { kernels: [], values: {}, buffers: [], parameters }, fresh());
  const rung = readdirSync(report.folder).find((name) => name.startsWith('01_'))!;
  const kernel = JSON.parse(readFileSync(join(report.folder, rung, 'kernel.json'), 'utf8'));
  return { ...report, kernel, text: readFileSync(join(report.folder, rung, 'kernel.cu'), 'utf8') };
}

async function failureOf(path: string, parameters: readonly string[]) {
  const error = await init(path, parameters).catch((thrown: unknown) => thrown);
  if (!(error instanceof WarpsmithError)) throw new Error(`no WarpsmithError: ${String(error)}`);
  return error.details;
}

function fileOf(text: string): string {
  const folder = fresh();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'file.cu'), text);
  return join(folder, 'file.cu');
}

describe('numbers of published files', () => {
  sampled('files with parameters', Object.keys(EXPECTED), {
    oneIn: 10,
    placeOf: (name) => (name.startsWith('published/') ? `test/app/init/${name}.cu` : `test/cuda-source/${name}.cu`),
  })('%s: become parameters of the kernel', async (name) => {
    const { parameters, constraints, stays, block } = EXPECTED[name]!;
    const { folder, kernel, notes } = await init(pathOf(name));
    expect(Object.fromEntries(valuesIn(kernel))).toEqual(parameters);
    expect(kernel.constraints).toEqual(expect.arrayContaining([...constraints]));
    expect(kernel.steps.at(-1).block).toEqual(block);
    expect(notes.join('\n')).toContain(Object.keys(parameters)[0]);
    if (stays) expect(notes.join('\n')).toContain(stays);
    const { kernels } = await checkTarget({ target: folder });
    expect(kernels[0]!.plans.some(({ plan }) => plan !== null)).toBe(true);
  });
});

const valuesIn = (kernel: { parameters?: Record<string, { values: number[] }> }) =>
  Object.entries(kernel.parameters ?? {}).map(([name, { values }]) => [name, values] as const);

long('lets optimize find a faster setting at once', async () => {
  const { folder } = await initProblem(
    pathOf('published/histogram-coarse'),
    { kernels: [], values: {}, buffers: [], parameters: ['BLOCK_SIZE=256,512'], reference: 'original' },
    fresh(),
  );
  // What is compared with stays as it was given.
  expect(readFileSync(join(folder, 'original/kernel.cu'), 'utf8')).toContain('blockSize = 256;');
  narrowFolder(folder, ['n <= 16384 || n == 262144', 'n % 1024 == 0 || n == 1000'], {
    name: 'n256k',
    dimensions: { n: 262_144 },
  });
  const options = ['--max-evaluations', '3', '--no-ablation', '--store', fresh()];
  const device = ['--device', 'virtual:l4', '--workload', 'n=262144'];
  const { json } = await runJson(['optimize', folder, ...device, ...options]);
  expect(json.best.candidate.parameters).toEqual({ BLOCK_SIZE: 512 });
  expect(json.start.medianNs / json.best.medianNs).toBeGreaterThan(1.2);
  expect(json.confirmations.at(-1).outcome).toBe('accepted');
});

describe('--parameter', () => {
  const HISTOGRAM = pathOf('published/histogram-coarse');

  long('takes those that are named, with their values, and cuts their definitions', async () => {
    const { kernel, text } = await init(HISTOGRAM, ['COARSE_FACTOR=2,3,4']);
    expect(valuesIn(kernel)).toEqual([['COARSE_FACTOR', [2, 3, 4]]]);
    expect(text).not.toContain('#define COARSE_FACTOR');
    expect(text).toContain('static const int blockSize = 256;');
  });

  it('puts a macro in place of a constant that is not in capitals', async () => {
    const { kernel, text } = await init(HISTOGRAM, ['blockSize=128,256']);
    expect(valuesIn(kernel)).toEqual([['BLOCK_SIZE', [128, 256]]]);
    expect(text).toContain('static const int blockSize = BLOCK_SIZE;');
  });

  it('takes none if told so', async () => {
    const { kernel, text } = await init(HISTOGRAM, ['none']);
    expect([kernel.parameters, text.includes('#define COARSE_FACTOR 4')]).toEqual([undefined, true]);
  });

  it('says which never verified, and keeps what was asked for', async () => {
    const { kernel, notes } = await init(pathOf('published/stencil-radius'), ['RADIUS=3,4']);
    expect(valuesIn(kernel)).toEqual([['RADIUS', [3, 4]]]);
    expect(notes).toContain('01_stencil_1d: No other value of RADIUS verified: RADIUS=4 gives other results.');
  });

  it.each([
    ['a name that is nowhere', ['TILE'], 'no-such-parameter', 'BLOCK_SIZE, COARSE_FACTOR'],
    ['a size of the results', ['NUM_BINS'], 'no-such-parameter', 'BLOCK_SIZE'],
    ['no list of numbers', ['BLOCK_SIZE=a,b'], 'bad-option-value', 'NAME=16,32,64'],
    ['zero', ['BLOCK_SIZE=0,4'], 'bad-option-value', 'positive'],
  ])('refuses %s', async (_, parameters, code, expected) => {
    const details = await failureOf(HISTOGRAM, parameters);
    expect([details.code, details.path]).toEqual([code, '--parameter']);
    expect(details.expected).toContain(expected);
  });

  it('keeps the names of templates apart from macros', async () => {
    const path = fileOf(
      'template <int BLOCK> __global__ void fill(float* x, int n) { int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) x[i] = 3.f; }\n' +
        'int main() { int n = 1000; float *d, h[1000]; cudaMalloc(&d, n * sizeof(float)); fill<64><<<(n + 63) / 64, 64>>>(d, n); cudaMemcpy(h, d, 4000, cudaMemcpyDeviceToHost); }\n',
    );
    const { kernel, text } = await init(path, ['BLOCK=32,64']);
    expect(kernel.steps[0]).toMatchObject({ function: 'fill<BLOCK>', grid: ['ceilDiv(n, BLOCK)'], block: ['BLOCK'] });
    expect(text).toContain('#pragma push_macro("BLOCK")');
  });
});

describe('what parameters must keep together', () => {
  const named = [
    { name: 'BM', value: 64 },
    { name: 'BK', value: 8 },
    { name: 'TM', value: 8 },
  ];

  it('is what all verified settings have alike, and what failed has not', () => {
    const verified = [
      { BM: 32, BK: 4, TM: 8 },
      { BM: 128, BK: 8, TM: 16 },
    ];
    const refused = [{ setting: { BM: 32, BK: 8, TM: 8 }, reason: 'gives other results' }];
    expect(couplings(named, { verified, refused }).map((one) => printAmount(one))).toEqual(['BM == BK * TM']);
  });

  it('is nothing where nothing failed', () => {
    expect(couplings(named, { verified: [{ BM: 32, BK: 4, TM: 8 }], refused: [] })).toEqual([]);
  });
});
