import { parseExpression, splitAtCommas } from './parser.ts';
import type { Expression } from './syntax.ts';
import { type Token, tokenize } from './tokens.ts';

/** `#define name(parameters) tokens`; without parameters, an object-like macro. */
export interface Macro {
  readonly name: string;
  readonly parameters?: readonly string[] | undefined;
  readonly tokens: readonly Token[];
  /** What it stands for, if that is an expression. */
  readonly expression: Expression | undefined;
}

/** The macros that a file's `#define`s make, by name. */
export function macrosOf(tokens: readonly Token[], file: string): Map<string, Macro> {
  const macros = new Map<string, Macro>();
  for (const { kind, text } of tokens) {
    const macro = kind === 'directive' ? readMacro(text, file) : undefined;
    // The first of several stands in the first branch of an #if.
    if (macro && !macros.has(macro.name)) macros.set(macro.name, macro);
  }
  return macros;
}

function readMacro(directive: string, file: string): Macro | undefined {
  const [whole, name] = /^#\s*define\s+([A-Za-z_]\w*)/.exec(directive) ?? [];
  if (whole === undefined || name === undefined) return undefined;
  const rest = directive.slice(whole.length).replaceAll(/\\\r?\n/g, ' ');
  const isFunctionLike = rest.startsWith('(');
  const tokens = tokenize(rest, file);
  const close = isFunctionLike ? tokens.findIndex(({ text }) => text === ')') : -1;
  const parameters = isFunctionLike
    ? splitAtCommas(tokens.slice(1, close)).map((part) => part.map(({ text }) => text).join(''))
    : undefined;
  const body = tokens.slice(close + 1);
  return { name, parameters, tokens: body, expression: body.length === 0 ? undefined : parseExpression(body) };
}

/** Whether what the macro stands for ends a declaration, itself or through the macro that it calls last. */
export function endsDeclaration({ tokens }: Macro, macros: ReadonlyMap<string, Macro>, depth = 0): boolean {
  const last = tokens.at(-1)?.text;
  if (last === ';' || last === '}') return true;
  if (last !== ')' || depth > MOST_NESTED) return false;
  const called = macros.get(tokens[calledAt(tokens)]?.text ?? '');
  return called !== undefined && endsDeclaration(called, macros, depth + 1);
}

/** Calls within calls that are followed: a macro may name itself. */
const MOST_NESTED = 16;

/** Index of the name before the last bracket. */
function calledAt(tokens: readonly Token[]): number {
  let open = 0;
  for (let at = tokens.length - 1; at >= 0; at--) {
    if (tokens[at]!.text === ')') open++;
    if (tokens[at]!.text === '(' && --open === 0) return at - 1;
  }
  return -1;
}

/** Every name that a call of the macro may bring, through other macros, too. */
export function namesBehind(
  { tokens }: Macro,
  macros: ReadonlyMap<string, Macro>,
  names: Set<string> = new Set(),
): Set<string> {
  for (const { kind, text } of tokens) {
    if (kind !== 'name' || names.has(text)) continue;
    names.add(text);
    const inner = macros.get(text);
    if (inner) namesBehind(inner, macros, names);
  }
  return names;
}
