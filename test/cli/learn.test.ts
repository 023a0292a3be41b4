import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { longTests } from '../support/sampling/matrix.ts';
import { runCli, runJson, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const home = temporaryFolder();
const state = join(home, 'state', 'warpsmith', 'course');

beforeAll(() => {
  process.env.XDG_STATE_HOME = join(home, 'state');
  process.env.XDG_CONFIG_HOME = join(home, 'config');
});

/** Lesson 3, begun. */
async function begun(): Promise<string> {
  const folder = join(temporaryFolder(), 'mine');
  expect((await runCli(['learn', '3', '-o', folder])).code).toBe(0);
  return folder;
}

describe('warpsmith learn', () => {
  it('lists the lessons, which are solved, and what comes next', async () => {
    const { stdout, code } = await runCli(['learn']);
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'Learn CUDA: 0 of 12 lessons solved']);
    expect(stdout).toContain('Next: warpsmith learn 01');
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, '01_coalescing'), '');
    const { json } = await runJson(['learn']);
    expect(json.lessons.filter((lesson: { solved: boolean }) => lesson.solved)).toMatchObject([{ number: '01' }]);
    expect((await runCli(['learn'])).stdout).toMatch(/^01 {2}Coalescing +solved$/m);
  });

  it('copies the start of a lesson and shows its page, in 80 columns', async () => {
    const folder = join(temporaryFolder(), 'mine');
    const { stdout, code } = await runCli(['learn', '03', '--output', folder]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^# 3\. Bank conflicts/);
    expect(stdout).not.toContain('<!--');
    expect(readFileSync(join(folder, 'kernel/kernel.cu'), 'utf8')).toContain('tile[TILE][TILE];');
    // The copy is a problem folder whose reference needs no question.
    delete process.env.WARPSMITH_TRUST;
    const { code: checked } = await runCli(['audit', folder]);
    process.env.WARPSMITH_TRUST = 'all';
    expect(checked).toBe(0);
  });

  it('never overwrites: neither a lesson that was begun nor other files', async () => {
    const folder = await begun();
    const kernel = join(folder, 'kernel/kernel.cu');
    writeFileSync(kernel, '// mine');
    const { stdout, code } = await runCli(['learn', '03_bank_conflicts', '-o', folder]);
    expect([code, readFileSync(kernel, 'utf8')]).toEqual([0, '// mine']);
    expect(stdout).toContain('was there, and is as you left it');
    const { json, code: refused } = await runJson(['learn', '01', '-o', folder]);
    expect([refused, json.error.code]).toEqual([2, 'folder-not-empty']);
  });

  it('refuses what is no lesson, and says what there is', async () => {
    for (const [args, code, hint] of [
      [['13'], 'unknown-lesson', 'Lessons: 01_coalescing'],
      [['03_bank_conflict'], 'unknown-lesson', '03_bank_conflicts'],
      [['check', temporaryFolder()], 'not-a-lesson', 'warpsmith learn check 03_bank_conflicts'],
      [['check', '-o', 'x'], 'conflicting-options', 'warpsmith learn 03 --output'],
    ] as const) {
      const { json, code: exit } = await runJson(['learn', ...args]);
      expect([exit, json.error.code]).toEqual([2, code]);
      expect(json.error.hint).toContain(hint);
    }
  });
});

describe('warpsmith learn check', () => {
  long('judges by the goals, not by what the copy says: an edited problem changes nothing', async () => {
    const folder = await begun();
    const file = join(folder, 'lesson.json');
    const lesson = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...lesson, goals: [{ kind: 'figure', figure: 'time', atLeast: 0 }] }));
    writeFileSync(join(folder, 'reference.ts'), 'export const reference = () => ({});');
    const { stdout, code } = await runCli(['learn', 'check', folder]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^the finding bank-conflicts is gone +still there +not yet$/m);
    expect(stdout).toContain('Which widths');
    expect(existsSync(join(state, '03_bank_conflicts'))).toBe(false);
  });

  it('says where a kernel is wrong, and judges no goal then', async () => {
    const folder = await begun();
    const kernel = join(folder, 'kernel/kernel.cu');
    writeFileSync(kernel, readFileSync(kernel, 'utf8').replace('tile[y][x] =', 'tile[y + TILE][x] ='));
    const { stdout, code } = await runCli(['learn', 'check', folder]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^right on every check +unsafe +not yet$/m);
    expect(stdout).toMatch(/out-of-bounds shared write/);
    expect(stdout).toMatch(/kernel\.cu:\d+/);
  });

  long('does not take a kernel that turns check shapes away', async () => {
    const folder = await begun();
    const file = join(folder, 'kernel/kernel.json');
    const kernel = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...kernel, limits: ['rows == 1024'] }));
    const { stdout, code } = await runCli(['learn', 'check', folder]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/turn 3 check shapes away/);
  });
});
