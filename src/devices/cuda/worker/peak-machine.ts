import type { PeakMachine } from '../peaks/peak-machine.ts';
import type { CudaContext } from './cuda-context.ts';
import type { CudaMeasuring } from './measuring.ts';

/** The context as measuring its peaks needs it. */
export const peakMachineOf = (context: CudaContext, measuring: CudaMeasuring): PeakMachine => ({
  l2Bytes: context.info.attributes.l2Bytes,
  stream: context.stream,
  allocate: (bytes) => context.driver.create('cuMemAlloc_v2', bytes),
  free: (address) => context.driver.call('cuMemFree_v2', address),
  apply: (name, jobs) => measuring.harness.apply(name, jobs),
  enqueue: (name, grid, values) => measuring.harness.enqueue(name, grid, values),
  synchronize: () => context.driver.call('cuStreamSynchronize', context.stream),
  timedNs: (enqueue) => measuring.timedNs(enqueue),
});
