import { closestToZero, type DecisionSite, type ForeseenWays, isEquality, type Ways } from '../../core/decisions.ts';
import type { Dim3 } from '../../core/launch-plan.ts';
import type { PtxFunction, PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { buildControlFlowGraph } from '../../ptx/control-flow.ts';
import { has, typeOf } from '../../ptx/instruction-parts.ts';
import {
  definitionsAndUses,
  instructionClass,
  isSumOrProduct,
  memoryActionOf,
  resultOf,
  runsAs,
} from '../../ptx/instructions/properties.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { LANES } from '../layout.ts';
import type { ScalarFunction } from '../runtime/scalar/scalar-function.ts';
import { compileScalar } from '../runtime/scalar-operations.ts';
import { boundIn, type DecisionSites } from './decision-sites.ts';
import { singleAssignment } from './single-assignment.ts';

/** What a launch's threads know from the start. */
export interface LaunchFacts {
  readonly grid: Dim3;
  readonly block: Dim3;
  /** As `packParameters` lays them out. */
  readonly parameters: Uint8Array;
}

interface Thread {
  readonly cta: Dim3;
  readonly thread: Dim3;
  /** Registers that are computed: decisions share most of what they follow from. */
  readonly known: Map<string, bigint>;
}

/** Computes a register of one thread; `undefined` if it follows from more than the launch. */
type Formula = (launch: LaunchFacts, thread: Thread) => bigint;

/** Which ways a decision goes in a launch; `undefined` if that can't be foreseen, or is the same for every size. */
export type Foresight = (site: number) => ForeseenWays | undefined;

/**
 * Decisions that follow from a launch's arguments, its grid and the thread alone. They can be foreseen without running anything:
 * `N % 89 == 17`, `blockIdx.x >= 1024`. Registers that a loop changes, and what is loaded from memory, can't.
 */
export class LaunchConditions {
  readonly #fn: PtxFunction;
  readonly #definitions: ReadonlyMap<string, PtxInstruction>;
  readonly #formulas = new Map<string, Formula | undefined>();
  /** By the place of a decision among the sites. */
  readonly #conditions: readonly (Formula | undefined)[];
  readonly #usesOnlyThread = new Set<number>();
  /** Decisions that go the same way in all threads. */
  readonly #usesOnlyLaunch = new Set<number>();
  /** Of bounds, and of comparisons that are not of equality: what is compared with a constant, if it is the same for all threads. */
  readonly #thresholds = new Map<number, Threshold>();
  /** Of comparisons that ask whether two sizes are equal, or a size and a constant: both. */
  readonly #equations = new Map<number, Compared>();
  /** Of comparisons of whole numbers that are sums and products of what a launch says: both. */
  readonly #compared = new Map<number, Compared>();
  /** Of combinations with parts that can't be foreseen: whether the others allow the rarer outcome. */
  readonly #parts: ReadonlyMap<number, { isAll: boolean; formulas: readonly Formula[] }>;

  constructor(fn: PtxFunction, { sites, indexOf }: Pick<DecisionSites, 'sites' | 'indexOf'>) {
    this.#fn = fn;
    const code = singleAssignment(fn, buildControlFlowGraph(fn));
    this.#definitions = code.definitions;
    const parts = new Map<number, { isAll: boolean; formulas: readonly Formula[] }>();
    const conditions = new Array<Formula | undefined>(sites.length).fill(undefined);
    for (const [original, index] of indexOf) {
      const instruction = code.named(original);
      const [register] = definitionsAndUses(instruction).definitions;
      const threshold = this.#thresholdOf(instruction, sites[index]!);
      if (threshold) this.#thresholds.set(index, threshold);
      const equation = this.#equationOf(instruction, sites[index]!);
      if (equation) this.#equations.set(index, equation);
      const compared = this.#comparedIn(instruction, sites[index]!);
      if (compared) this.#compared.set(index, compared);
      if (sites[index]!.kind === 'bound' && !threshold) conditions[index] = this.#boundOf(instruction, sites[index]!);
      if (sites[index]!.kind === 'bound' || register === undefined) continue;
      if (sites[index]!.kind === 'combination') {
        const { opcode } = instruction;
        const formulas = this.#leaves(register, opcode).filter((leaf) => this.#followsFrom(leaf, OF_LAUNCH));
        if (formulas.length > 1)
          parts.set(index, {
            isAll: opcode === 'and',
            formulas: formulas.flatMap((leaf) => this.#formulaOf(leaf) ?? []),
          });
      }
      const formula = this.#formulaOf(register);
      if (!formula) continue;
      if (this.#followsFrom(register, OF_THREAD)) this.#usesOnlyThread.add(index);
      if (this.#followsFrom(register, OF_LAUNCH)) this.#usesOnlyLaunch.add(index);
      if (!this.#followsFrom(register, OF_THREAD)) conditions[index] = formula;
    }
    this.#conditions = conditions;
    this.#parts = parts;
  }

  /** Whether a decision follows from the place of a thread in its CTA alone: of all threads of a CTA the same go each way in every launch. */
  followsFromThread(site: number): boolean {
    return this.#usesOnlyThread.has(site);
  }

  /** Looks at the first and last threads of the first and last CTAs. */
  of(launch: LaunchFacts): Foresight {
    const threads = corners(launch);
    return (site) => {
      const threshold = this.#thresholds.get(site);
      const excess = threshold && excessOf(threshold, launch, threads[0]!);
      const ways = threshold?.isBound ? waysOfBound(threshold, excess!) : this.#waysOf(site, launch, threads);
      const equation = this.#equations.get(site);
      const compared = this.#compared.get(site);
      return (
        ways && {
          ...ways,
          gap: equation && gapOf(equation, launch, threads[0]!),
          distance: excess === undefined ? undefined : Math.abs(excess),
          margin: compared && (() => this.#marginOf(compared, launch, threads)),
        }
      );
    };
  }

  #marginOf(compared: Compared, launch: LaunchFacts, threads: readonly Thread[]): number {
    const [first, ...others] = [...threads, ...within(launch)].map((thread) => gapOf(compared, launch, thread));
    return closestToZero(first!, ...others);
  }

  #comparedIn(instruction: PtxInstruction, { kind }: DecisionSite): Compared | undefined {
    const type = typeOf(instruction);
    if (instruction.guard || kind !== 'comparison' || !/^[bsu](?:32|64)$/.test(type)) return undefined;
    const operands = instruction.operands.slice(1);
    if (!operands.every((operand) => operand.kind !== 'register' || this.#isPolynomial(operand.name))) return undefined;
    const both = operands.flatMap((operand) => this.#operand(operand, instruction) ?? []);
    return both.length === 2 ? { sizes: both as [Formula, Formula], type } : undefined;
  }

  /** Whether a register is made of sums and products of what the launch says; what follows from the thread alone may be anything. */
  #isPolynomial(register: string, seen = new Set<string>()): boolean {
    if (seen.has(register)) return true;
    seen.add(register);
    const instruction = this.#definitions.get(register);
    if (!instruction) return false;
    if (memoryActionOf(instruction) === 'load') return has(instruction, 'param');
    if (!isSumOrProduct(instruction)) return this.#followsFrom(register, OF_THREAD);
    return instruction.operands
      .slice(1)
      .every((operand) => operand.kind !== 'register' || this.#isPolynomial(operand.name, seen));
  }

  #waysOf(site: number, launch: LaunchFacts, threads: readonly Thread[]): Ways | undefined {
    const parts = this.#parts.get(site);
    if (parts) return possible(parts, launch, threads[0]!);
    const condition = this.#conditions[site];
    if (!condition) return undefined;
    const unlike = this.#usesOnlyLaunch.has(site) ? threads.slice(0, 1) : threads;
    const outcomes = unlike.map((thread) => condition(launch, thread) !== 0n);
    return { wasTrue: outcomes.includes(true), wasFalse: outcomes.includes(false) };
  }

  #thresholdOf(instruction: PtxInstruction, { kind, comparison }: DecisionSite): Threshold | undefined {
    const { operands, guard } = instruction;
    const type = typeOf(instruction);
    const isBound = kind === 'bound';
    if (guard || !INTEGERS.test(type) || kind === 'combination' || isEquality(comparison)) return undefined;
    const at = isBound ? boundIn(instruction) : operands[2]?.kind === 'immediate' ? 2 : 1;
    const [constant, size] = [operands[at], operands[3 - at]];
    if (constant?.kind !== 'immediate' || size?.kind !== 'register' || !this.#followsFrom(size.name, OF_LAUNCH))
      return undefined;
    const value = this.#formulaOf(size.name);
    return value && { value, constant: constant.value, type, isBound, isLeast: comparison === 'min' };
  }

  /** Whether a bound limits a value that the launch and the thread determine. */
  #boundOf(instruction: PtxInstruction, { comparison }: DecisionSite): Formula | undefined {
    const { operands, guard } = instruction;
    const type = typeOf(instruction);
    if (guard || !INTEGERS.test(type)) return undefined;
    const at = boundIn(instruction);
    const [constant, bounded] = [operands[at], operands[3 - at]];
    if (constant?.kind !== 'immediate' || bounded?.kind !== 'register') return undefined;
    const value = this.#followsFrom(bounded.name, OF_THREAD) ? undefined : this.#formulaOf(bounded.name);
    const bound = value && { value, constant: constant.value, type, isBound: true, isLeast: comparison === 'min' };
    return bound && ((launch, thread) => BigInt(waysOfBound(bound, excessOf(bound, launch, thread)).wasTrue));
  }

  #equationOf(instruction: PtxInstruction, { kind, comparison }: DecisionSite): Compared | undefined {
    const { operands, guard } = instruction;
    const type = typeOf(instruction);
    if (guard || kind !== 'comparison' || !isEquality(comparison) || !/^[bsu](?:32|64)$/.test(type)) return undefined;
    const sizes = operands.slice(1).flatMap((operand): Formula[] => {
      if (operand.kind === 'immediate') return [() => operand.value];
      const isOfLaunch = operand.kind === 'register' && this.#followsFrom(operand.name, OF_LAUNCH);
      const formula = isOfLaunch ? this.#formulaOf(operand.name) : undefined;
      return formula ? [formula] : [];
    });
    return sizes.length === 2 ? { sizes: sizes as [Formula, Formula], type } : undefined;
  }

  #formulaOf(register: string): Formula | undefined {
    if (this.#formulas.has(register)) return this.#formulas.get(register);
    // A register that depends on itself can't be foreseen.
    this.#formulas.set(register, undefined);
    const instruction = this.#definitions.get(register);
    const formula = instruction && this.#formulaOfInstruction(instruction);
    const remembering: Formula | undefined =
      formula &&
      ((launch, thread) => {
        const value = thread.known.get(register) ?? formula(launch, thread);
        thread.known.set(register, value);
        return value;
      });
    this.#formulas.set(register, remembering);
    return remembering;
  }

  #formulaOfInstruction(instruction: PtxInstruction): Formula | undefined {
    const [destination, ...sources] = instruction.operands;
    if (instruction.guard || destination?.kind !== 'register') return undefined;
    if (memoryActionOf(instruction) === 'load') return this.#parameter(instruction);
    if (runsAs(instruction) !== 'lane') return undefined;
    const formulas = sources.map((operand) => this.#operand(operand, instruction));
    if (!formulas.every((formula) => formula !== undefined)) return undefined;
    return computing(instruction, formulas);
  }

  #operand(operand: PtxOperand, instruction: PtxInstruction): Formula | undefined {
    if (operand.kind === 'immediate') {
      const { value } = operand;
      return instruction.modifiers.at(-1) === 'f64' && operand.type === 'f32-bits' ? undefined : () => value;
    }
    if (operand.kind === 'special') return SPECIALS.get(operand.name);
    if (operand.kind !== 'register') return undefined;
    const formula = this.#formulaOf(operand.name);
    if (!formula || !operand.negated) return formula;
    return (...state) => 1n - formula(...state);
  }

  #parameter(instruction: PtxInstruction): Formula | undefined {
    const [, address] = instruction.operands;
    if (!has(instruction, 'param') || address?.kind !== 'address') return undefined;
    const place = this.#placeOfParameter(address.base);
    if (place === undefined) return undefined;
    const at = place + address.offset;
    const bytes = sizeOfPtxType(typeOf(instruction));
    const isSigned = typeOf(instruction).startsWith('s');
    return ({ parameters }) => {
      let value = 0n;
      for (let i = bytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(parameters[at + i]!);
      return isSigned ? BigInt.asIntN(8 * bytes, value) : value;
    };
  }

  /** Where a parameter lies among all: of a struct, compilers take the address first. */
  #placeOfParameter(base: PtxOperand | null | undefined): number | undefined {
    if (base?.kind === 'symbol') {
      const parameter = this.#fn.parameters.find(({ name }) => name === base.name);
      return parameter && parameter.offset + base.offset;
    }
    if (base?.kind !== 'register') return undefined;
    const definition = this.#definitions.get(base.name);
    const isTaken = definition && isCopy(definition) && !definition.guard;
    return isTaken ? this.#placeOfParameter(definition.operands[1]) : undefined;
  }

  /** What a chain of `and`, or of `or`, combines. */
  #leaves(register: string, opcode: string): string[] {
    const instruction = this.#definitions.get(register);
    if (!instruction || instruction.opcode !== opcode || !has(instruction, 'pred')) return [register];
    return instruction.operands
      .slice(1)
      .flatMap((operand) =>
        operand.kind === 'register' && !operand.negated ? this.#leaves(operand.name, opcode) : [],
      );
  }

  /** Whether a register follows from numbers and these special registers alone. */
  #followsFrom(register: string, specials: RegExp, seen = new Set<string>()): boolean {
    if (seen.has(register)) return true;
    seen.add(register);
    const instruction = this.#definitions.get(register);
    if (!instruction) return false;
    if (memoryActionOf(instruction) === 'load') return specials === OF_LAUNCH && has(instruction, 'param');
    return instruction.operands.slice(1).every((operand) => {
      if (operand.kind === 'special') return specials.test(operand.name);
      if (operand.kind === 'register') return this.#followsFrom(operand.name, specials, seen);
      return operand.kind === 'immediate';
    });
  }
}

/** A size beside the constant with which it is compared, or by which it is bounded. */
interface Threshold {
  readonly value: Formula;
  readonly constant: bigint;
  readonly type: string;
  readonly isBound: boolean;
  readonly isLeast: boolean;
}

const INTEGERS = /^[su](?:32|64)$/;
/** By how much the size exceeds the constant. */
function excessOf({ value, constant, type }: Threshold, launch: LaunchFacts, thread: Thread): number {
  const bits = 8 * sizeOfPtxType(type);
  const wrap = (number: bigint): bigint =>
    type.startsWith('s') ? BigInt.asIntN(bits, number) : BigInt.asUintN(bits, number);
  return Number(wrap(value(launch, thread)) - wrap(constant));
}

/** Two numbers that a comparison asks about. */
interface Compared {
  readonly sizes: readonly [Formula, Formula];
  readonly type: string;
}

/** By how much the first size exceeds the second. */
function gapOf({ sizes: [one, other], type }: Compared, launch: LaunchFacts, thread: Thread): number {
  const bits = 8 * sizeOfPtxType(type);
  return Number(BigInt.asIntN(bits, one(launch, thread)) - BigInt.asIntN(bits, other(launch, thread)));
}

/** A bound is true where it limits the value. */
function waysOfBound({ isLeast }: Threshold, excess: number): Ways {
  const limits = isLeast ? excess > 0 : excess < 0;
  return { wasTrue: limits, wasFalse: !limits };
}

/** And arguments. */
const OF_LAUNCH = /^%n(?:tid|ctaid)/;
const OF_THREAD = /^%(?:ntid|tid|laneid)/;

/** A combination is true, or false, for some thread only if the parts that all threads share allow it. */
function possible(
  { isAll, formulas }: { isAll: boolean; formulas: readonly Formula[] },
  launch: LaunchFacts,
  thread: Thread,
): Ways {
  const holds = formulas.map((formula) => formula(launch, thread) !== 0n);
  return isAll
    ? { wasTrue: holds.every((one) => one), wasFalse: true }
    : { wasTrue: true, wasFalse: !holds.some((one) => one) };
}

const BITWISE: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

/** Of predicates. */
const LOGIC: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  ...BITWISE,
  not: (a) => 1n - a,
  mov: (a) => a,
};

function computing(instruction: PtxInstruction, formulas: readonly Formula[]): Formula | undefined {
  if (has(instruction, 'pred')) {
    const logic = LOGIC[instruction.opcode];
    return logic && ((...state) => logic(formulas[0]!(...state), formulas[1]?.(...state) ?? 0n));
  }
  const bitwise = BITWISE[instruction.opcode];
  if (bitwise) return (...state) => bitwise(formulas[0]!(...state), formulas[1]!(...state));
  const compute: ScalarFunction | undefined = isCopy(instruction)
    ? ({ unsigned }) => [unsigned(1, typeOf(instruction))]
    : compileScalar(instruction);
  if (!compute) return undefined;
  return (...state) => {
    const [result] = compute({
      unsigned: (index, type) => BigInt.asUintN(8 * sizeOfPtxType(type), formulas[index - 1]!(...state)),
      predicate: (index) => formulas[index - 1]!(...state) !== 0n,
    });
    return result!;
  };
}

const isCopy = (instruction: PtxInstruction): boolean =>
  instructionClass(instruction) === 'move' && resultOf(instruction) === 'copy';

const AXES = ['x', 'y', 'z'] as const;

/** Special registers that a launch and a thread's place determine. */
const SPECIALS: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ...AXES.flatMap((axis, i): [string, Formula][] => [
    [`%ntid.${axis}`, ({ block }) => BigInt(block[i]!)],
    [`%nctaid.${axis}`, ({ grid }) => BigInt(grid[i]!)],
    [`%ctaid.${axis}`, (_, { cta }) => BigInt(cta[i]!)],
    [`%tid.${axis}`, (_, { thread }) => BigInt(thread[i]!)],
  ]),
  ['%laneid', ({ block }, { thread: [x, y, z] }) => BigInt((x + block[0] * (y + block[1] * z)) % LANES)],
]);

/** First and last thread of the first and the last CTA, each once. */
function corners({ grid, block }: LaunchFacts): Thread[] {
  const [ctas, threads] = [ends(grid), ends(block)];
  return ctas.flatMap((cta) => threads.map((thread) => ({ cta, thread, known: new Map() })));
}

/** Threads in the middle of CTAs in the middle. A product may be 0 at both ends. */
function within({ grid, block }: LaunchFacts): Thread[] {
  const parts: [number, number][] = [
    [1 / 2, 1 / 2],
    [1 / 3, 2 / 3],
  ];
  const at = ([x, y, z]: Dim3, part: number): Dim3 => [
    Math.floor(x * part),
    Math.floor(y * part),
    Math.floor(z * part),
  ];
  return parts.map(([cta, thread]) => ({ cta: at(grid, cta), thread: at(block, thread), known: new Map() }));
}

const ends = ([x, y, z]: Dim3): Dim3[] => (x * y * z === 1 ? [FIRST] : [FIRST, [x - 1, y - 1, z - 1]]);

const FIRST: Dim3 = [0, 0, 0];
