import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { narrowAttention } from '../support/attention-problem.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { runCli, runJson, SCALE, scaleCopy, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 4 });

const STRIDED = join(SCALE, '01_strided');
const COALESCED = join(SCALE, '02_coalesced');
const ON_L4 = ['--device', 'virtual:l4'];

describe('the contract of evaluate --json', () => {
  long('attention: one object with everything it promises', async () => {
    const { code, json, stderr } = await runJson([
      'evaluate',
      join(narrowAttention(temporaryFolder()), '01_minimal'),
      ...ON_L4,
      '--workload',
      'B=1,H=1,S=64,D=64,causal=0',
      // Draws small shapes.
      ...['--seed', '14'],
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(json).toMatchObject({
      schemaVersion: 1,
      candidate: { kernel: '01_minimal' },
      device: { id: 'virtual:l4', kind: 'virtual', name: expect.stringContaining('L4') },
      workload: { dimensions: { B: 1, H: 1, S: 64, D: 64, causal: 0 } },
      status: 'passed',
      timing: { kind: 'predicted', bindingResource: expect.any(String) },
    });
    const { medianNs, intervalNs, vetoNs, attainableNs } = json.timing;
    expect(vetoNs).toBeGreaterThan(0);
    expect(attainableNs).toBeGreaterThanOrEqual(vetoNs);
    expect(medianNs).toBeGreaterThanOrEqual(attainableNs);
    expect(intervalNs[0]).toBeLessThan(medianNs);
    expect(intervalNs[1]).toBeGreaterThan(medianNs);
    // The largest error and the one nearest its tolerance may be of two elements, on two checks.
    expect(json.correctness.worstErrorRatio).toBeLessThanOrEqual(1);
    expect(json.correctness.nearest.error).toBeLessThanOrEqual(json.correctness.nearest.tolerance);
    expect(json.correctness.checksRun).toBeGreaterThan(1);
    for (const counters of [json.counters.totals, json.counters.launches[0]]) {
      for (const name of [
        'globalLoadRequests',
        'globalLoadSectors',
        'globalStoreRequests',
        'globalStoreSectors',
        'instructions',
      ]) {
        expect(counters[name]).toBeGreaterThan(0);
      }
      expect(counters.sharedLoadWavefronts).toBeGreaterThanOrEqual(0);
      expect(counters.sharedStoreWavefronts).toBeGreaterThanOrEqual(0);
    }
    for (const finding of json.findings) {
      expect(finding).toMatchObject({ id: expect.any(String), estimatedSpeedup: expect.any(Number) });
      expect(finding.evidence.length).toBeGreaterThan(0);
    }
  });

  test('counters equal what is counted by hand', async () => {
    const { json } = await runJson(['evaluate', COALESCED, ...ON_L4]);
    // 65536 elements ÷ 32 lanes = 2048 warps, each one request of 32 × 4 B = 4 sectors, for the load and for the store.
    expect(json.counters.totals).toMatchObject({
      globalLoadRequests: 2048,
      globalLoadSectors: 8192,
      globalStoreRequests: 2048,
      globalStoreSectors: 8192,
      sharedLoadWavefronts: 0,
      sharedStoreWavefronts: 0,
    });
    expect(json.counters.launches).toHaveLength(1);
  });

  long('--set changes the candidate; --threads changes nothing but the time it takes', async () => {
    const plain = await runJson(['evaluate', STRIDED, ...ON_L4, '--seed', '1', '--threads', '1']);
    const set = await runJson(['evaluate', STRIDED, ...ON_L4, '--set', 'BLOCK=64', '--set', 'PER_THREAD=8']);
    const threads = await runJson(['evaluate', STRIDED, ...ON_L4, '--seed', '1', '--threads', '2']);
    expect(set.json.candidate.parameters).toEqual({ BLOCK: 64, PER_THREAD: 8 });
    expect(set.json.candidate.id).not.toBe(plain.json.candidate.id);
    const { elapsedMs: _one, ...one } = plain.json;
    const { elapsedMs: _two, ...two } = threads.json;
    expect(two).toEqual(one);
  });

  long('draws a seed that nobody knows, and says it; --seed does it again', async () => {
    const drawn = [await runJson(['evaluate', STRIDED, ...ON_L4]), await runJson(['evaluate', STRIDED, ...ON_L4])];
    const [first, second] = drawn.map(({ json }) => json);
    expect(first.seed).not.toBe(second.seed);
    expect(first.coverage.drawnShapes).not.toEqual(second.coverage.drawnShapes);
    const again = await runJson(['evaluate', STRIDED, ...ON_L4, '--seed', String(first.seed)]);
    expect(again.json).toEqual({ ...first, elapsedMs: again.json.elapsedMs });
  });

  test('no --device: the virtual L4, said on stderr', async () => {
    const { json, stderr } = await runJson(['evaluate', COALESCED]);
    expect(json.device.id).toBe('virtual:l4');
    expect(stderr).toBe('No --device given: using virtual:l4 (there is no CUDA GPU here).\n');
  });

  test('the text labels the time as predicted and prints the findings', async () => {
    const { code, stdout, stderr } = await runCli(['evaluate', STRIDED, ...ON_L4]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('passed');
    expect(stdout).toMatch(/predicted [\d.]+ (ns|µs|ms) \[/);
    expect(stdout).not.toContain('measured');
    expect(stdout).toContain('[uncoalesced-access]');
  });
});

describe('a kernel that is judged and fails: exit code 1, the reason on stdout', () => {
  test('wrong results', async () => {
    const { kernel } = scaleCopy({ source: (text) => text.replace('2.0f', '2.5f') });
    const { code, json } = await runJson(['evaluate', kernel, ...ON_L4]);
    expect(code).toBe(1);
    expect(json).toMatchObject({ schemaVersion: 1, status: 'wrong', reason: expect.any(String) });
    expect(json.timing).toBeUndefined();
  });

  test('out of bounds, with the place in the source', async () => {
    const { kernel } = scaleCopy({ source: (text) => text.replace('y[i] =', 'y[i + n] =') });
    const { code, json } = await runJson(['evaluate', kernel, ...ON_L4]);
    expect(code).toBe(1);
    expect(json.status).toBe('unsafe');
    expect(json.fault).toMatchObject({ functionName: 'scale', source: { file: 'kernel.cu', line: 4 } });
  });

  test('does not compile, with file and line', async () => {
    const { kernel } = scaleCopy({ source: (text) => text.replace('const int first', 'const itn first') });
    const { code, json } = await runJson(['evaluate', kernel, ...ON_L4]);
    expect(code).toBe(1);
    expect(json.status).toBe('compile-failed');
    expect(json.diagnostics[0]).toMatchObject({ severity: 'error', location: { file: 'kernel.cu', line: 3 } });
  });

  long('an endless loop is stopped', async () => {
    const { kernel } = scaleCopy({
      // Volatile, since a loop without side effects may be assumed to end.
      source: (text) =>
        text.replace('const int first', 'for (volatile int spin = 0; spin == 0;) {}\n  const int first'),
    });
    const { code, json } = await runJson(['evaluate', kernel, ...ON_L4, '--run-timeout', '1']);
    expect(code).toBe(1);
    expect(json.status).toBe('timed-out');
  });
});

describe('what cannot be judged', () => {
  test('an unknown device: exit code 3, with a suggestion', async () => {
    const { code, json } = await runJson(['evaluate', STRIDED, '--device', 'virtual:l5']);
    expect(code).toBe(3);
    expect(json.error).toMatchObject({
      code: 'unknown-device',
      received: 'virtual:l5',
      hint: expect.stringContaining('virtual:l4'),
    });
  });

  test('a grid of zero CTAs and too much shared memory: exit code 2, with file and path', async () => {
    const empty = scaleCopy({
      kernel: (file) => {
        file.steps[0].grid = ['N - 65536'];
      },
    });
    const { code, json } = await runJson(['evaluate', empty.kernel, ...ON_L4]);
    expect(code).toBe(2);
    expect(json.error).toMatchObject({ code: 'zero-size-grid', file: join(empty.kernel, 'kernel.json') });
    const large = scaleCopy({
      kernel: (file) => {
        file.steps[0].sharedBytes = '101 * 1024';
      },
    });
    const refused = await runJson(['evaluate', large.kernel, ...ON_L4]);
    expect(refused.code).toBe(2);
    expect(refused.json.error).toMatchObject({
      code: 'shared-memory-limit',
      path: expect.stringContaining('steps[0].sharedBytes'),
    });
  });

  test("arguments that do not match the function's parameters", async () => {
    const { kernel } = scaleCopy({
      kernel: (file) => {
        file.steps[0].arguments[2].dtype = 'i64';
      },
    });
    const { code, json } = await runJson(['evaluate', kernel, ...ON_L4]);
    expect(code).toBe(2);
    expect(json.error).toMatchObject({
      code: 'argument-mismatch',
      file: join(kernel, 'kernel.json'),
      path: 'steps[0].arguments[2]',
      received: '8 bytes (scalar i64)',
      expected: expect.stringContaining('4 bytes'),
      hint: expect.stringContaining('parameters of scale'),
    });
    const fewer = scaleCopy({
      kernel: (file) => {
        file.steps[0].arguments.pop();
      },
    });
    const refused = await runJson(['evaluate', fewer.kernel, ...ON_L4]);
    expect(refused.json.error).toMatchObject({
      code: 'argument-mismatch',
      path: 'steps[0].arguments',
      received: '2 arguments',
      expected: '3 arguments',
    });
  });
});

describe('diagnose', () => {
  test('findings with evidence, and the rung that answers one among the moves', async () => {
    const { code, json } = await runJson(['diagnose', STRIDED, ...ON_L4]);
    expect(code).toBe(0);
    expect(json).toMatchObject({ schemaVersion: 1, kind: 'diagnosis', evaluation: { status: 'passed' } });
    const rungs = json.moves.filter(({ move }: { move: { kind: string } }) => move.kind === 'rung');
    expect(rungs).toContainEqual(
      expect.objectContaining({
        move: { kind: 'rung', from: '01_strided', to: '02_coalesced' },
        finding: 'uncoalesced-access',
      }),
    );
  });
});

describe('devices and doctor', () => {
  test('devices lists the virtual ones', async () => {
    const { code, json } = await runJson(['devices']);
    expect(code).toBe(0);
    expect(json.devices.map(({ id }: { id: string }) => id)).toEqual(
      expect.arrayContaining(['virtual:l4', 'virtual:h200']),
    );
  });

  test('doctor finds everything that is needed', async () => {
    const { code, json } = await runJson(['doctor']);
    expect(json.checks.filter(({ verdict }: { verdict: string }) => verdict === 'failed')).toEqual([]);
    expect(code).toBe(0);
  });
});
