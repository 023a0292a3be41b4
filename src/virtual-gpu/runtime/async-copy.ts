import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { has, spaceOf } from '../../ptx/instruction-parts.ts';
import { elementsOf } from '../../ptx/operands.ts';
import { LANES, OFFSET_IN_CTA } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { bulkCopyStep } from './bulk-copies/bulk-copies.ts';
import { bulkPrefetch } from './cache-hints.ts';
import { CopyPatterns } from './copy-patterns.ts';
import { COPY_WORDS, type CopyOperands } from './lane-copier.ts';
import type { Mbarrier } from './mbarriers/mbarriers.ts';
import { atMbarrier, mbarrierAt } from './mbarriers/operations.ts';
import { allPending, closeGroup, endGroups, groupsLeftBy } from './pending-groups.ts';
import { addressHalves, type PendingCopies, type PendingCopy, type WarpContext } from './warp-context.ts';

type Step = (context: WarpContext) => void;

const TARGETS = addressHalves();
const SOURCES = addressHalves();
/** Words of copies that have landed: making some takes longer than filling them. */
const SPARE: Uint32Array[] = [];
/** Bytes that lanes take from device memory. */
const WANTED = new Uint32Array(LANES);

/**
 * cp.async. A copy lands when the kernel waits for it, not before. Code that forgets the wait reads the old contents of
 * shared memory, as may happen on hardware. The source is also read at that time. In a seeded order, some copies land at once.
 */
export function asyncCopy(instruction: PtxInstruction): Step {
  const { modifiers } = instruction;
  if (modifiers.includes('bulk') && modifiers.includes('prefetch')) return bulkPrefetch;
  const bulkStep = bulkCopyStep(instruction);
  if (bulkStep) return bulkStep;
  if (modifiers[0] !== 'async' || modifiers.includes('bulk')) throw unsupported(instruction);
  if (modifiers.includes('mbarrier')) return arriveAfterCopies;
  const step = pendingCopiesStep(instruction);
  if (step) return ({ copies }) => step(copies);
  if (modifiers.includes('ca') || modifiers.includes('cg')) return issuer(instruction);
  throw unsupported(instruction);
}

/** What an instruction does that concerns nothing but the copies of its warp; undefined for others. */
export function pendingCopiesStep(instruction: PtxInstruction): ((copies: PendingCopies) => void) | undefined {
  const { opcode, modifiers } = instruction;
  if (opcode !== 'cp' || modifiers[0] !== 'async' || ['bulk', 'mbarrier'].some((name) => modifiers.includes(name)))
    return undefined;
  if (modifiers.includes('commit_group')) return closeGroup;
  if (modifiers.includes('wait_all')) return waitAll;
  if (!modifiers.includes('wait_group')) return undefined;
  const left = groupsLeftBy(instruction);
  return (copies) => endGroups(copies, left, land);
}

/** What is known of a cp.async: it executes thousands of times. */
interface CopyForm {
  readonly destination: PtxOperand;
  readonly source: PtxOperand;
  readonly bytes: number;
  readonly patterns: CopyPatterns;
  /** Where its operands lie, once somebody has asked. */
  usual?: CopyOperands | null;
}

function issuer(instruction: PtxInstruction): Step {
  const [destination, source, size] = instruction.operands.flatMap(elementsOf);
  if (!destination || !source || size?.kind !== 'immediate' || has(instruction, 'L2::cache_hint'))
    return () => {
      throw unsupported(instruction);
    };
  const bytes = Number(size.value);
  const form: CopyForm = { destination, source, bytes, patterns: new CopyPatterns(bytes) };
  return (context) => issue(context, form);
}

function issue(context: WarpContext, form: CopyForm): void {
  const { bytes } = form;
  const words = SPARE.pop() ?? new Uint32Array(COPY_WORDS * LANES);
  if (form.usual === undefined) form.usual = context.copyOperands();
  const prepared = form.usual === null ? undefined : context.prepareCopy(form.usual);
  if (prepared) words.set(prepared.words);
  const isWhole = prepared !== undefined || copyByLane(context, form, words);
  const copy: PendingCopy = { issuedBy: context, lanes: context.lanes, words, bytes, isWhole, landed: 0 };
  open(context, copy);
  if (!context.listens) return;
  if (!prepared) form.patterns.forget();
  const pattern = prepared && context.countsCopies ? form.patterns.find(prepared) : undefined;
  if (pattern) context.countCopy(pattern, words);
  else countRequests(context, copy);
}

function open(context: WarpContext, copy: PendingCopy): void {
  context.copies.open.push(copy);
  if (context.cta.landsAtOnce()) land(copy);
}

/**
 * Works out the words of a copy. Returns whether it is whole.
 * @throws KernelFault for addresses where nothing can be copied from or to.
 */
function copyByLane(context: WarpContext, { destination, source, bytes }: CopyForm, words: Uint32Array): boolean {
  const { operands, lanes } = context;
  const [, , , sourceSize] = operands;
  const to = context.addresses(destination, TARGETS);
  const from = context.addresses(source, SOURCES);
  if (sourceSize) context.wordsInto(sourceSize, WANTED);
  else WANTED.fill(bytes);
  const [arePlainTargets, arePlainSources] = [
    context.areDirect(to, 'shared', bytes),
    context.areDirect(from, 'global', bytes),
  ];
  let isWhole = lanes.length === LANES;
  for (const lane of lanes) {
    const wanted = Math.min(bytes, WANTED[lane]!);
    if (!arePlainTargets) context.checkSharedStore(to.low[lane]!, to.high[lane]!, bytes, lane);
    if (!arePlainSources && wanted > 0) context.checkGlobalLoad(from.low[lane]!, from.high[lane]!, bytes, lane, wanted);
    words[lane] = to.low[lane]! & OFFSET_IN_CTA;
    // What is not taken may have any address.
    words[LANES + lane] = wanted > 0 ? from.low[lane]! : 0;
    words[2 * LANES + lane] = wanted;
    if (wanted !== bytes && wanted !== 0) isWhole = false;
  }
  return isWhole;
}

/** Of the request at hand: nobody keeps them. */
const [taking, sources, targets] = [0, 1, 2].map(() => new Array<number>(LANES).fill(0)) as [
  number[],
  number[],
  number[],
];

function countRequests(context: WarpContext, { lanes, words, bytes }: PendingCopy): void {
  let count = 0;
  for (let i = 0; i < lanes.length; i++) {
    const lane = lanes[i]!;
    const [source, taken] = [words[LANES + lane]!, words[2 * LANES + lane]!];
    targets[i] = words[lane]!;
    if (taken === 0) continue;
    taking[count] = lane;
    sources[count++] = source;
    context.markRead(source, taken);
  }
  const some = <T>(values: T[], many: number): T[] => (many === LANES ? values : values.slice(0, many));
  context.countRequestIn('global', some(sources, count), some(taking, count), bytes, 'load');
  context.countRequestIn('shared', some(targets, lanes.length), lanes, bytes, 'store');
}

function land(copy: PendingCopy): void {
  const { issuedBy, words, bytes, isWhole } = copy;
  if (isWhole && copy.landed === 0 && issuedBy.landAll(words, bytes)) {
    copy.landed = -1;
    // Nobody reads them again, since all lanes' parts are there.
    SPARE.push(words);
  } else for (const lane of copy.lanes) landLane(copy, lane);
}

/** A lane's part lands once: at the wait of its thread, or at that of another one at an mbarrier. */
function landLane(copy: PendingCopy, lane: number): void {
  const { issuedBy, lanes, words, bytes } = copy;
  if ((copy.landed >>> lane) & 1 || !lanes.includes(lane)) return;
  copy.landed |= 1 << lane;
  issuedBy.land(words[lane]!, words[LANES + lane]!, words[2 * LANES + lane]!, bytes, lane);
}

/** cp.async.mbarrier.arrive: what each thread has copied so far lands when somebody waits there, and counts as an arrival then. */
function arriveAfterCopies(context: WarpContext): void {
  const { instruction, operands, lanes, copies, cta, warp, watcher } = context;
  const pending = allPending(copies);
  for (const lane of lanes) {
    const place = mbarrierAt(context, operands[0]!, lane, spaceOf(instruction));
    if (place.cta !== cta) throw unsupported(instruction, 'names an mbarrier of another CTA');
    const at = (act: (object: Mbarrier) => void): void =>
      atMbarrier(context, lane, place.address, () => act(cta.barriers.at(place.address)));
    at((object) => !has(instruction, 'noinc') && cta.barriers.await(object, 1));
    cta.send(place.address, () => {
      for (const copy of pending) landLane(copy, lane);
      watcher?.released(place.address, warp, cta.rank);
      at((object) => cta.barriers.arrive(object, 1));
    });
  }
}

function waitAll(copies: PendingCopies): void {
  closeGroup(copies);
  endGroups(copies, 0, land);
}
