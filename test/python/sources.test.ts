import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { runProcess } from '../../src/process/run-process.ts';

const root = join(import.meta.dirname, '..', '..');
const python = findExecutable('python3');
const sources = globSync(['python/**/*.py', 'problems/*/baseline.py', 'test/**/*.py'], { cwd: root }).toSorted();

/** -I -S: nothing but the standard library; -B: nothing is written. */
const run = (program: string, ...args: string[]) =>
  runProcess({
    command: python!,
    args: ['-I', '-S', '-B', '-c', program, ...args],
    cwd: root,
    timeoutMs: 30_000,
    maximumOutputBytes: 1 << 20,
  });

describe.skipIf(!python)('Python sources', () => {
  it('are found', () => {
    expect(sources).toContain('python/warpsmith_worker/worker.py');
    expect(sources).toContain('problems/attention/baseline.py');
  });

  it('compile', async () => {
    const program = 'import sys\nfor path in sys.argv[1:]: compile(open(path).read(), path, "exec")';
    expect(await run(program, ...sources)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('use nothing newer than Python 3.9', async () => {
    const program =
      'import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path).read(), path, feature_version=(3, 9))';
    expect(await run(program, ...sources)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('import nothing but the standard library', async () => {
    const modules = sources
      .filter((source) => source.startsWith('python/') && !source.endsWith('__main__.py'))
      .map((source) =>
        source
          .replace(/^python\//, '')
          .replace(/\.py$/, '')
          .replaceAll('/', '.'),
      );
    const program =
      'import importlib, sys\nsys.path.insert(0, "python")\nfor name in sys.argv[1:]: importlib.import_module(name)';
    expect(await run(program, ...modules)).toMatchObject({ exitCode: 0, stderr: '' });
  });
});
