import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import type { Problem, Tolerance } from '../../core/problem.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { type AuditReport, auditProblem } from '../../evaluation/audit/audit.ts';
import { writeFolder } from '../../store/write-folder.ts';
import { compactJson } from '../compact-json.ts';
import { loadProblem } from '../loading/load-problem.ts';
import { readUserFile } from '../loading/read-user-file.ts';
import { ensureTrustedFor } from '../loading/trust.ts';
import type { Surroundings } from '../session.ts';
import { importDefinition, parseDefinition, parseWorkloads } from './flashinfer-trace.ts';

/** What `import` made, and what the checks of both catch. Plain JSON. */
export interface ImportReport {
  readonly schemaVersion: 1;
  readonly kind: 'import';
  readonly folder: string;
  readonly files: readonly string[];
  readonly notes: readonly string[];
  /** Wrong kernels that pass; `null` if the reference may not run here, so that nothing was audited. */
  readonly letThrough: {
    /** With the rule and the inputs of the original's own checks. */
    readonly originally: readonly string[];
    readonly rule: string;
    /** With the checks that were written. */
    readonly now: readonly string[];
    readonly count: number;
  } | null;
}

const README = 'README.md';
const README_MARK = '<!-- written by warpsmith import -->';

/** flashinfer-bench's defaults: normal inputs at the workload's shape. */
const ORIGINAL_RULE: Tolerance = { kind: 'allclose', atol: 1e-2, rtol: 1e-2 };

/**
 * Makes a problem folder from a definition of FlashInfer Trace, and audits both its checks and the original's.
 *
 * @throws WarpsmithError for what can't be read or expressed, each with the next step.
 */
export async function importProblem(request: RequestOf<'import'> & Surroundings): Promise<ImportReport> {
  const { target, output, workloads, values, seed, signal } = completeRequest('import', request);
  const text = await readText(target, 'a definition of FlashInfer Trace');
  const definition = parseDefinition(text, target);
  const lines =
    workloads === undefined ? [] : parseWorkloads(await readText(workloads, 'workloads, one a line'), workloads);
  const imported = importDefinition(definition, lines, values, target);
  const files: Record<string, string> = {
    'problem.json': `${compactJson(imported.problem)}\n`,
    ...imported.files,
    '01_start/kernel.json': `${compactJson(imported.kernel)}\n`,
    [README]: [`# ${definition.name}`, '', README_MARK, '', ...imported.notes.map((note) => `- ${note}`), ''].join(
      '\n',
    ),
  };
  const folder = writeFolder(output ?? definition.name, files, {
    option: '--output',
    earlier: (at) => (isOurs(at) ? Object.keys(files) : []),
  });
  const { notes } = imported;
  const report = { schemaVersion: 1, kind: 'import', folder, files: Object.keys(files), notes } as const;
  const problem = await loadProblem(folder);
  try {
    await ensureTrustedFor(request, problem);
  } catch (error) {
    if (!(error instanceof WarpsmithError && error.details.code === 'problem-not-trusted')) throw error;
    const unaudited = `Not audited: reference.py may not run yet. Read it, then: warpsmith audit ${folder} --trust`;
    return { ...report, notes: [...notes, unaudited], letThrough: null };
  }
  const now = await auditProblem({ problem, seed, signal });
  const originally = await auditProblem({ problem: withOriginalChecks(problem), seed, signal });
  return {
    ...report,
    letThrough: {
      originally: originally.letThrough,
      rule: 'allclose, atol = rtol = 0.01, normal inputs, at the first workload’s shape',
      now: now.letThrough,
      count: applicable(now),
    },
  };
}

const applicable = ({ mutants }: AuditReport): number =>
  mutants.filter(({ verdict }) => verdict === 'caught' || verdict === 'slipped').length;

const readText = async (file: string, expected: string): Promise<string> =>
  (
    await readUserFile({ file, expected, hint: 'warpsmith import DEFINITION.json --workloads WORKLOADS.jsonl' })
  ).toString('utf8');

/** The same problem, checked as flashinfer-bench checks it. */
function withOriginalChecks(problem: Problem): Problem {
  const { file } = problem;
  const outputs = Object.entries(file.outputs).map(([name, { comparison: _, ...one }]) => [name, one] as const);
  const dimensions = file.workloads[0]!.dimensions;
  return {
    ...problem,
    file: {
      ...file,
      outputs: Object.fromEntries(outputs),
      comparison: ORIGINAL_RULE,
      checkShapes: [{ dimensions }],
      generatorSets: undefined,
    } as Problem['file'],
  };
}

function isOurs(folder: string): boolean {
  const path = join(folder, README);
  return existsSync(path) && readFileSync(path, 'utf8').includes(README_MARK);
}
