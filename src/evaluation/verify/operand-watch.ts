import type { LoggedOperands, LoggedPairs } from '../../core/decisions.ts';
import type { OperandLog } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { type CopyRequest, type CopyRun, openCopy, runCopy } from './run-copy.ts';

export interface WatchRequest extends CopyRequest {
  readonly module: LoadedModule;
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
    const log = openCopy(() => (places.length > 0 ? device.logOperands?.(module, places, which) : undefined));
    return log && new OperandWatch(request, log);
  }

  /** What the decisions compared in a run; nothing if it fails. */
  async run(run: CopyRun): Promise<readonly LoggedOperands[]> {
    const hasEnded = await runCopy(this.#request, this.#log.module, run);
    const operands = this.#log.take();
    return hasEnded ? operands : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#request.device.unload(this.#log.module);
  }
}
