import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  ArgumentDeclaration,
  ContentsDeclaration,
  CopyStepDeclaration,
  KernelFile,
} from '../../../src/core/kernel.ts';
import type { LaunchPlan, PlannedLaunch } from '../../../src/core/launch-plan.ts';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import { expandPlan, type PlanRequest } from '../../../src/core/plan/expand-plan.ts';
import type { ProblemFile } from '../../../src/core/problem.ts';
import { detailsOf } from '../support/expect-error.ts';
import { smallKernel, smallProblem } from '../support/small-problem.ts';

const request: PlanRequest = {
  problem: smallProblem,
  kernel: smallKernel,
  parameters: { BLOCK: 128, ITEMS: 2 },
  dimensions: { N: 17, D: 64, causal: 0 },
  device: { smCount: 58 },
  file: 'kernel.json',
};
const launchStep = smallKernel.steps[1] as Extract<KernelFile['steps'][number], { function: string }>;
const withStep = (changes: Partial<typeof launchStep>): PlanRequest => ({
  ...request,
  kernel: { ...smallKernel, steps: [{ ...launchStep, ...changes }] },
});
const launchOf = (plan: LaunchPlan): PlannedLaunch => plan.steps[0] as PlannedLaunch;
const argumentOf = (argument: ArgumentDeclaration) =>
  launchOf(expandPlan(withStep({ arguments: [argument] }))).arguments[0];

it('evaluates every expression', () => {
  expect(expandPlan(request)).toEqual({
    buffers: [
      {
        name: 'x',
        role: 'in',
        dtype: 'f16',
        shape: [17, 64],
        strides: [64, 1],
        bytes: 2176,
        alignmentBytes: 16,
        generator: { kind: 'normal', mean: 1 },
      },
      { name: 'y', role: 'out', dtype: 'f16', shape: [17, 64], strides: [64, 1], bytes: 2176, alignmentBytes: 16 },
      // 4 · ceil(1088 / 128) bytes
      {
        name: 'partial',
        role: 'workspace',
        dtype: 'u8',
        shape: [36],
        strides: [1],
        bytes: 36,
        alignmentBytes: 256,
        init: 'zero',
      },
    ],
    steps: [
      { kind: 'memset', buffer: 'partial', byteValue: 0 },
      {
        kind: 'launch',
        functionName: 'scale',
        // ceil(1088 / 256)
        grid: [5, 1, 1],
        block: [128, 1, 1],
        dynamicSharedBytes: 512,
        cooperative: false,
        programmaticDependent: false,
        arguments: [
          { kind: 'buffer', buffer: 'x', offsetBytes: 0 },
          { kind: 'buffer', buffer: 'y', offsetBytes: 0 },
          { kind: 'buffer', buffer: 'partial', offsetBytes: 4 },
          { kind: 'scalar', dtype: 'i32', value: 1088 },
          { kind: 'scalar', dtype: 'f32', value: 0.125 },
        ],
      },
    ],
  });
});

describe('buffers', () => {
  const problemWith = (changes: Partial<ProblemFile['inputs'][string]>): ProblemFile => ({
    ...smallProblem,
    inputs: { x: { dtype: 'f32', shape: ['N', 'D'], access: 'in', ...changes } },
  });
  const expand = (changes: Partial<ProblemFile['inputs'][string]>) =>
    expandBuffers(problemWith(changes), { N: 3, D: 64, causal: 0 })[0]!;

  it('span their strided layout, from the first element to the last', () => {
    // rows 100 elements apart: 2·100 + 63·1 + 1 elements of 4 bytes
    expect(expand({ strides: [100, 1] })).toMatchObject({ strides: [100, 1], bytes: 264 * 4 });
    expect(expand({ strides: [1, 'N'] })).toMatchObject({ strides: [1, 3], bytes: 192 * 4 });
    expect(expand({ strides: [0, 1] })).toMatchObject({ bytes: 64 * 4 });
  });

  it('draw normal values unless told otherwise, and only where there is an input', () => {
    expect(expand({}).generator).toEqual({ kind: 'normal' });
    expect(expandBuffers(smallProblem, { N: 3, D: 64, causal: 0 })[1]).toMatchObject({
      role: 'out',
      generator: undefined,
    });
  });

  it('allow padded and permuted outputs, refuse overlapping ones', () => {
    const output = (strides: (string | number)[]) =>
      expandBuffers(
        { ...smallProblem, outputs: { y: { dtype: 'f16', shape: ['N', 'D'], strides, access: 'out' } } },
        { N: 3, D: 64, causal: 0 },
      );
    expect(() => output([100, 1])).not.toThrow();
    expect(() => output([1, 3])).not.toThrow();
    expect(detailsOf(() => output([63, 1])).code).toBe('overlapping-output');
    expect(detailsOf(() => output([0, 1])).code).toBe('overlapping-output');
  });
});

describe('steps', () => {
  it('are left out when their condition is 0', () => {
    expect(expandPlan(withStep({ when: 'causal' })).steps).toHaveLength(0);
    expect(expandPlan({ ...withStep({ when: 'causal' }), dimensions: { N: 17, D: 64, causal: 1 } }).steps).toHaveLength(
      1,
    );
  });

  it('are not evaluated when left out', () => {
    expect(expandPlan(withStep({ when: 'causal', grid: ['N / 0'] })).steps).toHaveLength(0);
  });

  it('repeat with an index', () => {
    const plan = expandPlan(
      withStep({
        repeat: 'log2(D)',
        grid: ['D >> repeat.index'],
        arguments: [{ scalar: 'repeat.index', dtype: 'i32' }],
      }),
    );
    expect(plan.steps.map((step) => (step as PlannedLaunch).grid[0])).toEqual([64, 32, 16, 8, 4, 2]);
    expect((plan.steps[5] as PlannedLaunch).arguments).toEqual([{ kind: 'scalar', dtype: 'i32', value: 5 }]);
  });

  it('repeat together, and know the numbers of all repetitions around them', () => {
    const exchange = { ...launchStep, grid: ['stage + 1', 'repeat.index + 1'], repeat: 'stage + 1' };
    const copy = { copy: { from: { buffer: 'partial', offsetBytes: 'stage' }, to: { buffer: 'y' }, bytes: 4 } };
    const kernel = {
      ...smallKernel,
      steps: [{ repeat: 3, index: 'stage', when: 'D == 64', steps: [{ ...copy, when: 'stage != 1' }, exchange] }],
    };
    const { steps } = expandPlan({ ...request, kernel });
    const told = steps.map((step) =>
      step.kind === 'launch' ? step.grid.slice(0, 2).join() : step.kind === 'copy' && step.from.offsetBytes,
    );
    expect(told).toEqual([0, '1,1', '2,1', '2,2', 2, '3,1', '3,2', '3,3']);
    expect(expandPlan({ ...request, kernel, dimensions: { N: 17, D: 32, causal: 0 } }).steps).toEqual([]);
  });

  it('may size the grid by the device', () => {
    const step = { grid: ['device.smCount * kernel.ctasPerSm'] };
    expect(launchOf(expandPlan({ ...withStep(step), ctasPerSm: 3 })).grid).toEqual([174, 1, 1]);
    expect(launchOf(expandPlan(withStep(step))).grid).toEqual([58, 1, 1]);
  });

  it('carry launch attributes', () => {
    const plan = expandPlan(
      withStep({ grid: [4, 2], cluster: [2, 2], cooperative: true, programmaticDependent: true, carveOut: 50 }),
    );
    expect(launchOf(plan)).toMatchObject({
      grid: [4, 2, 1],
      cluster: [2, 2, 1],
      cooperative: true,
      programmaticDependent: true,
      carveOut: 50,
    });
  });
});

describe('arguments', () => {
  it('scalars are rounded to their dtype', () => {
    expect(argumentOf({ scalar: 0.1, dtype: 'f32' })).toEqual({
      kind: 'scalar',
      dtype: 'f32',
      value: Math.fround(0.1),
    });
    expect(argumentOf({ scalar: 'N', dtype: 'u8' })).toEqual({ kind: 'scalar', dtype: 'u8', value: 17 });
  });

  it('structs are laid out with natural alignment', () => {
    const argument = argumentOf({
      struct: [
        { dtype: 'u8', value: 7 },
        { dtype: 'i32', value: 'N' },
        { dtype: 'f16', value: 1 },
        { dtype: 'u64', value: 1 },
        { dtype: 'i8', value: -1 },
      ],
    });
    // u8 at 0, i32 at 4, f16 at 8, u64 at 16, i8 at 24, padded to 32
    expect(argument).toEqual({
      kind: 'bytes',
      alignmentBytes: 8,
      bytes: Uint8Array.of(
        7,
        0,
        0,
        0,
        17,
        0,
        0,
        0,
        0,
        0x3c,
        0,
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        255,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
      ),
    });
  });

  it('structs of random fields are aligned and sized as in C', () => {
    const dtypes = fc.constantFrom('u8', 'i16', 'f32', 'f64', 'u64', 'bf16' as const);
    const sizes = { u8: 1, i16: 2, bf16: 2, f32: 4, f64: 8, u64: 8 } as const;
    fc.assert(
      fc.property(fc.array(dtypes, { minLength: 1, maxLength: 8 }), (fields) => {
        const argument = argumentOf({ struct: fields.map((dtype) => ({ dtype, value: 1 })) });
        const alignment = Math.max(...fields.map((dtype) => sizes[dtype]));
        const payload = fields.reduce((sum, dtype) => sum + sizes[dtype], 0);
        if (argument?.kind !== 'bytes') throw new Error('not bytes');
        expect(argument.alignmentBytes).toBe(alignment);
        expect(argument.bytes.length % alignment).toBe(0);
        expect(argument.bytes.length).toBeGreaterThanOrEqual(payload);
        expect(argument.bytes.length).toBeLessThan(payload + 8 * fields.length);
      }),
    );
  });

  it('raw bytes, null, pointers and tensor maps', () => {
    expect(argumentOf({ bytes: '00fF10' })).toEqual({
      kind: 'bytes',
      bytes: Uint8Array.of(0, 255, 16),
      alignmentBytes: 1,
    });
    expect(argumentOf({ null: true })).toEqual({ kind: 'null' });
    expect(argumentOf({ pointers: [{ buffer: 'y' }, { buffer: 'x', offsetBytes: '2 * D' }] })).toEqual({
      kind: 'pointers',
      targets: [
        { buffer: 'y', offsetBytes: 0 },
        { buffer: 'x', offsetBytes: 128 },
      ],
    });
    const tensorMap = {
      buffer: 'x',
      dtype: 'f16',
      globalDim: ['D', 'N'],
      globalStridesBytes: ['2 * D'],
      boxDim: ['D', 8],
    } as const;
    expect(argumentOf({ tensorMap: structuredClone(tensorMap) as never })).toEqual({
      kind: 'tensor-map',
      buffer: 'x',
      dtype: 'f16',
      globalDim: [64, 17],
      globalStridesBytes: [128],
      boxDim: [64, 8],
      elementStrides: [1, 1],
      swizzle: 'none',
      interleave: 'none',
      l2Promotion: 'none',
      fill: 'zeros',
    });
  });
});

describe('what can not be launched is refused with the expression and its value', () => {
  const mistake = (changes: Partial<typeof launchStep>) => detailsOf(() => expandPlan(withStep(changes)));

  it('a grid of zero CTAs', () => {
    expect(mistake({ grid: ['floor(N / 64)'] })).toEqual({
      code: 'zero-size-grid',
      message: "The grid's x is 0.",
      file: 'kernel.json',
      path: 'steps[0].grid[0]',
      received: 'floor(N / 64) = 0',
      expected: 'an integer from 1 to 2147483647',
      hint: 'Use ceilDiv(size, tile), so that a size below one tile still gets a CTA.',
    });
  });

  it('a grid of more CTAs along y than CUDA launches', () => {
    expect(mistake({ grid: [1, '8192 * N'] })).toEqual({
      code: 'out-of-range',
      message: "The grid's y is 139264.",
      file: 'kernel.json',
      path: 'steps[0].grid[1]',
      received: '8192 * N = 139264',
      expected: 'an integer from 1 to 65535',
      hint: 'Put the larger extent in x, loop in the kernel, or declare in `limits` what it takes, such as "B * H <= 65535".',
    });
  });

  it('a grid of a fractional number of CTAs', () => {
    expect(mistake({ grid: [1, 'N / 2'] })).toEqual({
      code: 'not-an-integer',
      message: "The grid's y is 8.5.",
      file: 'kernel.json',
      path: 'steps[0].grid[1]',
      received: 'N / 2 = 8.5',
      expected: 'an integer from 1 to 65535',
      hint: 'Use ceilDiv(a, b) to round up or floor(a / b) to round down.',
    });
  });

  it('more threads per CTA than any device has', () => {
    expect(mistake({ block: ['BLOCK', 16] })).toEqual({
      code: 'block-too-large',
      message: 'A block of 128 × 16 × 1 has 2048 threads.',
      file: 'kernel.json',
      path: 'steps[0].block',
      received: 'BLOCK × 16 = 2048',
      expected: 'at most 1024 threads',
      hint: 'Give each thread more work, or more CTAs to the grid.',
    });
  });

  it('shared memory over the limit of the device', () => {
    const step = withStep({ sharedBytes: '3 * 64 * BLOCK * 8' });
    expect(detailsOf(() => expandPlan({ ...step, device: { smCount: 58, sharedBytesPerCta: 101_376 } }))).toEqual({
      code: 'shared-memory-limit',
      message: '`scale` needs 196608 bytes of dynamic shared memory; the device allows 101376 per CTA.',
      file: 'kernel.json',
      path: 'steps[0].sharedBytes',
      received: '3 * 64 * BLOCK * 8 = 196608',
      expected: 'at most 101376 bytes',
      hint: 'Lower the tile sizes or the number of stages.',
    });
  });

  it('an offset beyond the buffer', () => {
    expect(mistake({ arguments: [{ buffer: 'x', offsetBytes: '2 * (N + 1) * D' }] })).toEqual({
      code: 'out-of-range',
      message: 'The offset into buffer `x` is 2304.',
      file: 'kernel.json',
      path: 'steps[0].arguments[0].offsetBytes',
      received: '2 * (N + 1) * D = 2304',
      expected: 'an integer from 0 to 2176',
      hint: 'Here N = 17, D = 64.',
    });
  });

  it('a scalar that its dtype can not hold', () => {
    expect(mistake({ arguments: [{ scalar: 'N / 2', dtype: 'i32' }] })).toEqual({
      code: 'scalar-does-not-fit',
      message: '8.5 is not a value of i32.',
      file: 'kernel.json',
      path: 'steps[0].arguments[0].scalar',
      received: 'N / 2 = 8.5',
      expected: 'an integer within the range of i32',
      hint: 'Round with floor(…), or pass it as f32.',
    });
    expect(mistake({ arguments: [{ scalar: '1 << 40', dtype: 'i32' }] }).code).toBe('scalar-does-not-fit');
    expect(mistake({ arguments: [{ scalar: 70000, dtype: 'f16' }] }).code).toBe('scalar-does-not-fit');
  });

  it('an expression error, at its place', () => {
    expect(mistake({ sharedBytes: 'BLOCK / causal' })).toEqual({
      code: 'division-by-zero',
      message: 'Division by zero (column 7 of `BLOCK / causal`).',
      file: 'kernel.json',
      path: 'steps[0].sharedBytes',
      received: 'BLOCK / causal',
      expected: 'a divisor that is not zero',
      hint: 'Here BLOCK = 128, causal = 0.',
    });
  });

  const others: [what: string, changes: Partial<typeof launchStep>, code: string, path: string, received: string][] = [
    ['grid y', { grid: [1, 70_000] }, 'out-of-range', 'steps[0].grid[1]', '70000'],
    ['empty block', { block: ['BLOCK', 'causal'] }, 'zero-size-block', 'steps[0].block[1]', 'causal = 0'],
    ['block z', { block: [1, 1, 65] }, 'out-of-range', 'steps[0].block[2]', '65'],
    ['negative shared memory', { sharedBytes: '-4' }, 'out-of-range', 'steps[0].sharedBytes', '-4 = -4'],
    ['cluster beyond the grid', { grid: [5], cluster: [2] }, 'invalid-cluster', 'steps[0].cluster', '2 = 2'],
    ['cluster of 32', { grid: [64, 2], cluster: [16, 2] }, 'invalid-cluster', 'steps[0].cluster', '16 × 2 = 32'],
    ['repeat', { repeat: -1 }, 'out-of-range', 'steps[0].repeat', '-1'],
    ['unknown buffer', { arguments: [{ buffer: 'z' }] }, 'unknown-buffer', 'steps[0].arguments[0].buffer', 'z'],
  ];
  it.each(others)('%s', (_what, changes, code, path, received) => {
    const details = mistake(changes);
    expect(details).toMatchObject({ code, file: 'kernel.json', path, received });
    expect(details.expected).toBeTruthy();
    expect(details.hint).toBeTruthy();
  });

  it('a tensor map of mixed ranks', () => {
    const tensorMap = {
      buffer: 'x',
      dtype: 'f16' as const,
      globalDim: ['D', 'N'],
      globalStridesBytes: [],
      boxDim: ['D', 8],
    };
    expect(mistake({ arguments: [{ tensorMap }] })).toMatchObject({
      code: 'tensor-map-rank',
      path: 'steps[0].arguments[0].tensorMap.globalStridesBytes',
      received: '0 entries',
      expected: '1 entries',
    });
  });

  const startingWith = (contents: ContentsDeclaration): PlanRequest => ({
    ...request,
    kernel: { ...smallKernel, workspaces: { partial: { bytes: 9, init: 'once', contents } } },
  });
  const contentsOf = (contents: ContentsDeclaration) => [
    ...expandPlan(startingWith(contents)).buffers.find(({ name }) => name === 'partial')!.contents!,
  ];
  it('contents of workspaces: one value, a list, an ascending row, bytes', () => {
    expect(contentsOf({ dtype: 'i32', value: '-D' })).toEqual([0xc0, 0xff, 0xff, 0xff]);
    expect(contentsOf({ dtype: 'u16', values: ['N', 258] })).toEqual([17, 0, 2, 1]);
    expect(contentsOf({ dtype: 'i16', from: 1, step: -1 })).toEqual([1, 0, 0, 0, 0xff, 0xff, 0xfe, 0xff]);
    expect(contentsOf({ bytes: '0000807f' })).toEqual([0, 0, 0x80, 0x7f]);
  });

  it.each<[string, ContentsDeclaration, string, string]>([
    ['a value of another dtype', { dtype: 'u8', value: 300 }, 'scalar-does-not-fit', 'value'],
    ['a row that ends outside of its dtype', { dtype: 'i8', from: 120, step: 1 }, 'scalar-does-not-fit', 'step'],
    ['more than there is room for', { dtype: 'f64', values: [1, 2] }, 'contents-too-long', ''],
  ])('contents: %s', (_what, contents, code, key) => {
    const details = detailsOf(() => expandPlan(startingWith(contents)));
    const path = `workspaces.partial.contents${key === '' ? '' : `.${key}`}`;
    expect(details).toMatchObject({ code, file: 'kernel.json', path });
    expect(details.expected).toBeTruthy();
  });

  it.each<[string, CopyStepDeclaration['copy'], string, string]>([
    ['beyond the end', { from: { buffer: 'x' }, to: { buffer: 'y' }, bytes: '2177' }, 'out-of-range', 'bytes'],
    [
      'all of the source where the target has less',
      { from: { buffer: 'x' }, to: { buffer: 'partial' } },
      'out-of-range',
      'bytes',
    ],
    ['onto itself', { from: { buffer: 'y' }, to: { buffer: 'y', offsetBytes: 8 }, bytes: 9 }, 'overlapping-copy', ''],
    [
      'from outside',
      { from: { buffer: 'x', offsetBytes: -1 }, to: { buffer: 'y' } },
      'out-of-range',
      'from.offsetBytes',
    ],
  ])('a copy %s', (_what, copy, code, key) => {
    const kernel = { ...smallKernel, steps: [{ copy }] };
    const path = `steps[0].copy${key === '' ? '' : `.${key}`}`;
    expect(detailsOf(() => expandPlan({ ...request, kernel }))).toMatchObject({ code, file: 'kernel.json', path });
  });

  it('too many steps in nested repetitions', () => {
    const kernel = { ...smallKernel, steps: [{ repeat: 200, steps: [{ ...launchStep, repeat: 100 }] }] };
    expect(detailsOf(() => expandPlan({ ...request, kernel }))).toMatchObject({
      code: 'too-many-launches',
      path: 'steps[0].steps[0]',
    });
  });

  it('an empty workspace', () => {
    const kernel: KernelFile = { ...smallKernel, workspaces: { partial: { bytes: 'causal * 4', init: 'zero' } } };
    expect(detailsOf(() => expandPlan({ ...request, kernel }))).toMatchObject({
      code: 'out-of-range',
      file: 'kernel.json',
      path: 'workspaces.partial.bytes',
      received: 'causal * 4 = 0',
    });
  });
});
