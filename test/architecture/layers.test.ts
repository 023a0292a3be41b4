import { describe, expect, it } from 'vitest';
import * as rules from './support/rules.ts';
import { moduleOf, readModules } from './support/source-modules.ts';

const modules = readModules('src');
const violations = (rule: rules.Rule): string[] => modules.flatMap((module) => rule(module));

describe('every module of src/', () => {
  it('is found', () => {
    expect(modules.length).toBeGreaterThan(100);
    expect(modules.some(({ file }) => file === 'src/core/dtype.ts')).toBe(true);
  });
  it('lies in a known layer', () => expect(violations(rules.knownFolders)).toEqual([]));
  it('imports only from layers below its own, types included', () =>
    expect(violations(rules.importDirection)).toEqual([]));
  it('imports within evaluation/ only from rooms below its own', () =>
    expect(violations(rules.roomDirection)).toEqual([]));
  it('writes relative imports with .ts', () => expect(violations(rules.extensions)).toEqual([]));
  it('imports nothing of Node in the pure layers', () => expect(violations(rules.purity)).toEqual([]));
  it('spawns only in process/', () => expect(violations(rules.spawning)).toEqual([]));
  it('starts workers only in process/, devices/ and toolchains/', () => expect(violations(rules.workers)).toEqual([]));
  it('talks to a queue only in queue/', () => expect(violations(rules.queueing)).toEqual([]));
  it('writes files only in store/, process/ and toolchains/', () => expect(violations(rules.writing)).toEqual([]));
  it('prints and exits only in cli/', () => expect(violations(rules.printing)).toEqual([]));
  it('declares functions of several statements as functions', () => expect(violations(rules.declarations)).toEqual([]));
  it('runs no text as code', () => expect(violations(rules.evaluating)).toEqual([]));
  it('is in no import cycle, types included', () => expect(rules.importCycles(modules)).toEqual([]));
});

const {
  knownFolders,
  importDirection,
  roomDirection,
  extensions,
  purity,
  spawning,
  workers,
  queueing,
  writing,
  printing,
  declarations,
  evaluating,
} = rules;
const RULES = {
  knownFolders,
  importDirection,
  roomDirection,
  extensions,
  purity,
  spawning,
  workers,
  queueing,
  writing,
  printing,
  declarations,
  evaluating,
};

describe('each rule refuses what it is for', () => {
  const cases: [rule: keyof typeof RULES, file: string, text: string, refused: boolean][] = [
    ['knownFolders', 'src/utils/a.ts', '', true],
    ['knownFolders', 'src/a.ts', '', true],
    ['knownFolders', 'src/index.ts', '', false],
    ['importDirection', 'src/core/a.ts', `import { a } from '../ptx/a.ts';`, true],
    ['importDirection', 'src/core/a.ts', `import type { A } from '../ptx/a.ts';`, true],
    ['importDirection', 'src/core/a.ts', `import { type A } from '../ptx/a.ts';`, true],
    ['importDirection', 'src/core/a.ts', `export type { A } from '../ptx/a.ts';`, true],
    ['importDirection', 'src/core/a.ts', `export * from '../ptx/a.ts';`, true],
    ['importDirection', 'src/core/a.ts', `let a: import('../ptx/a.ts').A;`, true],
    ['importDirection', 'src/core/a.ts', `const a = await import('../ptx/a.ts');`, true],
    ['importDirection', 'src/core/a.ts', `new Worker(new URL('../devices/worker.ts', import.meta.url));`, true],
    ['importDirection', 'src/core/a.ts', `new URL(ts ? '../devices/a.ts' : '../devices/a.js', import.meta.url);`, true],
    ['importDirection', 'src/core/a.ts', `// import { a } from '../ptx/a.ts';`, false],
    ['importDirection', 'src/core/a.ts', `import { a } from './b.ts'; import { z } from 'zod';`, false],
    ['importDirection', 'src/ptx/a.ts', `import { a } from '../stats/a.ts';`, true],
    ['importDirection', 'src/ptx/a.ts', `import { a } from '../core/a.ts';`, false],
    ['importDirection', 'src/app/a.ts', `import { a } from '../index.ts';`, true],
    ['importDirection', 'src/app/a.ts', `import { a } from '../../test/a.ts';`, true],
    ['importDirection', 'src/index.ts', `import { a } from './cli/a.ts';`, false],
    ['roomDirection', 'src/evaluation/oracle/a.ts', `import { a } from '../verify/a.ts';`, true],
    ['roomDirection', 'src/evaluation/oracle/a.ts', `import type { A } from '../outcome.ts';`, true],
    ['roomDirection', 'src/evaluation/audit/a.ts', `import { a } from '../measure/a.ts';`, true],
    ['roomDirection', 'src/evaluation/corner/a.ts', '', true],
    ['roomDirection', 'src/evaluation/verify/a.ts', `import { a } from '../oracle/a.ts';`, false],
    ['roomDirection', 'src/evaluation/outcome.ts', `import { a } from './verify/a.ts';`, false],
    ['extensions', 'src/core/a.ts', `import { a } from './b.js';`, true],
    ['extensions', 'src/core/a.ts', `import { a } from './b';`, true],
    ['purity', 'src/ptx/a.ts', `import { readFileSync } from 'node:fs';`, true],
    ['purity', 'src/ptx/a.ts', `import type { Stats } from 'fs';`, true],
    ['purity', 'src/diagnosis/a.ts', `import { z } from 'zod';`, true],
    ['purity', 'src/core/a.ts', `const a = await import(name);`, true],
    ['purity', 'src/core/a.ts', `import { z } from 'zod'; import { a } from '@noble/hashes/sha2.js';`, false],
    ['purity', 'src/store/a.ts', `import { readFileSync } from 'node:fs';`, false],
    ['spawning', 'src/toolchains/a.ts', `import { spawn } from 'node:child_process';`, true],
    ['queueing', 'src/app/a.ts', `import { Queue } from 'bullmq';`, true],
    ['queueing', 'src/queue/a.ts', `import { Redis } from 'ioredis';`, false],
    ['spawning', 'src/process/a.ts', `import { spawn } from 'node:child_process';`, false],
    ['workers', 'src/virtual-gpu/a.ts', `import { Worker } from 'node:worker_threads';`, true],
    ['workers', 'src/devices/a.ts', `import { Worker } from 'node:worker_threads';`, false],
    ['writing', 'src/app/a.ts', `import { writeFile } from 'node:fs/promises';`, true],
    ['writing', 'src/app/a.ts', `import { readFile, open as o } from 'node:fs/promises';`, true],
    ['writing', 'src/app/a.ts', `import * as fs from 'node:fs';`, true],
    ['writing', 'src/app/a.ts', `import { readFile } from 'node:fs/promises';`, false],
    ['writing', 'src/store/a.ts', `import { writeFile } from 'node:fs/promises';`, false],
    ['printing', 'src/app/a.ts', `console.log('done');`, true],
    ['printing', 'src/app/a.ts', `process.stdout.write('done');`, true],
    ['printing', 'src/app/a.ts', `if (bad) process.exit(1);`, true],
    ['printing', 'src/app/a.ts', ` * Never calls console.log itself.`, false],
    ['printing', 'src/cli/a.ts', `console.log('done');`, false],
    ['declarations', 'src/core/a.ts', `export const f = (x: number): number => {\n  return x;\n};`, true],
    ['declarations', 'src/core/a.ts', `const f = async (\n  x: number,\n): Promise<void> => {\n  await x;\n};`, true],
    ['declarations', 'src/core/a.ts', `const f = (x: number): number => x;`, false],
    ['declarations', 'src/core/a.ts', `const f: F = (x) => {\n  return x;\n};`, false],
    ['declarations', 'src/core/a.ts', `const all = (await read()).map((x) => {\n  return x;\n});`, false],
    ['declarations', 'src/core/a.ts', `const f = (x: number) => (y: number) => {\n  return x + y;\n};`, false],
    ['evaluating', 'src/core/a.ts', `const f = new Function('x', body);`, true],
    ['evaluating', 'src/core/a.ts', `eval(text);`, true],
    ['evaluating', 'src/core/a.ts', `session.eval(text); evaluate(text);`, false],
  ];
  it.each(cases)('%s: %s: %s', (rule, file, text, refused) => {
    const found = RULES[rule](moduleOf(file, text));
    expect(found.length > 0).toBe(refused);
  });

  it('importCycles', () => {
    const cycle = [
      moduleOf('src/core/a.ts', `import './b.ts';`),
      moduleOf('src/core/b.ts', `import { c } from './c.ts';`),
      moduleOf('src/core/c.ts', `import './a.ts'; import './d.ts';`),
      moduleOf('src/core/d.ts', ''),
    ];
    expect(rules.importCycles(cycle)).toEqual(['src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts']);
    expect(rules.importCycles(cycle.slice(1))).toEqual([]);
    const typesBack = moduleOf('src/core/b.ts', `import type { C } from './c.ts';`);
    expect(rules.importCycles([cycle[0]!, typesBack, ...cycle.slice(2)])).toEqual(rules.importCycles(cycle));
  });
});
