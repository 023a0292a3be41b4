import type { Device } from '../core/device.ts';
import type { Evaluator } from '../core/evaluation.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';

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
}

/** A device, a compiler and the evaluator on top of them; closing it leaves no thread and no process behind. */
export interface Session extends AsyncDisposable {
  readonly device: Device;
  readonly toolchain: Toolchain;
  readonly evaluator: Evaluator;
}

/**
 * Opens what evaluations need. Modules are loaded here, not at start-up, so that commands without a device stay quick.
 *
 * @throws WarpsmithError `unknown-device` or `no-compiler`.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const [{ openDevice }, { createClangToolchain }, { createLiveEvaluator }] = await Promise.all([
    import('../devices/open-device.ts'),
    import('../toolchains/clang.ts'),
    import('../evaluation/live-evaluator.ts'),
  ]);
  const toolchain = await createClangToolchain({});
  const device = await openDevice(options.device, options.threads === undefined ? {} : { threads: options.threads });
  const evaluator = createLiveEvaluator({
    device,
    toolchain,
    ...(options.runTimeoutSeconds === undefined ? {} : { runTimeoutMs: options.runTimeoutSeconds * 1000 }),
  });
  return {
    device,
    toolchain,
    evaluator,
    async [Symbol.asyncDispose]() {
      // Closing the device first ends an evaluation that Ctrl-C left running; the evaluator then has nothing to wait for.
      const idle = evaluator.close();
      await device.close();
      await idle;
    },
  };
}
