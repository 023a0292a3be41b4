import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { costsOfOne } from '../../bench/referee/costs-of-one.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

describe('recording on a GPU in one go', () => {
  const script = readFileSync(path.join(ROOT, 'bench/referee/record-on-gpu.sh'), 'utf8');
  const parts = [...script.matchAll(/^record (\S+) (\d+) (\S+)/gm)].map(([, name, limit, program]) => ({
    name: name!,
    limit: Number(limit),
    program: program!,
  }));

  it('runs programs that there are, into recordings that there are', () => {
    expect(parts.length).toBeGreaterThanOrEqual(6);
    for (const { name, program } of parts) {
      expect(existsSync(path.join(ROOT, program)), program).toBe(true);
      expect(existsSync(path.join(ROOT, 'docs/results', `${name}.json`)), name).toBe(true);
    }
  });

  it('ends within twelve minutes, whatever takes longer', () => {
    expect(parts.reduce((sum, { limit }) => sum + limit, 0)).toBeLessThanOrEqual(12 * 60);
  });
});

describe('what one evaluation is made of', () => {
  const elapsedMs = { compile: 1, verify: 200, time: 300, total: 501 };
  const run = {
    evaluations: [{ elapsedMs }, { elapsedMs }] as never,
    tally: {
      messages: { replayOnce: { count: 40, ms: 80 }, a: { count: 2, ms: 90 } },
      driver: { cuMemcpyHtoDAsync_v2: { count: 40, ms: 1, bytes: 2 ** 22 } },
    },
  };

  it('by the evaluation, the message and the driver call; the longest first, within 80 columns', () => {
    const lines = costsOfOne(run).trimEnd().split('\n');
    expect(lines[0]).toBe('  medians in ms: compile 1, verify 200, time 300, total 501');
    expect(lines[1]).toBe('  messages, on average: 21.0 in 85.0 ms');
    expect(lines.slice(2, 4).map((line) => line.trim().split(/\s+/))).toEqual([
      ['a', '1.0', '45.00', 'ms'],
      ['replayOnce', '20.0', '40.00', 'ms'],
    ]);
    expect(lines.at(-1)).toMatch(/cuMemcpyHtoDAsync_v2 +20\.0 +0\.50 ms +2\.00 MiB/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });
});
