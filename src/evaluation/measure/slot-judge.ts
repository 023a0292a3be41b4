import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { decode } from '../../core/rounding.ts';
import { compareOutput } from '../compare.ts';
import { describeVerdict } from '../describe-verdict.ts';
import { type DeviceReference, type Expectations, expectationsFor } from '../expectations.ts';
import { packElements } from '../layout.ts';
import { outputsOf } from '../reference-runs.ts';

/** What a slot held: the bytes of every input as a sequence found them, and of every output as it left them. */
export interface SlotContents {
  readonly inputs: ReadonlyMap<string, Uint8Array>;
  readonly outputs: ReadonlyMap<string, Uint8Array>;
}

/** Says what is wrong with a slot; undefined when nothing is. */
export type SlotJudge = (contents: SlotContents) => Promise<string | undefined>;

/**
 * Compares slots whole with the oracle, on the inputs they really held. Where a GPU runs the reference, first within the
 * tolerances that any inputs have: what is within them needs no runs on perturbed inputs, which take the host ten times as long.
 */
export const createSlotJudge = (request: {
  problem: Problem;
  dimensions: Dimensions;
  deviceReference?: DeviceReference | undefined;
  signal?: AbortSignal | undefined;
}): SlotJudge => {
  const { problem, dimensions } = request;
  const buffers = expandBuffers(problem.file, dimensions);
  return async ({ inputs, outputs }) => {
    const compared = async (leastTolerances: boolean): Promise<string | undefined> => {
      const expectations = await expectationsFor({ ...request, inputs, leastTolerances });
      return disagreement(buffers, expectations, outputs);
    };
    if (request.deviceReference && (await compared(true)) === undefined) return undefined;
    return compared(false);
  };
};

/** The first output that is not as expected, in words; undefined when all are. Bytes are laid out as declared. */
export const disagreement = (
  buffers: readonly PlannedBuffer[],
  expectations: Expectations,
  outputs: ReadonlyMap<string, Uint8Array>,
): string | undefined => {
  for (const buffer of outputsOf(buffers)) {
    const got = decode(packElements(buffer, outputs.get(buffer.name)!), buffer.dtype);
    const reason = describeVerdict(buffer.name, compareOutput(buffer, expectations.get(buffer.name)!, got));
    if (reason !== undefined) return reason;
  }
  return undefined;
};
