import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { styleText } from 'node:util';
import { expect, test } from 'vitest';
import { plainStream } from '../../src/cli/plain-stream.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { runCli, scaleCopy, temporaryFolder } from './run-cli.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/;
const ESC = '\u001b';
const ON_L4 = ['--device', 'virtual:l4'];

longTestOf(import.meta.filename)(
  'no control character of a source, a name or a compiler reaches the terminal or a report',
  async () => {
    const { problem, kernel } = scaleCopy({
      source: (text) => `${text}\n// ${ESC}[2J${ESC}]0;title\u0007 \u202e\n#warning "${ESC}[31m \u009b"\n`,
      kernel: (file) => {
        file.description = `a ${ESC}[8mhidden${ESC}[0m word`;
      },
    });
    const store = temporaryFolder();
    const outcomes = [
      await runCli(['check', problem]),
      await runCli(['evaluate', kernel, ...ON_L4]),
      await runCli(['evaluate', kernel, ...ON_L4, '--json']),
      await runCli(['inspect', kernel, ...ON_L4]),
      await runCli(['inspect', kernel, ...ON_L4, '--json']),
      await runCli(['optimize', problem, ...ON_L4, '--max-evaluations', '1', '--no-ablation', '--store', store]),
    ];
    for (const { code, stdout, stderr } of outcomes) {
      expect({ code, raw: RAW.test(stdout + stderr) }).toEqual({ code: 0, raw: false });
    }
    expect(outcomes[3]!.stdout).toContain('\\x1b[2J');
    for (const file of ['report.html', 'report.md', 'report.json', 'report.txt']) {
      const path = join(store, file);
      expect((await runCli(['report', '--store', store, '-o', path])).code).toBe(0);
      expect(RAW.test(readFileSync(path, 'utf8')), file).toBe(false);
    }
  },
);

test('a terminal gets our colours and no other sequence', () => {
  const written: string[] = [];
  const stream = Object.assign(new PassThrough(), { isTTY: true, getColorDepth: () => 8, hasColors: () => true });
  stream.on('data', (chunk: Buffer) => written.push(chunk.toString('utf8')));
  const plain = plainStream(stream as unknown as NodeJS.WriteStream);
  const red = styleText('red', 'ours', { validateStream: false });
  plain.write(`${red} ${ESC}[8mhidden \r${ESC}[2K`);
  const colours = styleText('red', ' ', { stream }) !== ' ';
  expect(written.join('')).toBe(`${colours ? red : red.replaceAll(ESC, '\\x1b')} \\x1b[8mhidden \\x0d\\x1b[2K`);
});
