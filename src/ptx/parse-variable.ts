import { product } from '../core/values.ts';
import type { PtxVariable } from './ast.ts';
import { f32BitsOfF64, parseInteger, parseNumber } from './literals.ts';
import type { TokenStream } from './token-stream.ts';
import { isPtxType, sizeOfPtxType } from './types.ts';

export type VariableSpace = PtxVariable['space'];

/** Of variables outside functions, by directive. */
export const VARIABLE_SPACES: ReadonlyMap<string, VariableSpace> = new Map(
  (['global', 'shared', 'const', 'local'] as const).map((space) => [`.${space}`, space]),
);

type Relocation = NonNullable<PtxVariable['relocations']>[number];

const VECTOR_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['.v2', 2],
  ['.v4', 4],
]);

/**
 * Declarations after their state space: `.align 4 .b8 name[132] = {…}, other;`.
 * @throws PtxSyntaxError
 */
export function parseVariables(stream: TokenStream, space: VariableSpace, external: boolean): PtxVariable[] {
  let alignment = 0;
  let vectorLength = 1;
  let type: string | undefined;
  while (stream.peek().kind === 'directive') {
    const directive = stream.next();
    const name = directive.text.slice(1);
    if (directive.text === '.align') alignment = parseInteger(stream);
    else if (directive.text === '.attribute') skipParentheses(stream);
    else if (VECTOR_LENGTHS.has(directive.text)) vectorLength = VECTOR_LENGTHS.get(directive.text)!;
    else if (isPtxType(name)) type = name;
    else throw stream.errorAt(`unknown variable attribute \`${directive.text}\``, directive.line);
  }
  if (type === undefined) throw stream.error('expected a type');
  const elementBytes = sizeOfPtxType(type);
  const variables: PtxVariable[] = [];
  do {
    const name = stream.expectKind('word', 'a variable name').text;
    const extents = parseExtents(stream);
    const count = vectorLength * product(extents);
    const variable: PtxVariable = {
      name,
      space,
      type,
      sizeBytes: count * elementBytes,
      alignmentBytes: alignment || elementBytes * vectorLength,
      external,
    };
    if (stream.accept('=')) initialise(stream, variable, elementBytes, extents[0] === 0 ? elementBytes : 0);
    variables.push(variable);
  } while (stream.accept(','));
  stream.expect(';');
  return variables;
}

function skipParentheses(stream: TokenStream): void {
  stream.expect('(');
  for (let depth = 1; depth > 0; ) {
    const token = stream.next();
    if (token.kind === 'end') throw stream.error('expected `)`');
    if (token.text === '(') depth++;
    else if (token.text === ')') depth--;
  }
}

/** `[8][4]`; `[]` counts 0. */
function parseExtents(stream: TokenStream): number[] {
  const extents: number[] = [];
  while (stream.accept('[')) {
    extents.push(stream.at(']') ? 0 : parseInteger(stream));
    stream.expect(']');
  }
  return extents;
}

/**
 * The part after `=`. Nested braces follow row-major order, which is simply one after the other.
 * `openElementBytes` > 0 says the length comes from the initialiser (`x[] = {…}`).
 */
function initialise(stream: TokenStream, variable: PtxVariable, elementBytes: number, openElementBytes: number): void {
  const bytes: number[] = [];
  const relocations: Relocation[] = [];
  const isFloat = variable.type.startsWith('f');
  const element = (): void => {
    if (stream.accept('{')) {
      while (!stream.accept('}')) {
        element();
        if (!stream.at('}')) stream.expect(',');
      }
      return;
    }
    const offset = bytes.length;
    const relocation = parseRelocation(stream, offset, elementBytes);
    if (relocation) relocations.push(relocation);
    const value = relocation ? 0n : parseElement(stream, isFloat, elementBytes);
    for (let i = 0; i < elementBytes; i++) bytes.push(Number((value >> BigInt(8 * i)) & 0xffn));
  };
  element();
  if (openElementBytes > 0) variable.sizeBytes = bytes.length;
  if (bytes.length > variable.sizeBytes) throw stream.error(`too many initial values for \`${variable.name}\``);
  variable.initialBytes = new Uint8Array(variable.sizeBytes);
  variable.initialBytes.set(bytes);
  if (relocations.length > 0) variable.relocations = mergeMasked(relocations);
}

function parseElement(stream: TokenStream, isFloat: boolean, elementBytes: number): bigint {
  const value = parseNumber(stream);
  return isFloat && elementBytes === 4 && value.type === 'f64-bits' ? f32BitsOfF64(value.value) : value.value;
}

/** `name`, `name+8`, `generic(name)+8`, or one byte of an address: `0xFF00(name)`, `0xFF(generic(name))`. */
function parseRelocation(stream: TokenStream, offset: number, elementBytes: number): Relocation | undefined {
  let shift = -1n;
  let depth = 0;
  if (stream.peek().kind === 'number' && stream.at('(', 1)) {
    const mask = BigInt(stream.next().text.replace('U', ''));
    for (shift = 0n; ((mask >> shift) & 0xffn) !== 0xffn; shift += 8n) {
      if (shift > 56n) throw stream.error('malformed byte mask');
    }
    stream.expect('(');
    depth++;
  }
  if (stream.peek().kind !== 'word' || stream.at('WARP_SZ')) return undefined;
  const generic = stream.at('generic') && stream.at('(', 1);
  if (generic) {
    stream.next();
    stream.next();
  }
  const symbol = stream.expectKind('word', 'a symbol').text;
  if (generic) stream.expect(')');
  const addend = stream.at('+') || stream.at('-') ? parseInteger(stream) : 0;
  for (; depth > 0; depth--) stream.expect(')');
  return {
    offset: shift < 0n ? offset : offset - Number(shift / 8n),
    symbol,
    addend,
    sizeBytes: elementBytes,
    generic,
  };
}

/** The bytes of one masked address are separate elements with the same start: one 8-byte relocation. */
function mergeMasked(relocations: readonly Relocation[]): Relocation[] {
  const merged: Relocation[] = [];
  for (const relocation of relocations) {
    const last = merged.at(-1);
    if (relocation.sizeBytes === 1 && last && last.offset === relocation.offset) last.sizeBytes++;
    else merged.push({ ...relocation });
  }
  return merged;
}
