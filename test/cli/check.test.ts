import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { unwrapped } from '../support/printed.ts';
import { runCli, runJson, SCALE, scaleCopy } from './run-cli.ts';

describe('check', () => {
  test('prints the expanded plan of every rung and workload, running nothing', async () => {
    const { code, json, stderr } = await runJson(['check', SCALE]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(json.kernels.map(({ name }: { name: string }) => name)).toEqual(['01_strided', '02_coalesced']);
    const [{ plan }] = json.kernels[0].plans;
    // 65536 elements ÷ (128 threads × 16 elements) = 32 CTAs.
    expect(plan.steps[0]).toMatchObject({
      kind: 'launch',
      functionName: 'scale',
      grid: [32, 1, 1],
      block: [128, 1, 1],
    });
    expect(plan.buffers[0]).toMatchObject({ name: 'X', role: 'in', bytes: 262144 });
    // 3 × 2 assignments less 256 × 16, which the constraint refuses.
    expect(json.kernels[0].validConfigurationCount).toBe(5);
  });

  test('a kernel folder, with a parameter and a workload of its own', async () => {
    const { json } = await runJson([
      'check',
      join(SCALE, '01_strided'),
      '--set',
      'PER_THREAD=8',
      '--workload',
      'N=5000',
    ]);
    expect(json.kernels).toHaveLength(1);
    expect(json.kernels[0].plans).toHaveLength(1);
    expect(json.kernels[0].plans[0].plan.steps[0].grid).toEqual([5, 1, 1]);
  });

  test('the text says the same', async () => {
    const { stdout } = await runCli(['check', SCALE]);
    expect(stdout).toMatch(/^ +n65536 +scale \(32, 1, 1\) × \(128, 1, 1\)$/m);
    expect(unwrapped((await runCli(['check', SCALE, '--verbose'])).stdout)).toContain(
      'step 0: scale grid (32, 1, 1) block (128, 1, 1), arguments (X, Y, i32 65,536)',
    );
    expect(unwrapped(stdout)).toContain('nothing was compiled or run');
    expect(stdout).toMatch(/Whether its checks see wrong kernels is not looked at here:\n {2}warpsmith audit \S+\n/);
  });

  test('a workload the kernel does not take is said so, and is no error', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.limits = ['N % 7 == 0'];
      },
    });
    const { code, json } = await runJson(['check', kernel]);
    expect(code).toBe(0);
    expect(json.kernels[0].plans[0]).toMatchObject({ plan: null, refused: expect.stringContaining('N % 7') });
  });
});

describe('files with mistakes', () => {
  const expectError = async (args: readonly string[], error: Record<string, unknown>) => {
    const { code, json } = await runJson(args);
    expect(code).toBe(2);
    expect(json.error).toMatchObject({ message: expect.any(String), ...error });
    expect(json.error.message).not.toBe('');
    return json.error;
  };

  test('missing kernel source', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.source.files = ['missing.cu'];
      },
    });
    await expectError(['check', kernel], { code: 'missing-file', file: join(kernel, 'missing.cu') });
  });

  test('a file that is not JSON, with line and column', async () => {
    const { kernel } = scaleCopy();
    writeFileSync(join(kernel, 'kernel.json'), '{\n  "name": oops\n}\n');
    const error = await expectError(['check', kernel], { file: join(kernel, 'kernel.json') });
    expect(`${error.path} ${error.message}`).toMatch(/2/);
  });

  test('a field that does not exist, with a suggestion', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.stepz = file.steps;
        delete file.steps;
      },
    });
    await expectError(['check', kernel], { file: join(kernel, 'kernel.json') });
  });

  test('a value of the wrong type', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps[0].grid = true;
      },
    });
    await expectError(['check', kernel], { file: join(kernel, 'kernel.json'), path: 'steps[0].grid' });
  });

  test('an expression that names nothing known', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps[0].grid = ['ceilDiv(M, BLOCK)'];
      },
    });
    await expectError(['check', kernel], { file: join(kernel, 'kernel.json'), path: 'steps[0].grid[0]' });
  });

  test('an expression that cannot be parsed', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps[0].grid = ['ceilDiv(N,'];
      },
    });
    await expectError(['check', kernel], { file: join(kernel, 'kernel.json'), path: 'steps[0].grid[0]' });
  });

  test('a grid of zero CTAs', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps[0].grid = ['N - 65536'];
      },
    });
    await expectError(['check', kernel], {
      code: 'zero-size-grid',
      file: join(kernel, 'kernel.json'),
      path: expect.stringContaining('steps[0].grid'),
    });
  });

  test('more shared memory than a CTA can have', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps[0].sharedBytes = 1 << 20;
      },
    });
    await expectError(['check', kernel], { code: 'shared-memory-limit', path: expect.stringContaining('sharedBytes') });
  });

  test('a buffer the problem does not have', async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps[0].arguments[0] = { buffer: 'Z' };
      },
    });
    await expectError(['check', kernel], {
      file: join(kernel, 'kernel.json'),
      path: expect.stringContaining('steps[0].arguments[0]'),
    });
  });

  test('an unknown dimension, an unknown workload, an unknown parameter, a value that is not allowed', async () => {
    await expectError(['check', SCALE, '--workload', 'M=3'], { code: 'unknown-dimension', received: 'M' });
    await expectError(['check', SCALE, '--workload', 'n65537'], {
      code: 'unknown-workload',
      hint: 'Did you mean `n65536`?',
    });
    await expectError(['check', join(SCALE, '01_strided'), '--set', 'BLOK=64'], {
      code: 'unknown-parameter',
      hint: 'Did you mean `BLOCK`?',
    });
    await expectError(['check', join(SCALE, '01_strided'), '--set', 'BLOCK=63'], {
      code: 'parameter-not-allowed',
      expected: 'one of 64, 128, 256',
    });
  });

  test('a rung that is listed but not there', async () => {
    const { problem } = scaleCopy({ problem: (file) => void file.rungs.push('03_missing') });
    await expectError(['check', problem], { file: expect.stringContaining('03_missing') });
  });
});
