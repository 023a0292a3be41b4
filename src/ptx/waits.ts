import type { SourceLocation } from '../core/compiled-code.ts';
import type { PtxFunction, PtxInstruction } from './ast.ts';
import { instructionsOf } from './instruction-parts.ts';
import { controlOf, definitionsAndUses, memoryActionOf, synchronisationOf } from './instructions/properties.ts';
import { registersOf } from './operands.ts';
import { parsePtx } from './parse.ts';

/** Code whose time does not follow from its instructions and memory traffic. */
export interface Wait {
  /**
   * `sleep`: __nanosleep. `poll`: a loop that reads memory anew in each round, as code does that waits for another CTA.
   * `mbarrier`: a warp waits for other warps, or for copies. `cluster`: a CTA waits for others of its cluster. `print`: the
   * driver's vprintf.
   */
  readonly kind: 'sleep' | 'poll' | 'mbarrier' | 'cluster' | 'print';
  readonly source?: SourceLocation;
}

const TAKES_LOCK = ['cas', 'exch'];

/** Modules without these words are not parsed. */
const MAY_WAIT =
  /\b(?:nanosleep|mbarrier\.(?:try|test)_wait|barrier\.cluster|ld\.(?:volatile|acquire|relaxed|mmio)|atom[\w.:]*\.(?:cas|exch)|vprintf)\b/;

/** Every sleep and every polling loop of a module, in its order. @throws PtxSyntaxError when it can't be parsed. */
export function waitsIn(ptx: string): readonly Wait[] {
  return MAY_WAIT.test(ptx) ? parsePtx(ptx).functions.flatMap(waitsOf) : [];
}

function waitsOf({ body }: PtxFunction): Wait[] {
  const loops = loopsOf(body);
  return body.flatMap((statement, index) => {
    if (statement.kind !== 'instruction') return [];
    const { source } = statement.instruction;
    const isInLoop = loops.some(({ first, last }) => first <= index && index <= last);
    const kind = waitOf(statement.instruction, isInLoop);
    return kind ? [{ kind, source }] : [];
  });
}

/**
 * Instructions with which a function waits for other CTAs, as far as its code tells: sleeps, reads of device memory in loops that are
 * made anew in each round, and atomics in loops that give a value.
 */
export function pollsOf({ body }: Pick<PtxFunction, 'body'>): ReadonlySet<PtxInstruction> {
  const loops = loopsOf(body);
  const isInLoop = (index: number): boolean => loops.some(({ first, last }) => first <= index && index <= last);
  return new Set(
    body.flatMap((statement, index) => {
      if (statement.kind !== 'instruction') return [];
      const { instruction } = statement;
      const kind = waitOf(instruction, isInLoop(index));
      const isAtomic = memoryActionOf(instruction) === 'atomic' && !isOfCta(instruction) && isInLoop(index);
      return kind === 'sleep' || kind === 'poll' || isAtomic ? [instruction] : [];
    }),
  );
}

/**
 * Atomics in loops by which CTAs draw their work from a queue that all share: what they give decides a branch, or is told to the rest of the CTA
 * through shared memory.
 * @param polls of the function: {@link pollsOf}.
 */
export function drawsOf(
  fn: Pick<PtxFunction, 'body'>,
  polls: ReadonlySet<PtxInstruction>,
): ReadonlySet<PtxInstruction> {
  const instructions = instructionsOf(fn);
  const mayDraw = (one: PtxInstruction): boolean =>
    memoryActionOf(one) === 'atomic' && !TAKES_LOCK.some((part) => one.modifiers.includes(part));
  return new Set([...polls].filter((one) => mayDraw(one) && decides(one, instructions)));
}

/** Whether a branch depends on what the instruction gives, or a store to shared memory tells it; values are followed through registers only. */
function decides(drawing: PtxInstruction, instructions: readonly PtxInstruction[]): boolean {
  const known = new Set(definitionsAndUses(drawing).definitions);
  for (let before = -1; before < known.size; ) {
    before = known.size;
    for (const one of instructions) {
      const action = memoryActionOf(one);
      const { definitions, uses } = definitionsAndUses(one);
      if (!uses.some((register) => known.has(register))) continue;
      if (action === 'store' ? tells(one, known) : controlOf(one) === 'branch') return true;
      if (action === 'none') for (const register of definitions) known.add(register);
    }
  }
  return false;
}

/** Whether a store to shared memory stores one of these registers: an address may come from them, too. */
const tells = ({ modifiers, operands }: PtxInstruction, known: ReadonlySet<string>): boolean =>
  modifiers.some((part) => part.startsWith('shared')) &&
  registersOf(operands.slice(1)).some((register) => known.has(register));

/**
 * Reads with which a warp may wait for other warps: made anew in each round of a loop that changes no memory. In whatever space,
 * since an address that compilers know nothing of may be one of shared memory.
 */
export function spinsOf({ body }: Pick<PtxFunction, 'body'>): ReadonlySet<PtxInstruction> {
  const waiting = loopsOf(body)
    .map(({ first, last }) => instructionsOf({ body: body.slice(first, last + 1) }))
    .filter((instructions) => instructions.every((one) => ['none', 'load'].includes(memoryActionOf(one))));
  return new Set(waiting.flat().filter((one) => memoryActionOf(one) === 'load' && isAnew(one)));
}

const isOfCta = ({ modifiers }: PtxInstruction): boolean =>
  modifiers.some((part) => part.startsWith('shared') || part === 'local');

/** Reads that no cache may answer, and the atomics that take a lock; of shared memory they wait for the own CTA. */
function waitOf(instruction: PtxInstruction, isInLoop: boolean): Wait['kind'] | undefined {
  const { opcode, modifiers, operands } = instruction;
  if (controlOf(instruction) === 'call')
    return operands.some((operand) => operand.kind === 'symbol' && operand.name === 'vprintf') ? 'print' : undefined;
  if (opcode === 'nanosleep') return 'sleep';
  if (synchronisationOf(instruction) === 'object' && modifiers[0]?.endsWith('_wait')) return 'mbarrier';
  if (synchronisationOf(instruction) === 'cluster') return 'cluster';
  if (!isInLoop || isOfCta(instruction)) return undefined;
  const action = memoryActionOf(instruction);
  const polls =
    (action === 'load' && isAnew(instruction)) ||
    (action === 'atomic' && TAKES_LOCK.some((part) => modifiers.includes(part)));
  return polls ? 'poll' : undefined;
}

/** A read that no register and no cache may answer. */
const isAnew = ({ modifiers }: PtxInstruction): boolean =>
  modifiers.some((part) => ['volatile', 'acquire', 'relaxed', 'mmio'].includes(part));

/** The instructions between a label and a branch back to it. Compilers keep the blocks of a loop together. */
function loopsOf(body: PtxFunction['body']): { first: number; last: number }[] {
  const labels = new Map<string, number>();
  return body.flatMap((statement, last) => {
    if (statement.kind === 'label') labels.set(statement.name, last);
    if (statement.kind !== 'instruction' || controlOf(statement.instruction) !== 'branch') return [];
    return statement.instruction.operands.flatMap((operand) => {
      const first = operand.kind === 'label' ? labels.get(operand.name) : undefined;
      return first === undefined ? [] : [{ first, last }];
    });
  });
}
