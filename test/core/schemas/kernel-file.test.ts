import { describe, expect, it } from 'vitest';
import type { KernelFile } from '../../../src/core/kernel.ts';
import { checkKernelAgainstProblem } from '../../../src/core/schemas/kernel-checks.ts';
import { bindKernelFile, parseKernelFile } from '../../../src/core/schemas/parse-files.ts';
import { detailsOf } from '../support/expect-error.ts';
import { edited, smallKernel, smallProblem } from '../support/small-problem.ts';

const file = 'problems/scale/01_minimal/kernel.json';
const read = (text: string): KernelFile => {
  const kernel = bindKernelFile(parseKernelFile(text, file), undefined, file);
  checkKernelAgainstProblem(kernel, smallProblem, file);
  return kernel;
};
const mistake = (path: readonly (string | number)[], value: unknown) =>
  detailsOf(() => read(edited(smallKernel, path, value)));

it('reads a kernel as it stands', () => {
  expect(read(JSON.stringify(smallKernel))).toEqual(smallKernel);
});

it('reads every field there is', () => {
  const step = {
    function: 'scale<64>',
    grid: ['device.smCount * kernel.ctasPerSm', 1, 1],
    block: [32, 4],
    sharedBytes: 0,
    cluster: [2],
    cooperative: true,
    programmaticDependent: false,
    carveOut: 50,
    arguments: [
      { buffer: 'x', offsetBytes: '2 * repeat.index' },
      { null: true },
      { scalar: 'N', dtype: 'i32' },
      { struct: [{ dtype: 'i32', value: 'N' }] },
      { bytes: '00ff' },
      { pointers: [{ buffer: 'x' }, { buffer: 'y', offsetBytes: 2 }] },
      {
        tensorMap: {
          buffer: 'x',
          dtype: 'f16',
          globalDim: ['D', 'N'],
          globalStridesBytes: ['2 * D'],
          boxDim: ['D', 16],
          elementStrides: [1, 1],
          swizzle: '128B',
          interleave: 'none',
          l2Promotion: '128B',
          fill: 'zeros',
        },
      },
    ],
    when: 'causal',
    repeat: 'log2(D)',
  } satisfies KernelFile['steps'][number];
  const source = {
    kind: 'cuda',
    files: ['kernel.cu'],
    flags: ['-O3'],
    includes: ['tile.cuh'],
    architectures: ['sm_90a'],
  } as const;
  const kernel = { ...smallKernel, source, steps: [...smallKernel.steps, step] };
  expect(read(JSON.stringify(kernel))).toEqual(kernel);
});

it('reads repeated steps, copies, contents and constants with values', () => {
  const kernel = {
    ...smallKernel,
    workspaces: {
      first: { bytes: '4 * D', init: 'once', contents: { dtype: 'f32', from: '1 / D', step: 'scale' } },
      listed: { bytes: 8, init: 'once', contents: { dtype: 'i32', values: ['N', 'BLOCK'] } },
      same: { bytes: 8, init: 'once', contents: { dtype: 'f16', value: -1 } },
      raw: { bytes: 8, init: 'once', contents: { bytes: '00ff' } },
      best: { bytes: '4 * D', init: 'undefined' },
    },
    constants: { taps: { dtype: 'f32', values: [1, 2] }, n: { dtype: 'i32', value: 'N' }, w: 'x' },
    steps: [
      { copy: { from: { buffer: 'first' }, to: { buffer: 'best', offsetBytes: 0 }, bytes: '4 * D' }, when: 'N > 1' },
      {
        repeat: 'log2(D)',
        index: 'stage',
        when: 'causal == 0',
        steps: [
          { memset: { buffer: 'y', byteValue: 1 }, when: 'stage == 0' },
          {
            repeat: 'stage + 1',
            steps: [{ copy: { from: { buffer: 'x', offsetBytes: 'repeat.index' }, to: { buffer: 'y' } } }],
          },
        ],
      },
    ],
  } satisfies KernelFile;
  expect(read(JSON.stringify(kernel))).toEqual(kernel);
});

describe('each mistake gets file, path, value received, what was expected, and a hint', () => {
  it('a misspelt key in a step', () => {
    expect(mistake(['steps', 1, 'sharedByte'], 0)).toEqual({
      code: 'unknown-key',
      message: '`sharedByte` is not a key of `steps[1]`.',
      file,
      path: 'steps[1].sharedByte',
      received: 'sharedByte',
      expected:
        'one of function, grid, block, sharedBytes, cluster, cooperative, programmaticDependent, carveOut, arguments, when, repeat',
      hint: 'Did you mean `sharedBytes`?',
    });
  });

  it('a name that a terminal would obey', () => {
    expect(mistake(['name'], 'fast\u001b[2J')).toEqual({
      code: 'invalid-value',
      message: '`name` can\'t be "fast\\u001b[2J".',
      file,
      path: 'name',
      received: '"fast\\u001b[2J"',
      expected: 'one line of text without control characters',
      hint: expect.any(String),
    });
    expect(mistake(['steps', 1, 'function'], 'f\n')).toMatchObject({ path: 'steps[1].function', received: '"f\\n"' });
    expect(mistake(['parameters', 'P\u009b'], { values: [1], default: 1 })).toMatchObject({
      code: 'invalid-name',
      message: "`P\\u009b` can't be a name here.",
      received: 'P\\u009b',
    });
    expect(mistake(['na\u001bme'], 'x')).toMatchObject({ code: 'unknown-key', received: 'na\\u001bme' });
  });

  it('a missing key of a step', () => {
    expect(mistake(['steps', 1, 'block'], undefined)).toEqual({
      code: 'missing-key',
      message: '`steps[1]` has no `block`.',
      file,
      path: 'steps[1].block',
      received: 'nothing',
      expected: 'a list',
      hint: 'Add "block".',
    });
  });

  it('an argument of no known kind', () => {
    expect(mistake(['steps', 1, 'arguments', 0], { bufer: 'x' })).toEqual({
      code: 'invalid-value',
      message: '`steps[1].arguments[0]` can\'t be {"bufer":"x"}.',
      file,
      path: 'steps[1].arguments[0]',
      received: '{"bufer":"x"}',
      expected:
        'an object with one of the keys buffer, offsetBytes, null, scalar, dtype, struct, bytes, pointers, tensorMap',
      hint: 'Did you mean `buffer`?',
    });
    expect(mistake(['steps', 1, 'arguments', 0], 'x')).toMatchObject({
      code: 'invalid-value',
      path: 'steps[1].arguments[0]',
      received: '"x"',
    });
  });

  it('a scalar argument without dtype, or with an unknown one', () => {
    expect(mistake(['steps', 1, 'arguments', 3], { scalar: 'N' })).toMatchObject({
      code: 'missing-key',
      message: '`steps[1].arguments[3]` has no `dtype`.',
      file,
      path: 'steps[1].arguments[3].dtype',
      received: 'nothing',
    });
    expect(mistake(['steps', 1, 'arguments', 3, 'dtype'], 'int')).toMatchObject({
      code: 'invalid-value',
      file,
      path: 'steps[1].arguments[3].dtype',
      received: '"int"',
    });
  });

  it('an argument naming no buffer', () => {
    expect(mistake(['steps', 1, 'arguments', 0, 'buffer'], 'X')).toEqual({
      code: 'unknown-buffer',
      message: 'There is no buffer or workspace `X`.',
      file,
      path: 'steps[1].arguments[0].buffer',
      received: 'X',
      expected: 'one of x, y, partial',
      hint: 'Did you mean `x`?',
    });
    expect(mistake(['steps', 1, 'arguments', 0, 'buffer'], 'scale').hint).toBe(
      'Pass the value as { "scalar": "scale", "dtype": … }.',
    );
  });

  it('an unknown name in a grid', () => {
    expect(mistake(['steps', 1, 'grid', 0], 'ceilDiv(N, BLOK)')).toEqual({
      code: 'unknown-name',
      message: 'Unknown name `BLOK` (column 12 of `ceilDiv(N, BLOK)`).',
      file,
      path: 'steps[1].grid[0]',
      received: 'ceilDiv(N, BLOK)',
      expected: 'one of N, D, causal, scale, BLOCK, ITEMS, device.smCount, kernel.ctasPerSm',
      hint: 'Did you mean `BLOCK`?',
    });
  });

  it('an expression that does not parse', () => {
    expect(mistake(['constraints', 1], 'ITEMS <== D')).toEqual({
      code: 'expression-syntax',
      message: 'Unexpected character `=` (column 9 of `ITEMS <== D`).',
      file,
      path: 'constraints[1]',
      received: 'ITEMS <== D',
      expected: 'numbers, names, operators, parentheses and functions',
      hint: 'Comparison is written `==`.',
    });
  });

  it('a parameter in a limit, which only knows dimensions', () => {
    expect(mistake(['limits', 0], 'N <= BLOCK')).toMatchObject({
      code: 'unknown-name',
      file,
      path: 'limits[0]',
      expected: 'one of N, D, causal',
    });
  });

  it('a default that is not allowed', () => {
    expect(mistake(['parameters', 'BLOCK', 'default'], 96)).toEqual({
      code: 'parameter-not-allowed',
      message: 'The default of parameter `BLOCK` is not one of its values.',
      file,
      path: 'parameters.BLOCK.default',
      received: '96',
      expected: 'one of 64, 128, 256',
      hint: 'Add it to the values, or start from one of them.',
    });
  });

  it('a remedy for a finding that does not exist', () => {
    expect(mistake(['remedies', 0], 'bank-conflict')).toMatchObject({
      code: 'unknown-finding',
      message: 'There is no finding `bank-conflict` to remedy.',
      file,
      path: 'remedies[0]',
      received: 'bank-conflict',
      hint: 'Did you mean `bank-conflicts`?',
    });
  });

  it('a memset of an input', () => {
    expect(mistake(['steps', 0, 'memset', 'buffer'], 'x')).toEqual({
      code: 'input-not-writable',
      message: '`x` is an input and must come back unchanged.',
      file,
      path: 'steps[0].memset.buffer',
      received: 'x',
      expected: 'an output, an inout buffer or a workspace',
      hint: 'Write to a workspace instead.',
    });
  });

  it('a copy into an input', () => {
    const step = { copy: { from: { buffer: 'y' }, to: { buffer: 'x' } } };
    expect(mistake(['steps', 0], step)).toMatchObject({ code: 'input-not-writable', path: 'steps[0].copy.to.buffer' });
  });

  it('a misspelt key of a copy', () => {
    const step = { copy: { from: { buffer: 'x' }, to: { buffer: 'y', offset: 4 } } };
    expect(mistake(['steps', 0], step)).toMatchObject({
      code: 'unknown-key',
      path: 'steps[0].copy.to.offset',
      expected: 'one of buffer, offsetBytes',
    });
  });

  const memset = { memset: { buffer: 'y', byteValue: 0 } };
  it('the number of a repetition outside of it', () => {
    const outside = { ...memset, when: 'stage == 0' };
    const steps = [{ repeat: 2, index: 'stage', steps: [{ ...memset, when: 'stage + repeat.index == 0' }] }, outside];
    expect(mistake(['steps'], steps)).toMatchObject({ path: 'steps[1].when', received: 'stage == 0' });
  });

  it.each([
    ['D', 'duplicate-name'],
    ['scale', 'duplicate-name'],
    ['BLOCK', 'duplicate-name'],
    ['outer', 'duplicate-name'],
  ])('a repetition whose number is called %s', (index, code) => {
    const steps = [{ repeat: 2, index: 'outer', steps: [{ repeat: 2, index, steps: [memset] }] }];
    expect(mistake(['steps'], steps)).toMatchObject({ code, received: index });
  });

  it('repetitions nested too deep', () => {
    const nested = [1, 2, 3, 4, 5].reduce<object>((inner) => ({ repeat: 1, steps: [inner] }), memset);
    expect(mistake(['steps', 0], nested)).toMatchObject({ code: 'nested-too-deep', received: '5 around it' });
  });

  it('an unknown buffer in a repeated step', () => {
    const steps = [{ repeat: 2, steps: [{ memset: { buffer: 'z', byteValue: 0 } }] }];
    expect(mistake(['steps'], steps)).toMatchObject({
      code: 'unknown-buffer',
      path: 'steps[0].steps[0].memset.buffer',
    });
  });

  it('contents of a workspace that does not start from them', () => {
    const partial = { bytes: 4, init: 'zero', contents: { dtype: 'i32', value: 1 } };
    expect(mistake(['workspaces', 'partial'], partial)).toMatchObject({
      code: 'contents-without-once',
      path: 'workspaces.partial.init',
      received: 'zero',
      expected: 'once',
    });
  });

  it.each(['/etc/passwd', '../kernel.cu', 'a/../../b.cu', 'C:\\kernel.cu'])(
    'a source outside the folder: %s',
    (name) => {
      expect(mistake(['source', 'files', 0], name)).toEqual({
        code: 'file-outside-kernel',
        message: `\`${name}\` is not inside the kernel's folder.`,
        file,
        path: 'source.files[0]',
        received: name,
        expected: 'a relative path without `..`',
        hint: 'Copy the file into the kernel folder.',
      });
    },
  );

  const others: [
    what: string,
    path: (string | number)[],
    value: unknown,
    code: string,
    at: string,
    received: string,
  ][] = [
    ['no steps', ['steps'], [], 'invalid-value', 'steps', '[]'],
    ['four grid axes', ['steps', 1, 'grid'], [1, 1, 1, 1], 'invalid-value', 'steps[1].grid', '[1,1,1,1]'],
    [
      'odd hex',
      ['steps', 1, 'arguments', 0],
      { bytes: 'abc' },
      'invalid-value',
      'steps[1].arguments[0].bytes',
      '"abc"',
    ],
    ['memset byte', ['steps', 0, 'memset', 'byteValue'], 256, 'invalid-value', 'steps[0].memset.byteValue', '256'],
    ['source kind', ['source', 'kind'], 'cu', 'invalid-value', 'source.kind', '"cu"'],
    ['architecture', ['source', 'architectures'], ['sm89'], 'invalid-value', 'source.architectures[0]', '"sm89"'],
    [
      'workspace init',
      ['workspaces', 'partial', 'init'],
      'zeros',
      'invalid-value',
      'workspaces.partial.init',
      '"zeros"',
    ],
    ['value twice', ['parameters', 'BLOCK', 'values', 0], 256, 'duplicate-value', 'parameters.BLOCK.values[2]', '256'],
    ['values twice over', ['parameters', 'BLOCK', 'values'], 128, 'invalid-value', 'parameters.BLOCK.values', '128'],
    ...(
      [
        ['step 0', { from: 64, to: 256, step: 0 }, 'invalid-value', '.step', '0'],
        ['a negative step', { from: 64, to: 256, step: -64 }, 'invalid-value', '.step', '-64'],
        ['half a step', { from: 64, to: 256, step: 0.5 }, 'invalid-value', '.step', '0.5'],
        ['from half', { from: 0.5, to: 256, step: 64 }, 'invalid-value', '.from', '0.5'],
        ['an end that is text', { from: 64, to: '256', step: 64 }, 'invalid-value', '.to', '"256"'],
        ['factor 1', { from: 64, to: 256, factor: 1 }, 'invalid-value', '.factor', '1'],
        ['a factor of 0', { from: 0, to: 256, factor: 2 }, 'invalid-value', '.from', '0'],
        ['no step', { from: 64, to: 256 }, 'missing-key', '', 'nothing'],
        ['step and factor', { from: 64, to: 256, step: 64, factor: 2 }, 'unknown-key', '.factor', 'factor'],
        ['a misspelt end', { from: 64, upto: 256, step: 64 }, 'unknown-key', '.upto', 'upto'],
        ['an empty range', { from: 256, to: 64, step: 64 }, 'empty-range', '', 'from 256 to 64'],
        ['a huge range', { from: 1, to: 1e9, step: 1 }, 'range-too-large', '', '1 to 1000000000 in steps of 1'],
        ['a default beside it', { from: 64, to: 256, step: 96 }, 'parameter-not-allowed', 'default', '128'],
      ] as const
    ).map(([what, range, code, at, received]): [string, (string | number)[], unknown, string, string, string] => [
      what,
      ['parameters', 'BLOCK', 'values'],
      range,
      code,
      at === 'default' ? 'parameters.BLOCK.default' : `parameters.BLOCK.values${what === 'no step' ? '.step' : at}`,
      received,
    ]),
    [
      'parameter named like a dimension',
      ['parameters', 'D'],
      { values: [1], default: 1 },
      'duplicate-name',
      'parameters.D',
      'D',
    ],
    [
      'parameter named like a scalar',
      ['parameters', 'scale'],
      { values: [1], default: 1 },
      'duplicate-name',
      'parameters.scale',
      'scale',
    ],
    [
      'workspace named like an input',
      ['workspaces', 'x'],
      { bytes: 4, init: 'zero' },
      'duplicate-name',
      'workspaces.x',
      'x',
    ],
    [
      'repeat.index without repeat',
      ['steps', 1, 'arguments', 3, 'scalar'],
      'repeat.index',
      'unknown-name',
      'steps[1].arguments[3].scalar',
      'repeat.index',
    ],
    [
      'offset',
      ['steps', 1, 'arguments', 2, 'offsetBytes'],
      'Z',
      'unknown-name',
      'steps[1].arguments[2].offsetBytes',
      'Z',
    ],
    ['workspace size', ['workspaces', 'partial', 'bytes'], 'Z', 'unknown-name', 'workspaces.partial.bytes', 'Z'],
    ['when', ['steps', 0, 'when'], 'Z', 'unknown-name', 'steps[0].when', 'Z'],
  ];
  it.each(others)('%s', (_what, path, value, code, at, received) => {
    const details = mistake(path, value);
    expect(details).toMatchObject({ code, file, path: at, received });
    expect(details.expected).toBeTruthy();
    expect(details.hint).toBeTruthy();
  });
});
