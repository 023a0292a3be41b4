import { onceFor, rememberedAt } from '../../../core/once-for.ts';
import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { has, typesOf } from '../../../ptx/instruction-parts.ts';
import type { RunnableImage } from '../../kernel-image.ts';
import { LANES, SCRATCH, SHARED, WARP } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { Products } from '../cta-state.ts';
import { type DirectSite, type DirectStep, registerOf } from '../direct-site.ts';
import { atSource, KernelFault } from '../fault.ts';
import { ELEMENT_FORMATS, type ElementFormat, readAccumulator, writeAccumulator } from '../matrix-elements.ts';
import type { PrivateMemory } from '../memories.ts';
import { allPending, closeGroup, endGroups, groupsLeftBy } from '../pending-groups.ts';
import type { TensorKernelForm } from '../product-emitter.ts';
import { halfForm } from '../tensor-form.ts';
import { type Accumulate, accumulatorFor, type Factors, factorsOf, warpgroupModel } from '../tensor-model.ts';
import { operandsOf, type WarpContext } from '../warp-context.ts';
import { type OperandPieces, PiecesByDescriptor } from './pieces-by-descriptor.ts';
import { rankIn } from './rank-in-descriptor.ts';
import { PIECE_BYTES, piecesAcrossK, piecesAlongK, readDescriptor } from './shared-operands.ts';
import { createWarpgroupKernel, KeptList, type WarpgroupKernel } from './warpgroup-kernel.ts';

/** Rows of D that a warp of a warpgroup has; columns of a tile. */
const ROWS = 16;
const TILE = 8;
/** Elements of a tile in a lane. */
const RESULTS = 4;
const WARPS = 4;

/** What an instruction says. */
interface Form {
  readonly n: number;
  readonly k: number;
  readonly a: ElementFormat;
  readonly b: ElementFormat;
  /** Of D. */
  readonly type: string;
  /** Registers of D, and those of one tile. */
  readonly dCount: number;
  readonly tileRegisters: number;
  /** A comes from four registers. */
  readonly fromRegisters: boolean;
  readonly scaleD: PtxOperand | undefined;
  readonly isNegated: boolean;
  /** M-major A, N-major B. */
  readonly isTransposed: { readonly a: boolean; readonly b: boolean };
  readonly accumulate: Accumulate;
  /** Names of how A lies for each warp of a warpgroup, and of how B does. */
  readonly kinds: { readonly a: readonly string[]; readonly b: string };
  /** For 16-bit elements and f32 accumulators. */
  readonly fast: TensorKernelForm | undefined;
}

const A_REGISTERS = 4;

const isMinusOne = (operand: PtxOperand | undefined): boolean =>
  operand?.kind === 'immediate' && BigInt.asIntN(32, operand.value) === -1n;
const isOne = (operand: PtxOperand | undefined): boolean => operand?.kind === 'immediate' && operand.value === 1n;

const formOf = onceFor((instruction: PtxInstruction): Form => {
  const shape = instruction.modifiers.map((m) => /^m64n(\d+)k(\d+)$/.exec(m)).find((match) => match !== null);
  const [type, aType, bType] = typesOf(instruction);
  const [a, b] = [ELEMENT_FORMATS[aType ?? ''], ELEMENT_FORMATS[bType ?? '']];
  if (!shape || !a || !b || !type || has(instruction, 'sp')) throw unsupported(instruction);
  const [n, k] = [Number(shape[1]), Number(shape[2])];
  const accumulate = accumulatorFor(type, aType!, warpgroupModel, has(instruction, 'satfinite'));
  if (!accumulate) throw unsupported(instruction);
  const perTile = type === 'f16' ? RESULTS / 2 : RESULTS;
  const dCount = (n / TILE) * perTile;
  const fromRegisters = instruction.operands[1]?.kind === 'vector';
  const behind = operandsOf(instruction).slice(dCount + (fromRegisters ? A_REGISTERS : 1) + 1);
  const [scaleD, scaleA, scaleB, ...transposed] = behind;
  const [transposedA, transposedB] = fromRegisters ? [undefined, transposed[0]] : transposed;
  const isHalf = aType === 'f16' || aType === 'bf16';
  return {
    ...{ n, k, a, b, type, dCount, tileRegisters: perTile, fromRegisters, scaleD, accumulate },
    isNegated: isMinusOne(scaleA) !== isMinusOne(scaleB),
    isTransposed: { a: isOne(transposedA), b: isOne(transposedB) },
    kinds: {
      a: Array.from({ length: WARPS }, (_, warp) => `a${k}${isOne(transposedA)} ${warp}`),
      b: `b${n}${k}${isOne(transposedB)}`,
    },
    fast: isHalf && type === 'f32' ? halfForm(aType, k, warpgroupModel) : undefined,
  };
});

/** wgmma: the instructions of one of the warpgroup's warps, which needs only its own rows. Source: PTX ISA. */
export function warpgroupMultiply(instruction: PtxInstruction): (context: WarpContext) => void {
  const name = instruction.modifiers[0] ?? '';
  if (name === 'early_read') return refuseEarlyRead;
  if (name === 'mma_async') return multiplier(formOf(instruction));
  const step = STEPS[name];
  if (!step) throw unsupported(instruction);
  return (context) => {
    requireWholeWarp(context);
    step(productsOf(context), instruction);
  };
}

/** The same of a whole warp, whose operands lie in registers and were met by the CTA before. */
export function directWarpgroupStep(site: DirectSite): DirectStep | undefined {
  const { instruction } = site;
  const name = instruction.modifiers[0] ?? '';
  if (name === 'mma_async') return directMultiplier(site);
  const step = STEPS[name];
  if (!step) return undefined;
  return ({ cta }, warp) => {
    step(cta.productsOf(warp), instruction);
    return true;
  };
}

function requireWholeWarp(context: WarpContext): void {
  if (context.lanes.length === LANES) return;
  throw context.fault(
    'barrier',
    `${context.instruction.text} by ${context.lanes.length} threads of a warp`,
    context.lanes[0],
  );
}

const STEPS: Readonly<Record<string, (products: Products, instruction: PtxInstruction) => void>> = {
  fence: (products) => {
    products.isFenced = true;
  },
  commit_group: closeGroup,
  wait_group: (products, instruction) => endGroups(products, groupsLeftBy(instruction), (product) => product.finish()),
};

/** Before an instruction that reads accumulators: its operands are the lines of the products that may be on their way there. */
function refuseEarlyRead(context: WarpContext): void {
  const { operands, lanes } = context;
  const lines = new Set(operands.map((operand) => (operand.kind === 'immediate' ? Number(operand.value) : -1)));
  const early = allPending(productsOf(context)).find((product) => lines.has(product.instruction.ptxLine));
  if (!early) return;
  throw context.fault(
    'race',
    `reads an accumulator of wgmma.mma_async${atSource(early.instruction.source)} before a wgmma.wait_group`,
    lanes[0],
  );
}

const productsOf = ({ cta, warp }: WarpContext) => cta.productsOf(warp);

/**
 * The products are there at once, since the compiler's own copies between registers stand before the wait. What they read
 * of shared memory counts as read until the wait.
 */
function multiply(context: WarpContext, site: Site): void {
  requireWholeWarp(context);
  const products = productsOf(context);
  const { instruction, warp } = context;
  if (!products.isFenced) throw context.fault('barrier', 'wgmma.mma_async without a wgmma.fence before it', 0);
  const { form } = site;
  const operands = factorsAt(context, site);
  const keepsC = form.scaleD === undefined || context.predicate(form.scaleD, 0);
  const factors = { a: operands.a, b: operands.b, keepsC };
  if (!multiplyFast(site, warp, factors, () => context)) multiplyByElement(context, form, factors);
  const { note, read } = operands;
  products.open.push({
    instruction,
    finish: () => noting(note, () => context.countChunks('shared', read, PIECE_BYTES, 'load', 0)),
  });
}

/** What is known of an instruction of one kernel on one thread: it executes thousands of times. */
interface Site {
  readonly form: Form;
  /** Byte offsets from the warp's state of D's registers, and of those of A. */
  readonly registers: KeptList;
  /** Whether A does not lie where {@link WarpgroupKernel} finds it. */
  readonly isElsewhere: boolean;
  /** Absent where there is no fast form. */
  readonly kernel: WarpgroupKernel | undefined;
}

type RegisterPlaces = Pick<DirectSite, 'image' | 'memory'>;

function siteOf({ image, memory }: RegisterPlaces, instruction: PtxInstruction, form: Form): Site {
  const { dCount, fromRegisters, fast, isTransposed, isNegated } = form;
  const operands = operandsOf(instruction);
  const d = fast && offsetsOf(image, operands.slice(0, dCount));
  const a = fromRegisters ? offsetsOf(image, operands.slice(dCount, dCount + A_REGISTERS)) : [];
  return {
    form,
    registers: new KeptList(Int32Array.of(...(d ?? []), ...(a ?? []))),
    isElsewhere: isNegated || (fromRegisters ? !d || !a : isTransposed.a),
    kernel: d && kernelFor(memory.memory, fast),
  };
}

/** Byte offsets from the warp's state; undefined unless all are registers that hold a value for each lane. */
function offsetsOf(image: RunnableImage, operands: readonly PtxOperand[]): number[] | undefined {
  const offsets = operands.map((operand) => {
    const register = registerOf(image, operand);
    return register?.uniform === false ? register.offset : -1;
  });
  return offsets.includes(-1) ? undefined : offsets;
}

function multiplier(form: Form): (context: WarpContext) => void {
  let site: Site | undefined;
  return (context) => {
    site ??= siteOf(context, context.instruction, form);
    multiply(context, site);
  };
}

const NOTHING_READ = (): void => {};

/** Where nobody looks at accesses: descriptors that the CTA has met, in registers. */
function directMultiplier({ instruction, image, memory, contextOf }: DirectSite): DirectStep | undefined {
  const form = formOf(instruction);
  const { dCount, fromRegisters, scaleD, kinds } = form;
  const operands = operandsOf(instruction);
  const wideAt = (operand: PtxOperand | undefined): number | undefined => {
    const register = registerOf(image, operand);
    return register?.kind === 'double-word' ? register.offset : undefined;
  };
  const aAt = fromRegisters ? 0 : wideAt(operands[dCount]);
  const bAt = wideAt(operands[dCount + (fromRegisters ? A_REGISTERS : 1)]);
  const keeps = scaleD === undefined ? () => true : truthOf(image, memory, scaleD);
  if (image.watching || !form.fast || aAt === undefined || bAt === undefined || !keeps) return undefined;
  const product = { instruction, finish: NOTHING_READ };
  let site: Site | undefined;
  return ({ cta }, warp) => {
    const products = cta.productsOf(warp);
    if (!products.isFenced) return false;
    site ??= siteOf({ image, memory }, instruction, form);
    if (site.isElsewhere) return false;
    const { u32 } = memory;
    const met = (kind: string, at: number): OperandPieces | undefined =>
      cta.pieces.get(kind)?.get(u32[(warp + at) >> 2]!, u32[(warp + at + 4) >> 2]!);
    const b = met(kinds.b, bAt);
    const a = fromRegisters ? undefined : met(kinds.a[u32[(warp + WARP.warpIndex) >> 2]! % WARPS]!, aAt);
    if (!b || (!a && !fromRegisters)) return false;
    const factors = { a: a?.places, b: b.places, keepsC: keeps(warp) };
    if (!multiplyFast(site, warp, factors, contextOf)) return false;
    products.open.push(product);
    return true;
  };
}

/** Reads a predicate of a warp, which is the same in all lanes; undefined for operands that are no register and no number. */
function truthOf(
  image: RunnableImage,
  memory: PrivateMemory,
  operand: PtxOperand,
): ((warp: number) => boolean) | undefined {
  if (operand.kind === 'immediate') return () => operand.value !== 0n;
  const register = registerOf(image, operand);
  if (!register) return undefined;
  const isNegated = operand.kind === 'register' && operand.negated === true;
  return (warp) => (memory.u32[(warp + register.offset) >> 2] !== 0) !== isNegated;
}

/** Addresses in private memory of the pieces of a warp's rows of A, and of B. */
interface Operands {
  /** Absent where they lie in registers. */
  readonly a: KeptList | undefined;
  readonly b: KeptList;
  /** Addresses in shared memory. */
  readonly read: readonly number[];
  /** To be added to a fault of theirs. */
  readonly note: string;
}

/** Adds a note to the message of a fault. */
function noting(note: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (error instanceof KernelFault) error.message = error.message.replace(/[:,]?$/, (end) => note + end);
    throw error;
  }
}

function factorsAt(context: WarpContext, { form, isElsewhere }: Site): Operands {
  const { dCount, fromRegisters, n, k, isTransposed } = form;
  const bAt = dCount + (fromRegisters ? A_REGISTERS : 1);
  const warp = Math.floor(context.threadOf(0) / LANES) % WARPS;
  const a = fromRegisters
    ? undefined
    : piecesOf(context, context.operands[dCount]!, form.kinds.a[warp]!, (matrix) =>
        isTransposed.a ? piecesAcrossK(matrix, warp * 2, 2, k) : piecesAlongK(matrix, warp * ROWS, ROWS),
      );
  const b = piecesOf(context, context.operands[bAt]!, form.kinds.b, (matrix) =>
    isTransposed.b ? piecesAcrossK(matrix, 0, n / TILE, k) : piecesAlongK(matrix, 0, n),
  );
  return {
    a: isElsewhere ? stageA(context, form, a?.places.values) : a?.places,
    b: b.places,
    read: context.watcher ? [...(a?.shared ?? []), ...b.shared] : [],
    note: b.note || (a?.note ?? ''),
  };
}

/** @throws KernelFault if the descriptor leads out of shared memory. */
function piecesOf(
  context: WarpContext,
  operand: PtxOperand,
  kind: string,
  layOut: (matrix: ReturnType<typeof readDescriptor>) => Int32Array,
): OperandPieces {
  const { low, high } = context.halves(operand, 0);
  const known = rememberedAt(context.cta.pieces, kind, () => new PiecesByDescriptor());
  const found = known.get(low, high);
  if (found) return found;
  const descriptor = context.double(operand, 0);
  const matrix = readDescriptor(descriptor);
  if (matrix.baseOffset !== 0)
    throw unsupported(
      context.instruction,
      `has a descriptor with base offset ${matrix.baseOffset}, which is not implemented on the virtual GPU`,
    );
  const shared = layOut(matrix);
  const note = rankIn(context, { descriptor, kind, layOut });
  noting(note, () => {
    for (const address of shared) context.resolve({ low: address, high: 0 }, 'shared', PIECE_BYTES, false, 0);
  });
  const pieces = { note, shared, places: new KeptList(shared.map((address) => SHARED + address)) };
  known.set(low, high, pieces);
  return pieces;
}

/**
 * Copies A to where a warp moves values about, sixteen rows one after the other: from registers, from columns, or with the
 * other sign.
 */
function stageA(context: WarpContext, form: Form, pieces: Int32Array | undefined): KeptList {
  const {
    dCount,
    k,
    a: { bits },
    isTransposed,
    isNegated,
  } = form;
  const memory = context.privateBytes;
  const staged = new DataView(memory.buffer, memory.byteOffset + SCRATCH, ROWS * 2 * PIECE_BYTES);
  if (!pieces) {
    // Register r of a lane is word lane % 4 of piece r / 2 of row lane / 4, or of that eight rows below.
    const words = context.words(dCount, A_REGISTERS);
    for (let r = 0; r < A_REGISTERS; r++)
      for (let lane = 0; lane < LANES; lane++) {
        const row = (lane >> 2) + (r & 1) * 8;
        staged.setUint32((row * 2 + (r >> 1)) * PIECE_BYTES + (lane & 3) * 4, words[r * LANES + lane]!, true);
      }
  } else if (isTransposed.a) {
    const from = new DataView(memory.buffer, memory.byteOffset);
    for (let row = 0; row < ROWS; row++)
      for (let i = 0; i < k; i++)
        staged.setUint16((row * k + i) * 2, from.getUint16(pieces[(row >> 3) * k + i]! + (row & 7) * 2, true), true);
  } else
    for (const [i, place] of pieces.entries()) memory.copyWithin(SCRATCH + i * PIECE_BYTES, place, place + PIECE_BYTES);
  if (isNegated)
    for (let at = bits / 8 - 1; at < staged.byteLength; at += bits / 8) staged.setUint8(at, staged.getUint8(at) ^ 0x80);
  return STAGED;
}

const STAGED = new KeptList(Int32Array.from({ length: ROWS * 2 }, (_, i) => SCRATCH + i * PIECE_BYTES));

/** Of the memory that the operands lie in. */
const kernelsOf = onceFor((_memory: WebAssembly.Memory) => new Map<string, WarpgroupKernel>());

const kernelFor = (memory: WebAssembly.Memory, form: TensorKernelForm): WarpgroupKernel =>
  rememberedAt(kernelsOf(memory), form.format, () => createWarpgroupKernel(memory, form));

/** Where the factors lie, and whether C is added. */
interface FactorPlaces extends Pick<Operands, 'a' | 'b'> {
  readonly keepsC: boolean;
}

/** False if there is no fast form, or if its kernel leaves these numbers to the general form. */
function multiplyFast(
  { form, kernel, registers }: Site,
  warp: number,
  factors: FactorPlaces,
  contextOf: (warp: number) => WarpContext,
): boolean {
  if (!kernel) return false;
  const { a, b, keepsC } = factors;
  const placesOfRegisters = kernel.placeOf(registers);
  const isInRange = a ? kernel.decode(kernel.placeOf(a)) : kernel.decodeRegisters(warp, form.dCount, placesOfRegisters);
  if (isInRange === 0) return false;
  const pieces = kernel.placeOf(b);
  const tiles = form.n / TILE;
  const multiplyFrom = (tile: number): number =>
    kernel.multiply(tile, tiles, form.isTransposed.b ? 1 : 0, warp, keepsC ? -1 : 0, pieces, placesOfRegisters);
  let tile = multiplyFrom(0);
  while (tile < tiles) {
    multiplyTile(contextOf(warp), form, factors, tile);
    tile = tile + 1 < tiles ? multiplyFrom(tile + 1) : tiles;
  }
  return true;
}

function multiplyByElement(context: WarpContext, form: Form, factors: FactorPlaces): void {
  for (let tile = 0; tile < form.n / TILE; tile++) multiplyTile(context, form, factors, tile);
}

/** Eight columns of D element by element: any form, any numbers. */
function multiplyTile(context: WarpContext, form: Form, { a, b, keepsC }: FactorPlaces, tile: number): void {
  const { k, type, tileRegisters, accumulate } = form;
  const rows = gather(context, (a ?? stageA(context, form, undefined)).values, ROWS, k, form.a);
  const pieces = b.values.subarray(tile * TILE * 2, (tile + 1) * TILE * 2);
  const columns = form.isTransposed.b
    ? gatherAcross(context, pieces, k, form.b)
    : gather(context, pieces, TILE, k, form.b);
  const first = tile * tileRegisters;
  const c = keepsC ? context.words(first, tileRegisters) : new Uint32Array(tileRegisters * LANES);
  const d = new Int32Array(tileRegisters * LANES);
  const results = new Float64Array(RESULTS);
  for (let lane = 0; lane < LANES; lane++) {
    for (let i = 0; i < RESULTS; i++) {
      const row = (lane >> 2) + (i >> 1) * 8;
      const column = (lane & 3) * 2 + (i & 1);
      results[i] = accumulate(readAccumulator(c, lane, i, type), rows, columns, row, column, k);
    }
    writeAccumulator(d, lane, results, type);
  }
  for (let r = 0; r < tileRegisters; r++) context.setWords(context.operands[first + r]!, d, r * LANES);
}

/** Rows of A, or columns of B, whose pieces follow K. */
function gather(context: WarpContext, pieces: Int32Array, count: number, k: number, format: ElementFormat): Factors {
  const values = new Float64Array(count * k);
  const perPiece = k / 2;
  const perWord = 32 / format.bits;
  const { privateWords } = context;
  for (let i = 0; i < values.length; i++) {
    const place = pieces[Math.floor(i / perPiece)]!;
    const within = i % perPiece;
    values[i] = format.read(privateWords[place / 4 + Math.floor(within / perWord)]!, within % perWord);
  }
  return factorsOf(values, format.leastExponent);
}

/** Columns of B whose pieces are rows of eight halves. */
function gatherAcross(context: WarpContext, pieces: Int32Array, k: number, format: ElementFormat): Factors {
  const values = new Float64Array(TILE * k);
  const { privateWords } = context;
  for (let column = 0; column < TILE; column++)
    for (let row = 0; row < k; row++)
      values[column * k + row] = format.read(privateWords[pieces[row]! / 4 + (column >> 1)]!, column & 1);
  return factorsOf(values, format.leastExponent);
}
