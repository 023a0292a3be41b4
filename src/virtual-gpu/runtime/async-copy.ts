import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { has, spaceOf } from '../../ptx/instruction-parts.ts';
import { LANES, OFFSET_IN_CTA } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { bulkCopyStep } from './bulk-copies/bulk-copies.ts';
import { bulkPrefetch } from './cache-hints.ts';
import { COPY_WORDS } from './lane-copier.ts';
import type { Mbarrier } from './mbarriers/mbarriers.ts';
import { atMbarrier, mbarrierAt } from './mbarriers/operations.ts';
import { addressHalves, type PendingCopy, type WarpContext } from './warp-context.ts';

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
  if (modifiers.includes('commit_group')) return commit;
  if (modifiers.includes('wait_group')) return waitGroup;
  if (modifiers.includes('wait_all')) return waitAll;
  if (modifiers.includes('ca') || modifiers.includes('cg')) return issue;
  throw unsupported(instruction);
}

function issue(context: WarpContext): void {
  const { instruction, operands } = context;
  const [destination, source, size] = operands;
  if (!destination || !source || size?.kind !== 'immediate' || has(instruction, 'L2::cache_hint'))
    throw unsupported(instruction);
  const bytes = Number(size.value);
  const words = SPARE.pop() ?? new Uint32Array(COPY_WORDS * LANES);
  const prepared = context.prepareCopy();
  if (prepared) words.set(prepared);
  const isWhole = prepared !== undefined || copyByLane(context, { destination, source, bytes }, words);
  const copy = { issuedBy: context, lanes: context.lanes, words, bytes, isWhole, landed: 0 };
  open(context, copy);
  if (context.listens) countRequests(context, copy);
}

function open(context: WarpContext, copy: PendingCopy): void {
  context.copies.open.push(copy);
  if (context.cta.landsAtOnce()) land(copy);
}

/**
 * Works out the words of a copy. Returns whether it is whole.
 * @throws KernelFault for addresses where nothing can be copied from or to.
 */
function copyByLane(
  context: WarpContext,
  { destination, source, bytes }: { destination: PtxOperand; source: PtxOperand; bytes: number },
  words: Uint32Array,
): boolean {
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
  const pending = [...copies.groups.flat(), ...copies.open];
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

function commit({ copies }: WarpContext): void {
  copies.groups.push(copies.open);
  copies.open = [];
}

function waitGroup({ copies, operands }: WarpContext): void {
  const allowed = operands[0]?.kind === 'immediate' ? Number(operands[0].value) : 0;
  while (copies.groups.length > allowed) for (const copy of copies.groups.shift()!) land(copy);
}

function waitAll({ copies }: WarpContext): void {
  for (const group of [...copies.groups, copies.open]) for (const copy of group) land(copy);
  copies.groups = [];
  copies.open = [];
}
