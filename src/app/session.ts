import type { Device } from '../core/device.ts';
import type { Evaluator } from '../core/evaluation.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import { describeEnvironment } from './environment.ts';
import { openReplay, recordTo } from './recording.ts';

/** The device used when none is asked for. */
export const DEFAULT_DEVICE = 'virtual:l4';

/** Options that say where kernels are judged. */
export interface SessionOptions {
  /** e.g. `virtual:l4`. */
  device: string;
  /** Worker threads of a virtual device; its own default when absent. Never changes a result. */
  threads?: number;
  /** Wall-clock limit of one run of a kernel's launch sequence, in seconds; the evaluator's default when absent. */
  runTimeoutSeconds?: number;
  /** What compiles; the device's own choice when absent. */
  toolchain?: ToolchainName;
  /** Keeps every evaluation in this file. */
  record?: string;
  /** Answers from this recording instead of a device. */
  replay?: string;
}

export const TOOLCHAIN_NAMES = ['nvrtc', 'nvcc', 'clang'] as const;
export type ToolchainName = (typeof TOOLCHAIN_NAMES)[number];

/** A device, a compiler and the evaluator on top of them; closing it leaves no thread and no process behind. */
export interface Session extends AsyncDisposable {
  readonly device: Pick<Device, 'identity' | 'spec'>;
  readonly toolchain: Pick<Toolchain, 'identity'>;
  readonly evaluator: Evaluator;
  /** Names and versions that results may depend on. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Opens what evaluations need. Modules are loaded here, not at start-up, so that commands without a device stay quick.
 *
 * @throws WarpsmithError `unknown-device` or `no-compiler`; for recordings as {@link openReplay} and {@link recordTo}.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  if (options.replay !== undefined) return openReplay(options.replay);
  const [{ openDevice }, { createClangToolchain }, { createLiveEvaluator }] = await Promise.all([
    import('../devices/open-device.ts'),
    import('../toolchains/clang.ts'),
    import('../evaluation/live-evaluator.ts'),
  ]);
  const toolchain = await createClangToolchain({});
  const device = await openDevice(options.device, options.threads === undefined ? {} : { threads: options.threads });
  const environment = describeEnvironment({ device, toolchain });
  const live = createLiveEvaluator({
    device,
    toolchain,
    ...(options.runTimeoutSeconds === undefined ? {} : { runTimeoutMs: options.runTimeoutSeconds * 1000 }),
  });
  const evaluator =
    options.record === undefined ? live : await recordTo(options.record, live, { device, toolchain, environment });
  return {
    device,
    toolchain,
    evaluator,
    environment,
    async [Symbol.asyncDispose]() {
      // Closing the device first ends an evaluation that Ctrl-C left running; the evaluator then has nothing to wait for.
      const idle = evaluator.close();
      await device.close();
      await idle;
    },
  };
}
