import { COMMANDS, type Command, type CommandName } from './commands.ts';
import type { Kind } from './kinds.ts';
import type { Option } from './options.ts';

type OptionsOf<N extends CommandName> = (typeof COMMANDS)[N]['options'];
type ArgumentsOf<N extends CommandName> = (typeof COMMANDS)[N]['arguments'];

type ValueOf<O> = O extends { kind: Kind<infer T> } ? T : never;
type ArgumentValue<A> = A extends { shown: `${string}...${string}` }
  ? readonly string[]
  : A extends { choices: readonly (infer T)[] }
    ? T
    : string;
type WithDefault<T> = { [K in keyof T]: T[K] extends { default: NonNullable<unknown> } ? K : never }[keyof T];
type WithoutDefault<T> = Exclude<keyof T, WithDefault<T>>;

/** A command's request as a caller writes it; fields with a default are optional. */
export type RequestOf<N extends CommandName> = {
  readonly [K in WithoutDefault<ArgumentsOf<N>>]: ArgumentValue<ArgumentsOf<N>[K]>;
} & { readonly [K in WithDefault<ArgumentsOf<N>>]?: ArgumentValue<ArgumentsOf<N>[K]> } & {
  readonly [K in keyof OptionsOf<N>]?: ValueOf<OptionsOf<N>[K]>;
};

/** A request with its defaults. */
export type CompleteRequest<N extends CommandName> = {
  readonly [K in keyof ArgumentsOf<N>]: ArgumentValue<ArgumentsOf<N>[K]>;
} & { readonly [K in WithDefault<OptionsOf<N>>]: ValueOf<OptionsOf<N>[K]> } & {
  readonly [K in WithoutDefault<OptionsOf<N>>]?: ValueOf<OptionsOf<N>[K]>;
};

/** The part of a request that a run's log keeps besides the events. */
export type LoggedOf<N extends CommandName> = {
  -readonly [K in keyof OptionsOf<N> as OptionsOf<N>[K] extends { isLogged: true } ? K : never]?: ValueOf<
    OptionsOf<N>[K]
  >;
};

export const optionsOf = (name: CommandName): [string, Option][] => Object.entries(COMMANDS[name].options);

const argumentsOf = (name: CommandName): Command['arguments'] => COMMANDS[name].arguments;

/** Adds defaults for missing fields of `request`; the others stay as they are. */
export function completeRequest<N extends CommandName, R extends RequestOf<N>>(
  name: N,
  request: R,
): R & CompleteRequest<N> {
  const described = { ...argumentsOf(name), ...COMMANDS[name].options };
  const defaults = Object.entries<{ default?: unknown }>(described).filter(
    ([, { default: value }]) => value !== undefined,
  );
  const given = Object.entries(request).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...defaults.map(([field, row]) => [field, row.default]), ...given]) as R &
    CompleteRequest<N>;
}

/** The long flag, e.g. `--output`. */
export const longFlag = ({ flags }: Pick<Option, 'flags'>): string => /--[\w-]+/.exec(flags)![0];

/** The part of a request that the log keeps for `resume`. */
export const loggedOf = <N extends CommandName>(name: N, request: RequestOf<N>): LoggedOf<N> =>
  Object.fromEntries(
    optionsOf(name)
      .filter(([field, { isLogged }]) => isLogged && request[field as keyof typeof request] !== undefined)
      .map(([field]) => [field, request[field as keyof typeof request]]),
  ) as LoggedOf<N>;

/** The words of the command line that makes a request. Missing and default values give no word. */
export function commandLine<N extends CommandName>(name: N, request: RequestOf<N>): string[] {
  const values = request as Readonly<Record<string, unknown>>;
  const positional = Object.keys(argumentsOf(name)).flatMap((field) => (values[field] ?? []) as string | string[]);
  const options = optionsOf(name).flatMap(([field, option]) => {
    const value = values[field];
    return value === undefined || value === option.default ? [] : option.kind.write(longFlag(option), value);
  });
  return ['warpsmith', name, ...positional, ...options];
}

/** The options that a caller who is no command line has, too. */
const optionsOfCallers = (name: CommandName): [string, Option][] =>
  optionsOf(name).filter(([, { isOfProcess }]) => !isOfProcess);

/** Names of a request's fields, as a caller who is no command line may give them. */
export const fieldsOf = (name: CommandName): string[] => [
  ...Object.keys(argumentsOf(name)),
  ...optionsOfCallers(name).map(([field]) => field),
];

/** JSON Schema of what a command is asked. */
export function requestSchema(name: CommandName): object {
  const positional = Object.entries(argumentsOf(name)).map(([field, { shown, help, choices, default: value }]) => {
    const one = choices ? { enum: choices } : { type: 'string' };
    const schema = shown.includes('...') ? { type: 'array', items: one } : one;
    return [field, { ...schema, description: help, default: value }] as const;
  });
  const options = optionsOfCallers(name).map(([field, { kind, help, default: value, defaultHelp }]) => {
    const description = defaultHelp === undefined ? help : `${help} (default: ${defaultHelp})`;
    return [field, { ...kind.schema, description, default: value }] as const;
  });
  const needed = Object.entries(argumentsOf(name)).filter(([, row]) => row.default === undefined);
  return {
    type: 'object',
    description: COMMANDS[name].summary,
    properties: Object.fromEntries([...positional, ...options]),
    required: needed.map(([field]) => field),
    additionalProperties: false,
  };
}
