import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { Toolchain } from '../toolchain.ts';

export async function createNvccToolchain(
  _options: { cacheFolder?: string; driverVersion?: string } = {},
): Promise<Toolchain> {
  throw new WarpsmithError(
    { code: 'no-nvcc', message: 'nvcc is not supported yet; use --toolchain nvrtc or clang.' },
    EXIT.deviceOrToolMissing,
  );
}
