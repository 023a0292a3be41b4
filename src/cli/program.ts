import { type Argument, Command, Option } from 'commander';
import { packageVersion } from '../app/package-version.ts';
import { COMMANDS, type CommandName, type Command as CommandRow, GROUPS } from '../core/requests/commands.ts';
import type { Option as OptionRow } from '../core/requests/options.ts';
import { longFlag, optionsOf } from '../core/requests/request.ts';

const AFTER_HELP = `
Examples:
  warpsmith optimize problems/attention --device virtual:l4 --max-evaluations 5
  warpsmith evaluate problems/softmax/03_online --workload R=4096,N=1000
  warpsmith report latest -o report.html

Exit codes: 0 fine, 1 the judged thing failed, 2 usage or bad file,
3 device or tool missing, 4 unverified, 5 GPU not released
(--release-command), 130 interrupted.`;

/** Options of every command. They say how to print, so requests do not hold them. */
export const COMMON_OPTIONS: readonly (readonly [flag: string, help: string])[] = [
  ['--json', 'print one JSON object on stdout'],
  ['--verbose', 'also print folded parts'],
];

function helpOf({ help, onlyOnGpus, default: value, defaultHelp }: OptionRow): string {
  const where = onlyOnGpus === undefined || /GPU/.test(help) ? '' : '; GPUs only';
  const shown = defaultHelp ?? (typeof value === 'string' || typeof value === 'number' ? String(value) : undefined);
  return `${help}${where}${shown === undefined ? '' : ` (default: ${shown})`}`;
}

/** Name in the request → commander's option, which reads what the row describes. */
function commanderOption(row: OptionRow): Option {
  const option = new Option(row.flags, helpOf(row));
  const flag = longFlag(row);
  // commander calls no reader for an option without a value.
  return option.required ? option.argParser((text, previous) => row.kind.read(flag, text, previous)) : option;
}

/** The request that a command line makes, by the names of its fields. Options that were not given are absent. */
function requestOf(name: CommandName, command: Command, received: readonly unknown[]): Record<string, unknown> {
  const given = command.opts<Record<string, unknown>>();
  const positional = Object.keys(COMMANDS[name].arguments).map((field, index) => [field, received[index]]);
  const options = optionsOf(name).flatMap(([field, row]) => {
    const attribute = commanderOption(row).attributeName();
    return command.getOptionValueSource(attribute) === 'cli' ? [[field, given[attribute]]] : [];
  });
  return Object.fromEntries([...positional, ...options]) as Record<string, unknown>;
}

/** Runs a command with its request. `how` says how to print the result. */
type Execute = (
  name: CommandName,
  request: Readonly<Record<string, unknown>>,
  how: { readonly json: boolean; readonly verbose: boolean },
) => Promise<void>;

/**
 * Builds the grammar of the command line from `core/requests/`. `running` returns the command that an argument list
 * names, for messages.
 *
 * @param write prints help and version.
 */
export function buildProgram(
  write: (text: string) => void,
  execute: Execute,
): { program: Command; running: (argv: readonly string[]) => Command } {
  const program = new Command('warpsmith')
    .description('Makes CUDA kernels faster, by itself, and proves it.')
    .version(packageVersion())
    .exitOverride()
    // `main.ts` prints errors, all in one shape.
    .configureOutput({ writeOut: write, writeErr: () => {}, getOutHelpWidth: () => process.stdout.columns || 80 })
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(shownArgument)].join(' '),
    })
    .helpOption('-h, --help', 'show help')
    .showSuggestionAfterError(false)
    .addHelpCommand(new Command('help').argument('[command]').description('show help').helpGroup(GROUPS.machine))
    .addHelpText('after', AFTER_HELP);
  for (const name of Object.keys(COMMANDS) as CommandName[]) addCommand(program, name, execute);
  const running = (argv: readonly string[]): Command =>
    argv.map((word) => program.commands.find((command) => command.name() === word)).find(Boolean) ?? program;
  return { program, running };
}

function shownArgument(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function addCommand(program: Command, name: CommandName, execute: Execute): void {
  const { summary, group, arguments: positional, options }: CommandRow = COMMANDS[name];
  const command = program.command(name).description(summary).helpGroup(GROUPS[group]).exitOverride();
  for (const { shown, help, default: value } of Object.values(positional)) command.argument(shown, help, value);
  for (const row of Object.values(options)) command.addOption(commanderOption(row));
  for (const [flag, help] of COMMON_OPTIONS) command.option(flag, help);
  command.action((...received: unknown[]) => {
    const { json = false, verbose = false } = command.opts<{ json?: boolean; verbose?: boolean }>();
    return execute(name, requestOf(name, command, received), { json, verbose });
  });
}
