import type { Command, CommanderError } from 'commander';
import { WarpsmithError } from '../core/errors.ts';
import { suggestName } from '../core/nearest-name.ts';

const quoted = (message: string): string => /'([^']*)'/.exec(message)?.[1] ?? '';

const longFlags = (command: Command): string[] =>
  command.options.map(({ long }) => long).filter((flag): flag is string => typeof flag === 'string');

const commandNames = (program: Command): string[] => program.commands.map((command) => command.name());

type Describe = (received: string, command: Command, program: Command) => { expected: string; hint: string };

const usageOf = (command: Command): string =>
  ['warpsmith', ...(command.parent ? [command.name()] : []), command.usage()].join(' ');

const helpHint = (command: Command): string => `See \`warpsmith ${command.parent ? `${command.name()} ` : ''}--help\`.`;

/** What was expected, by commander's error code; the command's usage where nothing is said. */
const DESCRIPTIONS: Readonly<Record<string, { code: string; describe?: Describe }>> = {
  'commander.unknownCommand': {
    code: 'unknown-command',
    describe: (received, _command, program) => ({
      expected: `one of ${commandNames(program).join(', ')}`,
      hint: suggestName(received, commandNames(program), 'Commands'),
    }),
  },
  'commander.unknownOption': {
    code: 'unknown-option',
    describe: (received, command) => ({
      expected: `one of ${longFlags(command).join(', ')}`,
      hint: suggestName(received, longFlags(command), 'Options'),
    }),
  },
  // What commander says for a command line without a command, after the help it would have printed.
  'commander.help': {
    code: 'missing-command',
    describe: (_received, _command, program) => ({
      expected: `one of ${commandNames(program).join(', ')}`,
      hint: 'See `warpsmith --help`.',
    }),
  },
  'commander.missingArgument': { code: 'missing-argument' },
  'commander.optionMissingArgument': {
    code: 'missing-option-value',
    describe: (_received, command) => ({ expected: 'a value after the option', hint: helpHint(command) }),
  },
  'commander.excessArguments': { code: 'too-many-arguments' },
};

/** Turns an error of commander into a WarpsmithError. */
export function usageError(error: CommanderError, command: Command, program: Command): WarpsmithError {
  const known = DESCRIPTIONS[error.code];
  const received = quoted(error.message);
  const message =
    known?.code === 'missing-command'
      ? 'There is no such command, or none was given'
      : error.message.replace(/^error: /, '').replace(/\n.*$/s, '');
  const described = known?.describe?.(received, command, program) ?? {
    expected: usageOf(command),
    hint: helpHint(command),
  };
  return new WarpsmithError({
    code: known?.code ?? 'usage',
    message: `${message.charAt(0).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.`,
    received: received === '' ? undefined : received,
    ...described,
  });
}
