import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { runTool } from '../handover/support/host-compiler.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { repository, runCli, runJson, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const KERNEL = join(repository, 'examples/row-sum/02_warp_per_row');
const python = findExecutable('python3');
const nvcc = findExecutable('nvcc');

describe.skipIf(!nvcc || !python)('export --torch (needs nvcc and python3)', () => {
  long('writes a package that Python reads, and replaces it', async () => {
    const folder = join(temporaryFolder(), 'package');
    const words = ['export', KERNEL, '--set', 'WARPS=8', '--torch', folder, '--toolchain', 'nvcc', '--arch', 'sm_90'];
    const { code, json } = await runJson([...words, '--name', 'sums']);
    expect({ code, json }).toMatchObject({
      code: 0,
      json: {
        kind: 'export',
        exported: null,
        branch: null,
        torch: {
          name: 'sums',
          functionName: 'row_sum',
          kernels: [{ kernel: '02_warp_per_row', parameters: { WARPS: 8 }, architectures: ['sm_90'] }],
          evidence: ['No run evaluated it, so its correctness and its speed are unknown.'],
          notes: [],
        },
      },
    });
    const files = json.torch.files as string[];
    for (const file of files) expect({ file, there: existsSync(join(folder, file)) }).toEqual({ file, there: true });
    const cubin = files.find((file) => file.endsWith('.sm_90.cubin'))!;
    expect(readFileSync(join(folder, cubin)).subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    // Nothing of this machine gets into the package.
    for (const file of files)
      expect({ file, names: readFileSync(join(folder, file)).includes(repository) }).toEqual({ file, names: false });
    const compiled = runTool(
      python!,
      [
        '-B',
        '-c',
        'import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path).read(), path, feature_version=(3, 9))',
      ],
      folder,
    );
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
    const sources = files.filter((file) => file.endsWith('.py'));
    expect(runTool(python!, ['-m', 'py_compile', ...sources], folder)).toEqual({ code: 0, stdout: '', stderr: '' });
    const tables =
      'import tomllib\nwith open("pyproject.toml", "rb") as file: print(tomllib.load(file)["project"]["name"])';
    const { stdout, stderr } = runTool(python!, ['-c', tables], folder);
    expect(stderr.includes('No module named') ? 'sums\n' : stdout).toBe('sums\n');
    // Another name: the first package's files go. (Python's own stay beside them.)
    const again = await runJson([...words, '--name', 'others']);
    expect({ code: again.code, error: again.json.error }).toEqual({ code: 0 });
    expect([existsSync(join(folder, 'sums/_op.py')), existsSync(join(folder, 'others/_op.py'))]).toEqual([false, true]);
  });

  long('says which architectures a kernel is not for', async () => {
    const folder = join(temporaryFolder(), 'package');
    const { code, json } = await runJson([
      'export',
      'attention/11_sums_first',
      ...['--torch', folder, '--toolchain', 'nvcc', '--arch', 'sm_80'],
    ]);
    expect({ code, error: json.error }).toMatchObject({
      code: 2,
      error: { code: 'no-code-for-architecture', received: 'sm_80', expected: 'one of sm_90a' },
    });
    expect(existsSync(folder)).toBe(false);
  });
});

describe('export --torch', () => {
  const refused = join(temporaryFolder(), 'refused');
  it.each([
    [['--torch', refused, '--arch', 'hopper'], 'bad-architecture', 2],
    [['--torch', refused, '--toolchain', 'clang'], 'unsuitable-toolchain', 2],
    [['--arch', 'sm_80'], 'conflicting-options', 2],
    [['--toolchain', 'nvcc'], 'conflicting-options', 2],
  ])('refuses %j: %s', async (options, code, exit) => {
    const { code: ended, json } = await runJson(['export', KERNEL, ...options]);
    expect({ ended, code: json.error.code }).toEqual({ ended: exit, code });
    expect(existsSync(refused)).toBe(false);
  });

  it('refuses a folder that holds other files, before anything is compiled', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'thesis.txt'), 'mine');
    const { code, json } = await runJson(['export', KERNEL, '--torch', folder]);
    expect({ code, error: json.error.code }).toEqual({ code: 2, error: 'folder-not-empty' });
  });

  it('refuses a dispatch table that is none, or whose parameters are to change', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'dispatch.json'), '{"kind": "something"}');
    const words = ['export', folder, '--torch', refused];
    expect((await runJson(words)).json.error).toMatchObject({ code: 'not-a-dispatch-table' });
    cpSync(KERNEL, join(folder, 'kernel'), { recursive: true });
    const candidate = { id: 'a', kernel: 'kernel', parameters: {} };
    const table = { schemaVersion: 1, kind: 'dispatch-table', entries: [], fallback: { folder: 'kernel', candidate } };
    writeFileSync(join(folder, 'dispatch.json'), JSON.stringify(table));
    expect((await runJson([...words, '--set', 'WARPS=8'])).json.error).toMatchObject({
      code: 'parameters-of-a-candidate',
      path: '--set',
    });
    writeFileSync(
      join(folder, 'dispatch.json'),
      JSON.stringify({ ...table, fallback: { folder: '../elsewhere', candidate } }),
    );
    expect((await runJson(words)).json.error).toMatchObject({ code: 'not-a-dispatch-table' });
  });

  it.skipIf(existsSync('/usr/local/cuda'))('says what it looked for where no compiler is', async () => {
    const { code, stdout } = await runCli(['export', KERNEL, '--torch', refused, '--json'], {
      env: { PATH: '/nowhere', CUDA_HOME: '/nowhere', CUDA_PATH: '/nowhere' },
    });
    expect({ code, error: JSON.parse(stdout).error }).toMatchObject({
      code: 3,
      error: { code: 'no-compiler', expected: 'NVRTC or nvcc (CUDA toolkit)' },
    });
  });
});
