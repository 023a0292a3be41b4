import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { Device } from '../../../src/core/device.ts';
import type { PlannedArgument } from '../../../src/core/launch-plan.ts';
import { type KernelLaunch, loadCode, ptxCode, tryLaunch } from '../../support/launch/launch-kernel.ts';

export type TensorMapArgument = Extract<PlannedArgument, { kind: 'tensor-map' }>;

/** A map of a dense f32 or other tensor, with what the test says instead. Sizes are innermost first. */
export function tensorMap(
  part: Pick<TensorMapArgument, 'dtype' | 'globalDim' | 'boxDim'> & Partial<TensorMapArgument>,
  elementBytes: number,
): TensorMapArgument {
  const strides = part.globalDim.map((_, axis) =>
    part.globalDim.slice(0, axis).reduce((product, size) => product * size, elementBytes),
  );
  return {
    kind: 'tensor-map',
    buffer: 'in',
    globalStridesBytes: strides.slice(1),
    elementStrides: part.globalDim.map(() => 1),
    swizzle: 'none',
    interleave: 'none',
    l2Promotion: 'none',
    fill: 'zeros',
    ...part,
  };
}

export interface HopperKernel {
  /** Declarations of parameters, in order: `.param .u64 in`, or the 128 bytes of a map. */
  readonly parameters: readonly string[];
  readonly body: string;
  /** Dynamic shared memory is the symbol `smem`. */
  readonly threads?: number;
}

export const MAP_PARAMETER = (name: string): string => `.param .align 64 .b8 ${name}[128]`;
export const POINTER = (name: string): string => `.param .u64 ${name}`;

const REGISTERS = `
  .reg .pred %p<8>;
  .reg .b32 %r<80>;
  .reg .b64 %rd<40>;
  .reg .f32 %f<200>;`;

export const kernelText = ({ parameters, body, threads = 128 }: HopperKernel): string => `
.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry kernel(${parameters.join(', ')})
.maxntid ${threads}, 1, 1
{${REGISTERS}
${body}
  ret;
}`;

const sm90 = (text: string): CompiledCode => ({ ...ptxCode(text), architecture: 'sm_90a' });

/** Runs a kernel with 64 KiB of shared memory. */
export async function runHopper(device: Device, kernel: HopperKernel, launch: KernelLaunch) {
  const module = await loadCode(device, sm90(kernelText(kernel)));
  return tryLaunch(device, module, { block: kernel.threads ?? 128, dynamicSharedBytes: 65_536, ...launch });
}

/** The contents of `out`. @throws Error with the device's message. */
export async function outputOf(device: Device, kernel: HopperKernel, launch: KernelLaunch): Promise<Uint8Array> {
  const outcome = await runHopper(device, kernel, launch);
  if (!outcome.ok) throw new Error(`${outcome.status}: ${outcome.message}`);
  return outcome.contents.out!;
}

/** The device's message about a launch that must fail. */
export async function refusalOf(device: Device, kernel: HopperKernel, launch: KernelLaunch): Promise<string> {
  const outcome = await runHopper(device, kernel, launch);
  return outcome.ok ? 'passed' : `${outcome.status}: ${outcome.message}`;
}

/** Instructions of thread 0 alone, then of all. */
export const byThread0 = (instructions: string, label = 'others'): string => `
  mov.u32 %r0, %tid.x;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra ${label};
  ${instructions}
${label}:
`;

/** All threads wait for the phase of this parity of the mbarrier at the register. */
export const waitFor = (address: string, parity: number, label: string): string => `
${label}:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [${address}], ${parity};
  @!%p1 bra ${label};
`;

/** Copies `bytes` from shared memory at offset `from` to the CTA's part of `out`, a word per thread and step. */
export const storeShared = (bytes: number, from = 0, threads = 128): string => `
  mov.u32 %r70, %tid.x;
  shl.b32 %r71, %r70, 2;
  ld.param.u64 %rd30, [out];
  cvta.to.global.u64 %rd30, %rd30;
  mov.u32 %r72, %ctaid.x;
  mad.wide.u32 %rd30, %r72, ${bytes}, %rd30;
  mov.u32 %r72, smem;
  setp.ge.u32 %p6, %r71, ${bytes};
  @%p6 bra store_end;
store_next:
  add.u32 %r73, %r72, %r71;
  ld.shared.b32 %r74, [%r73+${from}];
  cvt.u64.u32 %rd31, %r71;
  add.u64 %rd32, %rd30, %rd31;
  st.global.b32 [%rd32], %r74;
  add.u32 %r71, %r71, ${threads * 4};
  setp.lt.u32 %p6, %r71, ${bytes};
  @%p6 bra store_next;
store_end:
`;

/** Copies the CTA's `bytes` of `in`, or of what lies `stride` apart, to shared memory. */
export const loadShared = (bytes: number, threads = 128, stride = bytes): string => `
  mov.u32 %r70, %tid.x;
  shl.b32 %r71, %r70, 2;
  ld.param.u64 %rd30, [in];
  cvta.to.global.u64 %rd30, %rd30;
  mov.u32 %r72, %ctaid.x;
  mad.wide.u32 %rd30, %r72, ${stride}, %rd30;
  mov.u32 %r72, smem;
  setp.ge.u32 %p6, %r71, ${bytes};
  @%p6 bra load_end;
load_next:
  cvt.u64.u32 %rd31, %r71;
  add.u64 %rd32, %rd30, %rd31;
  ld.global.b32 %r74, [%rd32];
  add.u32 %r73, %r72, %r71;
  st.shared.b32 [%r73], %r74;
  add.u32 %r71, %r71, ${threads * 4};
  setp.lt.u32 %p6, %r71, ${bytes};
  @%p6 bra load_next;
load_end:
  fence.proxy.async;
  bar.sync 0;
`;
