import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { describeCheck } from '../../src/evaluation/oracle/check.ts';
import { shapeChecks } from '../../src/evaluation/oracle/checks/listed.ts';
import { createDeviceReference } from '../../src/evaluation/oracle/device-reference.ts';
import { prepareCheck } from '../../src/evaluation/oracle/expectation-cache.ts';
import { runHostReference } from '../../src/evaluation/oracle/reference-runs.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';

/** How far a problem's device reference is from its reference.ts on one check. */
export interface ReferenceDifference {
  check: string;
  /** Largest difference of the oracles, relative to the oracle's largest element. */
  oracle: number;
}

/** Runs both references of a problem with one output on all its checks. */
export async function compareReferences(folder: string, output: string): Promise<ReferenceDifference[]> {
  const problem = await loadProblem(folder);
  const device = await openDevice('virtual:h200');
  const deviceReference = createDeviceReference({ device, toolchain: await createClangToolchain() });
  const differences: ReferenceDifference[] = [];
  try {
    for (const check of shapeChecks(problem.file)) {
      const { dimensions, generatorSet } = check;
      const { buffers, inputs } = prepareCheck({ problem, dimensions, generatorSet, seed: 1 });
      const host = await runHostReference(problem, buffers, inputs.tensors, dimensions);
      const onDevice = (await deviceReference.run({ problem, dimensions, inputs: inputs.bytes }))!;
      const exact = host.oracle[output]!;
      const got = onDevice.oracle[output]!;
      const errors = exact.map((value, i) => (Object.is(value, got[i]) ? 0 : Math.abs(value - got[i]!)));
      const finite = exact.filter(Number.isFinite);
      differences.push({
        check: describeCheck(check),
        oracle: Math.max(...errors) / Math.max(Number.MIN_VALUE, ...finite.map(Math.abs)),
      });
    }
  } finally {
    await deviceReference.close();
    await device.close();
  }
  return differences;
}
