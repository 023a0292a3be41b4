import type { DeviceFailure, LoadedModule } from '../core/device.ts';
import { FINITE_POISON, NAN_POISON, type Poison, ZERO_POISON } from './poison.ts';
import { orderSeedOf } from './random.ts';
import type { Refused } from './refusal.ts';
import { type CheckMemory, type RunConditions, type RunResult, runOnce } from './run-once.ts';

/** The runs that one check may take, all on the same buffers. */
export class CheckRuns {
  /** The check, in words. */
  readonly name: string;
  readonly #options: ConstructorParameters<typeof CheckRuns>[0];

  constructor(options: {
    name: string;
    module: LoadedModule;
    memory: CheckMemory;
    seed: number;
    /** Wall-clock limit of each run, in ms. */
    timeoutMs: number;
    instructionsPerCta?: number;
    /** The main workload's first run is the counted one. */
    isMain: boolean;
    signal?: AbortSignal;
  }) {
    this.name = options.name;
    this.#options = options;
  }

  /** Natural order over NaN poison. */
  natural(): Promise<RunResult | Refused> {
    const count = this.#options.isMain;
    return this.#run({ name: 'run 1 (natural order, NaN poison)', orderSeed: 0, poison: NAN_POISON, count });
  }

  /** Another CTA and warp order over finite poison. */
  reordered(): Promise<RunResult | Refused> {
    const orderSeed = orderSeedOf(this.#options.seed, this.name);
    const name = `run 2 (order seed ${orderSeed}, finite poison)`;
    return this.#run({ name, orderSeed, poison: FINITE_POISON, count: false });
  }

  /** Whether a run can see what an earlier one left behind, in a workspace that is zeroed once. */
  get remembers(): boolean {
    return this.#options.memory.plan.buffers.some(({ init }) => init === 'once');
  }

  /** Natural order over finite poison, as if first: tells the poison from the other causes of a difference. */
  repoisoned(): Promise<RunResult | Refused> {
    return this.#again('run 3 (natural order, finite poison)', FINITE_POISON);
  }

  /** Natural order over zeros, as if first: where both poisons break a kernel alike, zeros may not. */
  zeroed(): Promise<RunResult | Refused> {
    return this.#again('run 3 (natural order, zeros)', ZERO_POISON);
  }

  #again(name: string, poison: Poison): Promise<RunResult | Refused> {
    return this.#run({ name, orderSeed: 0, poison, count: false, forgetsEarlierRuns: true });
  }

  async #run(conditions: Omit<RunConditions, 'timeoutMs' | 'instructionsPerCta'>): Promise<RunResult | Refused> {
    const { signal, module, memory, timeoutMs, instructionsPerCta } = this.#options;
    signal?.throwIfAborted();
    const limits = { timeoutMs, ...(instructionsPerCta !== undefined && { instructionsPerCta }) };
    const outcome = await runOnce(memory, module, { ...conditions, ...limits });
    return outcome.ok ? outcome : refusal(outcome, `${this.name} · ${conditions.name}`);
  }
}

const refusal = ({ status, message, fault, mismatch }: DeviceFailure, failedCheck: string): Refused => ({
  ok: false,
  status,
  reason: message,
  failedCheck,
  ...(fault && { fault }),
  ...(mismatch && { mismatch }),
});
