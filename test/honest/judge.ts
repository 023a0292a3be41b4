import type { Evaluation } from '../../src/core/evaluation.ts';
import { refusingUnreached } from '../../src/core/unreached.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createLiveEvaluator } from '../../src/evaluation/live-evaluator.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { candidateOf, type Edit, type HonestKernel, problemOf } from './kernels.ts';

export interface Judge {
  judge(kernel: HonestKernel, edits?: readonly Edit[]): Promise<Evaluation>;
  close(): Promise<void>;
}

/** Judges kernels on a virtual L4 as `evaluate` does. */
export const openJudge = async (): Promise<Judge> => {
  const device = await openDevice('virtual:l4');
  const evaluator = createLiveEvaluator({ device, toolchain: await createClangToolchain() });
  return {
    async judge(kernel, edits) {
      const problem = problemOf(kernel);
      const { name, dimensions } = problem.file.workloads[0]!;
      const workload = { name, dimensions, cache: 'hot' } as const;
      const request = { problem, candidate: candidateOf(kernel, edits), workload, seed: 1, thorough: true };
      return refusingUnreached(await evaluator.evaluate(request));
    },
    async close() {
      await evaluator.close();
      await device.close();
    },
  };
};
