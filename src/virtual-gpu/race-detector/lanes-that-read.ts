import { LANES } from '../layout.ts';
import { READ_BY } from './shadow-layout.ts';

/**
 * Which lanes of a warp have read a cell of shared memory since they met, in one word of {@link READ_BY}: the last, and another if there is
 * one. Two are enough: whoever writes the cell next is not at least one of them.
 */
export const readBy = (where: number, otherLane: number): number =>
  otherLane === 0 ? where : where | READ_BY.many | (otherLane << READ_BY.otherShift);

/** The same when other reads came before, since the lanes met. */
export function readAfter(before: number, read: number): number {
  if (read < 0) return read;
  if (((before ^ read) & LANE) === 0) return read | (before & ~READ_BY.place);
  return readBy(read, before & LANE) | READ_BY.many;
}

/** Whether a read adds nothing to those before. */
export const isKnownRead = (before: number, read: number): boolean =>
  before < 0 || ((before ^ read) & (LANE | READ_BY.many)) === 0;

/** Access × 32 + lane of a read by another lane than that of a write; −1 if there is none. The access is that of the last read. */
export function readOfAnother(read: number, write: number): number {
  const where = read & READ_BY.place;
  if (((where ^ write) & LANE) !== 0) return where;
  return read < 0 ? (where & ~LANE) | ((read >>> READ_BY.otherShift) & LANE) : -1;
}

const LANE = LANES - 1;
