import { endsDeclaration, type Macro, namesBehind } from './macros.ts';
import { behindAngle, behindBracket, parseParameters } from './parser.ts';
import type { Parameter } from './syntax.ts';
import type { Token } from './tokens.ts';

/** One thing at namespace scope of a source file. */
export interface Item {
  readonly kind: 'directive' | 'function' | 'type' | 'variable' | 'call' | 'open' | 'close' | 'other';
  /** What it defines or declares; for a directive its word, e.g. `include`. */
  readonly name: string;
  /** Further names: enumerators, a type's alias; of a macro's call all that it may define. */
  readonly otherNames: readonly string[];
  readonly tokens: readonly Token[];
  /** Offsets in the text. */
  readonly start: number;
  readonly end: number;
  /** Enclosing namespaces, outermost first. */
  readonly namespaces: readonly string[];
  /** Words such as `__global__` and `constexpr` before its name. */
  readonly words: ReadonlySet<string>;
  readonly isTemplate: boolean;
  /** Of a template: its parameters' names, in order. */
  readonly templateParameters: readonly string[];
  /** For `close`, the index of its `open`. */
  readonly opened?: number;
  readonly function?: FunctionParts;
}

interface FunctionParts {
  readonly parameters: readonly Parameter[];
  /** Tokens between the braces; undefined for a declaration. */
  readonly body?: readonly Token[] | undefined;
}

/** Attributes and operators that take parentheses and are no function's name. */
const NOT_A_NAME = /^(?:__\w+__|__attribute__|alignas|decltype|noexcept|__declspec)$/;
const TYPE_WORDS = /^(?:struct|class|union|enum)$/;

/**
 * Splits a file into its items. Everything but blanks and comments belongs to one of them.
 *
 * @param macros that it may call.
 */
export function readItems(tokens: readonly Token[], macros: ReadonlyMap<string, Macro>): Item[] {
  const items: Item[] = [];
  const open: { index: number; namespaces: readonly string[] }[] = [];
  let at = 0;
  while (at < tokens.length) {
    const namespaces = open.at(-1)?.namespaces ?? [];
    const token = tokens[at]!;
    if (token.kind === 'directive') {
      items.push(directive(token, namespaces));
      at++;
    } else if (token.text === '}') {
      const own = tokens.slice(at, at + 1);
      items.push({ ...plain('close', '', own, namespaces), opened: open.pop()?.index });
      at++;
    } else if (token.text === ';') at++;
    else {
      const opening = opensScope(tokens, at);
      if (opening !== undefined) {
        items.push(plain('open', opening.name, tokens.slice(at, opening.end), namespaces));
        open.push({
          index: items.length - 1,
          namespaces: [...namespaces, ...(opening.name === '' ? [] : [opening.name])],
        });
        at = opening.end;
      } else {
        const behindCall = behindMacroCall(tokens, at, macros);
        const end = behindCall ?? endOfItem(tokens, at);
        const own = tokens.slice(at, end);
        items.push(behindCall === undefined ? itemOf(own, namespaces) : callOf(own, macros, namespaces));
        at = end;
      }
    }
  }
  return items;
}

const plain = (
  kind: Item['kind'],
  name: string,
  tokens: readonly Token[],
  namespaces: readonly string[],
  parts: Partial<Item> = {},
): Item => ({
  kind,
  name,
  otherNames: [],
  tokens,
  start: tokens[0]!.start,
  end: tokens.at(-1)!.end,
  namespaces,
  words: new Set(),
  isTemplate: false,
  templateParameters: [],
  ...parts,
});

const directive = (token: Token, namespaces: readonly string[]): Item =>
  plain('directive', /^#\s*(\w*)/.exec(token.text)?.[1] ?? '', [token], namespaces);

/** `namespace a {` and `extern "C" {`. */
function opensScope(tokens: readonly Token[], at: number): { name: string; end: number } | undefined {
  const first = tokens[at]!;
  if (first.text === 'extern' && tokens[at + 1]?.kind === 'string' && tokens[at + 2]?.text === '{')
    return { name: '', end: at + 3 };
  const start = first.text === 'inline' ? at + 1 : at;
  if (tokens[start]?.text !== 'namespace') return undefined;
  let name = '';
  for (let i = start + 1; i < tokens.length; i++) {
    const { text } = tokens[i]!;
    if (text === '{') return { name, end: i + 1 };
    if (text === '=' || text === ';') return undefined;
    name += text;
  }
  return undefined;
}

/** Index behind `INSTANTIATE(64)` or `INSTANTIATE(64);`; undefined where a macro's call only begins a declaration, or none is there. */
function behindMacroCall(tokens: readonly Token[], at: number, macros: ReadonlyMap<string, Macro>): number | undefined {
  const macro = macros.get(tokens[at]!.text);
  if (macro?.parameters === undefined || tokens[at + 1]?.text !== '(') return undefined;
  const end = behindBracket(tokens, at + 1);
  if (tokens[end]?.text === ';') return end + 1;
  return endsDeclaration(macro, macros) ? end : undefined;
}

function callOf(tokens: readonly Token[], macros: ReadonlyMap<string, Macro>, namespaces: readonly string[]): Item {
  const name = tokens[0]!.text;
  const words = namesBehind(macros.get(name)!, macros);
  for (const { kind, text } of tokens) if (kind === 'name') words.add(text);
  const otherNames = [...words].filter((word) => !KEYWORD.test(word));
  return plain('call', name, tokens, namespaces, { words, otherNames });
}

/** Names that no declaration can give. */
const KEYWORD =
  /^(?:void|bool|char|short|int|long|float|double|signed|unsigned|auto|const\w*|static\w*|extern|inline|template|typename|struct|class|union|enum|using|typedef|return|if|else|for|while|do|switch|case|break|continue|true|false|sizeof|asm|volatile|__\w+__)$/;

/** Index behind the item: behind its `;`, or behind the body of a function. */
function endOfItem(tokens: readonly Token[], from: number): number {
  let isAssigned = false;
  for (let at = from + behindTemplate(tokens.slice(from, from + LONGEST_HEAD)); at < tokens.length; ) {
    const { kind, text } = tokens[at]!;
    if (kind === 'directive') {
      if (at > from && /^#\s*(?:define|include|undef)/.test(text)) return at;
      at++;
    } else if (text === '(' || text === '[') at = behindBracket(tokens, at);
    else if (text === '{') {
      const behind = behindBracket(tokens, at);
      if (!isAssigned && functionName(tokens.slice(from, at)) !== undefined) return behind;
      at = behind;
    } else {
      if (text === ';') return at + 1;
      if (text === '}') return at;
      isAssigned ||= text === '=';
      at++;
    }
  }
  return tokens.length;
}

/** Tokens of a `template <…>`, at most. */
const LONGEST_HEAD = 500;

/** Index behind `template <…>`, repeatedly. */
function behindTemplate(tokens: readonly Token[]): number {
  let at = 0;
  while (tokens[at]?.text === 'template' && tokens[at + 1]?.text === '<') {
    at = behindAngle(withoutDefaults(tokens.slice(0, LONGEST_HEAD)), at + 1) ?? at + 2;
  }
  return at;
}

/** `template <int N = 4>`: an `=` is no reason to take `<` for a comparison here. */
const withoutDefaults = (tokens: readonly Token[]): Token[] =>
  tokens.map((token) => (token.text === '=' ? { ...token, text: ',' } : token));

/** Index of the name of the function whose head this is. */
function functionName(tokens: readonly Token[]): number | undefined {
  const start = behindTemplate(tokens);
  if (tokens.slice(start).some(({ text }) => TYPE_WORDS.test(text)) && !tokens.some(({ text }) => text === '('))
    return undefined;
  if (TYPE_WORDS.test(tokens[start]?.text ?? '') && isTypeDefinition(tokens, start)) return undefined;
  for (let at = start; at < tokens.length; ) {
    const { kind, text } = tokens[at]!;
    const next = tokens[at + 1]?.text;
    if (text === 'operator') return at;
    if (kind === 'name' && next === '(') {
      if (!NOT_A_NAME.test(text)) return at;
      at = behindBracket(tokens, at + 1);
    } else if (kind === 'name' && next === '<') at = behindAngle(tokens, at + 1) ?? at + 2;
    else if (text === '=') return undefined;
    else at++;
  }
  return undefined;
}

/** `struct __align__(16) Pair {` defines a type, `struct Pair make(…) {` a function. */
function isTypeDefinition(tokens: readonly Token[], at: number): boolean {
  for (let i = at + 1; i < tokens.length; i++) {
    const { kind, text } = tokens[i]!;
    if (NOT_A_NAME.test(text) && tokens[i + 1]?.text === '(') i = behindBracket(tokens, i + 1) - 1;
    else if (text === '{' || text === ':' || text === ';') return true;
    else if (text === '(') return false;
    else if (kind !== 'name' && text !== '::') return true;
  }
  return true;
}

function itemOf(tokens: readonly Token[], namespaces: readonly string[]): Item {
  const start = behindTemplate(tokens);
  const isTemplate = start > 0;
  const templateParameters = isTemplate ? parameterNames(tokens.slice(2, start - 1)) : [];
  const common = { isTemplate, templateParameters };
  const brace = indexAtDepth(tokens, start, '{');
  const head = brace === undefined ? tokens : tokens.slice(0, brace);
  const name = functionName(head);
  const isAssigned = indexAtDepth(tokens, start, '=') !== undefined;
  const words = wordsBefore(tokens, start, name ?? tokens.length);
  // Explicit instantiations, `name<float>(…)`, are functions, too; `Foo x(3);` is a variable, which needs no telling apart.
  if (name !== undefined && !(isAssigned && brace === undefined)) {
    const parts = functionParts(tokens, name, brace);
    return plain('function', tokens[name]!.text, tokens, namespaces, { ...common, words, function: parts });
  }
  const definesType = tokens.findIndex(({ text }, i) => i >= start && TYPE_WORDS.test(text));
  if (definesType >= 0 && definesType <= start + 1) {
    const typeName = tokens
      .slice(definesType + 1)
      .find(({ kind, text }) => kind === 'name' && !NOT_A_NAME.test(text) && !TYPE_WORDS.test(text));
    const otherNames = namesInType(tokens, brace);
    return plain('type', typeName?.text ?? '', tokens, namespaces, { ...common, words, otherNames });
  }
  const first = tokens[start]?.text;
  if (first === 'using' || first === 'typedef') {
    const alias = first === 'using' ? tokens[start + 1]?.text : tokens.findLast(({ kind }) => kind === 'name')?.text;
    return plain('type', alias === 'namespace' ? '' : (alias ?? ''), tokens, namespaces, { ...common, words });
  }
  // `namespace cg = cooperative_groups;`
  if (first === 'namespace') return plain('type', tokens[start + 1]?.text ?? '', tokens, namespaces, common);
  if (first === 'static_assert') return plain('other', '', tokens, namespaces, common);
  const names = variableNames(tokens, start);
  return plain('variable', names[0] ?? '', tokens, namespaces, {
    ...common,
    words: wordsBefore(tokens, start, tokens.length),
    otherNames: names.slice(1),
  });
}

function functionParts(tokens: readonly Token[], name: number, brace: number | undefined): FunctionParts {
  let open = name + 1;
  while (tokens[open] !== undefined && tokens[open]!.text !== '(') open++;
  const close = behindBracket(tokens, open);
  const parameters = parseParameters(tokens.slice(open + 1, close - 1));
  const body = brace === undefined ? undefined : tokens.slice(brace + 1, behindBracket(tokens, brace) - 1);
  return { parameters, body };
}

function indexAtDepth(tokens: readonly Token[], from: number, punctuator: string): number | undefined {
  for (let at = from; at < tokens.length; ) {
    const { kind, text } = tokens[at]!;
    if (kind === 'punctuator' && text === punctuator) return at;
    at = kind === 'punctuator' && /^[([{]$/.test(text) ? behindBracket(tokens, at) : at + 1;
  }
  return undefined;
}

const wordsBefore = (tokens: readonly Token[], from: number, to: number): Set<string> =>
  new Set(
    tokens
      .slice(from, to)
      .filter(({ kind }) => kind === 'name')
      .map(({ text }) => text),
  );

/** `class T, int N = 4`: T, N. */
function parameterNames(tokens: readonly Token[]): string[] {
  const names: string[] = [];
  let last = '';
  let depth = 0;
  let isDefault = false;
  for (const { kind, text } of tokens) {
    if (text === '<' || text === '(') depth++;
    if (text === '>' || text === ')') depth--;
    if (text === ',' && depth === 0) {
      names.push(last);
      isDefault = false;
    } else if (text === '=') isDefault = true;
    else if (kind === 'name' && !isDefault) last = text;
  }
  return last === '' ? names : [...names, last];
}

/** Enumerators, and the variable or alias behind the braces. */
function namesInType(tokens: readonly Token[], brace: number | undefined): string[] {
  if (brace === undefined) return [];
  const end = behindBracket(tokens, brace);
  const behind = tokens.slice(end).filter(({ kind }) => kind === 'name');
  const isEnum = tokens.slice(0, brace).some(({ text }) => text === 'enum');
  const inside = isEnum
    ? tokens
        .slice(brace + 1, end - 1)
        .filter(({ kind }, i, all) => kind === 'name' && (i === 0 || all[i - 1]!.text === ','))
    : [];
  return [...behind, ...inside].map(({ text }) => text);
}

/** Names before `=`, `[`, `;`, `(`, `{` or `,` at depth 0. */
function variableNames(tokens: readonly Token[], from: number): string[] {
  const names: string[] = [];
  for (let at = from; at < tokens.length; ) {
    const { kind, text } = tokens[at]!;
    const next = tokens[at + 1]?.text ?? ';';
    const isNamed = names.length === 0 || tokens[at - 1]?.text === ',' || tokens[at - 1]?.text === '*';
    if (kind === 'name' && /^[=[;({,]$/.test(next) && isNamed && !NOT_A_NAME.test(text)) names.push(text);
    at = kind === 'punctuator' && /^[([{]$/.test(text) ? behindBracket(tokens, at) : at + 1;
  }
  return names;
}
