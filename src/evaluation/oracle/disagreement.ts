import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { decode } from '../../core/rounding.ts';
import { packElements } from '../launches/layout.ts';
import { compareOutput } from './compare.ts';
import { describeVerdict } from './describe-verdict.ts';
import type { Expectations } from './expectations.ts';
import { outputsOf } from './reference-runs.ts';

/** Describes the first wrong output; undefined if all are right. Bytes are laid out as declared. */
export function disagreement(
  buffers: readonly PlannedBuffer[],
  expectations: Expectations,
  outputs: ReadonlyMap<string, Uint8Array>,
): string | undefined {
  for (const buffer of outputsOf(buffers)) {
    const got = decode(packElements(buffer, outputs.get(buffer.name)!), buffer.dtype);
    const reason = describeVerdict(buffer.name, compareOutput(buffer, expectations.get(buffer.name)!, got));
    if (reason !== undefined) return reason;
  }
  return undefined;
}
