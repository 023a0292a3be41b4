// Builds what the package ships: npm run build
//   dist/src/**              src/ as JavaScript and declarations
//   problems/*/reference.js  beside each reference.ts, because Node strips no types under node_modules
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

/** Compiles everything of tsconfig.build.json; the compiler prints its own errors. */
const compile = async (): Promise<boolean> => {
  await rm(dist, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  return spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' }).status === 0;
};

/** Moves a compiled reference beside its source. It may import only types, which are gone by now: it has to run alone. */
const placeReference = async (problem: string): Promise<void> => {
  const built = join(dist, 'problems', problem, 'reference.js');
  if (!existsSync(built)) return;
  const javascript = await readFile(built, 'utf8');
  const imported = /^(?:import|export)\b[^;]*\bfrom\s*['"](?<specifier>[^'"]+)['"]/m.exec(javascript);
  if (imported) {
    throw new Error(`problems/${problem}/reference.ts imports ${imported.groups!.specifier}; it may import only types`);
  }
  await writeFile(join(root, 'problems', problem, 'reference.js'), `// Built from reference.ts.\n${javascript}`);
};

if (await compile()) {
  for (const problem of await readdir(join(root, 'problems'))) await placeReference(problem);
  await rm(join(dist, 'problems'), { recursive: true, force: true });
} else {
  process.exitCode = 1;
}
