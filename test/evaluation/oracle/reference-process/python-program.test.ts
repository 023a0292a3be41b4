import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DTYPES } from '../../../../src/core/dtype.ts';
import { WarpsmithError } from '../../../../src/core/errors.ts';
import type { RunReference } from '../../../../src/core/problem.ts';
import { type Rounding, rounderFor } from '../../../../src/core/rounding.ts';
import { pythonProgram } from '../../../../src/evaluation/oracle/reference-process/python-program.ts';
import {
  hostReference,
  type ReferenceHostOptions,
} from '../../../../src/evaluation/oracle/reference-process/reference-host.ts';
import { findExecutable } from '../../../../src/process/find-executable.ts';
import { hasPythonModule, NO_NUMPY } from '../../../support/python.ts';

const hasPython = findExecutable('python3') !== undefined;
const hasNumpy = await hasPythonModule('numpy');

let folder: string;
let count = 0;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'warpsmith-reference-py-')));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const host = async (text: string, options: Partial<ReferenceHostOptions> = {}): Promise<RunReference> => {
  const file = join(folder, `reference_${count++}.py`);
  await writeFile(file, text);
  return hostReference({ problem: 'scale', file, folder, program: pythonProgram, ...options });
};

const X = Float64Array.of(1, -2, Number.NaN, -0, 1e300, 0.1);
const run = (reference: RunReference, rounding: Rounding = 'exact') =>
  reference({ inputs: { X }, dimensions: { N: 6 }, rounding });

const errorOf = async (work: Promise<unknown>): Promise<WarpsmithError['details']> => {
  const error = await work.then(
    () => 'no error',
    (thrown: unknown) => thrown,
  );
  if (error instanceof WarpsmithError) return error.details;
  throw new Error(`not a WarpsmithError: ${error}`);
};

/** What the code gives inside a reference, as text. */
const said = async (code: string): Promise<string> => {
  const reference = await host(`
def attempt():
${code
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
def reference(inputs, dimensions):
    try: text = str(attempt())
    except BaseException as error: text = f"{type(error).__name__}: {error}"
    return {"Y": [float(ord(letter)) for letter in text]}`);
  return String.fromCharCode(...(await run(reference)).Y!);
};

/** Around every boundary of every format: ties, subnormals, the largest values, and beyond. */
const TELLING = Float64Array.from(
  [
    0,
    -0,
    1 / 3,
    0.5,
    1.5,
    2.5,
    65504,
    65519.99,
    65520,
    1e38,
    3.4028235677973366e38,
    3.39e38,
    1e308,
    300,
    255.5,
    2 ** 31,
  ]
    .concat([2 ** -24, 2 ** -25, 1.5 * 2 ** -25, 2 ** -149, 2 ** -150, 2 ** -133, 1 + 2 ** -8, 1 + 2 ** -8 + 2 ** -40])
    .concat([1 + 2 ** -11, 1 + 2 ** -24, 2 ** 63, 2 ** 64, 1e19, Number.NaN, Number.POSITIVE_INFINITY, 5e-324])
    .flatMap((value) => [value, -value]),
);
const ROUNDINGS: readonly Rounding[] = ['exact', ...DTYPES, { significantBits: 8 }, { named: { P: 'bf16' } }];

describe.skipIf(!hasPython)('a reference in Python', () => {
  it('needs no package: it gets memoryviews in their shapes, and returns lists, numbers and arrays', async () => {
    const reference = await host(
      `
import array, math
from factor_beside import FACTOR
def reference(inputs, dimensions):
    X = inputs["X"]
    rows = [[FACTOR * x for x in row] for row in X.tolist()]
    return {"Y": rows, "Z": array.array("d", [X[1, 2]]), "sum": 7, "X": X, "B": [True, False], "E": [[math.exp(1.0)]]}`,
      { shapes: () => ({ X: [2, 3], Y: [2, 3], Z: [1], E: [1] }) },
    );
    await writeFile(join(folder, 'factor_beside.py'), 'FACTOR = 3.0\n');
    const outputs = await run(reference);
    expect(outputs).toEqual({
      ...{ Y: X.map((x) => 3 * x), Z: Float64Array.of(0.1), sum: Float64Array.of(7), X },
      ...{ B: Float64Array.of(1, 0), E: Float64Array.of(Math.E) },
    });
  });

  it.each(ROUNDINGS)('rounds single numbers as references in TypeScript do: %j', async (rounding) => {
    const reference = await host(`
def reference(inputs, dimensions, round):
    return {"Y": [round(x, "P") for x in inputs["X"]], "Z": [round(x) for x in inputs["X"]]}`);
    const { Y, Z } = await reference({ inputs: { X: TELLING }, dimensions: {}, rounding });
    const round = rounderFor(rounding);
    expect(Y).toEqual(TELLING.map((value) => round(value, 'P')));
    expect(Z).toEqual(TELLING.map((value) => round(value)));
  });

  it('computes single rows and mistakes, if it has them', async () => {
    const reference = await host(`
def reference(inputs, dimensions):
    return {"Y": [2 * x for x in inputs["X"]]}
def reference_rows(inputs, dimensions, round, rows):
    return {"Y": [2 * inputs["X"][row] for row in rows["Y"]]}
mistakes = {"forgets": lambda inputs, dimensions, round: {"Y": list(inputs["X"])}}`);
    const request = { inputs: { X }, dimensions: { N: 6 }, rounding: 'exact' } as const;
    expect(await reference({ ...request, rows: { Y: Uint32Array.of(1, 4) } })).toEqual({
      Y: Float64Array.of(-4, 2e300),
    });
    expect((await reference({ ...request, mistake: 'forgets' })).Y).toEqual(X);
    expect(await errorOf(reference({ ...request, mistake: 'unknown' }))).toMatchObject({
      code: 'reference-failed',
      received: 'forgets',
    });
  });

  it('that takes no `round` is not asked to round', async () => {
    const reference = await host('def reference(inputs, dimensions):\n    return {"Y": inputs["X"]}');
    expect((await run(reference)).Y).toEqual(X);
    expect((await run(reference, { named: {} })).Y).toEqual(X);
    expect(await errorOf(run(reference, { named: { P: 'f16' } }))).toMatchObject({
      code: 'reference-rounds-nothing',
      message: "the reference of scale takes no `round`, so its intermediate results can't be rounded",
    });
  });

  it.each([
    ['throws', 'raise ValueError("no such row")', 'reference-failed', 'throws ValueError: no such row'],
    ['exits', 'raise SystemExit(1)', 'reference-failed', 'throws SystemExit: 1'],
    ['changes its input', 'inputs["X"][0] = 5; return {}', 'reference-changed-input', "changes its input 'X'"],
    ['returns nothing', 'pass', 'reference-output', 'returns NoneType'],
    ['returns text', 'return {"Y": "text"}', 'reference-output', "returns 'Y' as str"],
    ['returns float32', 'return {"Y": array.array("f", [1])}', 'reference-output', "returns 'Y' as float32"],
    ['returns text in a list', 'return {"Y": [["a"]]}', 'reference-output', "returns 'Y' as a list of str"],
    ['returns its transpose', 'return {"Y": [[1.0] * 2] * 3}', 'reference-output', "returns 'Y' with shape [3, 2]"],
    ['needs too much', 'return {"Y": [0.0] * 10**10}', 'reference-memory', 'takes too much memory'],
  ])('that %s is at fault', async (_, body, code, words) => {
    const reference = await host(`import array\ndef reference(inputs, dimensions):\n    ${body}`, {
      shapes: () => ({ X: [6], Y: [2, 3] }),
      limits: { memoryBytes: 2 ** 30 },
    });
    expect(await errorOf(run(reference))).toMatchObject({
      ...{ code, message: `the reference of scale ${words}` },
      ...{ expected: expect.any(String), hint: expect.any(String) },
    });
  });

  it('is told the line and the shape at which it threw', async () => {
    const reference = await host('def helper():\n    return 1 / 0\ndef reference(inputs, dimensions):\n    helper()');
    expect(await errorOf(run(reference))).toMatchObject({
      path: '2',
      received: 'ZeroDivisionError: division by zero for N=6',
    });
  });

  it.each([
    ['is no Python', 'def reference(:', { code: 'reference-failed', path: '1' }],
    [
      'has no reference',
      'def refernce(inputs, dimensions): pass',
      { code: 'missing-reference', received: 'exports refernce' },
    ],
    [
      'needs a package',
      'import nowhere_to_be_found',
      { code: 'python-module-missing', received: 'no module nowhere_to_be_found' },
    ],
  ])('that %s is not loaded', async (_, text, details) => {
    expect(await errorOf(run(await host(text)))).toMatchObject(details);
  });

  it('that hangs is ended with everything it started', async () => {
    const reference = await host('def reference(inputs, dimensions):\n    while True: pass', {
      limits: { timeoutMs: 700 },
    });
    expect((await errorOf(run(reference))).code).toBe('reference-timed-out');
    const left = () =>
      readdirSync('/proc').filter((pid) => {
        try {
          return (
            /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`reference_${count - 1}.py`)
          );
        } catch {
          return false; // It has ended.
        }
      });
    await expect.poll(left).toEqual([]);
  });

  it('says which Python is not there', async () => {
    vi.stubEnv('WARPSMITH_PYTHON', '/no/such/python3');
    const reference = await host('def reference(inputs, dimensions): pass');
    expect(await errorOf(run(reference))).toMatchObject({ code: 'python-missing', received: '/no/such/python3' });
    vi.unstubAllEnvs();
  });
});

describe.skipIf(!hasPython)('what is out of reach of a reference in Python', () => {
  it.each([
    ['writing', 'return open("/tmp/written", "w")', 'writing /tmp/written is refused'],
    ['reading other files', 'return open("/etc/hostname").read()', 'reading /etc/hostname is refused'],
    ['other programs', 'import subprocess\nreturn subprocess.run(["true"])', 'subprocess.Popen is refused'],
    ['shells', 'import os\nreturn os.system("true")', 'os.system is refused'],
    ['the network', 'import socket\nreturn socket.create_connection(("127.0.0.1", 1))', 'is refused'],
    ['signals', 'import os\nreturn os.kill(os.getppid(), 0)', 'os.kill is refused'],
    ['removing files', `import os\nreturn os.remove(${JSON.stringify(import.meta.filename)})`, 'os.remove is refused'],
  ])('%s', async (_, code, words) => {
    expect(await said(code)).toContain(words);
  });

  it('the caller’s environment', async () => {
    vi.stubEnv('A_SECRET', 'key');
    expect(await said('import os\nreturn sorted(os.environ)')).not.toContain('A_SECRET');
    vi.unstubAllEnvs();
  });

  // Below the fence: what C code could do.
  it.runIf(process.arch === 'x64' && process.platform === 'linux').each([
    ['files', 'c.open(b"/etc/hostname", 0)'],
    ['sockets', 'c.socket(2, 1, 0)'],
    ['processes', 'c.fork()'],
    ['signals to others', 'c.kill(os.getppid(), 0)'],
    ['the memory of others', 'c.ptrace(16, os.getppid(), 0, 0)'],
  ])('%s, by the kernel', async (_, call) => {
    const result = await said(`import ctypes, os\nc = ctypes.CDLL(None)\nreturn ${call}`);
    if (call.includes('open') && result !== '-1') return expect(kernelHasLandlock()).toBe(false);
    expect(result).toBe('-1');
  });
});

/** Landlock came with Linux 5.13, and a kernel may be built without. */
function kernelHasLandlock(): boolean {
  try {
    return readFileSync('/sys/kernel/security/lsm', 'utf8').includes('landlock');
  } catch {
    return false;
  }
}

describe.skipIf(!hasPython)('a reference in NumPy', () => {
  it('gets arrays in their shapes, and returns arrays of float64 or integers', async (context) => {
    if (!hasNumpy) context.skip(NO_NUMPY);
    const reference = await host(
      `
import numpy as np
def reference(inputs, dimensions):
    X = inputs["X"]
    assert X.dtype == np.float64 and X.shape == (2, 3)
    return {"T": X.T, "flat": X.reshape(-1), "arg": np.isnan(X).argmax(axis=1), "one": np.float64(2), "B": X > 0}`,
      { shapes: () => ({ X: [2, 3], T: [3, 2], flat: [2, 3], arg: [2] }) },
    );
    expect(await run(reference)).toEqual({
      ...{ T: Float64Array.of(1, -0, -2, 1e300, Number.NaN, 0.1), flat: X },
      ...{ arg: Float64Array.of(2, 0), one: Float64Array.of(2), B: Float64Array.of(1, 0, 0, 0, 1, 1) },
    });
  });

  it.skipIf(!hasNumpy).each(ROUNDINGS)('rounds arrays as TypeScript rounds numbers: %j', async (rounding) => {
    const reference = await host(`
import numpy as np
def reference(inputs, dimensions, round):
    return {"Y": round(inputs["X"], "P"), "Z": round(inputs["X"])}`);
    const { Y, Z } = await reference({ inputs: { X: TELLING }, dimensions: {}, rounding });
    const round = rounderFor(rounding);
    expect(Y).toEqual(TELLING.map((value) => round(value, 'P')));
    expect(Z).toEqual(TELLING.map((value) => round(value)));
  });

  it.skipIf(!hasNumpy).each([
    ['float32', 'np.zeros(6, np.float32)', "returns 'Y' as float32"],
    ['complex', 'np.zeros(6, complex)', "returns 'Y' as complex128"],
    ['another shape', 'np.zeros((3, 2))', "returns 'Y' with shape [3, 2]"],
  ])('that returns %s is at fault', async (_, value, words) => {
    const text = `import numpy as np\ndef reference(inputs, dimensions):\n    return {"Y": ${value}}`;
    const reference = await host(text, { shapes: () => ({ X: [2, 3], Y: [2, 3] }) });
    expect(await errorOf(run(reference))).toMatchObject({
      code: 'reference-output',
      message: `the reference of scale ${words}`,
    });
  });
});
