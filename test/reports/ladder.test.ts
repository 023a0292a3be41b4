import { describe, expect, test } from 'vitest';
import {
  buildLadderRow,
  type LadderContender,
  type LadderView,
  ladderDocument,
} from '../../src/reports/documents/ladder.ts';
import { printMarkdown } from '../../src/reports/print/markdown.ts';
import { onTerminal, unwrapped } from '../support/printed.ts';
import { measurementOf, twoContenders } from './measured-evaluation.ts';

const CONTENDERS: LadderContender[] = [
  { name: 'candidate', kind: 'kernel' },
  { name: 'broken', kind: 'kernel' },
  { name: 'flash', kind: 'library', versions: { torch: '2.11.0+cu130', cudnn: '9.1' } },
  { name: 'cudnn', kind: 'library' },
];

/** As the driver gives them, the last cut off. */
const KERNELS = [
  'void pytorch_flash::flash_fwd_kernel<Traits<64, 4, Kernel_traits<64, cutlass::half_t> >, true>(pytorch_flash::Params)',
  'void (anonymous namespace)::softmax_warp_forward<c10::Half, float, 9, false>(c10::Half*, int const*, bool)',
  'nvjet_sm90_hsh_64x48',
  'void at::native::unrolled_elementwise_kernel<at::native::copy(at::Base&)::{lambda()#3}::operator()() const>(int)',
  'void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kern',
];

const blocks = twoContenders(50_000, 100_000);
const row = buildLadderRow({
  workload: 'b1h8s512d64',
  dimensions: { S: 512 },
  cache: 'cold',
  flop: 5e8,
  vetoNs: 4000,
  attainableNs: 8000,
  contenders: CONTENDERS,
  blocks,
  measurements: new Map([
    ['candidate', measurementOf(blocks, 'candidate')],
    ['flash', measurementOf(blocks, 'flash')],
  ]),
  failed: [{ contender: 'broken', status: 'wrong', reason: 'O[0] is 2' }],
  notApplicable: new Map([['cudnn', 'does not take D = 96']]),
  gpuKernels: new Map([['flash', KERNELS]]),
  seed: 1,
});

const view: LadderView = {
  schemaVersion: 1,
  kind: 'ladder',
  problem: 'attention',
  device: { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200', driver: '580.159.04' },
  tier: 'accept',
  seed: 1,
  recordedAt: '2025-11-20T00:00:00.000Z',
  versions: { warpsmith: '0.1.0' },
  contenders: CONTENDERS,
  rows: [row],
};

describe('a row of the ladder', () => {
  test('is compared with the fastest library; the peer is compared with nothing', () => {
    expect(row.peer).toBe('flash');
    const [candidate, broken, flash, cudnn] = row.cells;
    expect(candidate).toMatchObject({ outcome: 'measured', comparison: { verdict: 'faster', baseline: 'flash' } });
    expect(candidate).toHaveProperty('comparison.ratio', expect.closeTo(2.001, 3));
    expect(flash).toHaveProperty('comparison', undefined);
    expect(broken).toEqual({ contender: 'broken', outcome: 'failed', status: 'wrong', reason: 'O[0] is 2' });
    expect(cudnn).toEqual({ contender: 'cudnn', outcome: 'not-applicable', reason: 'does not take D = 96' });
  });

  test('counts the problem’s FLOP: 5e8 in 50.05 µs are 9.99 TFLOP/s', () => {
    expect(row.cells[0]).toHaveProperty('flopPerSecond', expect.closeTo(9.99e12, -10));
  });

  test('without libraries has the first contender as peer; without any measurement, none', () => {
    const kernels = CONTENDERS.slice(0, 2);
    const input = {
      ...row,
      contenders: kernels,
      blocks,
      failed: [],
      notApplicable: new Map(),
      gpuKernels: new Map(),
      seed: 1,
    };
    const alone = buildLadderRow({
      ...input,
      measurements: new Map([['candidate', measurementOf(blocks, 'candidate')]]),
    });
    expect(alone.peer).toBe('candidate');
    expect(buildLadderRow({ ...input, measurements: new Map() }).peer).toBeNull();
  });
});

/** The same row under another name, so that there are two. */
const several: LadderView = { ...view, rows: [row, { ...row, workload: 'b1h8s1024d64' }] };
// Backslashes are there only so that nothing is taken for markup.
const inMarkdown = (shown: LadderView): string => printMarkdown(ladderDocument(shown)).replaceAll('\\', '');

describe.each([
  ['the terminal', unwrapped(onTerminal(ladderDocument(several)))],
  ['a narrow terminal', unwrapped(onTerminal(ladderDocument(several), { width: 80 }))],
  ['Markdown', inMarkdown(several)],
])('on %s', (_where, text) => {
  test.each([
    '50.05 µs',
    '2.001×',
    'b1h8s512d64, broken: wrong: O[0] is 2',
    'b1h8s512d64, cudnn: does not take D = 96',
    'b1h8s512d64, flash: GPU kernels: pytorch_flash::flash_fwd_kernel, softmax_warp_forward, nvjet_sm90_hsh_64x48, at::native::unrolled_elementwise_kernel',
    'b1h8s512d64, candidate: blocks discarded: 1',
    'flash: torch 2.11.0+cu130, cudnn 9.1',
  ])('says: %s', (line) => expect(text).toContain(line));

  test('never says predicted', () => expect(text).not.toMatch(/predicted/i));
});

test('a terminal prints a contender’s row once, and by workload when asked for more', () => {
  const count = (text: string): number => text.split('50.05 µs').length - 1;
  expect(count(onTerminal(ladderDocument(several), { isVerbose: false }))).toBe(several.rows.length);
  const verbose = unwrapped(onTerminal(ladderDocument(several), { isVerbose: true }));
  for (const text of [verbose, inMarkdown(several)]) {
    for (const said of ['50.05 µs, 9.99 TFLOP/s, 2.001× faster', '4.99 TFLOP/s, peer', 'flash (library)'])
      expect(text).toContain(said);
  }
});

test('of one workload, the title says which; rows and notes need not', () => {
  const text = inMarkdown(view);
  expect(text).toContain('# attention b1h8s512d64 (cold) on NVIDIA H200');
  expect(text).not.toContain('Contenders by workload');
  expect(text).toContain('- broken: wrong: O[0] is 2');
  expect(text.split('50.05 µs')).toHaveLength(2);
});

test('libraries of the same versions share a line', () => {
  const versions = { torch: '2.11.0+cu130' };
  const contenders = ['flash', 'cudnn'].map((name) => ({ name, kind: 'library' as const, versions }));
  expect(inMarkdown({ ...view, contenders })).toContain('- flash, cudnn: torch 2.11.0+cu130');
});

test('JSON survives a round trip', () => expect(JSON.parse(JSON.stringify(view))).toEqual(view));
