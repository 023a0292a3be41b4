import type { DeviceOfRun } from '../app/candidate-target.ts';
import type { EvaluateOptions, JudgeOptions } from '../app/evaluate.ts';
import type { SessionOptions } from '../app/session.ts';
import { WarpsmithError } from '../core/errors.ts';
import { askTrust } from './ask-trust.ts';
import { type CliContext, deviceOrDefault } from './context.ts';
import type { DeviceOptions, EvidenceOptions, JudgingOptions, KeepOptions } from './options.ts';

/** Options that say on what a recording was made, which a replay can't change, and what it has not got. */
const SET_BY_A_RECORDING = ['device', 'toolchain', 'threads', 'record', 'keep'] as const;

function refuseConflicts(options: DeviceOptions & KeepOptions): void {
  if (options.replay === undefined) return;
  for (const name of SET_BY_A_RECORDING) {
    if (options[name] === undefined) continue;
    throw new WarpsmithError({
      code: 'conflicting-options',
      message: `--replay answers from a recording: --${name} has nothing to say there.`,
      path: `--${name}`,
      received: `--replay and --${name}`,
      expected: 'one of them',
      hint: `Leave --${name} out to replay, or --replay to judge anew.`,
    });
  }
}

/** Where to judge, as the use cases take it: absent where not given. `ofRun` as `deviceOrDefault` takes it. */
export async function sessionRequest(
  options: DeviceOptions,
  context: CliContext,
  ofRun?: () => DeviceOfRun | undefined,
): Promise<SessionOptions> {
  refuseConflicts(options);
  const { threads, toolchain, runTimeout, record, replay } = options;
  return {
    device: await deviceOrDefault(options, context, ofRun),
    threads,
    toolchain,
    runTimeoutSeconds: runTimeout,
    record,
    replay,
    ...askTrust(options, context),
  };
}

/** What to judge and where. */
export async function judgingRequest(
  options: JudgingOptions & { target: string },
  context: CliContext,
  ofRun?: () => DeviceOfRun | undefined,
): Promise<JudgeOptions> {
  const { target, workload, cache, set, seed } = options;
  return {
    ...(await sessionRequest(options, context, ofRun)),
    target,
    parameters: set ?? {},
    signal: context.signal,
    seed,
    workload,
    cache,
  };
}

/** Options that ask a real GPU for more, and why a virtual one needs none of it. */
const ONLY_ON_GPUS = {
  tier: 'it predicts a time, and measures none',
  profile: 'it counts every instruction and every access anyway',
  sanitize: 'it checks every access anyway',
  requireSanitizer: 'it checks every access anyway',
  maxGpuMinutes: 'it takes no GPU time; --max-minutes bounds wall time',
  maxMoney: 'it takes no GPU time, which is what costs money',
};

type GpuOptions = EvidenceOptions & { requireSanitizer?: boolean; maxGpuMinutes?: number; maxMoney?: number };

/** Says which options make no difference on a virtual device. */
export function noteIgnored(options: GpuOptions, device: string, { streams }: CliContext): void {
  if (!device.startsWith('virtual:')) return;
  for (const [name, why] of Object.entries(ONLY_ON_GPUS)) {
    const value = options[name as keyof typeof ONLY_ON_GPUS];
    if (value === undefined || value === 'none') continue;
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    streams.err.write(`--${flag} makes no difference on ${device}: ${why}.\n`);
  }
}

/** What to judge, where, and what to ask for beside a time. */
export async function evaluateRequest(
  options: JudgingOptions & EvidenceOptions & KeepOptions & { target: string },
  context: CliContext,
): Promise<EvaluateOptions> {
  const { tier, profile, baseline, sanitize, keep } = options;
  const request = await judgingRequest(options, context);
  noteIgnored(options, request.device, context);
  return {
    ...request,
    tier,
    profile,
    sanitize,
    baselines: baseline,
    keep,
  };
}
