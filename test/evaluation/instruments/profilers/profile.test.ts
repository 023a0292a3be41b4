import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ProfileOutcome,
  type ProfileRequest,
  profile,
} from '../../../../src/evaluation/instruments/profilers/profile.ts';
import { profilingHelp } from '../../../../src/evaluation/instruments/profilers/profiling-help.ts';
import { openContentStore } from '../../../../src/store/content-store.ts';
import { writeFakeTool } from '../../../support/fake-tool.ts';
import { CODE, forTwoLaunches, PLAN, sample } from './fixtures.ts';

let folder: string;
let temporary: string | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'profile-test-'));
  temporary = process.env.TMPDIR;
  process.env.TMPDIR = folder;
});
afterEach(() => {
  if (temporary === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = temporary;
  rmSync(folder, { recursive: true });
});

/** What ncu prints for PLAN, by page. */
const PAGES = {
  details: forTwoLaunches(sample('details-page.csv')),
  source: sample('source-page.csv'),
};

/** Behaves as ncu does when all goes well; notes what it was asked for. */
const GOOD_NCU = `
const page = () => process.stdout.write(${JSON.stringify(PAGES)}[option('--page')]);
if (!args.includes('--version')) fs.appendFileSync(process.env.TMPDIR + '/calls', JSON.stringify(args) + '\\n');
if (option('--export')) fs.writeFileSync(option('--export') + '.ncu-rep', 'the report');
if (option('--page')) page();
`;

const run = (body: string, options: Partial<ProfileRequest> = {}): Promise<ProfileOutcome> =>
  profile({
    ordinal: 0,
    code: CODE,
    plan: PLAN,
    contents: new Map([['Q', new Uint8Array(8192)]]),
    level: 'light',
    cacheControl: 'none',
    ncu: writeFakeTool(folder, 'ncu', body),
    ...options,
  });

const calls = (): string[][] =>
  readFileSync(join(folder, 'calls'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string[]);
const argument = (args: readonly string[], name: string): string | undefined => args[args.indexOf(name) + 1];
const leftBehind = (): string[] => readdirSync(folder).filter((name) => name.startsWith('warpsmith-'));

describe('profile', () => {
  it('returns counters for every launch, the report and ncu’s rules as findings', async () => {
    const outcome = await run(GOOD_NCU);
    if (!outcome.ok) throw new Error(outcome.detail);
    expect(outcome.counters.map(({ functionName }) => functionName)).toEqual(['attention<64>', 'combine']);
    expect(outcome.counters[0]!.instructions).toBe(14384128);
    expect(outcome.report).toMatchObject({
      tool: 'ncu',
      version: '2025.3.1.0',
      level: 'light',
      clockControl: 'none',
      cacheControl: 'none',
    });
    expect(outcome.counters[1]!.instructionsByClass['shared-load']).toBe(1376256);
    expect(outcome.report.launches[0]!.metrics['dram__bytes_read.sum']).toEqual({ value: 256, unit: 'byte' });
    expect(outcome.report.rules).toHaveLength(14);
    expect(JSON.stringify(outcome.report).length).toBeLessThan(20_000);
    expect(outcome.countersSource.kind).toBe('ncu');
    expect(leftBehind()).toEqual([]);
  });

  it('turns a share of the launch’s time into a speed-up, for each function', async () => {
    const outcome = await run(GOOD_NCU);
    if (!outcome.ok) throw new Error(outcome.detail);
    const speedups = outcome.findings.map(({ id, estimatedSpeedup }) => [id, Number(estimatedSpeedup.toFixed(3))]);
    expect(speedups).toEqual([
      ['ncu/TheoreticalOccupancy', 2.276],
      ['ncu/TheoreticalOccupancy', 2.276],
      ['ncu/MemoryCacheAccessPattern', 1.215],
      ['ncu/MemoryCacheAccessPattern', 1.215],
      ['ncu/LaunchConfiguration', 1.031],
      ['ncu/LaunchConfiguration', 1.031],
    ]);
    expect(outcome.findings[1]!.title).toMatch(/^combine: /);
  });

  it('starts ncu once at the light level: the first call prints everything', async () => {
    expect(await run(GOOD_NCU)).toMatchObject({ ok: true });
    expect(calls()).toHaveLength(1);
  });

  it('leaves clocks alone, states the cache control and profiles the plan’s own launches after one warm-up', async () => {
    await run(GOOD_NCU);
    const [args] = calls();
    expect(argument(args!, '--clock-control')).toBe('none');
    expect(argument(args!, '--cache-control')).toBe('none');
    expect(argument(args!, '--kernel-name')).toBe('regex:^(_Z9attentionILi64EEvPK6__halfS2_S2_PS0_iif|_Z7combinePf)$');
    expect(argument(args!, '--launch-skip')).toBe('2');
    expect(argument(args!, '--launch-count')).toBe('2');
    expect(argument(args!, '--metrics')).toContain('smsp__inst_executed.sum');
    expect(args!.join(' ')).toContain('replay-main.');
  });

  it('needs no warm-up where caches are flushed', async () => {
    await run(GOOD_NCU, { cacheControl: 'all' });
    expect(argument(calls()[0]!, '--cache-control')).toBe('all');
    expect(argument(calls()[0]!, '--launch-skip')).toBe('0');
  });

  it('tells counters by line and keeps the report at the full level', async () => {
    const store = openContentStore(join(folder, 'store'));
    const sources = { 'kernel.cu': '// source', '../escape.cu': '' };
    const outcome = await run(GOOD_NCU, { level: 'full', keepReportIn: store, sources });
    if (!outcome.ok) throw new Error(outcome.detail);
    expect(outcome.counters[0]!.lines[1]).toMatchObject({
      location: { file: 'kernel.cu', line: 67 },
      sharedLoadWavefronts: 262144,
    });
    expect(Buffer.from(store.get(outcome.report.reportObject!)).toString()).toBe('the report');
  });

  it('leaves out metrics that ncu does not know, says so, and asks for them once only', async () => {
    const body = `
if (option('--export') && option('--metrics').includes('dram__bytes_write')) {
  fs.appendFileSync(process.env.TMPDIR + '/refused', 'x');
  console.log('==ERROR== Failed to find metric regex:^dram__bytes_write\\\\.(sum|min|max|avg|pct|ratio|max_rate)$');
  process.exit(1);
}
${GOOD_NCU}`;
    for (const _ of [1, 2]) {
      const outcome = await run(body);
      if (!outcome.ok) throw new Error(outcome.detail);
      expect(outcome.countersSource.detail).toContain('not available: dram__bytes_write.sum');
    }
    expect(readFileSync(join(folder, 'refused'), 'utf8')).toBe('x');
    expect(argument(calls()[0]!, '--metrics')).toContain('dram__bytes_read.sum');
  });

  it('leaves out a section that ncu does not know', async () => {
    const body = `
if (option('--export') && args.includes('LaunchStats')) { console.log("==ERROR== Failed to find section 'LaunchStats'"); process.exit(1); }
${GOOD_NCU}`;
    const outcome = await run(body);
    expect(outcome).toMatchObject({ ok: true });
    expect(calls()[0]).toContain('Occupancy');
    expect(calls()[0]).not.toContain('LaunchStats');
  });

  it('reads the report again when nothing was printed beside it', async () => {
    const body = `
if (option('--export')) fs.writeFileSync(option('--export') + '.ncu-rep', '');
else if (option('--page')) process.stdout.write(${JSON.stringify(PAGES)}[option('--page')]);
`;
    expect(await run(body)).toMatchObject({ ok: true });
  });

  it.each([
    ['forbidden', `console.log('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'); process.exit(1);`],
    ['failed', `console.log('garbage'); process.exit(3);`],
    ['failed', `fs.writeFileSync(option('--export') + '.ncu-rep', ''); console.log('"ID","x'); `],
    ['failed', `console.log('==ERROR== Failed to initialize the profiler: LibraryNotLoaded'); process.exit(255);`],
    ['timed-out', `setInterval(() => {}, 1000);`],
  ])('%s: %s', async (reason, body) => {
    const outcome = await run(body, { timeoutMs: reason === 'timed-out' ? 600 : 20_000 });
    expect(outcome).toMatchObject({ ok: false, reason });
    expect(profilingHelp((outcome as { reason: 'failed' }).reason).length).toBeGreaterThan(50);
    expect(leftBehind()).toEqual([]);
  });

  it('says why the kernel itself did not run', async () => {
    // The real replay process, on a machine that has no driver or no such device.
    const outcome = await run(`fs.writeFileSync(option('--export') + '.ncu-rep', ''); target();`, { ordinal: 99 });
    expect(outcome).toMatchObject({ ok: false, reason: 'failed' });
    expect((outcome as { detail: string }).detail).toMatch(/^the sequence failed under ncu: \S/);
  });

  it('is missing without ncu', async () => {
    expect(await run('', { ncu: null })).toMatchObject({ ok: false, reason: 'missing' });
    expect(profilingHelp('missing')).toContain('PATH');
    expect(profilingHelp('forbidden')).toContain('NVreg_RestrictProfilingToAdminUsers=0');
  });

  it('stops when its caller does', async () => {
    const signal = AbortSignal.timeout(400);
    await expect(run(`setInterval(() => {}, 1000);`, { signal })).rejects.toThrow();
    expect(leftBehind()).toEqual([]);
  });
});
