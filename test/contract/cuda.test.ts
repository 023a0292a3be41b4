import { describe, it } from 'vitest';
import { listGpus } from '../../src/devices/cuda/list-gpus.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { describeDeviceContract } from './device-contract.ts';

// clang's PTX through the driver's own compiler: nothing but the driver is needed.
if (listGpus().length > 0)
  describeDeviceContract('cuda:0', {
    open: () => openDevice('cuda:0'),
    compile: async (source, functions, device) =>
      compileCuda(await createClangToolchain(), source, functions, 'contract.cu', device.spec.architecture),
  });
else describe.skip('device contract: cuda:0', () => it('needs an NVIDIA GPU'));
