import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { interrupted, longTestOf } from '../support/sampling/long-tests.ts';
import { SCALE, temporaryFolder } from './run-cli.ts';

const python = findExecutable('python3');
const BIN = join(import.meta.dirname, '../../bin/warpsmith.mjs');
const TERMINAL = join(import.meta.dirname, 'at-a-terminal.py');
const TIMEOUT_MS = 60_000;
const ESCAPE = '\u001b[';

interface Shown {
  readonly code: number | string | null;
  readonly text: string;
}

/** Runs the command line at a terminal, and types this once it shows that. */
const atTerminal = (shows: string, types: string, args: readonly string[]): Promise<Shown> =>
  new Promise((resolve) => {
    const child = execFile(
      python!,
      [TERMINAL, shows, types, process.execPath, BIN, ...args],
      {
        env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, TERM: 'xterm', CUDA_VISIBLE_DEVICES: '' },
        timeout: TIMEOUT_MS,
      },
      (error, stdout) => resolve({ code: error ? (error.code ?? error.signal ?? null) : 0, text: stdout }),
    );
    child.stdin?.end();
  });

const optimize = () => ['optimize', SCALE, '--device', 'virtual:l4', '--store', temporaryFolder()];

/** What is left when the last frame was taken off the screen. */
const afterLastFrame = (text: string): string => text.slice(text.lastIndexOf(`${ESCAPE}J`) + `${ESCAPE}J`.length);

describe.skipIf(python === undefined)('a run at a terminal (needs python3)', () => {
  longTestOf(import.meta.filename)(
    'shows its four lines, and nothing of them is left at its end',
    { timeout: TIMEOUT_MS },
    async () => {
      const { code, text } = await atTerminal('never shown', '', [...optimize(), '--max-evaluations', '2']);
      expect({ code, text }).toMatchObject({ code: 0 });
      expect(text).toMatch(/check \d+ of \d+: /);
      expect(text).toContain('elapsed');
      const rest = afterLastFrame(text);
      expect(rest).toMatch(/^scale on NVIDIA L4/);
      expect(rest).not.toContain(ESCAPE);
      expect(text, 'colours').not.toMatch(/\[(?:1|2|22|3\d|39)m/);
    },
  );

  interrupted('a run at a terminal')(
    'Ctrl-C: the lines are gone, the end is printed, the code is 130',
    { timeout: TIMEOUT_MS },
    async () => {
      const { code, text } = await atTerminal('elapsed', '\u0003', optimize());
      expect({ code, text }).toMatchObject({ code: 130 });
      expect(text).toContain('Stopping; press Ctrl-C again');
      const rest = afterLastFrame(text);
      expect(rest).toContain('Stopped: interrupted');
      expect(rest).toContain('Go on: warpsmith resume');
      expect(rest).not.toContain('elapsed');
    },
  );
});
