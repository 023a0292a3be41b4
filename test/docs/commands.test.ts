import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { program } from '../../scripts/results/reference-blocks.ts';
import { run as completion } from '../../src/cli/commands/completion.ts';
import type { CommandContext } from '../../src/cli/context.ts';
import { SHELLS } from '../../src/core/requests/commands.ts';
import { commandsOf, readPage, readPages } from './support/pages.ts';

const commands = new Map(program().commands.map((command) => [command.name(), command]));

/** The last word may be a placeholder such as `…`. */
const isPlaceholder = (word: string): boolean => /^(?:…|\.\.\.|\[.*\]|<.*>|-v|--version|--help)$/.test(word);

const flagsOf = (command: Command): string[] => command.options.flatMap(({ long }) => long ?? []);

/** What a command line uses that the program does not have. */
const unknownIn = (line: string): string[] => {
  // What follows -- is for another program.
  const [, name = '…', ...words] = line.split(/\s--\s/)[0]!.split(/\s+/);
  if (isPlaceholder(name)) return [];
  const command = commands.get(name);
  if (!command) return [name];
  const flags = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]!);
  return flags.filter((flag) => flag !== '--help' && !flagsOf(command).includes(flag));
};

describe('shell completion', () => {
  const page = readPage('docs/guides/installing.md').replaceAll(String.raw`\|`, '|');

  it.each(SHELLS)('for %s is loaded as the page says', async (shell) => {
    let script = '';
    const out = { write: (text: string) => (script += text) } as unknown as NodeJS.WriteStream;
    await completion({ shell }, { streams: { out, err: out } } as CommandContext);
    const line = /^# Load it with: (.+)$/m.exec(script)![1]!;
    expect(page).toContain(`\`${line}\``);
  });
});

describe('command lines in the documentation', () => {
  const used = readPages().flatMap(({ file, text }) => commandsOf(text).map((command) => ({ file, command })));

  it('are found', () => expect(used.length).toBeGreaterThan(40));

  it('name commands and flags that exist', () => {
    const wrong = used.flatMap(({ file, command }) =>
      unknownIn(command).map((word) => `${file}: ${word} (${command})`),
    );
    expect(wrong).toEqual([]);
  });

  it('would be refused otherwise', () => {
    expect(unknownIn('warpsmith optimise problems/attention')).toEqual(['optimise']);
    expect(unknownIn('warpsmith evaluate x --gpu 0 --json')).toEqual(['--gpu']);
  });
});
