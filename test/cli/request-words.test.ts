import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { COMMANDS, type CommandName } from '../../src/core/requests/commands.ts';
import { isNegated } from '../../src/core/requests/kinds.ts';
import { commandLine, completeRequest, longFlag, optionsOf } from '../../src/core/requests/request.ts';

/** What the command line makes of these words. */
async function read(words: readonly string[]): Promise<unknown> {
  let asked: unknown;
  const { program } = buildProgram(
    () => {},
    async (name, request) => {
      asked = { name, request };
    },
  );
  await program.parseAsync(words.slice(1), { from: 'user' });
  return asked;
}

/** A value that is not the default, by the JSON Schema of its kind. */
function sampleOf(schema: Readonly<Record<string, unknown>>, byDefault?: unknown): unknown {
  const { type, items, ...said } = schema as { type?: string; items?: object };
  const { enum: words, examples } = said as { enum?: readonly string[]; examples?: readonly string[] };
  if (examples) return examples[0];
  if (words) return words.find((word) => word !== byDefault);
  if (type === 'array') return [sampleOf(items as Readonly<Record<string, unknown>>)];
  if (type === 'object') return { BLOCK_M: 64, WARPS: -2.5 };
  if (type === 'integer') return 7;
  return type === 'number' ? 2.5 : 'a_word';
}

const names = Object.keys(COMMANDS) as CommandName[];

const argumentsOf = (name: CommandName): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries<{ shown: string }>(COMMANDS[name].arguments).map(([field, { shown }]) => [
      field,
      shown.includes('...') ? ['one', 'two'] : 'some/place',
    ]),
  );

describe.each(names)('a request of %s', (name) => {
  const request = {
    ...argumentsOf(name),
    ...Object.fromEntries(
      optionsOf(name).map(([field, option]) => [
        field,
        option.kind.schema.type === 'boolean'
          ? !isNegated(longFlag(option))
          : sampleOf(option.kind.schema, option.default),
      ]),
    ),
  };

  it('is read from the words that it is written as, every option given', async () => {
    expect(await read(commandLine(name, request as never))).toEqual({ name, request });
  });

  it('has nothing of options that are not given', async () => {
    expect(await read(commandLine(name, argumentsOf(name) as never))).toEqual({ name, request: argumentsOf(name) });
  });

  it('is completed with defaults, and keeps what was given', () => {
    expect(completeRequest(name, request as never)).toEqual(request);
    const complete = completeRequest(name, argumentsOf(name) as never) as Record<string, unknown>;
    for (const [field, option] of optionsOf(name)) expect(complete[field]).toEqual(option.default);
  });
});
