import { type CompiledCode, symbolOf } from '../../../core/compiled-code.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';

/** Sequences that run before the profiled one, so that caches and clocks are as between replays of a hot ring. */
export const warmUpCount = (cacheControl: 'all' | 'none'): number => (cacheControl === 'none' ? 1 : 0);

/** Prints tables with full numbers: no unit prefixes, and mangled kernel names. */
const TABLE = ['--csv', '--print-units', 'base', '--print-kernel-base', 'mangled'];

/** Requested metrics, the sections' figures and rules, with the values of each instance, e.g. of each opcode. */
const DETAILS = ['--page', 'details', '--print-metric-instances', 'details', ...TABLE];

/** Arguments that profile the launches of one sequence, before the program and its own. */
export function profileArguments(request: {
  sections: readonly string[];
  cacheControl: 'all' | 'none';
  metrics: readonly string[];
  plan: LaunchPlan;
  code: CompiledCode;
  /** Without extension. */
  reportPath: string;
  sourceFolder?: string;
}): string[] {
  const { sections, cacheControl, metrics, plan, code, reportPath, sourceFolder } = request;
  const functions = plan.steps.flatMap((step) => (step.kind === 'launch' ? [step.functionName] : []));
  const symbols = [...new Set(functions.map((name) => symbolOf(code, name)))];
  const options: [string, string][] = [
    ['--target-processes', 'application-only'],
    ['--replay-mode', 'kernel'],
    ['--clock-control', 'none'],
    ['--cache-control', cacheControl],
    // Only the plan's own kernels, without the context's fills and copies.
    ['--kernel-name-base', 'mangled'],
    ['--kernel-name', `regex:^(${symbols.map(escapeRegex).join('|')})$`],
    ['--launch-skip', String(functions.length * warmUpCount(cacheControl))],
    ['--launch-count', String(functions.length)],
    ...sections.map((section): [string, string] => ['--section', section]),
    ...(metrics.length > 0 ? [['--metrics', metrics.join(',')] as [string, string]] : []),
    ...(sourceFolder === undefined
      ? []
      : ([
          ['--import-source', 'yes'],
          ['--source-folders', sourceFolder],
        ] as [string, string][])),
    ['--export', reportPath],
  ];
  // With a named page, ncu prints the table in the same start as the export.
  return [...options.flat(), '--force-overwrite', ...DETAILS];
}

const escapeRegex = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Arguments that print the table of {@link profileArguments} again from its report. */
export const detailsArguments = (reportFile: string): string[] => ['--import', reportFile, ...DETAILS];

/** Arguments that print one launch's counters by source line. */
export const sourceArguments = (reportFile: string, launchIndex: number): string[] => [
  '--import',
  reportFile,
  '--page',
  'source',
  '--print-source',
  'cuda,sass',
  '--launch-skip',
  String(launchIndex),
  '--launch-count',
  '1',
  '--csv',
  '--print-units',
  'base',
];
