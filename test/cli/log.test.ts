import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { runCli, runJson, scaleCopy, temporaryFolder } from './run-cli.ts';

beforeAll(() => {
  process.env.WARPSMITH_JOURNAL = 'on';
});
afterAll(() => {
  process.env.WARPSMITH_JOURNAL = 'off';
});

const DEVICE = ['--device', 'virtual:l4'];

longTestOf(import.meta.filename)(
  'what is evaluated, diagnosed and compared is kept with its note, as a tree',
  async () => {
    const { problem, kernel } = scaleCopy();
    const store = temporaryFolder();
    const attempt = async (...args: string[]) => (await runJson([...args, ...DEVICE, '--store', store])).json;
    expect((await attempt('evaluate', kernel, '--note', 'the start')).journal).toEqual({ attempt: 'a1', parent: null });
    appendFileSync(join(kernel, 'kernel.cu'), '\n// Another text.\n');
    expect((await attempt('diagnose', kernel)).evaluation.journal).toEqual({ attempt: 'a2', parent: 'a1' });
    // The baseline is a2 as it stands.
    const compared = await attempt('compare', kernel, join(problem, '02_coalesced'), '--note', 'coalesced');
    expect(compared.journal).toEqual({ attempt: 'a3', parent: 'a2' });
    expect((await attempt('evaluate', kernel, '--parent', 'a1', '--quick')).journal).toEqual({
      attempt: 'a4',
      parent: 'a1',
    });
    expect((await attempt('evaluate', kernel, '--no-journal')).journal).toBeUndefined();

    const { code, json } = await runJson(['log', '--store', store]);
    expect(code).toBe(0);
    expect(json).toMatchObject({ kind: 'log', unreadable: 0, leftOut: 0 });
    expect(json.attempts.map(({ id }: { id: string }) => id)).toEqual(['a1', 'a2', 'a3', 'a4']);
    expect(json.attempts[1].change).toMatchObject({ parameters: [], files: [{ file: 'kernel.cu', addedLines: 2 }] });
    expect(json.attempts[2]).toMatchObject({ note: 'coalesced', versusParent: { kind: 'predicted' } });
    expect(json.attempts[3].results[0].status).toBe('unverified');

    const { stdout } = await runCli(['log', 'a3', '--store', store]);
    expect(stdout).toContain('+++ a3/kernel.cu');
    expect((await runCli(['log', 'nothing', '--store', store])).stdout).toContain('No attempts of nothing');
    expect((await runJson(['log', 'a9', '--store', store])).json.error.code).toBe('unknown-attempt');
  },
);

test('a parent that is not there, and a note that is a book, are refused before anything is judged', async () => {
  const { kernel } = scaleCopy();
  const evaluate = async (...more: string[]) =>
    (await runJson(['evaluate', kernel, ...DEVICE, '--store', temporaryFolder(), ...more])).json.error;
  expect(await evaluate('--parent', 'a1')).toMatchObject({ code: 'unknown-attempt', path: '--parent' });
  expect(await evaluate('--note', 'x'.repeat(1001))).toMatchObject({ code: 'note-too-long' });
});

test('a store that can’t be written costs no result: that nothing was kept is said', async () => {
  const { kernel } = scaleCopy();
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  const { code, json } = await runJson(['evaluate', kernel, ...DEVICE, '--store', file]);
  expect(code).toBe(0);
  expect(json.journal.notKept).toContain('cannot be written');
  const { stdout } = await runCli(['evaluate', kernel, ...DEVICE, '--store', file]);
  expect(stdout).toContain('not in the journal: Results cannot be written');
});

test('nothing is kept where the journal is off', async () => {
  const { kernel } = scaleCopy();
  const store = temporaryFolder();
  process.env.WARPSMITH_JOURNAL = 'off';
  const { json } = await runJson(['evaluate', kernel, ...DEVICE, '--store', store]);
  process.env.WARPSMITH_JOURNAL = 'on';
  expect(json.journal).toBeUndefined();
  expect(existsSync(join(store, 'journal'))).toBe(false);
});
