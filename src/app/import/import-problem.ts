import { WarpsmithError } from '../../core/errors.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { Problem, Tolerance } from '../../core/problem.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { type AuditReport, auditProblem } from '../../evaluation/audit/audit.ts';
import { describeModule } from '../../evaluation/oracle/reference-process/describe-module.ts';
import { writeFolder } from '../../store/write-folder.ts';
import { compactJson } from '../compact-json.ts';
import { earlierDraft, README } from '../drafted-problem.ts';
import { loadProblem } from '../loading/load-problem.ts';
import { readUserText } from '../loading/read-user-file.ts';
import { ensureFileTrusted, ensureTrustedFor } from '../loading/trust.ts';
import type { Surroundings } from '../session.ts';
import { importDefinition, parseDefinition, parseWorkloads } from './flashinfer-trace.ts';
import type { Imported, OriginalChecks } from './imported.ts';
import { importModule } from './kernelbench.ts';

/** What `import` made, and what the checks of both catch. Plain JSON. */
export interface ImportReport {
  readonly schemaVersion: 1;
  readonly kind: 'import';
  readonly folder: string;
  readonly files: readonly string[];
  readonly notes: readonly string[];
  /** Wrong kernels that pass; `null` if the reference may not run here, so that nothing was audited. */
  readonly letThrough: {
    /** With the rules and the inputs of the original's own checks. */
    readonly originally: readonly { readonly rule: string; readonly letThrough: readonly string[] }[];
    /** With the checks that were written. */
    readonly now: readonly string[];
    readonly count: number;
  } | null;
}

const README_MARK = '<!-- written by warpsmith import -->';

/**
 * Makes a problem folder from a definition of FlashInfer Trace or a module of KernelBench, and audits both its checks and the
 * original's.
 *
 * @throws WarpsmithError for what can't be read or expressed, each with the next step.
 */
export async function importProblem(request: RequestOf<'import'> & Surroundings): Promise<ImportReport> {
  const completed = completeRequest('import', request);
  const { target, output, seed, signal } = completed;
  const isModule = target.endsWith('.py');
  const imported = isModule ? await moduleOf(completed) : await definitionOf(completed);
  const { name } = imported.problem;
  const files: Record<string, string> = {
    'problem.json': `${compactJson(imported.problem)}\n`,
    ...imported.files,
    '01_start/kernel.json': `${compactJson(imported.kernel)}\n`,
    [README]: [`# ${name}`, '', README_MARK, '', ...imported.notes.map((note) => `- ${note}`), ''].join('\n'),
  };
  const folder = writeFolder(output ?? name, files, {
    option: '--output',
    earlier: (at) => earlierDraft(at, README_MARK, Object.keys(files)),
  });
  const { notes } = imported;
  const report = { schemaVersion: 1, kind: 'import', folder, files: Object.keys(files), notes } as const;
  const problem = await loadProblem(folder);
  try {
    // Who agreed to the module agreed to what calls it.
    await ensureTrustedFor(isModule ? { ...request, trust: true } : request, problem);
  } catch (error) {
    if (!(error instanceof WarpsmithError && error.details.code === 'problem-not-trusted')) throw error;
    const unaudited = `Not audited: reference.py may not run yet. Read it, then: warpsmith audit ${folder} --trust`;
    return { ...report, notes: [...notes, unaudited], letThrough: null };
  }
  const now = await auditProblem({ problem, seed, signal });
  const originally: { rule: string; letThrough: string[] }[] = [];
  for (const tolerance of imported.original.tolerances) {
    const { letThrough } = await auditProblem({
      ...{ problem: withOriginalChecks(problem, imported.original, tolerance), seed, signal },
    });
    originally.push({ rule: `${ruleText(tolerance)}, ${imported.original.inputs}`, letThrough });
  }
  const troubles = [
    ...now.falseAlarms.map((check) => `The check ${check} refuses even the right results: correct the comparison.`),
    ...now.blindChecks.map((check) => `The check ${check} is blind, and evaluate will refuse it: see warpsmith audit.`),
  ];
  return {
    ...{ ...report, notes: [...notes, ...troubles] },
    letThrough: { originally, now: now.letThrough, count: applicable(now) },
  };
}

type Completed = RequestOf<'import'> & { readonly target: string; readonly values: ParameterValues };

async function definitionOf({ target, workloads, values }: Completed): Promise<Imported> {
  const definition = parseDefinition(await readText(target, 'a definition of FlashInfer Trace'), target);
  const lines =
    workloads === undefined ? [] : parseWorkloads(await readText(workloads, 'workloads, one a line'), workloads);
  return importDefinition(definition, lines, values, target);
}

async function moduleOf(request: RequestOf<'import'> & Surroundings): Promise<Imported> {
  const { target, workloads, values = {}, signal } = request;
  if (workloads !== undefined) throw noWorkloads(target, workloads);
  const text = await readText(target, 'a module of KernelBench');
  const { trust, askTrust } = request;
  await ensureFileTrusted(target, { ask: trust ? async () => true : askTrust });
  return importModule(await describeModule(text, target, values, signal), text, target);
}

const noWorkloads = (target: string, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'conflicting-options',
    message: `--workloads belongs to definitions of FlashInfer Trace; ${target} is a module of KernelBench.`,
    path: '--workloads',
    received,
    expected: 'a .py file without --workloads',
    hint: 'Say another size of the module with --value, such as --value batch_size=16.',
  });

const ruleText = (tolerance: Tolerance): string =>
  tolerance.kind === 'allclose' ? `allclose, atol = rtol = ${tolerance.atol}` : tolerance.kind;

const applicable = ({ mutants }: AuditReport): number =>
  mutants.filter(({ verdict }) => verdict === 'caught' || verdict === 'slipped').length;

const readText = (file: string, expected: string): Promise<string> =>
  readUserText({
    file,
    expected,
    hint: 'warpsmith import DEFINITION.json --workloads WORKLOADS.jsonl, or warpsmith import MODULE.py',
  });

/** The same problem, checked as where it comes from. */
function withOriginalChecks(problem: Problem, { generatorSets }: OriginalChecks, comparison: Tolerance): Problem {
  const { file } = problem;
  const outputs = Object.entries(file.outputs).map(([name, { comparison: _, ...one }]) => [name, one] as const);
  const dimensions = file.workloads[0]!.dimensions;
  return {
    ...problem,
    file: {
      ...{ ...file, comparison, generatorSets, outputs: Object.fromEntries(outputs), checkShapes: [{ dimensions }] },
    } as Problem['file'],
  };
}
