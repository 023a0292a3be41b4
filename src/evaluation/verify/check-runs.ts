import { type CompiledCode, ptxOf } from '../../core/compiled-code.ts';
import type { Device } from '../../core/device.ts';
import type { DeviceFailure, LoadedModule } from '../../core/device-values.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import { onceFor } from '../../core/once-for.ts';
import type { Printed } from '../../core/printed.ts';
import { createStream } from '../../stats/random.ts';
import { hasWritableVariables } from '../../toolchains/module-policy.ts';
import { FINITE_POISON, NAN_POISON, ZERO_POISON } from '../launches/poison.ts';
import type { Refused } from '../launches/refusal.ts';
import {
  allocateCheckMemory,
  type CheckMemory,
  type RunConditions,
  type RunResult,
  replaceInputs,
  runOnce,
} from '../launches/run-once.ts';
import type { Expectations } from '../oracle/expectations.ts';
import { allowFlushedSums } from './flushed-sums.ts';

export interface CheckRunsOptions {
  /** The check, in words. */
  readonly name: string;
  readonly device: Device;
  readonly module: LoadedModule;
  readonly plan: LaunchPlan;
  /** Initial bytes of every `in` and `inout` buffer. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  readonly seed: number;
  /** Wall-clock limit of each run, in ms. */
  readonly timeoutMs: number;
  readonly instructionsPerCta?: number;
  /** Whether the first run looks for races; not if it is counted. */
  readonly findsRaces?: boolean;
  /** Whether the second run finds zeros in memory instead of large numbers and rubbish. */
  readonly overZeros?: boolean;
  /** The main workload's first run is the counted one. */
  readonly isMain: boolean;
  /** Cache state at the start of the counted run; `cold` by default. */
  readonly cache?: 'hot' | 'cold';
  readonly signal?: AbortSignal;
}

/** The settings of one run; everything else follows from the check. */
export interface Trial
  extends Omit<RunConditions, 'orderSeed' | 'count' | 'timeoutMs' | 'cache' | 'instructionsPerCta'> {
  readonly count?: boolean;
  /** A seeded order of CTAs and warps instead of the natural one, and some asynchronous copies land as soon as they are issued. */
  readonly reordered?: boolean;
  /** Use separate buffers with only their declared alignment. */
  readonly minimumAlignment?: boolean;
}

export const NATURAL = { name: 'run 1 (natural order, NaN poison)', poison: NAN_POISON } as const satisfies Trial;

/** Nothing but the order is the second run's. */
export const OTHER_ORDER = {
  ...NATURAL,
  ...{ name: "run 3 (run 2's order, NaN poison)", reordered: true, privateMemory: 0 },
} as const satisfies Trial;

/** `atom.global.add.f32`, `red.shared.add.noftz.bf16x2`, `cp.reduce.async.bulk.….add.f32`. */
const ADDS_IN_ANY_ORDER =
  /\b(?:atom|red|cp\.reduce)\.(?:[\w:]+\.)*add\.(?:noftz\.)?(?:v[248]\.)?(?:bf16|f16|f32|f64)(?:x2)?\b/;

/** Whether threads may add floating-point numbers up in the order in which they come, so that the last bits depend on it. */
const addsInAnyOrder = onceFor((code: CompiledCode): boolean => ADDS_IN_ANY_ORDER.test(ptxOf(code) ?? ''));

/** The runs of one check, on the same buffers unless a run says otherwise. */
export class CheckRuns {
  readonly name: string;
  /**
   * The second run: another CTA and warp order, every buffer with only its declared alignment, and either finite poison and
   * rubbish in shared and local memory, or zeros in all of them.
   */
  readonly reordered: Trial;
  readonly #options: CheckRunsOptions;
  #memory: CheckMemory;
  #printed: Printed | undefined;

  private constructor(options: CheckRunsOptions, memory: CheckMemory) {
    this.name = options.name;
    this.#options = options;
    this.#memory = memory;
    const { overZeros = false } = options;
    this.reordered = {
      name: `run 2 (order seed ${this.orderSeed}, ${overZeros ? 'zeros' : 'finite poison'}, minimum alignment)`,
      reordered: true,
      poison: overZeros ? ZERO_POISON : FINITE_POISON,
      privateMemory: overZeros ? 'zeros' : this.orderSeed,
      minimumAlignment: true,
    };
  }

  static async open(options: CheckRunsOptions): Promise<CheckRuns> {
    return new CheckRuns(options, await allocateCheckMemory(options.device, options.plan, options.contents));
  }

  close(): Promise<void> {
    return this.#memory.close();
  }

  /** What the kernels printed in the first run in which they did. */
  get printed(): Printed | undefined {
    return this.#printed;
  }

  get plan(): LaunchPlan {
    return this.#options.plan;
  }

  /** The check's own inputs. */
  get contents(): ReadonlyMap<string, Uint8Array> {
    return this.#options.contents;
  }

  /** Whether the device lets a run choose the contents of shared and local memory. */
  get choosesPrivateMemory(): boolean {
    return this.#options.device.identity.kind === 'virtual';
  }

  /** Whether the order's seed also chooses when copies land. */
  get copiesAsynchronously(): boolean {
    const { device, module } = this.#options;
    const { code } = module;
    return device.identity.kind === 'virtual' && code.kind === 'ptx' && /\bcp\.(?:reduce\.)?async\b/.test(code.text);
  }

  /** Whether the last bits of its sums may depend on who comes first. */
  get addsInAnyOrder(): boolean {
    return addsInAnyOrder(this.#options.module.code);
  }

  /** Whether a run can see data of an earlier one in a workspace with `init: once`. */
  get keepsWorkspace(): boolean {
    return this.plan.buffers.some(({ init }) => init === 'once');
  }

  /** Whether a run can see data of an earlier one at all, in a workspace or a variable of the module. */
  get remembers(): boolean {
    return this.keepsWorkspace || mayHoldState(this.#options.device, this.#options.module);
  }

  /** The first run: natural order over NaN poison. */
  natural(): Promise<RunResult | Refused> {
    const { isMain, findsRaces = false } = this.#options;
    return this.run({ ...NATURAL, count: isMain, findsRaces: findsRaces && !isMain });
  }

  /** About so many CTAs of each launch, counted, over NaN poison. */
  sample(sampleCtas: number): Promise<RunResult | Refused> {
    return this.run({ ...NATURAL, name: `a sample of ${sampleCtas} CTAs`, count: true, sampleCtas });
  }

  /** Natural order over zeros, as the first run: if both poisons break a kernel in the same way, zeros may not. */
  zeroed(): Promise<RunResult | Refused> {
    return this.run({
      name: 'run 3 (natural order, zeros)',
      poison: ZERO_POISON,
      privateMemory: 'zeros',
      forgetsEarlierRuns: true,
    });
  }

  /** @param module the check's own, or a copy of it. */
  async run(trial: Trial, module = this.#options.module): Promise<RunResult | Refused> {
    if (!trial.minimumAlignment) return this.#runIn(this.#memory, trial, module);
    const { plan, contents } = this.#memory;
    return this.runElsewhere(trial, plan, contents, module);
  }

  /** As if there had been no launch before: with the module loaded again, and workspaces with `init: once` zeroed again. */
  async runAfresh(trial: Trial): Promise<RunResult | Refused> {
    const { device, module } = this.#options;
    if (!mayHoldState(device, module)) return this.run({ ...trial, forgetsEarlierRuns: true });
    const loaded = await device.load(module.code);
    if (!loaded.ok) return this.#refusal(loaded, trial.name);
    try {
      return await this.run({ ...trial, forgetsEarlierRuns: true }, loaded.module);
    } finally {
      await device.unload(loaded.module);
    }
  }

  /** From now on the buffers hold other inputs. */
  async replaceInputs(contents: ReadonlyMap<string, Uint8Array>): Promise<void> {
    this.#memory = await replaceInputs(this.#memory, contents);
  }

  /** What may be expected of these runs: sums as a GPU's atomics leave them. */
  allowed(expectations: Expectations): Expectations {
    return allowFlushedSums(expectations, this.#options.module.code);
  }

  /** What the workspaces with `init: once` hold. */
  async kept(): Promise<ReadonlyMap<string, Uint8Array>> {
    const { device, buffers } = this.#memory;
    const kept = this.plan.buffers.filter(({ init }) => init === 'once');
    return new Map(
      await Promise.all(kept.map(async ({ name }) => [name, await device.read(buffers.get(name)!)] as const)),
    );
  }

  /** From now on they hold this. */
  async setKept(contents: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const { device, buffers } = this.#memory;
    for (const [name, bytes] of contents) await device.write(buffers.get(name)!, bytes);
  }

  /** One run, also of another plan, in separate buffers that are freed afterwards. */
  async runElsewhere(
    trial: Trial,
    plan: LaunchPlan,
    contents: ReadonlyMap<string, Uint8Array>,
    module = this.#options.module,
  ): Promise<RunResult | Refused> {
    const { minimumAlignment = false } = trial;
    const memory = await allocateCheckMemory(this.#options.device, plan, contents, { minimumAlignment });
    try {
      return await this.#runIn(memory, trial, module);
    } finally {
      await memory.close();
    }
  }

  /** Seeds the other order, and the contents of shared and local memory in it. */
  get orderSeed(): number {
    return 1 + (createStream('order', this.#options.seed, this.name).bits(0) % 0x7ffffffe);
  }

  async #runIn(
    memory: CheckMemory,
    { reordered, minimumAlignment: _, count = false, ...trial }: Trial,
    module: LoadedModule,
  ): Promise<RunResult | Refused> {
    const { signal, timeoutMs, instructionsPerCta, cache } = this.#options;
    signal?.throwIfAborted();
    const orderSeed = reordered ? this.orderSeed : 0;
    const settings = { orderSeed, count, timeoutMs, instructionsPerCta, cache };
    const outcome = await runOnce(memory, module, { ...trial, ...settings });
    this.#printed ??= outcome.printed;
    return outcome.ok ? outcome : this.#refusal(outcome, trial.name);
  }

  #refusal({ status, message, fault, printed, mismatch }: DeviceFailure, run: string): Refused {
    return {
      ok: false,
      status,
      reason: message,
      failedCheck: `${this.name} · ${run}`,
      fault,
      printed,
      mismatch,
    };
  }
}

const mayHoldState = (device: Device, module: LoadedModule): boolean =>
  device.measuring?.hasState(module) ?? hasWritableVariables(module.code);
