import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkTarget } from '../../../src/app/check.ts';
import { evaluateKernel } from '../../../src/app/evaluate.ts';
import { importProblem } from '../../../src/app/import/import-problem.ts';
import type { WarpsmithError } from '../../../src/core/errors.ts';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { runProcess } from '../../../src/process/run-process.ts';
import { hasPython, hasPythonModule } from '../../support/python.ts';
import { longTests } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const FIXTURES = join(import.meta.dirname, 'fixtures');
const module = (name: string): string => join(FIXTURES, 'modules', `${name}.py`);
const python3 = findExecutable('python3');
const hasTorch = await hasPythonModule('torch');
const hasDeviceContexts = hasTorch && (await hasPython('import torch; torch.device("meta").__enter__'));
const NO_TORCH = 'this Python has no PyTorch, and what a real module of KernelBench does is not shown';

const root = mkdtempSync(join(tmpdir(), 'warpsmith-kernelbench-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const fresh = (): string => join(root, `problem${count++}`);

/** The module with other text, as a file. */
function changed(name: string, from: string, to: string): string {
  const text = readFileSync(module(name), 'utf8');
  expect(text).toContain(from);
  const path = join(root, `${name}${count++}.py`);
  writeFileSync(path, text.replaceAll(from, to));
  return path;
}

const sourceOf = (folder: string): string => readFileSync(join(folder, '01_start/kernel.cu'), 'utf8');

const problemOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'problem.json'), 'utf8')) as {
    dimensions: Record<string, object>;
    inputs: Record<string, { shape: string[]; dtype: string }>;
    outputs: Record<string, { shape: string[]; comparison: { terms: string } }>;
    scalars?: Record<string, object>;
    workloads: { name: string }[];
    checkShapes: object[];
    generatorSets?: Record<string, object>;
  };

/** A kernel for the stub's function, whatever its body was. */
function writeKernel(folder: string, body: string): void {
  writeFileSync(join(folder, '01_start/kernel.cu'), sourceOf(folder).replace(/\) \{.*$/s, `) { ${body} }\n`));
}

/** Python alone takes long for the large shapes that a seed draws. */
function keepSmall(folder: string): void {
  const path = join(folder, 'problem.json');
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"minimum": 1', '"minimum": 1, "maximum": 40'));
}

const evaluate = (target: string) =>
  evaluateKernel({ target, device: 'virtual:l4', checks: 'usual', seed: 1, trust: true, journal: false });

/** As PyTorch says it. */
const NO_MEMORY = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 6442450944 bytes. Error code 12";

const GEMM = `for (int i = threadIdx.x; i < batch_size * out_features; i += blockDim.x) {
  float sum = gemm_bias[i % out_features];
  for (int k = 0; k < in_features; k++)
    sum += x[i / out_features * in_features + k] * gemm_weight[i % out_features * in_features + k];
  out[i] = fmaxf(2.0f * sum, 0.0f);
}`;

/*
 * With a stand-in of PyTorch: that sizes, parameters and results are found, that the reference runs the module, and what is
 * said. Not that PyTorch behaves as the stand-in does; the last test is for that.
 */
describe.skipIf(python3 === undefined)('a module of KernelBench', () => {
  const environment = join(root, 'venv');
  beforeAll(async () => {
    const args = ['-m', 'venv', '--without-pip', environment];
    const { exitCode, stderr } = await runProcess({
      ...{ command: python3!, args, cwd: '/', timeoutMs: 120_000, maximumOutputBytes: 1 << 16 },
    });
    expect(exitCode, stderr).toBe(0);
    const [version] = readdirSync(join(environment, 'lib'));
    cpSync(join(FIXTURES, 'stand-in'), join(environment, 'lib', version!, 'site-packages'), { recursive: true });
  });
  beforeEach(() => {
    vi.stubEnv('WARPSMITH_PYTHON', join(environment, 'bin/python3'));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  long('becomes a problem whose sizes, weights and results are the module’s', async () => {
    const { folder, letThrough, notes } = await importProblem({
      ...{ target: module('scaled_gemm'), output: fresh(), trust: true },
    });
    const { dimensions, inputs, outputs, workloads, checkShapes } = problemOf(folder);
    expect(Object.keys(dimensions)).toEqual(['batch_size', 'in_features', 'out_features']);
    expect(Object.entries(inputs).map(([name, { shape }]) => [name, ...shape])).toEqual([
      ['x', 'batch_size', 'in_features'],
      ['gemm_weight', 'out_features', 'in_features'],
      ['gemm_bias', 'out_features'],
    ]);
    expect(outputs.out!.shape).toEqual(['batch_size', 'out_features']);
    expect(workloads.map(({ name }) => name)).toEqual(['batch_size12-in_features40-out_features32']);
    expect(checkShapes.length).toBe(3);
    expect(letThrough!.now).toEqual([]);
    const [published, present] = letThrough!.originally;
    expect(published).toMatchObject({
      rule: expect.stringContaining('atol = rtol = 0.01, 5 trials'),
      letThrough: expect.arrayContaining(['gain', 'operands-of-11-bits']),
    });
    expect(present!.letThrough.length).toBeLessThan(published!.letThrough.length);
    expect(notes.join(' ')).toContain('Parameters are inputs');
    await checkTarget({ target: folder });
    writeKernel(folder, GEMM);
    keepSmall(folder);
    const { status, reason } = await evaluate(folder);
    expect(status, reason).toBe('passed');
  });

  it('may be given other sizes, which become its workload; a number that it is passed is a scalar', async () => {
    const { folder, notes } = await importProblem({
      ...{ target: module('softmax'), output: fresh(), trust: true, values: { rows: 6 } },
    });
    expect(problemOf(folder).workloads.map(({ name }) => name)).toEqual(['rows6-columns48']);
    expect(problemOf(folder).scalars).toEqual({ scale: { dtype: 'f32', value: 0.5 } });
    expect(notes.join(' ')).toContain('rows=6');
  });

  it('has sizes in tuples, too, but for those that follow from others', async () => {
    const target = changed('softmax', 'rows, columns = 24, 48', 'rows = 24\nshape = (48,)\nboth = (rows, 48)');
    const text = readFileSync(target, 'utf8').replace('torch.rand(rows, columns)', 'torch.rand(both[0], *shape)');
    writeFileSync(target, text);
    const { folder } = await importProblem({ target, output: fresh(), trust: true, values: { shape: 20 } });
    expect(problemOf(folder).workloads.map(({ name }) => name)).toEqual(['rows24-shape20']);
    expect(problemOf(folder).inputs.x!.shape).toEqual(['rows', 'shape']);
  });

  long('is given no inputs for which it has no results, and says so', async () => {
    const target = changed('softmax', 'torch.softmax(x * scale, dim=1)', 'torch.softmax(torch.log(x) * scale, dim=1)');
    const { folder, notes } = await importProblem({ target, output: fresh(), trust: true });
    expect(Object.keys(problemOf(folder).generatorSets!)).toEqual(['positive']);
    expect(notes.join(' ')).toContain('With zero-mean inputs its results are not finite');
    const usual = await importProblem({ target: module('softmax'), output: fresh(), trust: true });
    expect(Object.keys(problemOf(usual.folder).generatorSets!)).toEqual(['normal', 'positive']);
  });

  const refused: [string, () => string, Record<string, number>, string, string][] = [
    [
      'no module of KernelBench',
      () => changed('softmax', 'def get_inputs', 'def inputs'),
      {},
      'not-a-module',
      'get_inputs',
    ],
    ['a size that it does not name', () => module('softmax'), { width: 3 }, 'no-such-size', 'rows, columns'],
    [
      'an attribute of random numbers, which no kernel can know',
      () => changed('softmax', 'return torch.softmax(x * scale', 'return torch.softmax(x * torch.rand(rows, columns)'),
      {},
      'not-a-function',
      'without dropout',
    ],
    ['a text as input', () => changed('softmax', ', 0.5]', ', "half"]'), {}, 'module-failed', ''],
    [
      'a library that is not there',
      () => changed('softmax', 'import torch\n', 'import torch\nimport transformers_of_nobody\n'),
      {},
      'python-module-missing',
      'transformers_of_nobody',
    ],
    [
      'more memory than there is',
      () =>
        changed(
          'softmax',
          'return torch.softmax(',
          `raise RuntimeError("${NO_MEMORY}")\n        return torch.softmax(`,
        ),
      {},
      'module-memory',
      '6.0 GiB for one tensor',
    ],
    ['a mistake', () => changed('softmax', 'dim=1', 'dim=7'), {}, 'module-failed', ''],
  ];
  it.each(refused)('with %s is refused', async (_, target, values, code, words) => {
    const request = { target: target(), values, output: fresh(), trust: true };
    const error = (await importProblem(request).catch((thrown: unknown) => thrown)) as WarpsmithError;
    expect(error.details).toMatchObject({ code, hint: expect.any(String) });
    expect(JSON.stringify(error.details)).toContain(words);
  });

  it('does not run before somebody agrees, and reads nothing but itself', async () => {
    vi.stubEnv('WARPSMITH_TRUST', '');
    vi.stubEnv('XDG_CONFIG_HOME', join(root, 'config'));
    const secret = join(root, 'secret.txt');
    writeFileSync(secret, 'of somebody');
    const target = changed(
      'softmax',
      'rows, columns = 24, 48',
      `open(${JSON.stringify(secret)})\nrows, columns = 24, 48`,
    );
    const asked = importProblem({ target, output: fresh() });
    await expect(asked).rejects.toMatchObject({ details: { code: 'problem-not-trusted' } });
    await expect(importProblem({ target, output: fresh(), trust: true })).rejects.toMatchObject({
      details: { code: 'module-failed', received: expect.stringContaining('is refused') },
    });
  });
});

it('without PyTorch is refused with what to install', async (context) => {
  if (python3 === undefined) context.skip('this machine has no Python');
  if (hasTorch) context.skip('this Python has PyTorch');
  mkdirSync(root, { recursive: true });
  const request = { target: module('softmax'), output: fresh(), trust: true };
  await expect(importProblem(request)).rejects.toMatchObject({
    details: { code: 'python-module-missing', hint: expect.stringContaining('pip install torch') },
  });
});

it('in PyTorch itself is imported, and its reference tells right kernels from wrong ones', async (context) => {
  if (!hasTorch) context.skip(NO_TORCH);
  const target = join(root, 'linear_swish.py');
  writeFileSync(
    target,
    `import torch
import torch.nn as nn
import torch.nn.functional as F
class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
    def forward(self, x):
        return F.silu(self.linear(x))
batch_size, in_features, out_features = 16, 64, 48
def get_inputs():
    return [torch.rand(batch_size, in_features)]
def get_init_inputs():
    return [in_features, out_features]
`,
  );
  const { folder, letThrough } = await importProblem({ target, output: fresh(), trust: true });
  const { inputs, outputs } = problemOf(folder);
  expect(Object.entries(inputs).map(([name, { shape }]) => [name, ...shape])).toEqual([
    ['x', 'batch_size', 'in_features'],
    ['linear_weight', 'out_features', 'in_features'],
    ['linear_bias', 'out_features'],
  ]);
  expect(outputs.out!.shape).toEqual(['batch_size', 'out_features']);
  expect(letThrough!.now).toEqual([]);
  expect(letThrough!.originally[0]!.letThrough.length).toBeGreaterThan(2);
  const swish = (
    product: string,
  ): string => `for (int i = threadIdx.x; i < batch_size * out_features; i += blockDim.x) {
  float sum = linear_bias[i % out_features];
  for (int k = 0; k < in_features; k++) {
    const float a = x[i / out_features * in_features + k], b = linear_weight[i % out_features * in_features + k];
    sum += ${product};
  }
  out[i] = sum / (1.0f + expf(-sum));
}`;
  writeKernel(folder, swish('a * b'));
  const right = await evaluate(folder);
  expect(right.status, right.reason).toBe('passed');
  // What 0.01 lets through.
  writeKernel(folder, swish('__half2float(__float2half(a * b))'));
  expect((await evaluate(folder)).status).toBe('wrong');
}, 600_000);

it('in PyTorch itself is compared by sums as long as a result follows from elements of an input', async (context) => {
  if (!hasTorch) context.skip(NO_TORCH);
  const target = join(root, 'norms.py');
  writeFileSync(
    target,
    `import torch
class Model(torch.nn.Module):
    def __init__(self, features, height, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm((features, height, width))
        self.conv = torch.nn.Conv2d(features, 5, 3)
    def forward(self, x):
        return self.norm(x), self.conv(x).mean(dim=(0, 2, 3)), x.sum(dim=1), x[0, 0, 0] * 2
features = 8
shape = (6, 10)
def get_inputs():
    return [torch.rand(4, features, *shape)]
def get_init_inputs():
    return [features, *shape]
`,
  );
  const { folder } = await importProblem({ target, output: fresh(), trust: true });
  const { outputs } = problemOf(folder);
  // One rule for all results: the longest.
  expect(outputs.out0!.comparison.terms).toContain('4 * features * shape_0 * shape_1');
}, 600_000);

it('in PyTorch itself may lose what PyTorch loses in float32, where a formula cancels', async (context) => {
  if (!hasTorch) context.skip(NO_TORCH);
  const target = join(root, 'gelu.py');
  writeFileSync(
    target,
    `import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(3 * x)
rows, columns = 32, 64
def get_inputs():
    return [torch.rand(rows, columns)]
def get_init_inputs():
    return []
`,
  );
  const { folder, letThrough } = await importProblem({ target, output: fresh(), trust: true });
  expect(letThrough!.now).toEqual([]);
  const gelu = (half: string): string =>
    `for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) { const float a = 3 * x[i]; out[i] = ${half}; }`;
  writeKernel(folder, gelu('a * 0.5f * (1.0f + erff(a * 0.70710678f))'));
  const right = await evaluate(folder);
  expect(right.status, right.reason).toBe('passed');
  writeKernel(folder, gelu('0.5f * a * (1.0f + tanhf(0.79788456f * (a + 0.044715f * a * a * a)))'));
  expect((await evaluate(folder)).status).toBe('wrong');
}, 600_000);

it('in PyTorch itself is imported with shapes of tensors without memory', async (context) => {
  if (!hasTorch) context.skip(NO_TORCH);
  if (!hasDeviceContexts) context.skip('this PyTorch is older than 2.0');
  const text = `import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(out_channels)
    def forward(self, x):
        return self.norm(self.conv(x))
batch_size, in_channels, out_channels, kernel_size = 256, 64, 128, 3
height = width = 512
def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]
def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
`;
  const target = join(root, 'conv_norm.py');
  writeFileSync(target, text);
  const { folder, letThrough } = await importProblem({ target, output: fresh(), trust: true });
  const { outputs, inputs } = problemOf(folder);
  const half = (size: string) => `floor((${size} + 1) / 2)`;
  expect(outputs.out!.shape).toEqual(['batch_size', 'out_channels', half('height'), half('width')]);
  expect(Object.keys(inputs)).toEqual(['x', 'conv_weight', 'conv_bias', 'norm_weight', 'norm_bias']);
  // The mean over a batch takes a bias before it away. It also makes sums so long that rounded operands may hide at the timed size.
  const others = letThrough!.now.filter((one) => !/^timed:operands-of-\d+-bits$/.test(one));
  expect(others).toEqual(['ignored-input:conv_bias']);
}, 600_000);
