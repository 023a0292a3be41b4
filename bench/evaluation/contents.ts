/**
 * How long contents take to a buffer and back, through the GPU's process, over a driver that only keeps memory.
 *
 *     node bench/evaluation/contents.ts
 *
 * For a comparison, run it in turns with a checkout of what was before.
 */
import { openCudaDevice } from '../../src/devices/cuda/open-cuda-device.ts';
import { median } from '../../src/stats/quantile.ts';
import { useStubCuda } from '../../test/support/stub-cuda/stub-cuda.ts';

const MIB = 2 ** 20;
const SIZES = [MIB / 4, MIB, 4 * MIB, 24 * MIB, 96 * MIB];
const ROUNDS = 9;

const stub = useStubCuda();
const device = await openCudaDevice(0);
const timed = async (act: () => Promise<unknown>): Promise<number> => {
  const startMs = performance.now();
  await act();
  return performance.now() - startMs;
};
for (const bytes of SIZES) {
  const buffer = await device.allocate({ name: 'contents', bytes, alignmentBytes: 16, minimumAlignment: false });
  const contents = new Uint8Array(bytes).fill(7);
  const [there, back]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    there.push(await timed(() => device.write(buffer, contents)));
    back.push(await timed(() => device.read(buffer)));
  }
  await device.free(buffer);
  process.stdout.write(
    `${bytes / MIB} MiB: ${median(there).toFixed(1)} ms there, ${median(back).toFixed(1)} ms back\n`,
  );
}
await device.close();
stub.close();
