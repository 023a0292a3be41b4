import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRequest } from '../../../../src/devices/cuda/replay/replay-request.ts';
import { type SanitizeRequest, sanitize } from '../../../../src/evaluation/instruments/sanitizer/sanitize.ts';
import { writeFakeTool } from '../../../support/fake-tool.ts';
import { longTests } from '../../../support/sampling/matrix.ts';
import { CODE, PLAN } from '../profilers/fixtures.ts';
import * as logs from './fixtures.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

let folder: string;
let temporary: string | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sanitize-test-'));
  temporary = process.env.TMPDIR;
  process.env.TMPDIR = folder;
});
afterEach(() => {
  if (temporary === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = temporary;
  rmSync(folder, { recursive: true });
});

const leftBehind = (): string[] => readdirSync(folder).filter((name) => name.startsWith('warpsmith-'));

const REPLAY_MODULE = new URL('../../../../src/devices/cuda/replay/replay-request.ts', import.meta.url).href;

/** A sanitizer whose target ran all that was asked for; `says` gives the log of each tool. */
const toolThatSays = (says: Record<string, string>, { exitCode = 0, runs = 'request.runs' } = {}): string => `
(async () => {
  const { readRequest, toFile } = await import('${REPLAY_MODULE}');
  const [requestPath, resultPath] = args.slice(-2);
  const request = readRequest(requestPath);
  fs.writeFileSync(process.env.TMPDIR + '/request-' + option('--tool'), fs.readFileSync(requestPath));
  fs.writeFileSync(process.env.TMPDIR + '/args-' + option('--tool'), JSON.stringify(args));
  fs.writeFileSync(resultPath, toFile({ runs: ${runs}.map(({ name }) => ({ ok: true, name, outputs: new Map() })) }));
  fs.writeFileSync(option('--log-file'), ${JSON.stringify(says)}[option('--tool')] ?? '');
  process.exit(${exitCode});
})();
`;
const ALL_CLEAN = {
  memcheck: logs.CLEAN,
  racecheck: logs.CLEAN_RACECHECK,
  initcheck: logs.CLEAN,
  synccheck: logs.CLEAN,
};

const CHECK = { name: 'S=113', plan: PLAN, contents: new Map([['Q', new Uint8Array(8192)]]) };
const run = (body: string, options: Partial<SanitizeRequest> = {}) =>
  sanitize({
    ordinal: 0,
    code: CODE,
    checks: [CHECK],
    sanitizer: writeFakeTool(folder, 'sanitizer', body),
    ...options,
  });

describe('sanitize', () => {
  it('is clean when every tool ran to its end and found nothing', async () => {
    const report = await run(toolThatSays(ALL_CLEAN));
    expect(report).toMatchObject({ outcome: 'clean', version: '2025.3.1.0' });
    expect(report.tools.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['memcheck', 'clean'],
      ['racecheck', 'clean'],
      ['initcheck', 'clean'],
      ['synccheck', 'clean'],
    ]);
    expect(leftBehind()).toEqual([]);
  });

  long('gives each buffer an allocation of its exact size and leaves outputs unwritten', async () => {
    await run(toolThatSays(ALL_CLEAN));
    const request = readRequest(join(folder, 'request-initcheck'));
    expect(request).toMatchObject({ exactAllocations: true, leaveUnwritten: true, repeatCount: 1 });
    expect(request.runs.map(({ name }) => name)).toEqual(['S=113']);
    expect(request.runs[0]!.contents.get('Q')).toEqual(new Uint8Array(8192));
    const args = JSON.parse(readFileSync(join(folder, 'args-initcheck'), 'utf8')) as string[];
    expect(args[args.indexOf('--error-exitcode') + 1]).toBe('86');
  });

  long('looks for bad accesses at the declared alignment as well', async () => {
    await run(toolThatSays(ALL_CLEAN));
    const { runs } = readRequest(join(folder, 'request-memcheck'));
    expect(runs.map(({ minimumAlignment }) => minimumAlignment ?? false)).toEqual([false, true]);
  });

  long('puts the first error into words, and is not clean whatever the other tools say', async () => {
    const report = await run(toolThatSays({ ...ALL_CLEAN, racecheck: logs.RACECHECK }, { exitCode: 0 }));
    expect(report.outcome).toBe('errors');
    expect(report.tools[1]).toMatchObject({ tool: 'racecheck', outcome: 'errors', errorCount: 1 });
    expect(report.tools[1]!.detail).toMatch(/^Race reported between Write access in race, faulty\.cu:7/);
  });

  it.each([
    ['an incomplete log', toolThatSays({}), 'no summary'],
    ['a tool that cannot start', toolThatSays({ memcheck: logs.NOT_STARTED }), /Device not supported/],
    ['an exit code without a complaint', toolThatSays(ALL_CLEAN, { exitCode: 86 }), /exit code 86/],
    ['a replay cut short', toolThatSays(ALL_CLEAN, { runs: '[]' }), /0 of 2 checks were run/],
    ['no result', `fs.writeFileSync(option('--log-file'), ${JSON.stringify(logs.CLEAN)})`, /left no result/],
    ['garbage', `fs.writeFileSync(option('--log-file'), 'garbage'); process.exit(1)`, /exit code 1/],
    ['a signal', `process.kill(process.pid, 'SIGSEGV')`, /signaled/],
  ])('is not clean after %s', async (_, body, detail) => {
    const report = await run(body, { tools: ['memcheck'] });
    expect(report).toMatchObject({ outcome: 'unsanitized', tools: [{ outcome: 'failed', errorCount: 0 }] });
    expect(report.tools[0]!.detail).toMatch(detail);
    expect(leftBehind()).toEqual([]);
  });

  it('is not clean when the kernel could not be run', async () => {
    const body = `const { status } = target(); fs.writeFileSync(option('--log-file'), ${JSON.stringify(logs.CLEAN)}); process.exit(status);`;
    const report = await run(body, { tools: ['memcheck'], ordinal: 99 });
    expect(report).toMatchObject({ outcome: 'unsanitized', tools: [{ outcome: 'failed' }] });
    expect(report.tools[0]!.detail).toMatch(/^the kernel could not be run: \S/);
  });

  it('is not clean when a tool takes too long', async () => {
    const report = await run('setInterval(() => {}, 1000)', { tools: ['synccheck'], timeoutMs: 500 });
    expect(report).toMatchObject({ outcome: 'unsanitized', tools: [{ tool: 'synccheck', outcome: 'timed-out' }] });
    expect(leftBehind()).toEqual([]);
  });

  it('is not clean without the sanitizer, without tools or without check shapes', async () => {
    const absent = await run('', { sanitizer: null });
    expect(absent).toMatchObject({ outcome: 'unsanitized', version: null });
    expect(absent.tools.map(({ outcome }) => outcome)).toEqual(['absent', 'absent', 'absent', 'absent']);
    expect(await run(toolThatSays(ALL_CLEAN), { tools: [] })).toMatchObject({ outcome: 'unsanitized' });
    const unchecked = await run(toolThatSays(ALL_CLEAN), { tools: ['memcheck'], checks: [] });
    expect(unchecked.tools[0]).toMatchObject({ outcome: 'failed', detail: 'no check shape to run' });
  });
});
