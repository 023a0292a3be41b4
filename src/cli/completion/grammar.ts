import { type Argument, COMMANDS, type CommandName } from '../../core/requests/commands.ts';
import type { Completed, Option } from '../../core/requests/options.ts';
import { longFlag, optionsOf } from '../../core/requests/request.ts';
import { COMMON_OPTIONS } from '../program.ts';

/** The candidates that a shell offers for a value: a function of the script, fixed words, or none. */
export type Offer = Completed | 'command' | readonly string[] | undefined;

export interface OptionGrammar {
  readonly long: string;
  /** One letter, without its dash. */
  readonly short: string | undefined;
  readonly help: string;
  readonly isRepeatable: boolean;
  /** Undefined where the option takes no value. */
  readonly value: { readonly name: string; readonly offer: Offer } | undefined;
}

export interface ArgumentGrammar {
  readonly name: string;
  readonly isRepeatable: boolean;
  readonly offer: Offer;
}

export interface CommandGrammar {
  readonly name: string;
  readonly summary: string;
  readonly arguments: readonly ArgumentGrammar[];
  readonly options: readonly OptionGrammar[];
}

/** Names that the script contains. They come from the machine and version that printed it. */
export interface KnownNames {
  readonly devices: readonly string[];
  /** `softmax` and `softmax/03_online`. */
  readonly bundled: readonly string[];
}

export interface Grammar extends KnownNames {
  readonly commands: readonly CommandGrammar[];
}

/** The words between the brackets of `<folder>`, `[run]` and `<runs...>`. */
const placeholder = (shown: string): string => shown.replaceAll(/[[\]<>.]/g, '');

function choicesOf({ kind: { schema } }: Option): readonly string[] | undefined {
  const { enum: words, items } = schema as { enum?: readonly string[]; items?: { enum?: readonly string[] } };
  return words ?? items?.enum;
}

const isMany = ({ kind: { schema } }: Option): boolean => schema.type === 'array' || schema.type === 'object';

function optionGrammar(option: Option): OptionGrammar {
  const value = /[<[](.*)[>\]]/.exec(option.flags)?.[1];
  return {
    long: longFlag(option),
    short: /^-(\w),/.exec(option.flags)?.[1],
    help: option.help,
    isRepeatable: isMany(option),
    value: value === undefined ? undefined : { name: value, offer: choicesOf(option) ?? option.completes },
  };
}

const plainFlag = (long: string, help: string): OptionGrammar => ({
  ...{ long, help, short: undefined, isRepeatable: false, value: undefined },
});

const COMMON: readonly OptionGrammar[] = [
  ...COMMON_OPTIONS.map(([flag, help]) => plainFlag(flag, help)),
  plainFlag('--help', 'show help'),
];

function commandGrammar(name: CommandName): CommandGrammar {
  const { summary, arguments: rows }: (typeof COMMANDS)[CommandName] = COMMANDS[name];
  const positional = Object.values<Argument>(rows);
  return {
    name,
    summary,
    arguments: positional.map(({ shown, choices, completes }) => ({
      name: placeholder(shown),
      isRepeatable: shown.includes('...'),
      offer: choices ?? completes,
    })),
    options: [...optionsOf(name).map(([, option]) => optionGrammar(option)), ...COMMON],
  };
}

const HELP: CommandGrammar = {
  name: 'help',
  summary: 'show help',
  arguments: [{ name: 'command', isRepeatable: false, offer: 'command' }],
  options: [],
};

/** The command line's grammar, as completion scripts need it. */
export const grammarOf = (known: KnownNames): Grammar => ({
  ...known,
  commands: [...(Object.keys(COMMANDS) as CommandName[]).map(commandGrammar), HELP],
});
