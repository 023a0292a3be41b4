/**
 * How long a quick look takes as somebody waits for it: the whole command, started anew each time, beside the whole
 * verification of the same kernel. It says what the machine was doing meanwhile: on a busy one the processor time counts.
 *
 *     node bench/evaluation/quick.ts [--repeats 5] [--full]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from '../../src/stats/quantile.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KERNELS = ['01_minimal', '03_rows', '04_warp', '05_mma'];
const WORKLOAD = ['--device', 'virtual:l4', '--workload', 'b1h8s512d64', '--no-journal', '--json'];
/** What a quick look may take on two quiet cores. */
const LIMIT_S = 2;

const { values } = parseArgs({
  options: { repeats: { type: 'string', default: '5' }, full: { type: 'boolean', default: false } },
});

interface Taken {
  readonly status: string;
  readonly wallS: number;
  /** Of the process and all that it started. */
  readonly processorS: number;
  readonly phasesMs: Readonly<Record<'compile' | 'verify' | 'time' | 'total', number>>;
}

function evaluate(kernel: string, cache: string, ...more: string[]): Taken {
  const args = ['bin/warpsmith.mjs', 'evaluate', `problems/attention/${kernel}`, ...WORKLOAD, ...more];
  const child = spawnSync('bash', ['-c', 'TIMEFORMAT="%R %U %S"; time "$@"', 'time', process.execPath, ...args], {
    cwd: ROOT,
    env: { ...process.env, WARPSMITH_REPEATS: 'off', XDG_CACHE_HOME: cache },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
  const [wallS = Number.NaN, userS = Number.NaN, systemS = Number.NaN] = child.stderr
    .trim()
    .split('\n')
    .at(-1)!
    .split(' ')
    .map(Number);
  const { status, elapsedMs } = JSON.parse(child.stdout) as { status: string; elapsedMs: Taken['phasesMs'] };
  return { status, wallS, processorS: userS + systemS, phasesMs: elapsedMs };
}

const cache = mkdtempSync(join(tmpdir(), 'warpsmith-quick-'));
try {
  console.log(`${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}, median of ${values.repeats}`);
  for (const kernel of KERNELS) {
    const cold = evaluate(kernel, cache, '--quick');
    const warm = Array.from({ length: Number(values.repeats) }, () => evaluate(kernel, cache, '--quick'));
    const of = (take: (taken: Taken) => number, all = warm) => median(all.map(take)).toFixed(2);
    const full = values.full ? evaluate(kernel, cache) : undefined;
    console.log(
      [
        `${kernel.padEnd(12)} ${warm[0]!.status}`,
        `wall ${of(({ wallS }) => wallS)} s (limit ${LIMIT_S}), first ${cold.wallS.toFixed(2)} s`,
        `processor ${of(({ processorS }) => processorS)} s, first ${cold.processorS.toFixed(2)} s`,
        `compile ${of(({ phasesMs }) => phasesMs.compile / 1000)} s, checks ${of(({ phasesMs }) => phasesMs.verify / 1000)} s`,
        full
          ? `whole verification: wall ${full.wallS.toFixed(2)} s, processor ${full.processorS.toFixed(2)} s, ${(full.processorS / Number(of(({ processorS }) => processorS))).toFixed(1)} times as much`
          : '',
      ]
        .filter((part) => part !== '')
        .join('; '),
    );
  }
  console.log(`load ${loadavg()[0]!.toFixed(1)} in the end`);
} finally {
  rmSync(cache, { recursive: true, force: true });
}
