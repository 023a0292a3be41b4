import type { PtxFunction, PtxInstruction, PtxOperand, PtxParameter } from './ast.ts';

/** Opcodes that calls of the driver's functions become. No PTX has them: a name there has no parentheses. */
export const DRIVER_OPCODES = { print: 'vprintf()', failAssertion: '__assertfail()' } as const;

interface DriverFunction {
  readonly opcode: string;
  /** Sizes in bytes, in order. Source: the declarations that nvcc and clang write. */
  readonly parameters: readonly number[];
  readonly returns: readonly number[];
  /** It never returns. */
  readonly traps?: true;
}

const FUNCTIONS: ReadonlyMap<string, DriverFunction> = new Map<string, DriverFunction>([
  // Format, arguments; the number of arguments.
  ['vprintf', { opcode: DRIVER_OPCODES.print, parameters: [8, 8], returns: [4] }],
  // Condition, file, line, function, bytes of a character.
  ['__assertfail', { opcode: DRIVER_OPCODES.failAssertion, parameters: [8, 8, 4, 8, 8], returns: [], traps: true }],
]);

const isOfSizes = (parameters: readonly PtxParameter[], sizes: readonly number[]): boolean =>
  parameters.length === sizes.length && parameters.every(({ sizeBytes }, i) => sizeBytes === sizes[i]);

/** A body for one of the driver's functions, of one instruction; undefined for what is declared otherwise or not known. */
export function driverFunction(declared: PtxFunction): PtxFunction | undefined {
  const known = FUNCTIONS.get(declared.name);
  if (!known || !isOfSizes(declared.parameters, known.parameters) || !isOfSizes(declared.returns, known.returns))
    return undefined;
  const registers = new Map<string, string>();
  const registerFor = ({ sizeBytes }: PtxParameter): PtxOperand => {
    const name = `%driver${registers.size}`;
    registers.set(name, `b${sizeBytes * 8}`);
    return { kind: 'register', name };
  };
  const results = declared.returns.map(registerFor);
  const values = declared.parameters.map(registerFor);
  const instructions = [
    ...declared.parameters.map((formal, i) => access('ld', formal, values[i]!)),
    instruction(known.opcode, [], [...results, ...values]),
    ...declared.returns.map((formal, i) => access('st', formal, results[i]!)),
    instruction(known.traps ? 'trap' : 'ret', [], []),
  ];
  const body = instructions.map((one) => ({ kind: 'instruction' as const, instruction: one }));
  return { ...declared, registers, body, defined: true };
}

/** A driver function as if its code stood where the call stands. */
export function atCall(fn: PtxFunction, { ptxLine, source, place }: PtxInstruction): PtxFunction {
  const body = fn.body.map((statement) =>
    statement.kind === 'label'
      ? statement
      : { ...statement, instruction: { ...statement.instruction, ptxLine, source, place } },
  );
  return { ...fn, body };
}

const instruction = (opcode: string, modifiers: string[], operands: PtxOperand[]): PtxInstruction => ({
  opcode,
  modifiers,
  text: [opcode, ...modifiers].join('.'),
  operands,
  ptxLine: 0,
});

function access(opcode: 'ld' | 'st', { name, sizeBytes }: PtxParameter, value: PtxOperand): PtxInstruction {
  const address: PtxOperand = { kind: 'address', base: { kind: 'symbol', name, offset: 0 }, offset: 0 };
  return instruction(opcode, ['param', `b${sizeBytes * 8}`], opcode === 'ld' ? [value, address] : [address, value]);
}
