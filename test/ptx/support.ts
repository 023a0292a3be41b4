import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand } from '../../src/ptx/ast.ts';
import { parsePtx } from '../../src/ptx/parse.ts';

/** A module around one entry function `k` with body `body`, and whatever comes before it. */
export const moduleWith = (body: string, before = '', parameters = ''): string => `
.version 7.8
.target sm_89
.address_size 64
${before}
.visible .entry k(${parameters})
{
${body}
}
`;

/** Parses `body` as the body of an entry function. */
export function parseBody(body: string, before = '', parameters = ''): PtxFunction {
  return functionNamed(parsePtx(moduleWith(body, before, parameters)), 'k');
}

export function functionNamed(module: PtxModule, name: string): PtxFunction {
  const fn = module.functions.find((candidate) => candidate.name === name);
  if (!fn) throw new Error(`no function ${name}`);
  return fn;
}

export const instructionsOf = (fn: PtxFunction): PtxInstruction[] =>
  fn.body.flatMap((statement) => (statement.kind === 'instruction' ? [statement.instruction] : []));

/** The only instruction in `text`, with registers %r0–9, %rs0–9, %rd0–9, %f0–9, %p0–9 and %fd0–9 declared. */
export function instruction(text: string): PtxInstruction {
  const [only, ...others] = instructionsOf(parseBody(`${REGISTERS} ${text}`));
  if (!only || others.length > 0) throw new Error('expected one instruction');
  return only;
}

export const REGISTERS =
  '.reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>; .reg .f64 %fd<10>;';

/** Operands as PTX writes them. */
export function show(operand: PtxOperand): string {
  switch (operand.kind) {
    case 'register':
      return `${operand.negated ? '!' : ''}${operand.name}`;
    case 'immediate':
      return operand.type === 'integer' ? `${operand.value}` : `0x${operand.value.toString(16)}`;
    case 'address': {
      const offset = operand.offset === 0 ? '' : `+${operand.offset}`;
      const coordinates = operand.coordinates ? `, {${operand.coordinates.map(show).join(', ')}}` : '';
      return `[${operand.base ? show(operand.base) : ''}${offset}${coordinates}]`;
    }
    case 'vector':
      return `{${operand.elements.map(show).join(', ')}}`;
    case 'symbol':
      return operand.offset === 0 ? operand.name : `${operand.name}+${operand.offset}`;
    case 'pair':
      return `${show(operand.first)}|${show(operand.second)}`;
    case 'sink':
      return '_';
    default:
      return operand.name;
  }
}

export function showInstruction({ guard, text, operands }: PtxInstruction): string {
  const condition = guard ? `@${guard.negated ? '!' : ''}${guard.register} ` : '';
  return `${condition}${text} ${operands.map(show).join(', ')}`.trim();
}

export const showFunction = (fn: PtxFunction): string[] =>
  fn.body.map((statement) =>
    statement.kind === 'label' ? `${statement.name}:` : showInstruction(statement.instruction),
  );
