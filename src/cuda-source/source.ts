import { onceFor } from '../core/once-for.ts';
import { type Item, readItems } from './items.ts';
import { type Macro, macrosOf } from './macros.ts';
import { behindBracket, PRECEDENCE, parseBody, parseParameters } from './parser.ts';
import { type CType, type Expression, type Statement, substitute } from './syntax.ts';
import { type Token, tokenize } from './tokens.ts';

/** A CUDA C++ file, read but not preprocessed. */
export interface CudaSource {
  readonly file: string;
  readonly text: string;
  readonly items: readonly Item[];
  readonly macros: ReadonlyMap<string, Macro>;
  /** Definitions by name; overloads in order. */
  readonly functions: ReadonlyMap<string, readonly Item[]>;
  /** What `typedef` and `using` call by another name. */
  readonly aliases: ReadonlyMap<string, CType>;
}

/**
 * Reads a file.
 *
 * @param include the text of a file that `#include "name"` stands for; undefined if it is not there. It takes the directive's place.
 * @param others macros of other files, which calls at namespace scope may mean.
 * @throws WarpsmithError `unreadable-source`.
 */
export function readCudaSource(
  text: string,
  file: string,
  include: (name: string) => string | undefined = () => undefined,
  others: ReadonlyMap<string, Macro> = new Map(),
): CudaSource {
  const whole = withIncludes(text, file, include, new Set());
  const tokens = tokenize(whole, file);
  const macros = macrosOf(tokens, file);
  const items = readItems(tokens, new Map([...others, ...macros]));
  return {
    file,
    text: whole,
    items,
    macros,
    functions: functionsOf(items),
    aliases: aliasesOf(items),
  };
}

function withIncludes(
  text: string,
  file: string,
  include: (name: string) => string | undefined,
  seen: Set<string>,
): string {
  const parts: string[] = [];
  let at = 0;
  for (const token of tokenize(text, file)) {
    const name = token.kind === 'directive' ? /^#\s*include\s*"([^"]+)"/.exec(token.text)?.[1] : undefined;
    const included = name === undefined ? undefined : include(name);
    if (name === undefined || included === undefined) continue;
    parts.push(
      text.slice(at, token.start),
      seen.has(name) ? '' : withIncludes(included, name, include, seen.add(name)),
    );
    at = token.end;
  }
  return at === 0 ? text : [...parts, text.slice(at)].join('');
}

/** How tightly an expression's outermost operator binds. */
function precedenceOf(node: Expression): number {
  if (node.kind === 'binary') return PRECEDENCE[node.operator] ?? 0;
  return node.kind === 'conditional' || node.kind === 'assignment' ? 0 : Number.POSITIVE_INFINITY;
}

const isParenthesised = (tokens: readonly Token[]): boolean =>
  tokens[0]?.text === '(' && behindBracket(tokens, 0) === tokens.length;

/**
 * What a macro's call stands for. Macros replace text: undefined where an argument would fall apart for want of parentheses, as
 * `a + b` does in `#define TWICE(x) 2 * x`.
 */
export function expandMacro(
  { tokens, parameters = [], expression }: Macro,
  args: readonly Expression[],
): Expression | undefined {
  if (expression === undefined || args.length < parameters.length) return undefined;
  const isTorn = tokens.some(({ text }, i) => {
    const argument = args[parameters.indexOf(text)];
    if (argument === undefined) return false;
    const around = [tokens[i - 1], tokens[i + 1]].map((token) => (token ? (PRECEDENCE[token.text] ?? -1) : -1));
    return Math.max(...around) >= precedenceOf(argument);
  });
  return isTorn ? undefined : substitute(expression, new Map(parameters.map((name, i) => [name, args[i]!])));
}

/** Whether an operator would tear apart what a macro beside it stands for: `2 * N` with `#define N 3 + 4`. */
export function tearsMacro({ macros }: CudaSource, operator: string, left: Expression, right: Expression): boolean {
  const precedence = PRECEDENCE[operator] ?? 0;
  const inner = (node: Expression): number => {
    const name = node.kind === 'call' ? node.callee : node;
    const macro = name.kind === 'name' ? macros.get(name.name) : undefined;
    if (!macro?.expression || isParenthesised(macro.tokens)) return Number.POSITIVE_INFINITY;
    return precedenceOf(macro.expression);
  };
  return inner(left) < precedence || inner(right) <= precedence;
}

const functionsOf = (items: readonly Item[]): Map<string, Item[]> =>
  Map.groupBy(
    items.filter((item) => item.kind === 'function' && item.function?.body !== undefined),
    ({ name }) => name,
  );

function aliasesOf(items: readonly Item[]): Map<string, CType> {
  const aliases = new Map<string, CType>();
  for (const { kind, name, tokens } of items) {
    if (kind !== 'type' || name === '') continue;
    const [first] = tokens;
    const type =
      first!.text === 'using' ? tokens.slice(3, -1) : first!.text === 'typedef' ? tokens.slice(1, -2) : undefined;
    const [parameter] = type && type.length > 0 ? parseParameters(type) : [];
    if (parameter && parameter.name === '' && parameter.type.base !== '') aliases.set(name, parameter.type);
  }
  return aliases;
}

/** The type that a name stands for in the end. */
export function resolveAlias({ aliases }: Pick<CudaSource, 'aliases'>, type: CType): CType {
  let resolved = type;
  for (let left = 8; left > 0; left--) {
    const alias = aliases.get(resolved.base);
    if (alias === undefined) break;
    resolved = { ...resolved, base: alias.base, pointers: resolved.pointers + alias.pointers };
  }
  return resolved;
}

export const isKernel = ({ kind, words }: Item): boolean => kind === 'function' && words.has('__global__');

/** Whether it runs on the host alone. */
export const isHostFunction = (item: Item): boolean =>
  item.kind === 'function' && !isKernel(item) && !item.words.has('__device__');

/** A function's statements; none for a declaration. */
export const statementsOf = onceFor((item: Item): readonly Statement[] => parseBody(item.function?.body ?? []));

/** The name with its namespaces, as kernel.json names it. */
export const qualifiedName = ({ namespaces, name }: Item): string => [...namespaces, name].join('::');
