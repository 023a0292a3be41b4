import type { PtxFunction, PtxGuard, PtxInstruction, PtxOperand } from './ast.ts';
import { controlOf } from './instructions/properties.ts';
import type { Control } from './instructions/row.ts';
import { parseInteger, parseNumber } from './literals.ts';
import { parseVariables, VARIABLE_SPACES, type VariableSpace } from './parse-variable.ts';
import type { SourceTracker } from './source-locations.ts';
import type { TokenStream } from './token-stream.ts';
import { isPtxType } from './types.ts';
import { uniqueName } from './unique-name.ts';

/** The names declared in one `{ … }`. Inner scopes hide outer ones. */
interface Scope {
  outer: Scope | undefined;
  /** Name as written → name unique in the function. */
  registers: Map<string, string>;
  /** Parameters and variables. */
  variables: Map<string, string>;
  labels: Map<string, string>;
  /** `.branchtargets` lists by label. */
  branchTargets: Map<string, PtxOperand[]>;
}

/** State that the rules of one function body share. */
interface BodyContext {
  readonly stream: TokenStream;
  readonly fn: PtxFunction;
  readonly sources: SourceTracker;
  scope: Scope;
  readonly usedNames: Set<string>;
  /** Set when a branch names a table that comes later in the text. */
  readonly pendingTables: { instruction: PtxInstruction; scope: Scope; label: string }[];
}

const newScope = (outer: Scope | undefined): Scope => ({
  outer,
  registers: new Map(),
  variables: new Map(),
  labels: new Map(),
  branchTargets: new Map(),
});

/** Reads `{ … }` of a function into `fn`. @throws PtxSyntaxError */
export function parseFunctionBody(stream: TokenStream, fn: PtxFunction, sources: SourceTracker): void {
  sources.reset();
  const scope = newScope(undefined);
  const usedNames = new Set<string>();
  for (const parameter of [...fn.parameters, ...fn.returns]) {
    usedNames.add(parameter.name);
    (fn.registers.has(parameter.name) ? scope.registers : scope.variables).set(parameter.name, parameter.name);
  }
  const context: BodyContext = { stream, fn, sources, scope, usedNames, pendingTables: [] };
  parseBlock(context);
  for (const { instruction, scope: at, label } of context.pendingTables) {
    const targets = lookUp(at, 'branchTargets', label);
    if (!targets) throw stream.errorAt(`no .branchtargets list is named \`${label}\``, instruction.ptxLine);
    instruction.operands[1] = { kind: 'vector', elements: targets };
  }
}

function lookUp<K extends 'registers' | 'variables' | 'labels' | 'branchTargets'>(
  scope: Scope | undefined,
  kind: K,
  name: string,
): (Scope[K] extends Map<string, infer V> ? V : never) | undefined {
  for (let at = scope; at; at = at.outer) {
    const found = at[kind].get(name);
    if (found !== undefined) return found as never;
  }
  return undefined;
}

/** `{ statements }` as a scope of its own. */
function parseBlock(context: BodyContext): void {
  const { stream } = context;
  const opening = stream.expect('{');
  declareLabels(context);
  while (!stream.accept('}')) {
    if (stream.peek().kind === 'end') throw stream.errorAt('`{` is never closed', opening.line);
    parseStatement(context);
  }
}

/** Labels may be used before they are defined: finds those of this scope (not of inner ones) ahead of reading it. */
function declareLabels(context: BodyContext): void {
  const { tokens, index } = context.stream;
  for (let i = index, depth = 0; i < tokens.length; i++) {
    const { kind, text } = tokens[i]!;
    if (kind === 'punctuation') {
      if (text === '{') depth++;
      else if (text === '}' && --depth < 0) return;
    } else if (kind === 'word' && depth === 0 && tokens[i + 1]!.text === ':' && tokens[i + 1]!.kind === 'punctuation') {
      context.scope.labels.set(text, uniqueName(context.usedNames, text));
    }
  }
}

const BODY_SPACES: ReadonlyMap<string, VariableSpace> = new Map([...VARIABLE_SPACES, ['.param', 'param']]);

function parseStatement(context: BodyContext): void {
  const { stream } = context;
  const token = stream.peek();
  if (stream.accept(';')) return;
  if (stream.at('{')) {
    context.scope = newScope(context.scope);
    parseBlock(context);
    context.scope = context.scope.outer!;
  } else if (token.kind === 'directive') parseBodyDirective(context);
  else if (token.kind === 'word' && stream.at(':', 1)) parseLabel(context);
  else if (token.kind === 'word' || stream.at('@')) parseInstruction(context);
  else throw stream.error('expected a statement');
}

function parseBodyDirective(context: BodyContext): void {
  const { stream, fn } = context;
  const directive = stream.next();
  const space = BODY_SPACES.get(directive.text);
  if (directive.text === '.reg') parseRegisters(context);
  else if (directive.text === '.loc') context.sources.enter(stream.restOfLine(directive.line), directive.line);
  else if (directive.text === '.file') stream.restOfLine(directive.line);
  else if (directive.text === '.pragma') {
    while (!stream.accept(';')) stream.next();
  } else if (directive.text === '.extern') parseBodyDirective(context);
  else if (space) {
    for (const variable of parseVariables(stream, space, false)) {
      const name = uniqueName(context.usedNames, variable.name);
      context.scope.variables.set(variable.name, name);
      fn.variables.push({ ...variable, name });
    }
  } else throw stream.errorAt(`unknown directive \`${directive.text}\``, directive.line);
}

/** `.reg .b32 %r<92>, %x;` — `%r<92>` declares %r0 … %r91. */
function parseRegisters(context: BodyContext): void {
  const { stream, fn } = context;
  const type = stream.expectKind('directive', 'a register type').text.slice(1);
  if (!isPtxType(type)) throw stream.error(`unknown register type \`.${type}\``);
  const declare = (name: string): void => {
    const unique = uniqueName(context.usedNames, name);
    context.scope.registers.set(name, unique);
    fn.registers.set(unique, type);
  };
  do {
    const name = stream.expectKind('word', 'a register name').text;
    if (!stream.accept('<')) {
      declare(name);
      continue;
    }
    const count = parseInteger(stream);
    stream.expect('>');
    for (let i = 0; i < count; i++) declare(`${name}${i}`);
  } while (stream.accept(','));
  stream.expect(';');
}

/** `name:`, perhaps with a `.branchtargets` or `.callprototype` after it. */
function parseLabel(context: BodyContext): void {
  const { stream, scope } = context;
  const written = stream.next().text;
  const name = scope.labels.get(written) ?? written;
  stream.expect(':');
  if (stream.accept('.branchtargets')) {
    const targets: PtxOperand[] = [];
    do targets.push(labelOperand(context, stream.expectKind('word', 'a label').text));
    while (stream.accept(','));
    stream.expect(';');
    scope.branchTargets.set(written, targets);
  } else if (stream.at('.callprototype') || stream.at('.calltargets')) {
    while (!stream.accept(';')) stream.next();
  } else context.fn.body.push({ kind: 'label', name });
}

function labelOperand(context: BodyContext, written: string): PtxOperand {
  const name = lookUp(context.scope, 'labels', written);
  if (name === undefined) throw context.stream.errorAt(`unknown label \`${written}\``, context.stream.peek().line);
  return { kind: 'label', name };
}

function parseInstruction(context: BodyContext): void {
  const { stream, fn, sources } = context;
  const guard = parseGuard(context);
  const opcodeToken = stream.expectKind('word', 'an instruction');
  const [opcode, ...modifiers] = opcodeToken.text.split('.') as [string, ...string[]];
  const place = sources.place();
  const instruction: PtxInstruction = {
    opcode,
    modifiers,
    text: opcodeToken.text,
    guard,
    operands: [],
    ptxLine: opcodeToken.line,
    source: place?.own,
    place,
  };
  const readOperands = OPERAND_RULES[controlOf(instruction)] ?? parseOperands;
  readOperands(context, instruction);
  stream.expect(';');
  fn.body.push({ kind: 'instruction', instruction });
}

/** `@%p1` or `@!%p1`. */
function parseGuard(context: BodyContext): PtxGuard | undefined {
  const { stream } = context;
  if (!stream.accept('@')) return undefined;
  const negated = stream.accept('!');
  const token = stream.expectKind('word', 'a predicate register');
  const register = lookUp(context.scope, 'registers', token.text);
  if (register === undefined) throw stream.errorAt(`unknown register \`${token.text}\``, token.line);
  return { register, negated };
}

type OperandRule = (context: BodyContext, instruction: PtxInstruction) => void;

const parseOperands: OperandRule = (context, instruction) => {
  const { stream } = context;
  if (stream.at(';') || stream.at('}')) return;
  do instruction.operands.push(parseOperand(context));
  while (stream.accept(','));
};

const parseBranchTarget: OperandRule = (context, instruction) => {
  const { stream } = context;
  instruction.operands.push(labelOperand(context, stream.expectKind('word', 'a label').text));
};

const parseIndexedBranch: OperandRule = (context, instruction) => {
  const { stream } = context;
  instruction.operands.push(parseOperand(context));
  stream.expect(',');
  const label = stream.expectKind('word', 'a .branchtargets label').text;
  context.pendingTables.push({ instruction, scope: context.scope, label });
};

/** `call (results), callee, (arguments), prototype;` where all but the callee may be missing. */
const parseCall: OperandRule = (context, instruction) => {
  const { stream } = context;
  const list = (): PtxOperand => {
    const elements: PtxOperand[] = [];
    if (!stream.accept('(')) return { kind: 'vector', elements };
    while (!stream.accept(')')) {
      elements.push(parseOperand(context));
      if (!stream.at(')')) stream.expect(',');
    }
    return { kind: 'vector', elements };
  };
  const results = list();
  stream.accept(',');
  const callee = parseOperand(context);
  if (stream.at(',') && stream.at('(', 1)) stream.next();
  const callArguments = list();
  instruction.operands.push(results, callee, callArguments);
  if (stream.accept(',')) {
    instruction.operands.push({ kind: 'symbol', name: stream.expectKind('word', 'a prototype').text, offset: 0 });
  }
};

/** Instructions that name labels or functions. */
const OPERAND_RULES: Partial<Record<Control, OperandRule>> = {
  branch: parseBranchTarget,
  switch: parseIndexedBranch,
  call: parseCall,
};

function parseOperand(context: BodyContext): PtxOperand {
  const { stream } = context;
  const first = parseSingleOperand(context);
  if (!stream.accept('|')) return first;
  return { kind: 'pair', first, second: parseSingleOperand(context) };
}

function parseSingleOperand(context: BodyContext): PtxOperand {
  const { stream } = context;
  if (stream.at('{')) return { kind: 'vector', elements: parseVectorElements(context) };
  if (stream.at('[')) return parseAddress(context);
  if (stream.accept('!')) return negatedRegister(context);
  if (stream.peek().kind === 'word' && !stream.at('WARP_SZ')) return parseName(context);
  return parseNumber(stream);
}

function negatedRegister(context: BodyContext): PtxOperand {
  const operand = parseName(context);
  if (operand.kind !== 'register') throw context.stream.error('expected a predicate register after `!`');
  return { ...operand, negated: true };
}

function parseVectorElements(context: BodyContext): PtxOperand[] {
  const { stream } = context;
  const elements: PtxOperand[] = [];
  stream.expect('{');
  while (!stream.accept('}')) {
    elements.push(parseSingleOperand(context));
    if (!stream.at('}')) stream.expect(',');
  }
  return elements;
}

/** `[base]`, `[base+8]`, `[base+-8]`, `[16]`, and a tensor copy's `[map, {x, y}]`. */
function parseAddress(context: BodyContext): PtxOperand {
  const { stream } = context;
  stream.expect('[');
  const isAbsolute = stream.peek().kind !== 'word';
  const base = isAbsolute ? null : parseName(context);
  let offset = isAbsolute ? parseInteger(stream) : 0;
  while (stream.at('+') || stream.at('-')) offset += parseInteger(stream);
  if (base?.kind === 'symbol') {
    offset += base.offset;
    base.offset = 0;
  }
  const coordinates = stream.accept(',') ? parseVectorElements(context) : undefined;
  stream.expect(']');
  return { kind: 'address', base, offset, coordinates };
}

const SPECIAL_REGISTER =
  /^%(?:n?tid|n?ctaid|n?clusterid|cluster_n?ctaid|cluster_n?ctarank)(?:\.[xyzw])?$|^%(?:laneid|n?warpid|n?smid|gridid|is_explicit_cluster|lanemask_(?:eq|le|lt|ge|gt)|clock|clock_hi|clock64|pm\d|pm\d_64|envreg\d+|globaltimer|globaltimer_lo|globaltimer_hi|(?:total|aggr|dynamic)_smem_size|reserved_smem_offset_\w+|current_graph_exec)$/;

/** A register, special register, `_`, or symbol with an optional constant offset. */
function parseName(context: BodyContext): PtxOperand {
  const { stream } = context;
  const { text, line } = stream.expectKind('word', 'an operand');
  if (text === '_') return { kind: 'sink' };
  const register = lookUp(context.scope, 'registers', text);
  if (register !== undefined) return { kind: 'register', name: register };
  if (SPECIAL_REGISTER.test(text)) return { kind: 'special', name: text };
  if (text.startsWith('%')) throw stream.errorAt(`unknown register \`${text}\``, line);
  const symbol = lookUp(context.scope, 'variables', text) ?? text;
  const offset = stream.at('+') || stream.at('-') ? parseInteger(stream) : 0;
  return { kind: 'symbol', name: symbol, offset };
}
