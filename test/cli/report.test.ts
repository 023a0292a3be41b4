import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { fullRun, SOURCES } from '../reports/full-run.ts';
import { runCli, temporaryFolder } from './run-cli.ts';

/** A store with one finished run, as a run leaves it; its sources are named as the log names them. */
function storeWithRun(): string {
  const store = temporaryFolder();
  const run = join(store, 'runs', '2025-11-20T18-41-00-attention-b1h1s64d64');
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, 'events.jsonl'), fullRun.map((event) => `${JSON.stringify(event)}\n`).join(''));
  return store;
}

describe('report', () => {
  let store: string;
  beforeAll(() => {
    store = storeWithRun();
  });

  test('prints one self-contained page', async () => {
    const { code, stdout, stderr } = await runCli(['report', 'latest', '--store', store, '--format', 'html']);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout.startsWith('<!doctype html>')).toBe(true);
    expect(stdout).toContain('predicted 3.17× faster than the start');
    expect(stdout).not.toMatch(/<script [^>]|<link|src=/);
  });

  test.each([
    ['page.html', '<!doctype html>'],
    ['page.md', '# attention on '],
    ['page.json', '{\n  "schemaVersion": 2'],
    ['page.txt', 'attention on '],
  ])('writes %s in the format of its name, and says where', async (name, beginning) => {
    const file = join(temporaryFolder(), 'new', name);
    const { code, stdout, stderr } = await runCli(['report', '--store', store, '-o', file]);
    expect(code).toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toBe(`Report: ${file}\n`);
    expect(readFileSync(file, 'utf8').startsWith(beginning)).toBe(true);
    expect(readdirSync(join(file, '..'))).toEqual([name]);
  });

  test.each(['page.pdf', 'page', 'page.constructor'])('asks for a format where %s names none', async (name) => {
    const file = join(temporaryFolder(), name);
    const refused = await runCli(['report', '--store', store, '-o', file]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /error \[unknown-report-format\].*--format with one of html, markdown, json, terminal/s,
    );
    expect(existsSync(file)).toBe(false);
    const given = await runCli(['report', '--store', store, '-o', file, '--format', 'markdown']);
    expect(given).toMatchObject({ code: 0, stderr: `Report: ${file}\n` });
  });

  test.each([
    ['terminal', 'What else was different'],
    ['html', 'What else was different'],
    ['markdown', '## What else was different'],
    ['json', '"kind": "run-comparison"'],
  ])('compares two runs, as %s', async (format, said) => {
    const args = ['report', 'latest', '--against', 'latest', '--store', store, '--format', format];
    const { code, stdout, stderr } = await runCli(args);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain(said);
    const refused = await runCli(['report', 'latest', '--against', 'nowhere', '--store', store]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
  });

  test('sources that are no longer there are named as gone', async () => {
    expect(Object.keys(SOURCES)).toHaveLength(2);
    const { stdout } = await runCli(['report', '--store', store, '--format', 'markdown']);
    expect(stdout).toContain('Start to best: kernel.cu: no longer in the run’s folder');
  });

  test('a file that can’t be written is a clear error', async () => {
    const { code, stderr } = await runCli(['report', '--store', store, '--format', 'html', '-o', join(store, 'runs')]);
    expect(code).toBe(2);
    expect(stderr).toContain('error [output-not-writable] The report cannot be written');
    expect(stderr).toContain('--output');
    expect(stderr).not.toMatch(/--store|\n {4}at /);
    expect(readdirSync(store)).toEqual(['runs']);
  });

  test('an unknown format names the known ones', async () => {
    const { code, stderr } = await runCli(['report', '--store', store, '--format', 'pdf']);
    expect(code).toBe(2);
    expect(stderr).toContain('terminal, html, markdown, json');
  });
});
