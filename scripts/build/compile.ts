import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface CompileOptions {
  /** Where the JavaScript goes; replaced. */
  readonly output: string;
  /** Only removes the types, without checking them: for a working tree in which others still write. */
  readonly unchecked?: boolean;
}

/**
 * Compiles src/ and the references of problems/ and course/ to `output`, and copies what lies in src/ beside the code, such as PTX.
 * The compiler prints its own errors; nothing is written beside them.
 *
 * @returns whether it compiled.
 */
export const compile = async ({ output, unchecked = false }: CompileOptions): Promise<boolean> => {
  await rm(output, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', 'tsconfig.build.json', '--outDir', output, ...(unchecked ? ['--noCheck'] : [])];
  const { status } = spawnSync(process.execPath, [tsc, ...options], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) return false;
  await copyAssets(join(ROOT, 'src'), join(output, 'src'));
  return true;
};

/** Files that code reads at run time, from beside itself. */
const copyAssets = async (from: string, to: string): Promise<void> => {
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith('.ts') || entry.name.startsWith('.')) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, source.slice(from.length + 1));
    await mkdir(dirname(target), { recursive: true });
    await copyFile(source, target);
  }
};

/** Folders of problems whose references run from the package. */
export const PROBLEM_FOLDERS = ['problems', 'course'] as const;

/** The compiled reference of every problem that has one, by the problem's folder, such as `problems/softmax`. */
export const compiledReferences = async (output: string): Promise<ReadonlyMap<string, string>> => {
  const references = new Map<string, string>();
  for (const folder of PROBLEM_FOLDERS) {
    for (const name of await readdir(join(ROOT, folder))) {
      const problem = `${folder}/${name}`;
      const file = join(output, problem, 'reference.js');
      if (existsSync(file)) references.set(problem, selfContained(problem, await readFile(file, 'utf8')));
    }
  }
  return references;
};

/** A reference may import only types, which are gone by now: it has to run alone, away from the rest of the build. */
const selfContained = (problem: string, javascript: string): string => {
  const imported = /^(?:import|export)\b[^;]*\bfrom\s*['"](?<specifier>[^'"]+)['"]/m.exec(javascript);
  if (imported) {
    throw new Error(`${problem}/reference.ts imports ${imported.groups!.specifier}; it may import only types`);
  }
  return `// Built from reference.ts.\n${javascript}`;
};

/** Writes a file so that nobody ever sees half of it. */
export const writeWhole = async (file: string, bytes: Uint8Array | string): Promise<void> => {
  await mkdir(dirname(file), { recursive: true });
  const partial = `${file}.${process.pid}.partial`;
  try {
    await writeFile(partial, bytes);
    await rename(partial, file);
  } finally {
    await rm(partial, { force: true });
  }
};
