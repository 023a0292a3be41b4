/**
 * How far clang unrolls beside nvcc: PTX instructions of kernels with register arrays by nvcc, and by clang with several limits, and
 * the bytes of stack that ptxas gives each. Needs nvcc and ptxas. Writes the recording that
 * docs/decisions/unroll-as-nvcc-does.md shows.
 *
 *     node bench/virtual-gpu/unrolling.ts --output docs/results/unrolling.json
 */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { parsePtx } from '../../src/ptx/parse.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { locateClang } from '../../src/toolchains/locate-clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { compileCuda, functionsIn } from '../../test/support/launch/compile-cuda.ts';

/** Estimated instructions up to which the back end unrolls: clang's own limit, ours, and one beyond. */
const LIMITS = [300, 1000, 3000] as const;
const OURS = '-unroll-threshold=1000';
const ARCHITECTURE = 'sm_89';
const FILE = fileURLToPath(new URL('register_arrays.cu', import.meta.url));

const { values } = parseArgs({ options: { output: { type: 'string' } } });
const run = promisify(execFile);
const MOST_OUTPUT = { maxBuffer: 256 * 1024 ** 2 };

/** What a compiler made of a kernel. */
interface Compiled {
  /** Instructions of the function in PTX. */
  instructions: number;
  /** What `ptxas -v` reports. */
  stackBytes: number;
}

/** By symbol. */
async function kernelsIn(ptx: string, folder: string): Promise<Map<string, Compiled>> {
  const file = join(folder, 'module.ptx');
  await writeFile(file, ptx);
  const { stderr } = await run(
    'ptxas',
    ['-v', `-arch=${ARCHITECTURE}`, file, '-o', join(folder, 'cubin')],
    MOST_OUTPUT,
  );
  const stacks = new Map(
    [...stderr.matchAll(/Function properties for (\S+)\s+(\d+) bytes stack frame/g)].map(([, name, bytes]) => [
      name!,
      Number(bytes),
    ]),
  );
  return new Map(
    parsePtx(ptx)
      .functions.filter(({ kind }) => kind === 'entry')
      .map(({ name, body }) => {
        const instructions = body.filter((statement) => statement.kind === 'instruction').length;
        const stackBytes = stacks.get(name);
        if (stackBytes === undefined) throw new Error(`ptxas says nothing of ${name}`);
        return [name, { instructions, stackBytes }];
      }),
  );
}

/** A clang whose back end unrolls up to another limit. */
async function clangWith(limit: number, folder: string): Promise<Toolchain> {
  const real = await locateClang();
  const script = join(folder, `clang-${limit}.sh`);
  const command = [real.path, ...real.prefix].map((word) => `'${word}'`).join(' ');
  await writeFile(
    script,
    `#!/bin/bash\nargs=()\nfor word in "$@"; do args+=("\${word/#${OURS}/-unroll-threshold=${limit}}"); done\nexec ${command} "\${args[@]}"\n`,
  );
  await chmod(script, 0o755);
  return createClangToolchain({
    compiler: { ...real, path: script, prefix: [], fingerprint: `${real.fingerprint} ${limit}` },
    cacheFolder: join(folder, `compiled-${limit}`),
  });
}

async function byNvcc(folder: string): Promise<Map<string, Compiled>> {
  const ptx = join(folder, 'nvcc.ptx');
  await run('nvcc', ['-ptx', '-std=c++17', `-arch=${ARCHITECTURE}`, FILE, '-o', ptx], MOST_OUTPUT);
  return kernelsIn(await readFile(ptx, 'utf8'), folder);
}

const folder = await mkdtemp(join(tmpdir(), 'warpsmith-unrolling-'));
try {
  const toolchains = await Promise.all(LIMITS.map((limit) => clangWith(limit, folder)));
  const { stdout } = await run('nvcc', ['--version']);
  const source = await readFile(FILE, 'utf8');
  const functions = functionsIn(source);
  const nvcc = await byNvcc(folder);
  const clang = new Map<number, Map<string, Compiled>>();
  for (const [i, limit] of LIMITS.entries()) {
    const code = await compileCuda(toolchains[i]!, source, functions, 'register_arrays.cu', ARCHITECTURE);
    clang.set(limit, await kernelsIn(code.text, folder));
  }
  const kernels = functions.map((kernel) => ({
    kernel,
    nvcc: nvcc.get(kernel)!,
    clang: Object.fromEntries(LIMITS.map((limit) => [limit, clang.get(limit)!.get(kernel)!])),
  }));
  const recording = {
    schemaVersion: 1,
    date: new Date().toISOString().slice(0, 10),
    architecture: ARCHITECTURE,
    nvcc: /V[\d.]+/.exec(stdout)?.[0].slice(1) ?? 'unknown',
    clang: toolchains[0]!.identity.version,
    kernels,
  };
  const text = `${JSON.stringify(recording, undefined, 1)}\n`;
  if (values.output === undefined) process.stdout.write(text);
  else await writeFile(values.output, text);
} finally {
  await rm(folder, { recursive: true, force: true });
}
