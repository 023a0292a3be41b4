import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { inProcess, type ReferenceModule } from '../../src/core/call-reference.ts';
import { isShapeOf } from '../../src/core/plan/dimensions.ts';
import { parseProblemFile } from '../../src/core/schemas/parse-files.ts';
import { type AuditReport, auditProblem } from '../../src/evaluation/audit/audit.ts';
import { drawShapes } from '../../src/evaluation/oracle/shapes/drawn.ts';
import { longTests } from '../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

/** The worked example of docs/guides/writing-a-problem.md: reference.ts, a first problem.json, and what replaces some of it. */
const guide = readFileSync(path.resolve(import.meta.dirname, '../../docs/guides/writing-a-problem.md'), 'utf8');
const example = guide.slice(guide.indexOf('## Checks that see'));
const [reference, first, changes] = [...example.matchAll(/^```(?:ts|json)\n(.*?)^```$/gms)].map(([, text]) => text!);

const folder = mkdtempSync(path.join(tmpdir(), 'warpsmith-guide-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (replaced: object) =>
  parseProblemFile(JSON.stringify({ ...(JSON.parse(first!) as object), ...replaced }), 'problem.json');

const auditWith = async (replaced: object): Promise<AuditReport> => {
  const place = path.join(folder, 'reference.ts');
  writeFileSync(place, reference!);
  const module = (await import(place)) as ReferenceModule;
  const problem = { folder: 'group-rms', file: read(replaced), reference: inProcess(module.reference, module) };
  return auditProblem({ problem, seed: 1 });
};

describe('the worked example of writing a problem', () => {
  long('lets through at first just what the guide says', async () => {
    const { letThrough, falseAlarms } = await auditWith({});
    expect(letThrough).toEqual(['gain', 'low-precision', 'no-epsilon', 'timed:no-epsilon']);
    for (const id of letThrough) expect(example).toContain(`- \`${id}\``);
    expect(falseAlarms).toEqual([]);
  });

  long('lets nothing through in the end', async () => {
    const report = await auditWith(JSON.parse(changes!) as object);
    expect(report).toMatchObject({ ok: true, letThrough: [], falseAlarms: [], blindChecks: [] });
  });

  it('keeps drawn shapes to its limits', () => {
    const problem = read(JSON.parse(changes!) as object);
    const timed = problem.workloads[0]!.dimensions;
    const draw = { problem, timed, known: [], count: 5, takes: (shape: typeof timed) => isShapeOf(problem, shape) };
    for (let seed = 0; seed < 20; seed++) {
      const { shapes, fixed } = drawShapes({ ...draw, seed });
      expect(shapes.length).toBeGreaterThanOrEqual(5);
      expect(fixed).toEqual([]);
    }
  });
});
