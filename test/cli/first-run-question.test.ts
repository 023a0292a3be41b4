import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';
import { runCli, scaleCopy, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const python = findExecutable('python3');
const BIN = join(import.meta.dirname, '../../bin/warpsmith.mjs');
const TERMINAL = join(import.meta.dirname, 'at-a-terminal.py');
/** A question that nobody can end would otherwise hang the tests, too. */
const TIMEOUT_MS = 60_000;

const ON_L4 = ['--device', 'virtual:l4', '--checks', 'usual'];
/** Nobody has agreed to anything. */
const stranger = () => ({ WARPSMITH_TRUST: '', XDG_CONFIG_HOME: temporaryFolder() });

interface Shown {
  readonly code: number | string | null;
  readonly text: string;
}

/** Runs the command line at a terminal and types this when it asks. */
const typing = (answer: string, args: readonly string[], env: Record<string, string>): Promise<Shown> =>
  new Promise((resolve) => {
    const child = execFile(
      python!,
      [TERMINAL, '[y/N]', answer, process.execPath, BIN, ...args],
      { env: { ...process.env, NO_COLOR: '1', CUDA_VISIBLE_DEVICES: '', ...env }, timeout: TIMEOUT_MS },
      (error, stdout) => resolve({ code: error ? (error.code ?? error.signal ?? null) : 0, text: stdout }),
    );
    child.stdin?.end();
  });

describe.skipIf(python === undefined)(
  'asked at a terminal whether a problem from elsewhere may run (needs python3)',
  () => {
    long('yes: it runs, now and later, without another question', async () => {
      const { kernel } = scaleCopy();
      const env = stranger();
      const { code, text } = await typing('y\n', ['evaluate', kernel, ...ON_L4], env);
      expect({ code, text }).toMatchObject({ code: 0 });
      expect(text).toContain('has programs that have not run here before: reference.ts.');
      expect(text).toMatch(/Run them, now and whenever they are exactly these \([0-9a-f]{16}\)\?/);
      expect(text).toContain('passed');
      expect(text, 'codes that move the cursor').not.toContain('\\x1b');
      expect((await runCli(['evaluate', kernel, ...ON_L4], { env })).code).toBe(0);
    });

    const noes = [
      ['no', 'n\n'],
      ['nothing', '\n'],
      ['anything else', 'yellow\n'],
      ['the end of input (Ctrl-D)', '\u0004'],
    ] as const;
    sampled('answers that are no', noes, { oneIn: 4 })('%s: it does not run', async (_, answer) => {
      const { kernel } = scaleCopy();
      const { code, text } = await typing(answer, ['evaluate', kernel, ...ON_L4], stranger());
      expect({ code, text }).toMatchObject({ code: 2, text: expect.stringContaining('problem-not-trusted') });
    });

    long('Ctrl-C: interrupted', async () => {
      const { kernel } = scaleCopy();
      const { code, text } = await typing('\u0003', ['evaluate', kernel, ...ON_L4], stranger());
      expect({ code, text }).toMatchObject({ code: 130, text: expect.stringContaining('Interrupted') });
    });
  },
);
