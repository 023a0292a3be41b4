import { describe, expect, it } from 'vitest';
import { parseProblemFile } from '../../../src/core/schemas/parse-files.ts';
import { detailsOf } from '../support/expect-error.ts';
import { edited, smallProblem } from '../support/small-problem.ts';

const file = 'problems/scale/problem.json';
const mistake = (path: readonly (string | number)[], value: unknown) =>
  detailsOf(() => parseProblemFile(edited(smallProblem, path, value), file));

it('reads a problem and completes dimensions from their defaults, in declared order', () => {
  const problem = parseProblemFile(JSON.stringify(smallProblem), file);
  expect(problem.workloads).toEqual([{ name: 'small', dimensions: { N: 256, D: 64, causal: 0 } }]);
  expect(Object.keys(problem.checkShapes[0]!.dimensions)).toEqual(['N', 'D', 'causal']);
  expect({ ...problem, workloads: 0, checkShapes: 0 }).toEqual({ ...smallProblem, workloads: 0, checkShapes: 0 });
});

describe('each mistake gets file, path, value received, what was expected, and a hint', () => {
  it('wrong JSON', () => {
    const text = '{\n  "schemaVersion": 1,\n  "name": scale\n}';
    expect(detailsOf(() => parseProblemFile(text, file))).toEqual({
      code: 'invalid-json',
      message: 'Not valid JSON (line 3, column 11).',
      file,
      path: '3:11',
      received: 'scale',
      expected: 'a value',
      hint: 'Look for a missing comma, quote or bracket just before this place.',
    });
  });

  it('a misspelt key', () => {
    expect(mistake(['inputs', 'x', 'shap'], ['N'])).toEqual({
      code: 'unknown-key',
      message: '`shap` is not a key of `inputs.x`.',
      file,
      path: 'inputs.x.shap',
      received: 'shap',
      expected:
        'one of description, dtype, shape, strides, layout, alignmentBytes, access, generator, when, significant, comparison, domain, scaling',
      hint: 'Did you mean `shape`?',
    });
  });

  it('a misspelt key that also leaves the right one missing', () => {
    const { flop, ...rest } = smallProblem;
    expect(detailsOf(() => parseProblemFile(JSON.stringify({ ...rest, flops: flop }), file))).toMatchObject({
      code: 'unknown-key',
      path: 'flops',
      received: 'flops',
      hint: 'Did you mean `flop`?',
    });
  });

  it('a missing key', () => {
    expect(mistake(['outputs', 'y', 'dtype'], undefined)).toEqual({
      code: 'missing-key',
      message: '`outputs.y` has no `dtype`.',
      file,
      path: 'outputs.y.dtype',
      received: 'nothing',
      expected: 'one of "f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "T"',
      hint: 'Add "dtype".',
    });
    expect(mistake(['flop'], undefined)).toEqual({
      code: 'missing-key',
      message: 'The file has no `flop`.',
      file,
      path: 'flop',
      received: 'nothing',
      expected: 'a number or a string',
      hint: 'Add "flop".',
    });
  });

  it('a value that is not one of a few', () => {
    expect(mistake(['inputs', 'x', 'dtype'], 'fp16')).toEqual({
      code: 'invalid-value',
      message: '`inputs.x.dtype` can\'t be "fp16".',
      file,
      path: 'inputs.x.dtype',
      received: '"fp16"',
      expected: 'one of "f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "T"',
      hint: 'Did you mean "f16"?',
    });
  });

  it('an expression that is neither number nor text', () => {
    expect(mistake(['outputs', 'y', 'shape', 1], null)).toEqual({
      code: 'invalid-value',
      message: "`outputs.y.shape[1]` can't be null.",
      file,
      path: 'outputs.y.shape[1]',
      received: 'null',
      expected: 'a number or a string',
      hint: 'The JSON Schema named by `$schema` describes every field; editors complete from it.',
    });
  });

  it('an unknown dimension', () => {
    expect(mistake(['workloads', 0, 'dimensions'], { n: 5 })).toEqual({
      code: 'unknown-dimension',
      message: 'The problem has no dimension `n`.',
      file,
      path: 'workloads[0].dimensions.n',
      received: 'n',
      expected: 'one of N, D, causal',
      hint: 'Did you mean `N`?',
    });
  });

  it('a dimension out of range', () => {
    expect(mistake(['checkShapes', 0, 'dimensions', 'D'], 48)).toEqual({
      code: 'dimension-out-of-range',
      message: "Dimension `D` can't be 48.",
      file,
      path: 'checkShapes[0].dimensions.D',
      received: '48',
      expected: 'one of 32, 64',
      hint: 'D: width.',
    });
  });

  it('a domain of integers, an axis that is not there; a domain’s generator set may be named', () => {
    expect(mistake(['inputs', 'x'], { ...smallProblem.inputs.x, dtype: 'i32', domain: ['zero'] })).toMatchObject({
      path: 'inputs.x.domain',
      received: 'i32, access "in"',
    });
    expect(mistake(['generatorSets', 'large', 'x'], { kind: 'ramp', low: 0, high: 1, axis: 2 })).toMatchObject({
      path: 'generatorSets.large.x.axis',
      expected: 'an axis from 0 to 1',
    });
    const x = { ...smallProblem.inputs.x, domain: ['-infinity'] };
    const named = {
      ...smallProblem,
      inputs: { x },
      checkShapes: [{ dimensions: { N: 17 }, generators: ['-infinity:x'] }],
    };
    expect(parseProblemFile(JSON.stringify(named), file).checkShapes[0]!.generators).toEqual(['-infinity:x']);
  });

  it('a workload or a check shape outside the limits of the problem', () => {
    const limited = (limit: string): string => edited(smallProblem, ['limits'], ['D <= 64', limit]);
    expect(detailsOf(() => parseProblemFile(limited('N % D == 0'), file))).toEqual({
      code: 'shape-outside-limits',
      message: "The problem's limits leave this shape out: N % D == 0 (N = 17, D = 32).",
      file,
      path: 'checkShapes[0].dimensions',
      received: 'N=17,D=32,causal=0',
      expected: 'a shape that meets every one of the `limits` of problem.json',
      hint: 'Change the shape, or the limit where the operation is meant to take it.',
    });
    expect(detailsOf(() => parseProblemFile(limited('N < 256'), file)).path).toBe('workloads[0].dimensions');
    expect(detailsOf(() => parseProblemFile(limited('N < M'), file))).toMatchObject({ path: 'limits[1]' });
  });

  it('a dimension without value or default', () => {
    expect(mistake(['workloads', 0, 'dimensions'], { D: 32 })).toEqual({
      code: 'missing-dimension',
      message: 'Dimension `N` (elements) has no value and no default.',
      file,
      path: 'workloads[0].dimensions',
      received: 'nothing',
      expected: 'N = an integer from 1 to 1000000',
      hint: 'Give every dimension: N=…,D=…,causal=…',
    });
  });

  it('an expression that does not parse', () => {
    expect(mistake(['minimumReadBytes'], '2 * N *')).toEqual({
      code: 'expression-syntax',
      message: 'The expression ends too early (column 8 of `2 * N *`).',
      file,
      path: 'minimumReadBytes',
      received: '2 * N *',
      expected: 'a number, a name or `(`',
      hint: 'Operators are those of C++; functions: ceilDiv, floor, ceil, abs, log2, sqrt, pow, min, max.',
    });
  });

  it('an expression with an unknown name', () => {
    expect(mistake(['inputs', 'x', 'shape', 0], 'M')).toEqual({
      code: 'unknown-name',
      message: 'Unknown name `M` (column 1 of `M`).',
      file,
      path: 'inputs.x.shape[0]',
      received: 'M',
      expected: 'one of N, D, causal',
      hint: 'Did you mean `N`?',
    });
  });

  it('an expression without a usable value at a declared shape', () => {
    expect(mistake(['inputs', 'x', 'shape', 0], 'N - 17')).toEqual({
      code: 'out-of-range',
      message: 'The extent of axis 0 of buffer `x` is 0.',
      file,
      path: 'inputs.x.shape[0]',
      received: 'N - 17 = 0',
      expected: 'an integer of at least 1',
      hint: 'Here N = 17.',
    });
    expect(mistake(['minimumFlop'], '100 - N')).toMatchObject({
      code: 'out-of-range',
      path: 'minimumFlop',
      received: '100 - N = -156',
    });
    expect(mistake(['scalars', 'scale', 'value'], '1 / causal')).toMatchObject({
      code: 'division-by-zero',
      file,
      path: 'scalars.scale.value',
    });
  });

  it('a start that is not a rung', () => {
    expect(mistake(['start'], '01_minimum')).toEqual({
      code: 'unknown-rung',
      message: 'There is no rung `01_minimum`.',
      file,
      path: 'start',
      received: '01_minimum',
      expected: 'one of 01_minimal, 02_wide',
      hint: 'Did you mean `01_minimal`?',
    });
  });

  it('a generator of an input that does not exist', () => {
    expect(mistake(['generatorSets', 'large'], { q: { kind: 'permutation' } })).toEqual({
      code: 'unknown-input',
      message: 'There is no input `q`.',
      file,
      path: 'generatorSets.large.q',
      received: 'q',
      expected: 'one of x',
      hint: 'Did you mean `x`?',
    });
  });

  it('a generator of an unknown kind', () => {
    expect(mistake(['inputs', 'x', 'generator'], { kind: 'gaussian' })).toMatchObject({
      code: 'invalid-value',
      path: 'inputs.x.generator.kind',
      received: '"gaussian"',
      expected: expect.stringContaining('one of "normal", "uniform"'),
    });
  });

  it('a field that belongs to another kind of comparison', () => {
    expect(mistake(['comparison'], { kind: 'exact', factor: 2 })).toMatchObject({
      code: 'unknown-key',
      path: 'comparison.factor',
      received: 'factor',
      expected: 'one of kind',
    });
  });

  const others: [
    what: string,
    path: (string | number)[],
    value: unknown,
    code: string,
    at: string,
    received: string,
    expected: string,
  ][] = [
    ['schema version', ['schemaVersion'], 2, 'invalid-value', 'schemaVersion', '2', '1'],
    ['no workloads', ['workloads'], [], 'invalid-value', 'workloads', '[]', 'at least 1 entry'],
    [
      'name with a dash',
      ['dimensions', 'head-dim'],
      { description: '' },
      'invalid-name',
      'dimensions["head-dim"]',
      'head-dim',
      'a name of letters, digits and underscores that does not start with a digit',
    ],
    [
      'fractional dimension',
      ['workloads', 0, 'dimensions', 'N'],
      1.5,
      'invalid-value',
      'workloads[0].dimensions.N',
      '1.5',
      'an integer',
    ],
    [
      'negative deviation',
      ['inputs', 'x', 'generator'],
      { kind: 'normal', standardDeviation: -1 },
      'invalid-value',
      'inputs.x.generator.standardDeviation',
      '-1',
      'a number of more than 0',
    ],
    [
      'default not allowed',
      ['dimensions', 'D', 'default'],
      16,
      'dimension-out-of-range',
      'dimensions.D.default',
      '16',
      'one of 32, 64',
    ],
    [
      'empty range',
      ['dimensions', 'N', 'maximum'],
      0,
      'invalid-value',
      'dimensions.N',
      'minimum 1, maximum 0',
      'minimum ≤ maximum',
    ],
    [
      'scalar named like a dimension',
      ['scalars', 'N'],
      { dtype: 'i32', value: 1 },
      'duplicate-name',
      'scalars.N',
      'N',
      'a name used once',
    ],
    [
      'output named like an input',
      ['outputs', 'x'],
      smallProblem.outputs.y,
      'duplicate-name',
      'outputs.x',
      'x',
      'a name used once',
    ],
    [
      'workload twice',
      ['workloads', 1],
      smallProblem.workloads[0],
      'duplicate-name',
      'workloads[1].name',
      'small',
      'each name once',
    ],
    ['rung twice', ['rungs', 1], '01_minimal', 'duplicate-name', 'rungs[1]', '01_minimal', 'each name once'],
    [
      'rung elsewhere',
      ['rungs', 1],
      '../other',
      'invalid-name',
      'rungs[1]',
      '../other',
      'a folder name such as 01_minimal',
    ],
    [
      'no output',
      ['outputs'],
      {},
      'no-output',
      'outputs',
      'no output',
      'at least one output, or an input with "access": "inout"',
    ],
    ['input to write', ['inputs', 'x', 'access'], 'out', 'invalid-value', 'inputs.x.access', 'out', 'one of in, inout'],
    ['output to read', ['outputs', 'y', 'access'], 'in', 'invalid-value', 'outputs.y.access', 'in', 'one of out'],
    [
      'generated output',
      ['outputs', 'y', 'generator'],
      { kind: 'normal' },
      'invalid-value',
      'outputs.y.generator',
      'normal',
      'no generator',
    ],
    [
      'alignment',
      ['inputs', 'x', 'alignmentBytes'],
      24,
      'invalid-value',
      'inputs.x.alignmentBytes',
      '24',
      'a power of two',
    ],
    ['stride count', ['inputs', 'x', 'strides'], [1], 'invalid-value', 'inputs.x.strides', '1 strides', '2 strides'],
    [
      'overlapping output',
      ['outputs', 'y', 'strides'],
      [1, 1],
      'overlapping-output',
      'outputs.y.strides',
      'shape [256, 64] with strides [1, 1]',
      'strides that place no two elements at the same address',
    ],
    ['reduced input', ['reducedAxis', 'input'], 'q', 'unknown-input', 'reducedAxis.input', 'q', 'one of x'],
    ['reduced axis', ['reducedAxis', 'axis'], 2, 'invalid-value', 'reducedAxis.axis', '2', 'an axis from 0 to 1'],
    [
      'generator set',
      ['checkShapes', 0, 'generators', 0],
      'huge',
      'unknown-generator-set',
      'checkShapes[0].generators[0]',
      'huge',
      'one of large',
    ],
    [
      'integer storage',
      ['comparison', 'storage'],
      'i32',
      'invalid-value',
      'comparison.storage',
      'i32',
      'one of f16, bf16, f32, f64',
    ],
  ];
  it.each(others)('%s', (_what, path, value, code, at, received, expected) => {
    const details = mistake(path, value);
    expect(details).toMatchObject({ code, file, path: at, received, expected });
    expect(details.hint).toBeTruthy();
  });

  it.each([
    ['a line feed', '\n', '\\n'],
    ['an escape', '\u001b', '\\u001b'],
    ['a C1 control', '\u009b', '\\u009b'],
    ['a line separator', '\u2028', '\\u2028'],
    ['an override of the direction', '\u202e', '\\u202e'],
  ])('%s in a name', (_what, character, escaped) => {
    for (const path of [['name'], ['workloads', 0, 'name']]) {
      expect(mistake(path, `a${character}b`)).toMatchObject({
        code: 'invalid-value',
        file,
        received: `"a${escaped}b"`,
        expected: 'one line of text without control characters',
      });
    }
    expect(mistake(['dimensions', `N${character}`], { description: '' })).toMatchObject({
      code: 'invalid-name',
      message: `\`N${character === '\n' ? '\\u000a' : escaped}\` can't be a name here.`,
    });
  });

  it('takes names in any script', () => {
    expect(parseProblemFile(edited(smallProblem, ['name'], 'größe 行列 ×2'), file).name).toBe('größe 行列 ×2');
  });

  it('not an object at all', () => {
    expect(detailsOf(() => parseProblemFile('[]', file))).toMatchObject({
      code: 'invalid-value',
      file,
      path: '',
      received: '[]',
      expected: 'an object',
    });
  });
});
