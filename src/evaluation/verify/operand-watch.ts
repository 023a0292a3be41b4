import type { LoggedOperands, LoggedPairs } from '../../core/decisions.ts';
import type { OperandLog } from '../../core/device.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions } from '../../core/problem.ts';
import { CheckRuns, type CheckRunsOptions } from './check-runs.ts';

export interface WatchRequest
  extends Pick<CheckRunsOptions, 'device' | 'module' | 'seed' | 'timeoutMs' | 'instructionsPerCta' | 'signal'> {
  readonly planFor: (dimensions: Dimensions) => LaunchPlan;
}

/** Runs a copy of the candidate's module that keeps what some of its decisions compared. */
export class OperandWatch {
  readonly #request: WatchRequest;
  readonly #log: OperandLog;

  private constructor(request: WatchRequest, log: OperandLog) {
    this.#request = request;
    this.#log = log;
  }

  /** `undefined` if none of the decisions has operands, or the device has no memory left for a copy of the module. */
  static open(request: WatchRequest, places: readonly number[], which: LoggedPairs): OperandWatch | undefined {
    const { device, module } = request;
    try {
      const log = places.length > 0 ? device.logOperands?.(module, places, which) : undefined;
      return log && new OperandWatch(request, log);
    } catch (error) {
      if (error instanceof WarpsmithError) return undefined;
      throw error;
    }
  }

  /** What the decisions compared in a run of this shape with these inputs; nothing if the run fails. */
  async run(
    dimensions: Dimensions,
    contents: ReadonlyMap<string, Uint8Array>,
    name: string,
  ): Promise<readonly LoggedOperands[]> {
    try {
      const plan = this.#request.planFor(dimensions);
      const { module } = this.#log;
      const runs = await CheckRuns.open({ ...this.#request, module, name, plan, contents, isMain: false });
      try {
        const result = await runs.natural();
        const operands = this.#log.take();
        return result.ok ? operands : [];
      } finally {
        await runs.close();
      }
    } catch (error) {
      if (error instanceof WarpsmithError) return [];
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#request.device.unload(this.#log.module);
  }
}
