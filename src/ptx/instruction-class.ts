import type { InstructionClass } from '../core/counters.ts';
import type { PtxInstruction } from './ast.ts';
import { sizeOfPtxType } from './types.ts';

type ClassOf = (instruction: PtxInstruction) => InstructionClass;
type Rule = InstructionClass | ClassOf;

const HALF_TYPES: ReadonlySet<string> = new Set(['f16', 'bf16', 'f16x2', 'bf16x2']);

/** Class of arithmetic by the type it is done in: the last modifier. */
const byType: ClassOf = ({ modifiers }) => {
  const type = modifiers.at(-1) ?? '';
  if (HALF_TYPES.has(type)) return 'fp16';
  if (type === 'f64') return 'fp64';
  return type.startsWith('f') ? 'fp32' : 'integer';
};

/** Reciprocals and roots use the special-function unit; the exact f64 ones are fp64 work. */
const specialUnlessF64: ClassOf = ({ modifiers }) =>
  modifiers.at(-1) === 'f64' && !modifiers.includes('approx') ? 'fp64' : 'special';

/** f32 division is built on the reciprocal of the special-function unit. */
const divide: ClassOf = (instruction) => {
  const type = byType(instruction);
  return type === 'fp32' ? 'special' : type;
};

/** Logic on predicates is predicate work. */
const logic: ClassOf = ({ modifiers }) => (modifiers.at(-1) === 'pred' ? 'predicate' : 'integer');

const SPACE_CLASSES: ReadonlyMap<string, { load: InstructionClass; store: InstructionClass }> = new Map([
  ['global', { load: 'global-load', store: 'global-store' }],
  ['shared', { load: 'shared-load', store: 'shared-store' }],
  ['shared::cta', { load: 'shared-load', store: 'shared-store' }],
  ['shared::cluster', { load: 'shared-load', store: 'shared-store' }],
  ['local', { load: 'local-load', store: 'local-store' }],
  ['const', { load: 'constant-load', store: 'global-store' }],
  ['param', { load: 'constant-load', store: 'local-store' }],
  ['param::entry', { load: 'constant-load', store: 'local-store' }],
]);

/** Loads and stores by state space; a generic one counts as global. */
const memory =
  (direction: 'load' | 'store'): ClassOf =>
  ({ modifiers }) => {
    const space = modifiers.find((modifier) => SPACE_CLASSES.has(modifier)) ?? 'global';
    return SPACE_CLASSES.get(space)![direction];
  };

/** `wmma.load` and `wmma.store` move fragments; `wmma.mma` multiplies. */
const wmma: ClassOf = (instruction) => {
  const [action] = instruction.modifiers;
  return action === 'load' || action === 'store' ? memory(action)(instruction) : 'tensor';
};

/** `wgmma.fence`, `.commit_group` and `.wait_group` only order. */
const wgmma: ClassOf = ({ modifiers }) => (modifiers[0] === 'mma_async' ? 'tensor' : 'barrier');

const CLASSES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...(['add', 'sub', 'mul', 'mad', 'fma', 'abs', 'neg', 'min', 'max', 'copysign'] as const).map(
    (opcode) => [opcode, byType] as const,
  ),
  ...(
    [
      'add3',
      'addc',
      'subc',
      'madc',
      'mul24',
      'mad24',
      'sad',
      'rem',
      'popc',
      'clz',
      'bfind',
      'fns',
      'brev',
      'bfe',
      'bfi',
      'bmsk',
      'szext',
      'dp4a',
      'dp2a',
      'lop3',
      'and',
      'or',
      'xor',
      'not',
      'cnot',
      'shl',
      'shr',
      'shf',
      'prmt',
      'vadd',
      'vsub',
      'vabsdiff',
      'vmin',
      'vmax',
      'vshl',
      'vshr',
      'vmad',
      'vset',
      'vadd2',
      'vsub2',
      'vavrg2',
      'vabsdiff2',
      'vmin2',
      'vmax2',
      'vset2',
      'vadd4',
      'vsub4',
      'vavrg4',
      'vabsdiff4',
      'vmin4',
      'vmax4',
      'vset4',
    ] as const
  ).map((opcode) => [opcode, logic] as const),
  ['div', divide],
  ['rcp', specialUnlessF64],
  ['sqrt', specialUnlessF64],
  ['rsqrt', specialUnlessF64],
  ...(['sin', 'cos', 'lg2', 'ex2', 'tanh'] as const).map((opcode) => [opcode, 'special'] as const),
  ['cvt', 'conversion'],
  ['cvta', 'move'],
  ['mov', 'move'],
  ['selp', 'move'],
  ['slct', 'move'],
  ['mapa', 'move'],
  ['getctarank', 'move'],
  ['isspacep', 'predicate'],
  ['alloca', 'move'],
  ['stacksave', 'move'],
  ['stackrestore', 'move'],
  ['setp', 'predicate'],
  ['set', 'predicate'],
  ['testp', 'predicate'],
  ['ld', memory('load')],
  ['ldu', 'global-load'],
  ['st', memory('store')],
  ['ldmatrix', 'shared-load'],
  ['stmatrix', 'shared-store'],
  ['movmatrix', 'shuffle'],
  ['tex', 'global-load'],
  ['tld4', 'global-load'],
  ['suld', 'global-load'],
  ['sust', 'global-store'],
  ['sured', 'atomic'],
  ['atom', 'atomic'],
  ['red', 'atomic'],
  ['multimem', 'atomic'],
  ['shfl', 'shuffle'],
  ['vote', 'vote'],
  ['match', 'vote'],
  ['activemask', 'vote'],
  ['elect', 'vote'],
  ['redux', 'vote'],
  ['bar', 'barrier'],
  ['barrier', 'barrier'],
  ['mbarrier', 'barrier'],
  ['membar', 'barrier'],
  ['fence', 'barrier'],
  ['mma', 'tensor'],
  ['wmma', wmma],
  ['wgmma', wgmma],
  ['cp', 'async-copy'],
  ['prefetch', 'async-copy'],
  ['prefetchu', 'async-copy'],
  ['discard', 'async-copy'],
  ['applypriority', 'async-copy'],
  ['tensormap', 'async-copy'],
  ['createpolicy', 'move'],
  ...(
    [
      'bra',
      'brx',
      'call',
      'ret',
      'exit',
      'trap',
      'brkpt',
      'nanosleep',
      'setmaxnreg',
      'griddepcontrol',
      'pmevent',
    ] as const
  ).map((opcode) => [opcode, 'control'] as const),
]);

/** Class of an instruction, or undefined for an opcode that is not in the table. */
export function instructionClass(instruction: PtxInstruction): InstructionClass | undefined {
  const rule = CLASSES.get(instruction.opcode);
  return typeof rule === 'function' ? rule(instruction) : rule;
}

/** Kind of floating-point work, as in `CounterTotals.flop`. */
export type FlopKind = 'fp16' | 'fp32' | 'fp64' | 'tensor';

/** Floating-point operations per active lane. A fused multiply-add is two; comparisons, moves and conversions none. */
export interface FlopPerLane {
  kind: FlopKind;
  count: number;
}

const ARITHMETIC_FLOP: ReadonlyMap<string, number> = new Map([
  ['add', 1],
  ['sub', 1],
  ['mul', 1],
  ['div', 1],
  ['min', 1],
  ['max', 1],
  ['mad', 2],
  ['fma', 2],
  ['rcp', 1],
  ['sqrt', 1],
  ['rsqrt', 1],
  ['sin', 1],
  ['cos', 1],
  ['lg2', 1],
  ['ex2', 1],
  ['tanh', 1],
]);

const FLOP_KINDS: ReadonlyMap<string, FlopKind> = new Map([
  ['f16', 'fp16'],
  ['bf16', 'fp16'],
  ['f16x2', 'fp16'],
  ['bf16x2', 'fp16'],
  ['f32', 'fp32'],
  ['f32x2', 'fp32'],
  ['f64', 'fp64'],
]);

const PACKED: ReadonlySet<string> = new Set(['f16x2', 'bf16x2', 'f32x2']);

/** Warp-wide work of a matrix instruction, spread over the lanes that issue it. */
const MATRIX_SHAPE = /^m(\d+)n(\d+)k(\d+)$/;
/** wgmma is issued by a warpgroup. */
const WARPS_PER_WARPGROUP = 4;
const LANES_PER_WARP = 32;

/** Flop of one lane of `instruction`; undefined when it does no floating-point arithmetic. */
export function flopPerLane(instruction: PtxInstruction): FlopPerLane | undefined {
  const { opcode, modifiers } = instruction;
  const shape = modifiers.map((modifier) => MATRIX_SHAPE.exec(modifier)).find((match) => match !== null);
  if (instructionClass(instruction) === 'tensor' && shape) {
    if (modifiers.some((modifier) => /^[su][48]$|^b1$/.test(modifier))) return undefined;
    const [m, n, k] = shape.slice(1).map(Number) as [number, number, number];
    const lanes = LANES_PER_WARP * (opcode === 'wgmma' ? WARPS_PER_WARPGROUP : 1);
    return { kind: 'tensor', count: (2 * m * n * k) / lanes };
  }
  const base = ARITHMETIC_FLOP.get(opcode);
  const type = modifiers.at(-1) ?? '';
  const kind = FLOP_KINDS.get(type);
  if (base === undefined || kind === undefined) return undefined;
  return { kind, count: PACKED.has(type) ? 2 * base : base };
}

/** Bytes one lane moves: element size × vector length of a load, store or atomic. */
export function accessBytesPerLane(instruction: PtxInstruction): number {
  const { modifiers } = instruction;
  const vector = modifiers.includes('v8') ? 8 : modifiers.includes('v4') ? 4 : modifiers.includes('v2') ? 2 : 1;
  return vector * sizeOfPtxType(modifiers.at(-1) ?? '');
}
