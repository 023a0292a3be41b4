import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { packElements } from '../launches/layout.ts';
import { DECLARED } from '../oracle/check.ts';
import { compareRows } from '../oracle/compare-rows.ts';
import { describeVerdict } from '../oracle/describe-verdict.ts';
import { disagreement } from '../oracle/disagreement.ts';
import {
  type DeviceReference,
  decodeInputs,
  expectationsFrom,
  runsFor,
  type WorkOutDisagreement,
} from '../oracle/expectations.ts';
import { type ExpectedRows, expectedRows } from '../oracle/expected-rows.ts';
import { outputsOf, runHostReference } from '../oracle/reference-runs.ts';
import type { SlotPart } from './slot-part.ts';

/** A slot's contents: the bytes of every input before a sequence, and of every output after it. */
export interface SlotContents {
  readonly inputs: ReadonlyMap<string, Uint8Array>;
  readonly outputs: ReadonlyMap<string, Uint8Array>;
}

/** Describes the mistake in a slot. Undefined if there is none. */
export interface SlotJudge {
  /** Compares all of it, on the inputs that the slot held. */
  whole(contents: SlotContents): Promise<string | undefined>;
  /** Compares rows that the seed chooses, in a part that was read, with the host's reference. */
  part(part: SlotPart, contents: SlotContents, seed: number): Promise<string | undefined>;
}

/**
 * Compares slots with the oracle. If a GPU runs the reference, it first uses the tolerances that hold for any inputs.
 * Outputs within them need no runs on perturbed inputs, which take the host ten times as long. Where outputs of one slot are not, those of
 * the next ones will not be either: in a matrix product, some elements are sums that nearly cancel. Before a slot is called wrong, more runs on perturbed inputs tell the tolerances.
 */
export function createSlotJudge(request: {
  problem: Problem;
  dimensions: Dimensions;
  deviceReference?: DeviceReference | undefined;
  /** Works out tolerances from the runs, and compares; this thread does if absent. */
  disagree?: WorkOutDisagreement | undefined;
  signal?: AbortSignal | undefined;
}): SlotJudge {
  const { problem, dimensions, disagree = disagreeHere } = request;
  let leastMayDo = request.deviceReference !== undefined;
  const whole: SlotJudge['whole'] = async ({ inputs, outputs }) => {
    const compared = async (how: { leastTolerances?: true; sure?: true }): Promise<string | undefined> => {
      const run = () => runsFor({ ...request, inputs, ...how });
      return disagree(problem, dimensions, { runs: await run(), outputs, again: run });
    };
    if (leastMayDo && (await compared({ leastTolerances: true })) === undefined) return undefined;
    leastMayDo = false;
    return (await compared({})) === undefined ? undefined : compared({ sure: true });
  };
  return {
    whole,
    async part({ dimensions, buffers, offsets }, { inputs, outputs }, seed) {
      const tensors = decodeInputs(buffers, inputs);
      const chosen = { problem, dimensions, seed, generatorSet: DECLARED, buffers, inputs: tensors };
      const { signal } = request;
      const compared = async (sure: boolean): Promise<string | undefined> => {
        const expected: ExpectedRows = (await expectedRows({ ...chosen, signal, sure })) ?? {
          expectations: expectationsFrom(problem, buffers, dimensions, {
            ...(await runHostReference(problem, buffers, tensors, dimensions, { signal, sure })),
            inputs: tensors,
          }),
        };
        const verdicts = compareRows(outputsOf(buffers), expected, packedOutputs(buffers, outputs));
        for (const [name, verdict] of verdicts) {
          const reason = describeVerdict(name, verdict);
          if (reason !== undefined) return `${reason} (counted from byte ${offsets.get(name)} of ${name})`;
        }
        return undefined;
      };
      return (await compared(false)) === undefined ? undefined : compared(true);
    },
  };
}

const disagreeHere: WorkOutDisagreement = async (problem, dimensions, { runs, outputs }) => {
  const buffers = expandBuffers(problem.file, dimensions);
  return disagreement(buffers, expectationsFrom(problem, buffers, dimensions, runs), outputs);
};

const packedOutputs = (
  buffers: readonly PlannedBuffer[],
  outputs: ReadonlyMap<string, Uint8Array>,
): Map<string, Uint8Array> =>
  new Map(outputsOf(buffers).map((buffer) => [buffer.name, packElements(buffer, outputs.get(buffer.name)!)]));
