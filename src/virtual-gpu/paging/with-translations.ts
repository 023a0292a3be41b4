import type { PtxFunction, PtxInstruction, PtxOperand, PtxStatement } from '../../ptx/ast.ts';
import { spaceOf, typeOf, vectorLength } from '../../ptx/instruction-parts.ts';
import { memoryActionOf, runsAs, synchronisationOf } from '../../ptx/instructions/properties.ts';
import type { MemoryAction } from '../../ptx/instructions/row.ts';
import { TRANSLATE } from '../../ptx/translation.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { uniqueName } from '../../ptx/unique-name.ts';

/** An access that may go to device memory. */
interface Reach {
  /** Index of the operand. */
  readonly address: number;
  readonly bytes: number;
  readonly isStore?: true;
  /** How many of the bytes are read, where an operand says so. */
  readonly taken?: PtxOperand;
}

/** What an instruction reaches; `unknown` where a translation of its address would not do. */
type Reached = 'no device memory' | 'unknown' | Reach;

const OTHER_SPACES: ReadonlySet<string> = new Set(['shared', 'local', 'const', 'param']);

const isElsewhere = (instruction: PtxInstruction): boolean => OTHER_SPACES.has(spaceOf(instruction));

const indexOfAddress = ({ operands }: PtxInstruction): number => operands.findIndex(({ kind }) => kind === 'address');

/** A load or store of lanes. */
function ofAccess(instruction: PtxInstruction): Reached {
  if (isElsewhere(instruction)) return 'no device memory';
  const address = indexOfAddress(instruction);
  if (runsAs(instruction) !== 'access' || address < 0) return 'unknown';
  const bytes = sizeOfPtxType(typeOf(instruction)) * vectorLength(instruction);
  return { address, bytes, isStore: memoryActionOf(instruction) === 'store' ? true : undefined };
}

/** An mbarrier lies in shared memory however it is addressed. */
const ofAtomic = (instruction: PtxInstruction): Reached =>
  isElsewhere(instruction) || synchronisationOf(instruction) === 'object' ? 'no device memory' : 'unknown';

/** `cp.async.ca.shared.global [to], [from], bytes{, bytes that are read}`; forms without addresses wait, or arrive in shared memory. */
function ofCopy({ modifiers, operands }: PtxInstruction): Reached {
  if (modifiers.some((modifier) => modifier === 'bulk' || modifier === 'reduce' || modifier === 'tensor'))
    return 'unknown';
  const [, source, size, taken] = operands;
  if (modifiers.includes('mbarrier') || source?.kind !== 'address') return 'no device memory';
  return size?.kind === 'immediate' ? { address: 1, bytes: Number(size.value), taken } : 'unknown';
}

/** `prefetch.global.L2 [from]`: only its first byte must lie in a buffer. */
function ofHint(instruction: PtxInstruction): Reached {
  if (isElsewhere(instruction)) return 'no device memory';
  const { operands, modifiers } = instruction;
  return operands.length === 1 && !modifiers.includes('tensormap') ? { address: 0, bytes: 1 } : 'unknown';
}

/** Fragments of `wmma` may lie anywhere; other products take registers, or descriptors of shared memory. */
const ofMatrix = ({ modifiers }: PtxInstruction): Reached =>
  modifiers[0] === 'load' || modifiers[0] === 'store' ? 'unknown' : 'no device memory';

/** `isspacep` would take a buffer in pages for none of device memory. */
const ofOther = ({ opcode }: PtxInstruction): Reached => (opcode === 'isspacep' ? 'unknown' : 'no device memory');

const REACHED: Readonly<Record<MemoryAction, (instruction: PtxInstruction) => Reached>> = {
  none: ofOther,
  load: ofAccess,
  store: ofAccess,
  atomic: ofAtomic,
  reduction: ofAtomic,
  'matrix-load': () => 'no device memory',
  'matrix-store': () => 'no device memory',
  matrix: ofMatrix,
  texture: () => 'unknown',
  copy: ofCopy,
  discard: () => 'unknown',
  hint: ofHint,
};

/** The access by whose address `translate()` must stand before it. */
function reachedBy(instruction: PtxInstruction, fn: PtxFunction, variables: ReadonlySet<string>): Reached {
  const reached = REACHED[memoryActionOf(instruction)](instruction);
  if (typeof reached === 'string') return reached;
  const { address, isStore, taken } = reached;
  // `cp.async` may take a predicate there, too.
  if (taken?.kind === 'register' && fn.registers.get(taken.name) === 'pred') return 'unknown';
  const operand = instruction.operands[address]!;
  if (operand.kind !== 'address' || operand.base?.kind !== 'symbol') return reached;
  // A variable is not in pages.
  return isStore && variables.has(operand.base.name) ? 'unknown' : 'no device memory';
}

/**
 * A function whose accesses to device memory go through a {@link PageTable}: before each stands `translate()`, an instruction of our own that
 * counts for nothing, and the access takes the register that it leaves. `undefined` if some instruction reaches device memory in another way.
 *
 * @param fn - with its calls inlined.
 * @param variables - names of the module's variables in device memory.
 */
export function withTranslations(fn: PtxFunction, variables: ReadonlySet<string>): PtxFunction | undefined {
  const name = uniqueName(new Set(fn.registers.keys()), '%real');
  const real: PtxOperand = { kind: 'register', name };
  const body: PtxStatement[] = [];
  for (const statement of fn.body) {
    const reached =
      statement.kind === 'instruction' ? reachedBy(statement.instruction, fn, variables) : 'no device memory';
    if (reached === 'unknown') return undefined;
    if (statement.kind === 'label' || reached === 'no device memory') body.push(statement);
    else
      for (const instruction of translated(statement.instruction, reached, real))
        body.push({ kind: 'instruction', instruction });
  }
  return { ...fn, registers: new Map(fn.registers).set(name, 'b64'), body };
}

/** The translation keeps the text of its access, and its guard: a lane that does not access has no address. */
function translated(instruction: PtxInstruction, reach: Reach, real: PtxOperand): [PtxInstruction, PtxInstruction] {
  const { address, bytes, isStore, taken } = reach;
  const size: PtxOperand = { kind: 'immediate', type: 'integer', value: BigInt(bytes) };
  const translation: PtxInstruction = {
    ...instruction,
    opcode: TRANSLATE,
    modifiers: [spaceOf(instruction) === 'generic' ? 'generic' : 'global', isStore ? 'store' : 'load'],
    operands: [real, instruction.operands[address]!, size, taken].filter((operand) => operand !== undefined),
    countedAs: null,
  };
  const operands = instruction.operands.with(address, { kind: 'address', base: real, offset: 0 });
  return [translation, { ...instruction, operands }];
}
