import type { Printed } from './printed.ts';

/** Lines of an evaluation. Apart from their schema, because a page needs the number and no library. */
export const MOST_PRINTED_LINES = 40;

/** What later launches of a sequence printed, behind what earlier ones did. */
export function joinPrinted(before: Printed | undefined, after: Printed | undefined): Printed | undefined {
  if (!before || !after) return before ?? after;
  const lines = [...before.lines, ...after.lines];
  const isWhole = before.moreCalls !== undefined && after.moreCalls !== undefined;
  return {
    lines: lines.slice(0, MOST_PRINTED_LINES),
    moreCalls: isWhole
      ? before.moreCalls! + after.moreCalls! + Math.max(0, lines.length - MOST_PRINTED_LINES)
      : undefined,
  };
}
