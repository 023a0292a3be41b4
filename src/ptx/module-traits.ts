import { PtxSyntaxError } from './errors.ts';
import { INSTRUCTIONS } from './instructions/table.ts';
import { lexPtx, type Token } from './lexer.ts';

/** State and special registers that a PTX module uses besides its parameters and buffers, read from its tokens. */
export interface ModuleTraits {
  /** Whether a variable in device memory that code or another variable names keeps its value between launches. */
  readonly hasVariables: boolean;
  /** The names of all, and of constants if these can be written; empty where a declaration does not show its name. */
  readonly variables: readonly string[];
  /** Most bytes that they take, with what aligns them; NaN if a declaration does not show its size. */
  readonly variableBytes: number;
  /** Functions that are declared and not defined: the driver's, such as `malloc`. */
  readonly externalFunctions: readonly string[];
  /** Special registers that are read, without their component: `%clock64`, `%smid`. */
  readonly specialRegisters: readonly string[];
  /** Instructions and modifiers that control which lines L2 keeps: `createpolicy`, `evict_last`, `prefetch`. */
  readonly cacheHints: readonly string[];
  /** Whether threads wait at barriers that not all of a CTA's threads share: named ones, or with a number of threads. */
  readonly hasPartialBarriers: boolean;
  /** Kernels that may wait for the launch before: their code has `griddepcontrol.wait`, or calls a function that may. */
  readonly waitingKernels: readonly string[];
}

/**
 * Reads a module as ptxas does, by its tokens: neither line breaks nor comments matter.
 *
 * @throws PtxSyntaxError when the text does not split into tokens, and where ptxas may split it otherwise: at a string
 * with an escaped quote, and at a `.global` that is glued to a name (`sm_90.global`).
 */
export function readTraits(ptx: string): ModuleTraits {
  const { tokens } = lexPtx(ptx);
  const escaped = tokens.find(({ kind, text }) => kind === 'string' && text.includes('\\"'));
  if (escaped) throw new PtxSyntaxError('a string with an escaped quote', escaped.line, escaped.text);
  const glued = tokens.find((token, index) => namesSpace(token) && !isOpcode(tokens, index));
  if (glued) throw new PtxSyntaxError('a state space that is glued to a name', glued.line, glued.text);
  const isWritable = leaksConstants(tokens) ? declaresAny : declaresVariable;
  const declared = tokens.flatMap((_, index) => (isWritable(tokens, index) ? [index + 1] : []));
  const variables = declared.map((index) => variableName(tokens, index));
  return {
    hasVariables: namesSome(tokens, variables),
    variables,
    variableBytes: declared.reduce((sum, index) => sum + mostBytes(tokens, index), 0),
    externalFunctions: externalFunctions(tokens),
    specialRegisters: specialRegisters(tokens),
    cacheHints: cacheHints(tokens),
    hasPartialBarriers: tokens.some((_, index) => isPartialBarrier(tokens, index)),
    waitingKernels: waitingKernels(tokens),
  };
}

const isDirective = (token: Token | undefined, text: string): boolean =>
  token?.kind === 'directive' && token.text === text;

// Most tokens fail the first of these tests: only what passes it is taken apart.
const namesSpace = ({ kind, text }: Token): boolean =>
  kind === 'word' && text.includes('global') && text.split(/\.|::/).includes('global');

/** A `.global` that describes no parameter and belongs to this module. */
const declaresVariable = (tokens: readonly Token[], index: number): boolean =>
  isDirective(tokens[index], '.global') && !isDirective(tokens[index - 1], '.ptr') && !isExternal(tokens, index);

const declaresAny = (tokens: readonly Token[], index: number): boolean =>
  declaresVariable(tokens, index) || isDirective(tokens[index], '.const');

/** `.align 4 .b8 name[16] = { … };`: the one name before `;`; nothing where there are several, or something else stands there. */
function variableName(tokens: readonly Token[], start: number): string {
  let index = start;
  while (tokens[index]?.kind === 'directive' || tokens[index]?.kind === 'number') index++;
  const name = tokens[index]?.kind === 'word' ? tokens[index]!.text : '';
  for (let depth = 0; index < tokens.length; index++) {
    const { text, kind } = tokens[index]!;
    if (kind !== 'punctuation') continue;
    if ('[{('.includes(text)) depth++;
    else if (']})'.includes(text)) depth--;
    else if (text === ';') return name;
    else if (text === ',' && depth === 0) return '';
  }
  return '';
}

/**
 * Whether some variable is named outside its declaration, or may be because its own name is not known. NVRTC declares every
 * constant of a source as a variable; its value stands in the code, and nothing names the variable.
 */
function namesSome(tokens: readonly Token[], variables: readonly string[]): boolean {
  const unnamed = new Set(variables);
  if (unnamed.has('') || unnamed.size < variables.length) return true;
  return tokens.filter(({ kind, text }) => kind === 'word' && unnamed.has(text)).length > variables.length;
}

/** Bytes of an element: `.b8`, `.u32`, `.f16x2`. */
const ELEMENT = /^\.(?:b|u|s|f|bf)(8|16|32|64|128)(x2)?$/;

/** Bytes of `.align 4 .v2 .f32 name[3][4]`, and the most that may lie before it so that it is aligned. */
function mostBytes(tokens: readonly Token[], start: number): number {
  let [bytes, alignment] = [Number.NaN, 0];
  let index = start;
  for (; tokens[index]?.kind === 'directive' || tokens[index]?.kind === 'number'; index++) {
    const { text } = tokens[index]!;
    const element = ELEMENT.exec(text);
    if (element) bytes = (Number(element[1]) / 8) * (element[2] ? 2 : 1);
    if (text === '.align') alignment = Number(tokens[index + 1]?.text);
  }
  const vector = tokens.slice(start, index).find(({ text }) => text === '.v2' || text === '.v4');
  bytes *= vector ? Number(vector.text.slice(2)) : 1;
  alignment ||= bytes;
  for (index++; tokens[index]?.text === '['; index += 3) bytes *= Number(tokens[index + 1]?.text);
  return bytes + alignment - 1;
}

const LINKING = new Set(['.visible', '.weak', '.common', '.extern']);

function isExternal(tokens: readonly Token[], index: number): boolean {
  for (let at = index - 1; at >= 0 && LINKING.has(tokens[at]!.text); at--) {
    if (tokens[at]!.text === '.extern') return true;
  }
  return false;
}

/** True for the opcode of an instruction that names its state space. */
const namesItsSpace = (text: string): boolean => INSTRUCTIONS.get(text.split('.')[0]!)?.namesSpace ?? false;

const ENDS_STATEMENT = new Set([';', '{', '}', ':']);

/** First in its statement, or after a guard such as `@!%p1`. */
function isOpcode(tokens: readonly Token[], index: number): boolean {
  const { text, line } = tokens[index]!;
  const before = tokens[index - 1];
  if (!before || !text.includes('.')) return false;
  if (before.kind === 'punctuation') return ENDS_STATEMENT.has(before.text);
  const guard = tokens[index - 2]?.text === '!' ? tokens[index - 3] : tokens[index - 2];
  if (before.kind === 'word' && guard?.text === '@') return true;
  // It may follow a `.loc`, which ends with its line.
  return before.kind !== 'directive' && before.line < line && namesItsSpace(text);
}

/** A generic address of a constant can be written through. */
const leaksConstants = (tokens: readonly Token[]): boolean =>
  tokens.some((token) => isDirective(token, '.const')) &&
  tokens.some(({ kind, text }) => kind === 'word' && (/^cvta\.const\b/.test(text) || text === 'generic'));

function externalFunctions(tokens: readonly Token[]): string[] {
  const declared = new Set<string>();
  const defined = new Set<string>();
  tokens.forEach((token, index) => {
    if (!isDirective(token, '.func')) return;
    const { name, isDefined } = functionAt(tokens, index + 1);
    if (name !== undefined) (isDefined ? defined : declared).add(name);
  });
  return [...declared].filter((name) => !defined.has(name));
}

/** What stands after `.func`: directives, results in parentheses, the name, parameters, directives, then `{` or `;`. */
function functionAt(tokens: readonly Token[], start: number): { name: string | undefined; isDefined: boolean } {
  let name: string | undefined;
  let depth = 0;
  for (let index = start; index < tokens.length; index++) {
    const { kind, text } = tokens[index]!;
    if (kind === 'punctuation') {
      if (text === '(') depth++;
      else if (text === ')') depth--;
      else if (depth === 0 && (text === '{' || text === ';')) return { name, isDefined: text === '{' };
    } else if (depth === 0 && kind === 'word') name ??= text;
  }
  return { name, isDefined: false };
}

/** Special registers that depend neither on the position in the grid nor on the launch. */
const WATCHED =
  /^%(?:gridid|envreg\d+|pm\d+(?:_64)?|clock(?:64|_hi)?|globaltimer(?:_lo|_hi)?|n?smid|n?warpid|current_graph_exec)(?=\.|$)/;

const specialRegisters = (tokens: readonly Token[]): string[] => [
  ...new Set(
    tokens.flatMap(({ kind, text }) => (kind === 'word' && text.startsWith('%') ? (WATCHED.exec(text) ?? []) : [])),
  ),
];

/** Parts of an opcode after which a line stays in L2 for longer or shorter than it would by itself. */
const HINTS = /^(?:createpolicy|prefetchu?|discard|applypriority|evict_\w+|cache_hint)$/;
const MAY_HINT = /policy|prefetch|discard|priority|evict|hint/;

const cacheHints = (tokens: readonly Token[]): string[] => [
  ...new Set(
    tokens
      .filter(({ kind, text }) => kind === 'word' && text.includes('.') && MAY_HINT.test(text))
      .flatMap(({ text }) => text.split(/\.|::/).filter((part) => HINTS.test(part))),
  ),
];

const BARRIER = /^bar(?:rier)?(?:\.cta)?\.(?:sync|arrive)(?:\.aligned)?$/;

/** Any barrier but `bar.sync 0;`, which is `__syncthreads()`. */
function isPartialBarrier(tokens: readonly Token[], index: number): boolean {
  const { kind, text } = tokens[index]!;
  if (kind !== 'word' || !BARRIER.test(text)) return false;
  return tokens[index + 1]?.text !== '0' || tokens[index + 2]?.text !== ';';
}

const MAY_WAIT = /^(?:griddepcontrol\.wait|call(?:\..*)?)$/;

function waitingKernels(tokens: readonly Token[]): string[] {
  const found = new Set<string>();
  let kernel: string | undefined;
  let depth = 0;
  tokens.forEach(({ kind, text }, index) => {
    if (depth === 0 && (isDirective(tokens[index], '.entry') || isDirective(tokens[index], '.func')))
      kernel = text === '.entry' ? tokens[index + 1]?.text : undefined;
    if (kind === 'punctuation' && text === '{') depth++;
    else if (kind === 'punctuation' && text === '}') depth--;
    else if (kernel !== undefined && kind === 'word' && MAY_WAIT.test(text)) found.add(kernel);
  });
  return [...found];
}
