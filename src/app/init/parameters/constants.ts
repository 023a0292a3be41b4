import type { Item } from '../../../cuda-source/items.ts';
import { behindBracket, parseBody } from '../../../cuda-source/parser.ts';
import type { CudaSource } from '../../../cuda-source/source.ts';
import type { Expression } from '../../../cuda-source/syntax.ts';
import { type Token, tokenize } from '../../../cuda-source/tokens.ts';

/** A whole number that device code defines by name: `#define TILE 16`, `constexpr int BM = 128;`. */
export interface DeviceConstant {
  readonly name: string;
  readonly value: number;
  /** Offsets of the number. */
  readonly number: { readonly start: number; readonly end: number };
}

/** Constants of device code that can be cut from it: each defined once, alone, as a plain number. */
export function deviceConstants(source: CudaSource): Map<string, DeviceConstant> {
  const found = source.items.flatMap((item): DeviceConstant[] => {
    const name = definedName(item);
    if (name === undefined) return [];
    const value = wholeNumber(numberIn(item, name, source)) ?? Number.NaN;
    return [{ name, value, number: placeOfNumber(item) }];
  });
  const isAlone = ({ name }: DeviceConstant): boolean => found.filter((other) => other.name === name).length === 1;
  return new Map(found.filter((one) => isAlone(one) && one.value >= 1).map((one) => [one.name, one]));
}

const KEPT_IN_MEMORY = ['__constant__', '__device__', '__shared__', '__managed__'];

/** The name of the macro or plain constant that an item defines, and nothing else. */
export function definedName(item: Item): string | undefined {
  if (item.kind === 'directive' && item.name === 'define')
    return /^#\s*define\s+([A-Za-z_]\w*)(?!\w|\()/.exec(item.tokens[0]!.text)?.[1];
  const isConstant = item.words.has('const') || item.words.has('constexpr');
  const isPlain = item.kind === 'variable' && isConstant && !item.isTemplate;
  return isPlain && item.otherNames.length === 0 && !KEPT_IN_MEMORY.some((word) => item.words.has(word))
    ? item.name
    : undefined;
}

function numberIn(item: Item, name: string, { macros }: CudaSource): Expression | undefined {
  if (item.kind === 'directive') return macros.get(name)?.expression;
  const [declaration] = parseBody(item.tokens);
  if (declaration?.kind !== 'declaration') return undefined;
  const [declarator] = declaration.declarators;
  return declarator?.value ?? declarator?.arguments?.[0];
}

/** The last number of a variable's definition; what follows the name in a directive. */
function placeOfNumber({ kind, tokens, start, end }: Item): DeviceConstant['number'] {
  if (kind !== 'directive') return tokens.findLast((token) => token.kind === 'number') ?? { start, end };
  const [head, number] = /^#\s*define\s+\w+[\s(]*(\w*)/.exec(tokens[0]!.text) ?? ['', ''];
  return { start: start + head.length - number!.length, end: start + head.length };
}

const wholeNumber = (expression: Expression | undefined): number | undefined =>
  expression?.kind === 'number' && (expression.type === 'int' || expression.type === 'unsigned')
    ? expression.value
    : undefined;

/** What an array's size in shared memory, or a loop's header, is made of, by name. */
export function namesThatShape(source: CudaSource): Set<string> {
  const bodies = source.items.flatMap((item) => (item.kind === 'function' ? [item.function?.body ?? []] : []));
  const madeOf = definitions(source, bodies);
  const reached = new Set<string>();
  const pending = bodies.flatMap((body) => [...sharedArrays(body), ...loopHeaders(body)].flatMap(names));
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    pending.push(...(madeOf.get(name) ?? []));
  }
  return reached;
}

const names = (tokens: readonly Token[]): string[] =>
  tokens.flatMap(({ kind, text }) => (kind === 'name' ? [text] : []));

/** Names by what they are defined with: macros, constants, and variables of functions. */
function definitions(source: CudaSource, bodies: readonly (readonly Token[])[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (name: string, tokens: readonly Token[]): void => {
    found.set(name, [...(found.get(name) ?? []), ...names(tokens)]);
  };
  for (const { name, tokens } of source.macros.values()) add(name, tokens);
  for (const tokens of [
    ...source.items.filter(({ kind }) => kind === 'variable').map((item) => item.tokens),
    ...bodies,
  ]) {
    tokens.forEach(({ text }, at) => {
      if (text !== '=' || tokens[at - 1]?.kind !== 'name') return;
      add(tokens[at - 1]!.text, upTo(tokens, at + 1, /^[;]$/));
    });
  }
  return found;
}

function upTo(tokens: readonly Token[], from: number, end: RegExp): readonly Token[] {
  const last = tokens.findIndex(({ text }, at) => at >= from && end.test(text));
  return tokens.slice(from, last < 0 ? tokens.length : last);
}

const sharedArrays = (body: readonly Token[]): (readonly Token[])[] =>
  body.flatMap(({ text }, at) => (text === '__shared__' ? [upTo(body, at + 1, /^[;=]$/)] : []));

const loopHeaders = (body: readonly Token[]): (readonly Token[])[] =>
  body.flatMap(({ text }, at) =>
    text === 'for' || text === 'while' ? [body.slice(at + 1, behindBracket(body, at + 1))] : [],
  );

/** Every identifier of a text, directives included. */
export const identifiersIn = (text: string, file: string): Set<string> =>
  new Set(
    tokenize(text, file).flatMap((token) =>
      token.kind === 'directive'
        ? (token.text.match(/[A-Za-z_]\w*/g) ?? [])
        : token.kind === 'name'
          ? [token.text]
          : [],
    ),
  );
