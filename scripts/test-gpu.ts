// Runs the tests that need a real NVIDIA GPU: npm run test:gpu [-- more arguments for vitest]
//   test/**/*.gpu.test.ts    what only a real GPU can show
//   test/contract/**         the suite that every device passes, the GPU among them
// One test process at a time: tests that share a GPU would disturb each other's times.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { listDevices } from '../src/devices/open-device.ts';
import { ROOT } from './build/compile.ts';

const gpus = listDevices().filter(({ kind }) => kind === 'cuda');
const [first] = gpus;

if (first) {
  process.stdout.write(`Testing on ${first.id}, ${first.name}.\n`);
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const selection = ['.gpu.test.ts', 'test/contract/'];
  const options = ['run', '--maxWorkers', '1', '--no-file-parallelism', '--passWithNoTests=false'];
  const { status } = spawnSync(process.execPath, [vitest, ...options, ...selection, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} else {
  process.stderr.write(
    'There is no NVIDIA GPU here, so nothing was tested.\n' +
      'These tests run on a machine with a GPU, its driver and this repository (npm ci, then npm run test:gpu); ' +
      '`npx warpsmith doctor` says what it finds. All other tests need no GPU: npm test.\n',
  );
  process.exitCode = 3;
}
