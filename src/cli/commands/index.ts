import type { CommandName } from '../../core/requests/commands.ts';
import type { CommandContext, Run } from '../context.ts';

/** Loads a command's module when it is used, so that `--help` and `check` don't pay for the virtual GPU. */
const MODULES: Readonly<Record<CommandName, () => Promise<{ readonly run: unknown }>>> = {
  doctor: () => import('./doctor.ts'),
  devices: () => import('./devices.ts'),
  check: () => import('./check.ts'),
  evaluate: () => import('./evaluate.ts'),
  diagnose: () => import('./diagnose.ts'),
  audit: () => import('./audit.ts'),
  measure: () => import('./measure.ts'),
  optimize: () => import('./optimize.ts'),
  mcp: () => import('./mcp.ts'),
  import: () => import('./import.ts'),
  init: () => import('./init.ts'),
  new: () => import('./new.ts'),
  worker: () => import('./worker.ts'),
  slurm: () => import('./slurm.ts'),
  resume: () => import('./resume.ts'),
  report: () => import('./report.ts'),
  dispatch: () => import('./dispatch.ts'),
  export: () => import('./export.ts'),
  compare: () => import('./compare.ts'),
  gate: () => import('./gate.ts'),
  inspect: () => import('./inspect.ts'),
  log: () => import('./log.ts'),
  runs: () => import('./runs.ts'),
  show: () => import('./show.ts'),
  ui: () => import('./ui.ts'),
  patterns: () => import('./patterns.ts'),
  'search-bench': () => import('./search-bench.ts'),
  learn: () => import('./learn.ts'),
  completion: () => import('./completion.ts'),
};

/** Commands that read logs. An unexpected error there usually means a damaged log. */
const READ_LOGS: ReadonlySet<CommandName> = new Set([
  ...(['resume', 'report', 'dispatch', 'export', 'runs', 'show', 'patterns'] as const),
]);

/** Runs a command and returns its exit code. */
export async function runCommand(
  name: CommandName,
  request: Readonly<Record<string, unknown>>,
  context: CommandContext,
): Promise<number> {
  const { run } = (await MODULES[name]()) as { run: Run<Readonly<Record<string, unknown>>> };
  try {
    return await run(request, context);
  } catch (error) {
    if (!READ_LOGS.has(name)) throw error;
    // Loaded only now, because its schemas take a while to load.
    const { asDamage } = await import('../../store/event-log.ts');
    throw asDamage(error);
  }
}
