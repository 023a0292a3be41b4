import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { runProcess } from '../../src/process/run-process.ts';

const python3 = findExecutable('python3');
const PYTHON = join(import.meta.dirname, '../../python');

/** The expression that is found for an extent, seen at some sizes of h and w. */
async function fitted(extent: string): Promise<string> {
  const program = [
    'import sys',
    `sys.path.insert(0, ${JSON.stringify(PYTHON)})`,
    'from warpsmith_reference.extents import fitted',
    'sizes = [(32, 20), (33, 20), (35, 20), (40, 20), (32, 21), (32, 23), (32, 27), (5, 9), (8, 4), (13, 17)]',
    `print(fitted([({"h": h, "w": w}, ${extent}) for h, w in sizes], ["h", "w"]))`,
  ].join('\n');
  const { stdout, stderr } = await runProcess({
    ...{ command: python3!, args: ['-B', '-c', program], cwd: '/', timeoutMs: 30_000, maximumOutputBytes: 1 << 16 },
  });
  return stdout.trim() || stderr;
}

describe.skipIf(python3 === undefined)('an extent that was seen at several sizes', () => {
  it.each([
    ['7', '7'],
    ['w', 'w'],
    ['3 * h - 2', '3 * h - 2'],
    ['h + w', 'h + w'],
    ['2 * h * w', '2 * h * w'],
    ['(h + 1) // 2', 'floor((h + 1) / 2)'],
    ['(w - 3) // 4 + 1', 'floor((w + 1) / 4)'],
    ['h * h', 'None'],
    ['max(h, w)', 'None'],
  ])('%s is found', async (extent, expression) => {
    expect(await fitted(extent)).toBe(expression);
  });
});
