import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand, PtxStatement, PtxVariable } from './ast.ts';
import { atCall, driverFunction } from './driver-functions.ts';
import { UnsupportedPtxError } from './errors.ts';
import { rewritten } from './instruction-parts.ts';
import { controlOf } from './instructions/properties.ts';
import { lowerCallParameters } from './lower-call-parameters.ts';
import { renameInstruction } from './operands.ts';
import { uniqueName } from './unique-name.ts';

/**
 * The function with every call replaced by the callee's body: argument passing becomes register moves, the callee's
 * local variables become the caller's, the driver's `vprintf` and `__assertfail` become instructions of those names. The
 * result has no calls and no `.param` variables besides its own parameters.
 * @throws UnsupportedPtxError for recursion, calls through pointers, and other functions without a body.
 */
export function inlineCalls(module: PtxModule, functionSymbol: string): PtxFunction {
  const fn = module.functions.find((candidate) => candidate.name === functionSymbol);
  if (!fn?.defined) throw new Error(`The PTX module defines no function ${functionSymbol}.`);
  const inliner: Inliner = { functions: new Map(module.functions.map((f) => [f.name, f])), expanded: new Map() };
  return lowerCallParameters(expand(fn, inliner, []));
}

interface Inliner {
  readonly functions: ReadonlyMap<string, PtxFunction>;
  /** Functions whose own calls are expanded already. */
  readonly expanded: Map<string, PtxFunction>;
}

/** What the statements of one expanded function are added to. */
interface Target {
  readonly fn: PtxFunction;
  readonly usedNames: Set<string>;
  /** The name a callee's local variable has here. All calls share it: its life ends when a call returns. */
  readonly localNames: Map<PtxVariable, string>;
}

function expand(fn: PtxFunction, inliner: Inliner, callers: readonly string[]): PtxFunction {
  const known = inliner.expanded.get(fn.name);
  if (known) return known;
  const result: PtxFunction = { ...fn, registers: new Map(fn.registers), variables: [...fn.variables], body: [] };
  const usedNames = new Set([...result.registers.keys(), ...result.variables.map((v) => v.name)]);
  for (const parameter of [...fn.parameters, ...fn.returns]) usedNames.add(parameter.name);
  for (const statement of fn.body) if (statement.kind === 'label') usedNames.add(statement.name);
  const target: Target = { fn: result, usedNames, localNames: new Map() };
  const chain = [...callers, fn.name];
  for (const statement of fn.body) {
    if (statement.kind === 'instruction' && controlOf(statement.instruction) === 'call') {
      expandCall(statement.instruction, target, inliner, chain);
    } else result.body.push(statement);
  }
  inliner.expanded.set(fn.name, result);
  return result;
}

function expandCall(call: PtxInstruction, target: Target, inliner: Inliner, callers: readonly string[]): void {
  const declared = calleeOf(call, inliner, callers);
  const callee = declared.defined ? declared : driverFunction(declared);
  if (!callee) {
    throw new UnsupportedPtxError(
      `call ${declared.name}`,
      call.ptxLine,
      `in ${callers[0]} calls a function with no body in this module`,
    );
  }
  const skip = call.guard ? uniqueName(target.usedNames, '$skip_call') : undefined;
  if (call.guard && skip !== undefined) {
    const guard = { ...call.guard, negated: !call.guard.negated };
    emit(target, { ...call, ...branch, guard, operands: [{ kind: 'label', name: skip }] });
  }
  splice(call, callee === declared ? expand(callee, inliner, callers) : atCall(callee, call), target);
  if (skip !== undefined) target.fn.body.push({ kind: 'label', name: skip });
}

const branch = { opcode: 'bra', modifiers: [], text: 'bra' };

function emit(target: Target, instruction: PtxInstruction): void {
  target.fn.body.push({ kind: 'instruction', instruction });
}

function calleeOf(call: PtxInstruction, inliner: Inliner, callers: readonly string[]): PtxFunction {
  const operand = call.operands[1];
  const caller = callers[0];
  if (operand?.kind !== 'symbol') {
    throw new UnsupportedPtxError(call.text, call.ptxLine, `in ${caller} calls through a function pointer`);
  }
  if (callers.includes(operand.name)) {
    const cycle = [...callers.slice(callers.indexOf(operand.name)), operand.name].join(' → ');
    throw new UnsupportedPtxError(`call ${operand.name}`, call.ptxLine, `in ${caller} is recursive (${cycle})`);
  }
  const callee = inliner.functions.get(operand.name);
  if (!callee) {
    throw new UnsupportedPtxError(`call ${operand.name}`, call.ptxLine, `in ${caller} calls an undeclared function`);
  }
  return callee;
}

/** Adds a copy of `callee`, with names of its own, in place of `call`. */
function splice(call: PtxInstruction, callee: PtxFunction, target: Target): void {
  const rename = new Map<string, string>();
  const [results, , callArguments] = call.operands.map((operand) =>
    operand.kind === 'vector' ? operand.elements : [],
  );
  const actuals = [...(callArguments ?? []), ...(results ?? [])];
  const formals = [...callee.parameters, ...callee.returns];
  if (actuals.length !== formals.length) {
    throw new UnsupportedPtxError(call.text, call.ptxLine, `passes ${actuals.length} values for ${formals.length}`);
  }
  for (const variable of callee.variables) copyVariable(variable, rename, target);
  for (const [name, type] of callee.registers) {
    const unique = uniqueName(target.usedNames, name);
    rename.set(name, unique);
    target.fn.registers.set(unique, type);
  }
  const before: PtxInstruction[] = [];
  const after: PtxInstruction[] = [];
  formals.forEach((formal, i) => {
    const actual = actuals[i]!;
    if (actual.kind === 'symbol' && !callee.registers.has(formal.name)) {
      rename.set(formal.name, actual.name);
      return;
    }
    const isResult = i >= callee.parameters.length;
    (isResult ? after : before).push(passDirectly(call, formal, actual, isResult, callee, rename, target));
  });
  for (const instruction of before) emit(target, instruction);
  copyBody(callee, rename, target);
  for (const instruction of after) emit(target, instruction);
}

/** A register or immediate given for a formal, or a `.reg` formal: one move. */
function passDirectly(
  call: PtxInstruction,
  formal: PtxFunction['parameters'][number],
  actual: PtxOperand,
  isResult: boolean,
  callee: PtxFunction,
  rename: Map<string, string>,
  target: Target,
): PtxInstruction {
  const { guard: _guard, ...base } = call;
  const move = (opcode: string, space: string[], first: PtxOperand, second: PtxOperand): PtxInstruction =>
    rewritten(base, opcode, [...space, `b${formal.sizeBytes * 8}`], [first, second]);
  if (callee.registers.has(formal.name)) {
    const register: PtxOperand = { kind: 'register', name: rename.get(formal.name)! };
    if (actual.kind === 'symbol') {
      const address: PtxOperand = { kind: 'address', base: actual, offset: 0 };
      return isResult ? move('st', ['param'], address, register) : move('ld', ['param'], register, address);
    }
    return isResult ? move('mov', [], actual, register) : move('mov', [], register, actual);
  }
  const name = uniqueName(target.usedNames, formal.name);
  rename.set(formal.name, name);
  target.fn.variables.push({ ...formal, name, space: 'param', external: false });
  const address: PtxOperand = { kind: 'address', base: { kind: 'symbol', name, offset: 0 }, offset: 0 };
  return isResult ? move('ld', ['param'], actual, address) : move('st', ['param'], address, actual);
}

/** Parameter variables are the call's own, local ones the callee's; others are one for the whole module. */
function copyVariable(variable: PtxVariable, rename: Map<string, string>, target: Target): void {
  const known = target.localNames.get(variable);
  if (known !== undefined) {
    rename.set(variable.name, known);
    return;
  }
  const isOwn = variable.space === 'local' || variable.space === 'param';
  const name = isOwn ? uniqueName(target.usedNames, variable.name) : variable.name;
  if (!isOwn && target.fn.variables.some((v) => v.name === name)) return;
  target.usedNames.add(name);
  rename.set(variable.name, name);
  if (variable.space === 'local') target.localNames.set(variable, name);
  target.fn.variables.push({ ...variable, name });
}

/** The callee's statements under their new names; `ret` becomes a branch to the end. */
function copyBody(callee: PtxFunction, rename: Map<string, string>, target: Target): void {
  const end = uniqueName(target.usedNames, `$end_of_${callee.name}`);
  for (const statement of callee.body) {
    if (statement.kind === 'label') rename.set(statement.name, uniqueName(target.usedNames, statement.name));
  }
  let isEndUsed = false;
  const copy = (statement: PtxStatement, index: number): void => {
    if (statement.kind === 'label') {
      target.fn.body.push({ kind: 'label', name: rename.get(statement.name)! });
      return;
    }
    const instruction = renameInstruction(statement.instruction, (name) => rename.get(name) ?? name);
    if (instruction.opcode !== 'ret') emit(target, instruction);
    else if (!isLastInstruction(callee.body, index)) {
      isEndUsed = true;
      emit(target, { ...instruction, ...branch, operands: [{ kind: 'label', name: end }] });
    }
  };
  callee.body.forEach(copy);
  if (isEndUsed) target.fn.body.push({ kind: 'label', name: end });
}

const isLastInstruction = (body: readonly PtxStatement[], index: number): boolean =>
  body.slice(index + 1).every((statement) => statement.kind === 'label');
