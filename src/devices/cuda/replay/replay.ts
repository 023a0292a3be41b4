import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { DeviceBuffer, DeviceFailure, LoadedModule } from '../../../core/device-values.ts';
import { type LaunchPlan, type PlannedBuffer, startingPattern } from '../../../core/launch-plan.ts';
import type { ReplayRequest, ReplayResult, ReplayRun, ReplayRunResult } from './replay-request.ts';

type Awaitable<T> = T | Promise<T>;

/** What a replay needs of a GPU's context. */
export interface ReplayContext {
  load(code: CompiledCode): Awaitable<{ ok: true; module: LoadedModule } | DeviceFailure>;
  allocate(request: {
    name: string;
    bytes: number;
    alignmentBytes: number;
    minimumAlignment: boolean;
  }): Awaitable<DeviceBuffer>;
  free(buffer: DeviceBuffer): Awaitable<void>;
  write(buffer: DeviceBuffer, bytes: Uint8Array): Awaitable<void>;
  fill(buffer: DeviceBuffer, pattern: Uint8Array): Awaitable<void>;
  read(buffer: DeviceBuffer): Awaitable<Uint8Array>;
  run(
    module: LoadedModule,
    plan: LaunchPlan,
    buffers: ReadonlyMap<string, DeviceBuffer>,
    options: { timeoutMs: number },
  ): Awaitable<{ ok: true } | DeviceFailure>;
}

const ZERO = Uint8Array.of(0);
/** fp16, bf16, fp32 and fp64 read it as NaN. */
const POISON = Uint8Array.of(0xff);

/** Loads the code and runs each sequence the requested number of times, outside graphs. Stops at the first failure. */
export async function replay(request: ReplayRequest, context: ReplayContext): Promise<ReplayResult> {
  const loaded = await context.load(request.code);
  if (!loaded.ok) return { runs: [], failure: loaded.message };
  const runs: ReplayRunResult[] = [];
  for (const run of request.runs) {
    const result = await replayRun(request, run, loaded.module, context);
    runs.push(result);
    // After a fault the context is lost, and every further call would fail for that reason alone.
    if (!result.ok) break;
  }
  return { runs };
}

async function replayRun(
  request: ReplayRequest,
  run: ReplayRun,
  module: LoadedModule,
  context: ReplayContext,
): Promise<ReplayRunResult> {
  const { plan, contents, minimumAlignment = false } = run;
  const buffers = new Map<string, DeviceBuffer>();
  for (const { name, bytes, alignmentBytes } of plan.buffers) {
    buffers.set(name, await context.allocate({ name, bytes, alignmentBytes, minimumAlignment }));
  }
  for (let repetition = 0; repetition < request.repeatCount; repetition++) {
    for (const planned of plan.buffers) {
      if (repetition > 0 && !isRestored(planned)) continue;
      await prepare(planned, buffers.get(planned.name)!, contents, request, context);
    }
    const outcome = await context.run(module, plan, buffers, { timeoutMs: request.timeoutMs });
    if (!outcome.ok) return { ...outcome, name: run.name };
  }
  const outputs = request.readOutputs ? await readOutputs(plan, buffers, context) : new Map();
  for (const buffer of buffers.values()) await context.free(buffer);
  return { ok: true, name: run.name, outputs };
}

/** Buffers that a sequence changes and that must have their initial contents for the next one. */
const isRestored = ({ role, init }: PlannedBuffer): boolean => role === 'inout' || init === 'zero';

async function prepare(
  planned: PlannedBuffer,
  buffer: DeviceBuffer,
  contents: ReadonlyMap<string, Uint8Array>,
  request: ReplayRequest,
  context: ReplayContext,
): Promise<void> {
  const given = contents.get(planned.name);
  const pattern = planned.init === 'zero' ? ZERO : startingPattern(planned);
  if (given) await context.write(buffer, given);
  else if (pattern) await context.fill(buffer, pattern);
  else if (!request.leaveUnwritten && planned.role !== 'in') await context.fill(buffer, POISON);
}

async function readOutputs(
  plan: LaunchPlan,
  buffers: ReadonlyMap<string, DeviceBuffer>,
  context: ReplayContext,
): Promise<Map<string, Uint8Array>> {
  const outputs = new Map<string, Uint8Array>();
  for (const planned of plan.buffers) {
    if (planned.role !== 'out' && planned.role !== 'inout') continue;
    outputs.set(planned.name, await context.read(buffers.get(planned.name)!));
  }
  return outputs;
}
