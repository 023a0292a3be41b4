import { parsePtx } from '../../../src/ptx/parse.ts';
import { compileKernel } from '../../../src/virtual-gpu/compile-kernel.ts';
import { relaxedMaddIsFused } from '../../../src/virtual-gpu/fma-probe.ts';
import { WINDOW } from '../../../src/virtual-gpu/layout.ts';
import { CtaRunner } from '../../../src/virtual-gpu/runtime/cta-runner.ts';
import { WriteMap } from '../../../src/virtual-gpu/runtime/write-map.ts';

const PAGE_BYTES = 65536;
/** Where the input buffer starts; the output follows. */
const INPUT = 4096;
const ALIGNMENT = 256;

/** What a test kernel is compiled with. */
export interface KernelOptions {
  /** Use the host's fused multiply-add; false takes the emulation. Default: what the host has. */
  fusedMultiplyAdd?: boolean;
  /** Compile the counting variant. */
  counting?: boolean;
}

/**
 * Runs the entry function `k` of a PTX module on this thread: parameters are the input buffer, the output buffer, then
 * `scalars` (8 bytes each, the first as u32). Returns the output buffer.
 * @throws UnsupportedPtxError, KernelFault.
 */
export function runKernel(
  text: string,
  launch: { input: Uint8Array; outputBytes: number; scalars: readonly bigint[]; ctas: number; threadsPerCta: number },
  options: KernelOptions = {},
): Uint8Array {
  const image = compileKernel({
    module: parsePtx(text),
    functionName: 'k',
    globals: new Map(),
    counting: options.counting ?? false,
    fusedMultiplyAdd: options.fusedMultiplyAdd ?? relaxedMaddIsFused(),
  });
  const output = alignUp(INPUT + launch.input.length + ALIGNMENT);
  const end = output + launch.outputBytes + ALIGNMENT;
  const pages = Math.ceil(end / PAGE_BYTES);
  const device = new WebAssembly.Memory({ initial: pages, maximum: 65536, shared: true });
  const bytes = new Uint8Array(device.buffer);
  bytes.set(launch.input, INPUT);
  const runner = new CtaRunner(image, device, new WriteMap());
  runner.attach(new WebAssembly.Instance(new WebAssembly.Module(image.wasm), runner.imports));
  const pointer = (offset: number): bigint => (BigInt(WINDOW.global) << 32n) | BigInt(offset);
  runner.begin({
    grid: [launch.ctas, 1, 1],
    cluster: [1, 1, 1],
    hasClusters: false,
    block: [launch.threadsPerCta, 1, 1],
    dynamicSharedBytes: 0,
    parameters: new Uint8Array(new BigUint64Array([pointer(INPUT), pointer(output), ...launch.scalars]).buffer),
    ranges: [
      { name: 'in', start: INPUT, bytes: launch.input.length },
      { name: 'out', start: output, bytes: launch.outputBytes },
    ],
    orderSeed: 0,
    instructionsPerCta: 1e9,
    rangesByName: {},
    deviceBytes: end,
    smCount: 1,
    warpsPerSm: 48,
    isSerial: true,
    privateContents: { kind: 'rubbish', seed: 0 },
  });
  for (let cta = 0; cta < launch.ctas; cta++) runner.runCluster(cta);
  return bytes.slice(output, output + launch.outputBytes);
}

const alignUp = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
