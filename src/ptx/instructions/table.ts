import type { InstructionClass } from '../../core/vocabulary.ts';
import type { PtxInstruction } from '../ast.ts';
import { DRIVER_OPCODES } from '../driver-functions.ts';
import { has } from '../instruction-parts.ts';
import { TRANSLATE } from '../translation.ts';
import { byType, divide, loadBySpace, logic, specialUnlessF64, storeBySpace, wgmma, wmma } from './classes.ts';
import { divided, inHalves, multiplied, printed, rooted, scaled } from './expansions.ts';
import type {
  Control,
  InstructionRow,
  MemoryAction,
  OrRule,
  Place,
  Result,
  Runs,
  Signature,
  Synchronisation,
} from './row.ts';
import * as operands from './signatures.ts';
import { address, alike, anything, fixed, into, perhaps, perhapsWord, predicate, varied, word } from './signatures.ts';

/** Common properties of rows that access no memory and involve no other lanes. */
const ALONE = {
  synchronises: 'none',
  namesLanes: false,
  memory: 'none',
  namesSpace: false,
  showsRanks: false,
  control: 'next',
  isSumOrProduct: false,
  expansion: () => undefined,
} as const;

/** Each lane computes its own result. */
const computes = (
  instructionClass: OrRule<InstructionClass>,
  signature: Signature,
  flop: number,
  result: Result = 'operands',
): InstructionRow => ({ ...ALONE, class: instructionClass, operands: signature, result, runs: 'lane', flop });

/** Of whole numbers, a sum or a product of its operands, or a copy. */
const sums = (row: InstructionRow): InstructionRow => ({ ...row, isSumOrProduct: true });

/** Some forms of it become several machine instructions. */
const expands = (expansion: InstructionRow['expansion'], row: InstructionRow): InstructionRow => ({
  ...row,
  expansion,
});

/** Integer and bit instructions, some of which also work on predicates. */
const bits = (signature: Signature): InstructionRow => computes(logic, signature, 0);

/** Converts between addresses and state spaces, or asks about them. */
const addresses = (instructionClass: InstructionClass, signature: Signature, result: Result): InstructionRow => ({
  ...computes(instructionClass, signature, 0, result),
  namesSpace: true,
});

/** Touches memory. */
const accesses = (
  instructionClass: OrRule<InstructionClass>,
  memory: MemoryAction,
  signature: Signature,
  result: OrRule<Result>,
  runs: Runs,
): InstructionRow => ({
  ...ALONE,
  class: instructionClass,
  operands: signature,
  result,
  runs,
  memory,
  namesSpace: true,
  flop: 0,
});

/** The lanes act together. */
const together = (
  instructionClass: OrRule<InstructionClass>,
  synchronises: OrRule<Synchronisation>,
  signature: Signature,
  result: OrRule<Result>,
): InstructionRow => ({
  ...ALONE,
  class: instructionClass,
  operands: signature,
  result,
  runs: 'warp',
  synchronises,
  flop: 0,
});

/** Waits, or orders. */
const orders = (
  synchronises: OrRule<Synchronisation>,
  signature: Signature,
  runs: OrRule<Runs>,
  result: OrRule<Result> = 'none',
): InstructionRow => ({ ...together('barrier', synchronises, signature, result), runs });

/** Sends control elsewhere. */
const controls = (control: Control, ...places: Place[]): InstructionRow => ({
  ...ALONE,
  class: 'control',
  operands: fixed(...places),
  result: 'none',
  runs: 'control',
  control,
  flop: 0,
});

/** Hints to the hardware. They change no register. */
const requests = (runs: Runs, ...places: Place[]): InstructionRow => ({ ...controls('next', ...places), runs });

/** Video instructions, of words or packed integers. */
const video = bits(fixed(word, word, word, perhapsWord));

const first = (instruction: PtxInstruction): string => instruction.modifiers[0] ?? '';

/** The form without `.sync` exchanges among the lanes that happen to be there. */
const lanesOfMask = (i: PtxInstruction): Synchronisation => (has(i, 'sync') ? 'warp' : 'active-lanes');

/** Lanes that a mask names exchange values. */
const amongLanes = (instructionClass: InstructionClass, signature: Signature, result: Result): InstructionRow => ({
  ...together(instructionClass, lanesOfMask, signature, result),
  namesLanes: true,
});

/** `bar.warp.sync`, `barrier.cluster.arrive` and `.wait`, `bar.arrive`; the others wait for all threads of the CTA. */
function barrierScope(i: PtxInstruction): Synchronisation {
  if (has(i, 'warp')) return 'warp';
  if (has(i, 'cluster')) return has(i, 'arrive') ? 'cluster-arrival' : 'cluster';
  return has(i, 'arrive') ? 'cta-arrival' : 'cta';
}

const BARRIER_RUNS: Partial<Record<Synchronisation, Runs>> = { warp: 'order', cta: 'control', cluster: 'control' };

/** `bar.red` reduces a predicate over the CTA. */
const barrier: InstructionRow = {
  ...orders(
    barrierScope,
    operands.barrier,
    (i) => BARRIER_RUNS[barrierScope(i)] ?? 'warp',
    (i) => (has(i, 'red') ? 'operands' : 'none'),
  ),
  namesLanes: true,
};

const MBARRIER_WITH_RESULT: ReadonlySet<string> = new Set([
  'arrive',
  'arrive_drop',
  'test_wait',
  'try_wait',
  'pending_count',
]);

/** An arrival may leave out the state it returns: then its first operand is the barrier's address, which nothing writes. */
const mbarrierResult = (i: PtxInstruction): Result => (MBARRIER_WITH_RESULT.has(first(i)) ? 'operands' : 'none');

const WMMA_RESULTS: Readonly<Record<string, Result>> = { load: 'memory', store: 'none' };

/**
 * One row for each PTX opcode. Everything but the code that executes an instruction reads its opcode's properties here.
 * Sources: PTX ISA 8.x, each instruction's description.
 */
const ROWS: Readonly<Record<string, InstructionRow>> = {
  // Arithmetic: class, operands, FLOP.
  add: sums(expands(inHalves, computes(byType, alike(3), 1))),
  sub: sums(expands(inHalves, computes(byType, alike(3), 1))),
  mul: sums(expands(multiplied, computes(byType, operands.multiply(0), 1))),
  mad: sums(expands(inHalves, computes(byType, operands.multiply(1), 2))),
  fma: computes(byType, alike(4), 2),
  min: expands(inHalves, computes(byType, alike(3, perhaps), 1)),
  max: expands(inHalves, computes(byType, alike(3, perhaps), 1)),
  abs: computes(byType, alike(2), 0),
  neg: computes(byType, alike(2), 0),
  copysign: computes(byType, alike(3), 0),
  div: expands(divided, computes(divide, alike(3), 1)),
  rcp: expands(rooted, computes(specialUnlessF64, alike(2), 1)),
  sqrt: expands(rooted, computes(specialUnlessF64, alike(2), 1)),
  rsqrt: expands(rooted, computes(specialUnlessF64, alike(2), 1)),
  sin: computes('special', alike(2), 1),
  cos: computes('special', alike(2), 1),
  lg2: expands(scaled, computes('special', alike(2), 1)),
  ex2: expands(scaled, computes('special', alike(2), 1)),
  tanh: computes('special', alike(2), 1),

  // Integers and bits: operands.
  addc: bits(alike(3)),
  subc: bits(alike(3)),
  madc: bits(operands.multiply(1)),
  mul24: bits(alike(3)),
  mad24: bits(alike(4)),
  sad: bits(alike(4)),
  rem: expands(divided, bits(alike(3))),
  dp4a: bits(alike(4)),
  dp2a: bits(alike(4)),
  and: expands(inHalves, bits(alike(3))),
  or: expands(inHalves, bits(alike(3))),
  xor: expands(inHalves, bits(alike(3))),
  not: bits(alike(2)),
  cnot: bits(alike(2)),
  lop3: bits(alike(4, word, perhaps)),
  shl: sums(expands(inHalves, bits(alike(2, word)))),
  shr: expands(inHalves, bits(alike(2, word))),
  shf: bits(alike(4)),
  prmt: bits(alike(4)),
  brev: bits(alike(2)),
  popc: bits(into(32, 1)),
  clz: bits(into(32, 1)),
  bfind: bits(into(32, 1)),
  fns: bits(alike(4)),
  bfe: bits(alike(2, word, word)),
  bfi: bits(alike(3, word, word)),
  bmsk: bits(alike(3)),
  szext: bits(alike(3)),
  vadd: video,
  vsub: video,
  vabsdiff: video,
  vmin: video,
  vmax: video,
  vshl: video,
  vshr: video,
  vmad: video,
  vset: video,
  vadd2: video,
  vsub2: video,
  vavrg2: video,
  vabsdiff2: video,
  vmin2: video,
  vmax2: video,
  vset2: video,
  vadd4: video,
  vsub4: video,
  vavrg4: video,
  vabsdiff4: video,
  vmin4: video,
  vmax4: video,
  vset4: video,

  // Comparisons, choices, moves and conversions: class, operands, FLOP, where the result comes from.
  setp: expands(inHalves, computes('predicate', operands.compare, 0)),
  set: computes('predicate', operands.set, 0),
  testp: computes('predicate', into(1, 1), 0),
  selp: expands(inHalves, computes('move', alike(3, predicate), 0, 'choice')),
  slct: computes('move', operands.chooseBySign, 0, 'choice'),
  mov: sums(computes('move', alike(2), 0, 'copy')),
  cvt: sums(computes('conversion', operands.convert, 0, 'copy')),
  createpolicy: { ...addresses('move', varied, 'operands'), runs: 'warp' },
  cvta: addresses('move', alike(2), 'copy'),
  isspacep: addresses('predicate', fixed(predicate, anything), 'operands'),
  mapa: { ...addresses('move', alike(1, anything, word), 'operands'), runs: 'warp', showsRanks: true },
  getctarank: { ...addresses('move', fixed(word, anything), 'operands'), runs: 'warp', showsRanks: true },
  // Of the stack: nothing here computes them.
  alloca: computes('move', varied, 0, 'memory'),
  stacksave: computes('move', varied, 0, 'memory'),
  stackrestore: computes('move', varied, 0, 'none'),

  // Memory: class, what it does, operands, where the result comes from, how it runs.
  ld: accesses(loadBySpace, 'load', operands.load, 'memory', 'access'),
  ldu: accesses('global-load', 'load', operands.uniformLoad, 'memory', 'access'),
  st: accesses(storeBySpace, 'store', operands.store, 'none', 'access'),
  atom: accesses('atomic', 'atomic', operands.atomic(true), 'memory', 'warp'),
  red: accesses('atomic', 'reduction', operands.atomic(false), 'none', 'warp'),
  multimem: accesses('atomic', 'atomic', varied, (i) => (first(i) === 'ld_reduce' ? 'memory' : 'none'), 'warp'),
  cp: accesses('async-copy', 'copy', varied, 'none', 'warp'),
  prefetch: accesses('async-copy', 'hint', fixed(address), 'none', 'warp'),
  prefetchu: accesses('async-copy', 'hint', fixed(address), 'none', 'warp'),
  applypriority: accesses('async-copy', 'hint', fixed(address, word), 'none', 'warp'),
  discard: accesses('async-copy', 'discard', fixed(address, word), 'none', 'warp'),
  tensormap: accesses('async-copy', 'store', varied, 'none', 'warp'),
  tex: accesses('global-load', 'texture', varied, 'memory', 'warp'),
  tld4: accesses('global-load', 'texture', varied, 'memory', 'warp'),
  suld: accesses('global-load', 'texture', varied, 'memory', 'warp'),
  sust: accesses('global-store', 'texture', varied, 'none', 'warp'),
  sured: accesses('atomic', 'texture', varied, 'none', 'warp'),

  // Warps: class, who meets, operands, where the result comes from.
  shfl: amongLanes('shuffle', fixed(word, word, word, word, perhapsWord), 'copy'),
  vote: amongLanes('vote', operands.vote, 'operands'),
  match: amongLanes('vote', into(32, 1, word), 'operands'),
  redux: amongLanes('vote', alike(2, word), 'operands'),
  elect: amongLanes('vote', fixed(word, word), 'operands'),
  activemask: together('vote', 'active-lanes', fixed(word), 'operands'),
  movmatrix: together('shuffle', 'warp', fixed(word, word), 'operands'),
  ldmatrix: { ...together('shared-load', 'warp', fixed(anything, address), 'memory'), memory: 'matrix-load' },
  stmatrix: { ...together('shared-store', 'warp', fixed(address, anything), 'none'), memory: 'matrix-store' },
  mma: { ...together('tensor', 'warp', varied, 'operands'), flop: 'matrix' },
  wmma: {
    ...together(wmma, 'warp', varied, (i) => WMMA_RESULTS[first(i)] ?? 'operands'),
    memory: 'matrix',
    namesSpace: true,
    flop: 'matrix',
  },
  wgmma: {
    ...together(wgmma, 'warpgroup', varied, (i) => (first(i) === 'mma_async' ? 'accumulator' : 'none')),
    showsRanks: true,
    memory: 'matrix',
    flop: 'matrix',
  },

  // Barriers and fences: who meets, operands, how it runs.
  bar: barrier,
  barrier,
  mbarrier: { ...orders('object', varied, 'warp', mbarrierResult), memory: 'atomic', namesSpace: true },
  membar: orders('memory', fixed(), 'order'),
  fence: { ...orders('memory', varied, 'order'), namesSpace: true },

  // Control: where it goes, operands.
  bra: controls('branch', operands.label),
  brx: controls('switch', word, anything),
  call: controls('call', anything, anything, anything, perhaps),
  ret: controls('leave'),
  exit: controls('leave'),
  trap: controls('trap'),
  brkpt: requests('warp'),
  nanosleep: requests('order', word),
  setmaxnreg: requests('warp', word),
  // Orders launches; a virtual GPU runs them one after the other.
  griddepcontrol: requests('order'),
  pmevent: requests('warp', anything),

  // What calls of the driver's functions become: format and arguments; condition, file, line, function, bytes of a character.
  [DRIVER_OPCODES.print]: {
    ...requests('warp', word, ...Array<Place>(2).fill(anything)),
    result: 'operands',
    expansion: printed,
  },
  [DRIVER_OPCODES.failAssertion]: requests('warp', ...Array<Place>(5).fill(anything)),

  // Stands before accesses to buffers of which only some pages lie in memory. What it gives may point anywhere.
  [TRANSLATE]: { ...addresses('move', varied, 'memory'), runs: 'warp' },
};

/** By opcode. */
export const INSTRUCTIONS: ReadonlyMap<string, InstructionRow> = new Map(Object.entries(ROWS));
