import { describe, it } from 'vitest';
import { listGpus } from '../../src/devices/cuda/list-gpus.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createToolchain } from '../../src/toolchains/create-toolchain.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { describeDeviceContract } from './device-contract.ts';

if (listGpus().length > 0)
  describeDeviceContract('cuda:0', {
    open: () => openDevice('cuda:0'),
    // With whatever compiles here; clang's PTX goes through the driver's own compiler.
    compile: async (source, functions, device) => {
      const toolchain = await createToolchain({ target: 'cuda' });
      try {
        return await compileCuda(toolchain, source, functions, 'contract.cu', device.spec.architecture);
      } finally {
        await toolchain.close?.();
      }
    },
  });
else describe.skip('device contract: cuda:0', () => it('needs an NVIDIA GPU'));
