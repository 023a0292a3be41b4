import type { PtxFunction, PtxModule, PtxParameter, PtxVariable } from './ast.ts';
import { parseInteger } from './literals.ts';
import { parseFunctionBody } from './parse-body.ts';
import { parseVariables, VARIABLE_SPACES } from './parse-variable.ts';
import { SourceTracker } from './source-locations.ts';
import { TokenStream } from './token-stream.ts';
import { isPtxType, sizeOfPtxType } from './types.ts';

export interface ParsePtxOptions {
  /**
   * Says whether a source file is the user's own rather than a header shipped with the compiler. An instruction's
   * `source` is the innermost place of its inlining chain in such a file. Default: every file is.
   */
  isUserFile?: (path: string) => boolean;
}

/**
 * Reads PTX as clang and nvcc write it.
 * @throws PtxSyntaxError when the text does not follow the grammar; names the line.
 */
export function parsePtx(text: string, options: ParsePtxOptions = {}): PtxModule {
  const stream = new TokenStream(text);
  const sources = new SourceTracker(stream.tokens, stream.inlineComments, options.isUserFile ?? (() => true));
  const module: PtxModule = { version: '', target: '', addressSize: 64, variables: [], functions: [] };
  while (stream.peek().kind !== 'end') parseTopLevel(stream, module, sources);
  return module;
}

const LINKING: ReadonlySet<string> = new Set(['.visible', '.weak', '.extern', '.common']);

/** What a directive says of the module, if anything. */
type TopLevelRule = (stream: TokenStream, line: number) => Partial<PtxModule> | undefined;

const skipLine: TopLevelRule = (stream, line) => void stream.restOfLine(line);

/** Directives with a rule of their own; `.entry`, `.func` and variables are handled apart. */
const TOP_LEVEL: ReadonlyMap<string, TopLevelRule> = new Map<string, TopLevelRule>([
  ['.version', (stream) => ({ version: stream.expectKind('number', 'a version').text })],
  ['.target', (stream) => ({ target: parseTarget(stream) })],
  ['.address_size', (stream) => ({ addressSize: parseInteger(stream) === 32 ? 32 : 64 })],
  ['.file', skipLine],
  ['.loc', skipLine],
  ['.pragma', (stream) => void skipThrough(stream, ';')],
  ['.alias', (stream) => void skipThrough(stream, ';')],
  ['.section', (stream) => void skipSection(stream)],
]);

function parseTarget(stream: TokenStream): string {
  const target = stream.expectKind('word', 'a target').text;
  if (!/^\w+$/.test(target)) throw stream.error(`unknown target \`${target}\``);
  while (stream.accept(',')) stream.expectKind('word', 'an option of the target');
  return target;
}

/** `.section .debug_str { … }`: DWARF, of no use here. */
function skipSection(stream: TokenStream): void {
  stream.next();
  stream.skipBraces();
}

function skipThrough(stream: TokenStream, text: string): void {
  while (!stream.at(text)) {
    if (stream.peek().kind === 'end') throw stream.error(`expected \`${text}\``);
    stream.next();
  }
  stream.next();
}

function parseTopLevel(stream: TokenStream, module: PtxModule, sources: SourceTracker): void {
  if (stream.accept(';')) return;
  let external = false;
  while (LINKING.has(stream.peek().text)) external = stream.next().text === '.extern' || external;
  const start = stream.peek();
  if (start.text === '.entry' || start.text === '.func') {
    const parsed = parseFunction(stream, sources);
    const declared = module.functions.findIndex((fn) => fn.name === parsed.name);
    if (declared < 0) module.functions.push(parsed);
    else if (parsed.defined) module.functions[declared] = parsed;
    return;
  }
  const space = VARIABLE_SPACES.get(start.text);
  if (space) {
    stream.next();
    addVariables(module.variables, parseVariables(stream, space, external));
    return;
  }
  const rule = TOP_LEVEL.get(start.text);
  if (!rule) throw stream.error('expected a directive');
  stream.next();
  Object.assign(module, rule(stream, start.line));
}

/** A definition replaces its `.extern` declaration. */
function addVariables(known: PtxVariable[], added: readonly PtxVariable[]): void {
  for (const variable of added) {
    const declared = known.findIndex((v) => v.name === variable.name);
    if (declared < 0) known.push(variable);
    else if (!variable.external) known[declared] = variable;
  }
}

/** `.entry name (params) directives { body }`, or `.func (returns) name (params) …`. */
function parseFunction(stream: TokenStream, sources: SourceTracker): PtxFunction {
  const kind = stream.next().text === '.entry' ? 'entry' : 'func';
  const fn: PtxFunction = {
    name: '',
    kind,
    parameters: [],
    returns: [],
    registers: new Map(),
    variables: [],
    body: [],
    defined: false,
  };
  stream.accept('.noreturn');
  if (stream.at('(')) fn.returns = parseParameters(stream, fn);
  fn.name = stream.expectKind('word', 'a function name').text;
  if (stream.at('(')) fn.parameters = parseParameters(stream, fn);
  parseFunctionDirectives(stream, fn);
  if (stream.accept(';')) return fn;
  fn.defined = true;
  parseFunctionBody(stream, fn, sources);
  return fn;
}

/** `( .param .align 8 .b8 name[40], … )`. Register parameters (`.reg .b32 name`) are also declared as registers. */
function parseParameters(stream: TokenStream, fn: PtxFunction): PtxParameter[] {
  const parameters: PtxParameter[] = [];
  stream.expect('(');
  let end = 0;
  while (!stream.accept(')')) {
    const parameter = parseParameter(stream, fn);
    parameter.offset = Math.ceil(end / parameter.alignmentBytes) * parameter.alignmentBytes;
    end = parameter.offset + parameter.sizeBytes;
    parameters.push(parameter);
    if (!stream.at(')')) stream.expect(',');
  }
  return parameters;
}

const POINTER_ATTRIBUTES: ReadonlySet<string> = new Set(['.ptr', '.global', '.shared', '.const', '.local']);

function parseParameter(stream: TokenStream, fn: PtxFunction): PtxParameter {
  const isRegister = stream.accept('.reg');
  if (!isRegister) stream.expect('.param');
  let alignment = 0;
  let type = '';
  let isPointer = false;
  while (stream.peek().kind === 'directive') {
    const directive = stream.next();
    if (POINTER_ATTRIBUTES.has(directive.text)) isPointer = true;
    else if (directive.text === '.align') {
      const value = parseInteger(stream);
      // After .ptr, .align speaks of what the pointer points to.
      if (!isPointer) alignment = value;
    } else if (isPtxType(directive.text.slice(1))) type = directive.text.slice(1);
    else throw stream.errorAt(`unknown parameter attribute \`${directive.text}\``, directive.line);
  }
  const name = stream.expectKind('word', 'a parameter name').text;
  let count = 1;
  while (stream.accept('[')) {
    count = stream.at(']') ? 0 : count * parseInteger(stream);
    stream.expect(']');
  }
  if (isRegister) fn.registers.set(name, type);
  const elementBytes = sizeOfPtxType(type);
  return { name, type, sizeBytes: elementBytes * count, alignmentBytes: alignment || elementBytes || 1, offset: 0 };
}

function parseTriple(stream: TokenStream): readonly [number, number, number] {
  const values = [parseInteger(stream)];
  while (stream.accept(',')) values.push(parseInteger(stream));
  return [values[0] ?? 1, values[1] ?? 1, values[2] ?? 1];
}

/** What a directive says of a function, if anything. */
type FunctionDirectiveRule = (stream: TokenStream) => Partial<PtxFunction> | undefined;

const FUNCTION_DIRECTIVES: ReadonlyMap<string, FunctionDirectiveRule> = new Map<string, FunctionDirectiveRule>([
  ['.maxntid', (stream) => ({ maxThreads: parseTriple(stream) })],
  ['.reqntid', (stream) => ({ requiredThreads: parseTriple(stream) })],
  ['.minnctapersm', (stream) => ({ minCtasPerSm: parseInteger(stream) })],
  ['.maxnreg', (stream) => ({ maxRegisters: parseInteger(stream) })],
  ['.reqnctapercluster', (stream) => ({ requiredCluster: parseTriple(stream) })],
  ['.maxnctapersm', (stream) => void parseInteger(stream)],
  ['.maxclusterrank', (stream) => void parseInteger(stream)],
  ['.explicitcluster', () => undefined],
  ['.noreturn', () => undefined],
  ['.unified', (stream) => void skipThrough(stream, ')')],
  ['.abi_preserve', (stream) => void parseInteger(stream)],
  ['.abi_preserve_control', (stream) => void parseInteger(stream)],
  ['.pragma', (stream) => void skipThrough(stream, ';')],
]);

function parseFunctionDirectives(stream: TokenStream, fn: PtxFunction): void {
  while (stream.peek().kind === 'directive') {
    const rule = FUNCTION_DIRECTIVES.get(stream.peek().text);
    if (!rule) throw stream.error('unknown function directive');
    stream.next();
    Object.assign(fn, rule(stream));
  }
}
