import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import { completeDimensions, isShapeOf } from '../../../src/core/plan/dimensions.ts';
import type { Dimensions } from '../../../src/core/problem.ts';
import { dispatchTable } from '../../../src/handover/dispatch-table.ts';
import { chooseEntry } from '../support/choose-entry.ts';
import { inFolder } from '../support/host-compiler.ts';
import { randomDimensions } from '../support/random-dimensions.ts';
import { packageOf, parameterBytes, python, runPython } from './support.ts';

const attention = new URL('../../../problems/attention/', import.meta.url).pathname;

// biome-ignore lint/suspicious/noExplicitAny: what behaviour.py prints.
let answers: any;
let chosen: (string | null)[];

/** Three kernels, of which one runs on Hopper only; one Python tells all that the tests look at. */
beforeAll(async () => {
  if (!python) return;
  const { problem } = await loadKernel(join(attention, '01_minimal'));
  const candidates = await Promise.all(
    ['09_lean', '11_sums_first', '12_decode'].map(async (rung) =>
      makeCandidate((await loadKernel(join(attention, rung), { problem })).kernel, {}),
    ),
  );
  const rows = [
    ['b1h1s32d64', 0],
    ['b1h8s512d64-causal', 0],
    ['b16h16s1024d64', 1],
    ['b4h16s4096d64-causal', 1],
    ['b16h16s1024d128', 1],
    ['decode-b1h32-8s8192d128', 2],
    ['decode-b1h8s4096d64', 2],
  ] as const;
  const entries = rows.map(([workload, kernel]) => {
    const { dimensions } = problem.file.workloads.find(({ name }) => name === workload)!;
    return { workload, kernel, dimensions: completeDimensions(problem.file.dimensions, dimensions) };
  });
  const table = dispatchTable({
    problem: problem.file,
    device: { id: 'cuda:0', name: 'none' },
    fallback: candidates[0]!,
    winners: entries.map(({ workload, kernel, dimensions }) => ({
      workload: { name: workload, dimensions },
      candidate: candidates[kernel]!,
      timing: { kind: 'predicted', medianNs: 1 },
      seed: 1,
    })),
  });
  const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]));
  const drawn: Dimensions[] = [
    ...entries.map(({ dimensions }) => dimensions),
    ...randomDimensions(problem.file, 23, 400).map((one, index) => ({
      ...one,
      // Half of them are what the kernels are made for.
      ...(index % 2 === 0 && { Hkv: one.H, Skv: one.S, bottomRight: 0, bshd: 0, lse: 0 }),
      ...(index % 10 === 0 && { S: 1, H: 8, Hkv: 8, Skv: one.Skv }),
    })),
  ];
  // Others are refused before anything is chosen.
  const calls = drawn.filter((one) => isShapeOf(problem.file, one));
  chosen = calls.map((one) => chooseEntry(table, { problem: problem.file, candidates: byId }, one)?.workload ?? null);
  const made = packageOf(problem.file, candidates, { name: 'table', table: { entries, fallback: 0 } });
  answers = inFolder(made.files, (folder) => {
    const names = Object.keys(problem.file.dimensions);
    const request = {
      folder,
      argumentBytes: Object.assign({}, ...candidates.map(parameterBytes)),
      dimensions: calls.map((one) => names.map((name) => one[name])),
    };
    return JSON.parse(
      runPython([new URL('./fake/behaviour.py', import.meta.url).pathname], folder, JSON.stringify(request)),
    );
  });
});

describe.skipIf(!python)('a package for PyTorch (needs python3)', () => {
  it('chooses the entry that the dispatch table chooses', () => {
    expect(answers.chosen).toEqual(chosen);
    expect(chosen.length).toBeGreaterThan(100);
    expect(new Set(chosen).size).toBeGreaterThan(6);
  });

  it('keeps what a kernel keeps apart for every stream and every captured call', () => {
    const [first, again, other, captured, capturedAgain, last] = answers.kept as { at: string; stream: number }[];
    expect(again).toEqual(first);
    expect(last).toEqual(first);
    expect(other!.stream).toBe(5);
    expect(new Set([first, other, captured, capturedAgain].map((one) => one!.at)).size).toBe(4);
  });

  it('encodes tensor maps once for each address', () => {
    expect(answers).toMatchObject({ mapsOfOneCall: 3, mapsOfOthers: 2 });
  });

  it('takes a workspace from the allocator for every call', () => {
    expect(new Set(answers.workspaces).size).toBe(2);
  });

  it('loads each kernel once for each device, and launches there', () => {
    expect(answers).toMatchObject({
      otherDevice: { loads: 3, result: 'cuda:1', current: 0 },
      loadedAgain: 0,
      threads: [1, 1],
    });
  });

  it('writes to the tensors of out, and says that they have changed', () => {
    expect(answers.out).toEqual({ same: true, version: 1 });
  });

  it('says what the driver says of a launch that fails, and goes on afterwards', () => {
    expect(answers.failure).toMatch(/^CudaError: launch of _attention<64>: out of memory \(CUDA error 2\)$/);
    expect(answers.afterFailure).toBe(1);
  });

  it.each([
    ['dtype', 'TypeError: Q is torch.float32; expected torch.float16'],
    ['cpu', 'ValueError: Q is on cpu; expected a CUDA device'],
    ['devices', 'ValueError: K is on cuda:1; expected cuda:0, where Q is'],
    ['rank', 'ValueError: K has shape (8, 512, 64); expected 4 axes: (B, Hkv, Skv, D)'],
    [
      'shape',
      'ValueError: V has shape (1, 8, 100, 64); expected (B, Hkv, Skv, D) = (1, 8, 512, 64), where B = 1, D = 64, Hkv = 8, Skv = 512',
    ],
    [
      'strides',
      'ValueError: Q has shape (1, 8, 100, 64) and strides (262144, 32768, 64, 1); expected strides (51200, 6400, 64, 1) or (51200, 64, 512, 1)',
    ],
    ['layouts', 'ValueError: the strides of the tensors do not fit together'],
    [
      'told',
      'ValueError: Q has shape (1, 8, 512, 64) and strides (262144, 32768, 64, 1); expected strides (262144, 64, 512, 1)',
    ],
    ['alignment', 'ValueError: Q begins at a multiple of 2 bytes; expected one of 16; Q.clone() is aligned'],
    ['value', 'ValueError: causal is 2; expected one of 0, 1'],
    ['head', 'ValueError: D is 48; expected one of 32, 64, 96, 128, 256'],
    [
      'limit',
      'ValueError: attention is not defined for this call: limits[1]: causal || !bottomRight does not hold (causal = 0, bottomRight = 1)',
    ],
    ['kernel', 'ValueError: 09_lean does not take this call: constraints[3]'],
    ['gradient', 'RuntimeError: attention has no gradient, but a tensor of this call requires one'],
    ['outShape', 'ValueError: out: O has shape (1, 8, 512, 32); expected (B, H, S, D) = (1, 8, 512, 64)'],
    ['outDtype', 'TypeError: out: O is torch.float32; expected torch.float16'],
    ['outMany', 'ValueError: out has 3 tensors; expected at most 2: O, LSE'],
    ['outUnwanted', 'ValueError: out: LSE is not computed by this call; expected None'],
  ])('refuses what it does not take: %s', (name, text) => {
    expect((answers.errors[name] as string).slice(0, text.length)).toBe(text);
    expect(answers.launchedByErrors).toBe(0);
  });

  it('tells the layout from the strides, and traces shapes without a launch', () => {
    expect(answers.told).toEqual([6720, 64, 192, 1]);
    expect(answers.traced).toEqual([
      [[1, 8, 512, 64], 'float16', 'meta'],
      [[1, 8, 512, 1], 'float32', 'meta'],
    ]);
    expect(answers.launchedByTracing).toBe(0);
    expect(answers.schema).toEqual([
      'attention(Tensor Q, Tensor K, Tensor V, int causal=0, int bottomRight=0, int? bshd=None, int lse=0) -> Tensor[]',
      'attention_out(Tensor Q, Tensor K, Tensor V, Tensor(b0!) O, Tensor(b1!)? LSE, int causal=0, int bottomRight=0, int? bshd=None, int lse=0) -> ()',
    ]);
  });

  it('runs the best machine code that a device takes', () => {
    expect(answers.architectures).toEqual({
      '7.5': [null, null],
      '8.0': ['sm_80', null],
      '8.9': ['sm_80', null],
      '9.0': ['sm_90', 'sm_90a'],
      '10.0': [null, null],
    });
    expect(answers.noCode).toBe(
      'RuntimeError: 09_lean has no machine code for device 0 (sm_75), only for sm_80, sm_90; export again with --arch sm_75',
    );
  });
});
