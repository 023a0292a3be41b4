import type { PtxFunction, PtxGuard, PtxInstruction, PtxModule, PtxOperand, PtxStatement } from '../../ptx/ast.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { uniqueName } from '../../ptx/unique-name.ts';

/** A module that leaves what it is asked for in a variable of its own. */
export interface InstrumentedModule {
  readonly ptx: PtxModule;
  /** Name of the variable. */
  readonly variable: string;
}

export type Register = Extract<PtxOperand, { kind: 'register' }>;

/** Makes an instruction at the place of another one: `st.global.b64`. */
export type Make = (text: string, operands: PtxOperand[], guard?: PtxGuard) => PtxInstruction;

/** What is executed beside an instruction. */
interface Beside {
  readonly before?: readonly PtxInstruction[];
  readonly after?: readonly PtxInstruction[];
}

export interface Instrumentation<Name extends string> {
  /** Of the variable, in device memory, zeros at first. */
  readonly sizeBytes: number;
  /** Registers that are used beside each instruction anew, with their types. */
  readonly registers: Readonly<Record<Name, string>>;
  /** `undefined`: nothing. @param start the variable's address, as an operand of `mov`. */
  beside(
    instruction: PtxInstruction,
    tools: { readonly make: Make; readonly scratch: Readonly<Record<Name, Register>>; readonly start: PtxOperand },
  ): Beside | undefined;
}

/**
 * A copy of the module that executes more instructions beside some of its own, and computes what the module computes.
 *
 * @param functions - those with such instructions, their calls inlined, in the forms that are executed.
 */
export function instrument<Name extends string>(
  ptx: PtxModule,
  functions: readonly PtxFunction[],
  instrumentation: Instrumentation<Name>,
): InstrumentedModule {
  const names = new Set([...ptx.variables, ...ptx.functions].map(({ name }) => name));
  const variable = uniqueName(names, 'warpsmith_log');
  const { sizeBytes } = instrumentation;
  const declared = {
    name: variable,
    space: 'global',
    type: 'b8',
    alignmentBytes: 16,
    external: false,
    sizeBytes,
  } as const;
  return {
    variable,
    ptx: {
      ...ptx,
      variables: [...ptx.variables, declared],
      functions: ptx.functions.map((fn) => {
        const own = functions.find(({ name }) => name === fn.name);
        return own ? instrumentFunction(own, variable, instrumentation) : fn;
      }),
    },
  };
}

function instrumentFunction<Name extends string>(
  fn: PtxFunction,
  variable: string,
  { registers: wanted, beside }: Instrumentation<Name>,
): PtxFunction {
  const used = new Set([...fn.registers.keys(), ...fn.variables.map(({ name }) => name)]);
  const registers = new Map(fn.registers);
  const scratch = Object.fromEntries(
    Object.entries<string>(wanted).map(([name, type]) => {
      const unique = uniqueName(used, `%log_${name}`);
      registers.set(unique, type);
      return [name, { kind: 'register', name: unique }];
    }),
  ) as Record<Name, Register>;
  const start: PtxOperand = { kind: 'symbol', name: variable, offset: 0 };
  const body = fn.body.flatMap((statement): PtxStatement[] => {
    if (statement.kind !== 'instruction') return [statement];
    const { ptxLine } = statement.instruction;
    const make: Make = (text, operands, guard) => {
      const [opcode, ...modifiers] = text.split('.') as [string, ...string[]];
      return { opcode, modifiers, text, operands, ptxLine, guard };
    };
    const { before = [], after = [] } = beside(statement.instruction, { make, scratch, start }) ?? {};
    const asStatement = (instruction: PtxInstruction): PtxStatement => ({ kind: 'instruction', instruction });
    return [...before.map(asStatement), statement, ...after.map(asStatement)];
  });
  return { ...fn, registers, body };
}

export const integer = (value: number): PtxOperand => ({ kind: 'immediate', type: 'integer', value: BigInt(value) });

export const within = (base: PtxOperand, offset: number): PtxOperand => ({ kind: 'address', base, offset });

export const ifTrue = ({ name }: Register): PtxGuard => ({ register: name, negated: false });

/** The operand's bits in 64, zeros above them. */
export function widened(
  make: Make,
  operand: PtxOperand,
  type: string,
  { bits, value }: { readonly bits: Register; readonly value: Register },
): PtxInstruction[] {
  const width = 8 * sizeOfPtxType(type);
  if (operand.kind === 'immediate')
    return [make('mov.u64', [value, { ...operand, type: 'integer', value: BigInt.asUintN(width, operand.value) }])];
  if (width === 64) return [make('mov.b64', [value, operand])];
  if (width === 16) return [make('cvt.u64.u16', [value, operand])];
  return [make('mov.b32', [bits, operand]), make('cvt.u64.u32', [value, bits])];
}
