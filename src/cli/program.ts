import { Command } from 'commander';
import { packageVersion } from '../app/package-version.ts';
import { GUIDED, RUN_STRATEGIES } from '../optimizer/strategy-names.ts';
import { FAIL_ON } from '../reports/compare-view.ts';
import { STRATEGY_NAMES } from '../search/strategies.ts';
import { asDamage } from '../store/event-log.ts';
import type { CliContext, Run } from './context.ts';
import {
  choiceOption,
  collectChoice,
  collectParameter,
  collectText,
  identifierOption,
  integerOption,
  positiveOption,
} from './option-values.ts';
import {
  DEVICE_OF_RUN,
  SEED_HELP,
  seedOption,
  withBaselines,
  withBlocks,
  withDevice,
  withEvidence,
  withJson,
  withJudging,
  withKeep,
  withMeasuring,
  withRunFilter,
  withSet,
  withStore,
  withTrust,
} from './options.ts';

const DEFAULT_HOT_LINES = 8;

/** Loads a command's module when it is used, so that `--help` and `check` don't pay for the virtual GPU. */
const COMMANDS = {
  doctor: async () => (await import('./commands/doctor.ts')).run,
  devices: async () => (await import('./commands/devices.ts')).run,
  check: async () => (await import('./commands/check.ts')).run,
  evaluate: async () => (await import('./commands/evaluate.ts')).run,
  diagnose: async () => (await import('./commands/diagnose.ts')).run,
  audit: async () => (await import('./commands/audit.ts')).run,
  measure: async () => (await import('./commands/measure.ts')).run,
  optimize: async () => (await import('./commands/optimize.ts')).run,
  resume: async () => (await import('./commands/resume.ts')).run,
  report: async () => (await import('./commands/report.ts')).run,
  dispatch: async () => (await import('./commands/dispatch.ts')).run,
  export: async () => (await import('./commands/export.ts')).run,
  compare: async () => (await import('./commands/compare.ts')).run,
  inspect: async () => (await import('./commands/inspect.ts')).run,
  runs: async () => (await import('./commands/runs.ts')).run,
  show: async () => (await import('./commands/show.ts')).run,
  patterns: async () => (await import('./commands/patterns.ts')).run,
  'search-bench': async () => (await import('./commands/search-bench.ts')).run,
} as const;

/** Commands about runs: what stumbles there stumbles over a log. */
const READ_LOGS: ReadonlySet<keyof typeof COMMANDS> = new Set([
  ...(['resume', 'report', 'dispatch', 'export', 'runs', 'show', 'patterns'] as const),
]);

const CANDIDATE_ARGUMENT = "a run (its best), RUN/e12, the beginning of a candidate's id, or a kernel folder";
const KERNEL_ARGUMENT = 'a kernel folder, or a problem folder for its start';

/**
 * The command line's grammar. `onExit` receives the exit code of the command that ran; `running` says which command an
 * argument list addresses, for messages.
 */
export function buildProgram(
  context: CliContext,
  onExit: (code: number) => void,
): { program: Command; running: (argv: readonly string[]) => Command } {
  const { streams } = context;
  const program = new Command('warpsmith')
    .description('Makes CUDA kernels faster, by itself, and proves it.')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void streams.out.write(text),
      // Errors are printed once, in the shape all errors have.
      writeErr: () => {},
    })
    .showSuggestionAfterError(false)
    .helpCommand('help [command]', 'show help')
    .addHelpText(
      'after',
      '\nExit codes: 0 fine, 1 the judged thing failed, 2 usage or bad file, 3 device or tool missing, 130 interrupted.',
    );

  const add = (name: keyof typeof COMMANDS, description: string): Command =>
    withJson(program.command(name).description(description).exitOverride());
  const act = <Options>(command: Command, name: keyof typeof COMMANDS, ...names: string[]): void => {
    command.action(async (...received: unknown[]) => {
      const options = command.opts<Record<string, unknown>>();
      const target = Object.fromEntries(names.map((argument, index) => [argument, received[index]]));
      const run = (await COMMANDS[name]()) as unknown as Run<Options>;
      try {
        onExit(await run({ ...options, ...target } as Options, context));
      } catch (error) {
        throw READ_LOGS.has(name) ? asDamage(error) : error;
      }
    });
  };

  act(add('doctor', 'say what works on this machine, and what is missing'), 'doctor');
  act(add('devices', 'list the devices kernels can be judged on'), 'devices');
  act(
    withSet(
      add('check', 'validate problem.json and kernel.json and print the launch plans, running nothing')
        .argument('<folder>', 'a problem folder (all rungs) or a kernel folder')
        .option('--workload <workload>', 'only this workload'),
    ),
    'check',
    'target',
  );
  act(
    withKeep(
      withEvidence(
        withJudging(
          add('evaluate', 'judge one kernel: compile, verify, count, time, diagnose').argument(
            '<folder>',
            KERNEL_ARGUMENT,
          ),
        ),
      ),
    ),
    'evaluate',
    'target',
  );
  act(
    withEvidence(
      withJudging(add('diagnose', 'say what limits a kernel and what to try').argument('<folder>', KERNEL_ARGUMENT)),
    ),
    'diagnose',
    'target',
  );
  act(
    withTrust(
      add('audit', "play generic wrong kernels against a problem's checks, and say which would slip through")
        .argument('<folder>', 'a problem folder')
        .option('--seed <seed>', 'seeds the inputs', seedOption, 1),
    ),
    'audit',
    'target',
  );
  act(
    withBaselines(
      withBlocks(
        withMeasuring(
          withSet(
            withDevice(
              add('measure', 'measure several kernels beside library baselines, in the same blocks, on a GPU')
                .argument('<folder>', 'a problem folder, or a kernel folder')
                .option(
                  '--kernel <kernel>',
                  'a rung or a kernel folder; repeatable (default: every rung)',
                  collectText('--kernel'),
                )
                .option(
                  '--workload <workload>',
                  "a workload's name, dimensions, or all; repeatable",
                  collectText('--workload'),
                ),
            ),
          ),
        ),
      ),
    ),
    'measure',
    'target',
  );
  act(
    withStore(
      withMeasuring(
        withSet(
          withDevice(
            add('optimize', 'search for a faster kernel').argument(
              '<folder>',
              'a problem folder, or a kernel folder to start from',
            ),
          ),
        ),
      ),
    )
      .option(
        '--workload <workload>',
        "a workload's name, dimensions, or all, with a weight as in b1h8s512d64:2; repeatable: the geometric mean counts",
        collectText('--workload'),
      )
      .option(
        '--strategy <name>',
        `what chooses the next candidate: ${RUN_STRATEGIES.join(', ')}`,
        choiceOption('--strategy', RUN_STRATEGIES),
        GUIDED,
      )
      .option(
        '--objective <kind>',
        'over several workloads: geometric-mean (one kernel for all) or per-workload (a dispatch table)',
        choiceOption('--objective', ['geometric-mean', 'per-workload'] as const),
        'geometric-mean',
      )
      .option('--no-diagnosis', 'guided: choose among the same changes without asking the findings')
      .option('--no-exploring', 'guided: stop where no finding suggests anything more, instead of searching on')
      .option('--no-ablation', "leave out undoing the winner's changes one by one in the end")
      .option(
        '--max-evaluations <count>',
        'limit in evaluations, from the start to the confirmation and ablation (default: 30, or none beside another budget)',
        integerOption('--max-evaluations', 1, 1e6),
      )
      .option('--max-minutes <minutes>', 'budget in wall time', positiveOption('--max-minutes'))
      .option('--max-gpu-minutes <minutes>', 'budget in GPU time', positiveOption('--max-gpu-minutes'))
      .option('--max-money <amount>', 'budget in money, with --gpu-price', positiveOption('--max-money'))
      .option('--gpu-price <price>', 'what an hour of the GPU costs, for the ledger', positiveOption('--gpu-price'))
      .option('--goal <goal>', 'stop at this speed-up (2x) or time (50us)')
      .option('--require-sanitizer', 'refuse a winner that compute-sanitizer has not cleared; GPUs only'),
    'optimize',
    'target',
  );
  act(
    withTrust(
      withStore(
        add('resume', 'go on with a run that was interrupted or killed').argument(
          '[run]',
          "a run's id, its beginning, its folder, or latest",
          'latest',
        ),
      ),
    )
      .option(
        '--max-evaluations <count>',
        'a larger limit in evaluations than the run had',
        integerOption('--max-evaluations', 1, 1e6),
      )
      .option('--max-minutes <minutes>', 'a larger budget in wall time', positiveOption('--max-minutes'))
      .option('--max-gpu-minutes <minutes>', 'a larger budget in GPU time', positiveOption('--max-gpu-minutes'))
      .option('--max-money <amount>', 'a larger budget in money', positiveOption('--max-money')),
    'resume',
    'run',
  );
  act(
    withStore(
      add('report', 'print the report of a run').argument(
        '[run]',
        "a run's id, its beginning, its folder, or latest",
        'latest',
      ),
    )
      .option(
        '--format <format>',
        "terminal, html, markdown or json (default: what --output's name says, else terminal)",
        choiceOption('--format', ['terminal', 'html', 'markdown', 'json'] as const),
      )
      .option('-o, --output <file>', 'write it into this file'),
    'report',
    'run',
  );
  act(
    withRunFilter(withStore(add('runs', 'list the runs of a store'))).option(
      '--rebuild',
      'make the index of the store anew from the logs of its runs',
    ),
    'runs',
  );
  act(
    withStore(
      add('show', 'say what a run, one of its evaluations or a candidate is, with its evidence').argument(
        '[what]',
        'a run, <run>/e12, e12 of the newest run, or the beginning of a candidate’s id',
        'latest',
      ),
    ),
    'show',
    'what',
  );
  act(
    withRunFilter(
      withStore(add('patterns', 'list the patterns, with what their moves realised in the store’s runs')),
    ).option('--evidence', 'list every move: its finding and counters, what it expected, what it realised'),
    'patterns',
  );
  act(
    add('search-bench', 'replay a space that was evaluated whole, and say how fast each strategy finds its best')
      .argument('<file>', 'auto-tuning results in the T4 JSON format, plain or gzipped')
      .option(
        '--strategy <name>',
        `one of ${STRATEGY_NAMES.join(', ')}; repeatable (default: all)`,
        collectChoice('--strategy', STRATEGY_NAMES),
      )
      .option('--seeds <count>', 'runs of each strategy', integerOption('--seeds', 1, 1e4), 50)
      .option('--evaluations <count>', 'evaluations of each run', integerOption('--evaluations', 1, 1e5), 200)
      .option('--within <percent>', 'above the best: what counts as found', positiveOption('--within'), 5)
      .option('--svg <file>', 'write a plot of the best so far by evaluation'),
    'search-bench',
    'file',
  );
  act(
    withStore(
      withDevice(
        add('dispatch', 'make a dispatch table of the winners of several runs').argument(
          '<runs...>',
          'runs of one problem on one device, one for each workload',
        ),
        DEVICE_OF_RUN,
      ),
    )
      .option('-o, --output <folder>', 'where to write it', 'dispatch')
      .option('--seed <seed>', SEED_HELP, seedOption),
    'dispatch',
    'runs',
  );
  act(
    withStore(
      withSet(
        add('export', 'write a kernel so that it can be used without warpsmith')
          .argument('[candidate]', CANDIDATE_ARGUMENT, 'latest')
          .option('-o, --output <folder>', 'where to write it (default: export; nowhere with --commit)')
          .option('--commit', "make the run's kept changes a branch of the repository that holds the start kernel")
          .option(
            '--name <name>',
            "the launch header's namespace (default: problem and kernel)",
            identifierOption('--name'),
          ),
      ),
    ),
    'export',
    'target',
  );
  act(
    withStore(
      withMeasuring(
        withDevice(
          add('compare', 'say whether one kernel is faster than another')
            .argument('<baseline>', CANDIDATE_ARGUMENT)
            .argument('<candidate>', 'likewise')
            .option(
              '--workload <workload>',
              "a workload's name, dimensions, or all; repeatable",
              collectText('--workload'),
            )
            .option(
              '--set-baseline <name=value>',
              'set a parameter of the baseline; repeatable',
              collectParameter('--set-baseline'),
            )
            .option(
              '--set-candidate <name=value>',
              'set a parameter of the candidate; repeatable',
              collectParameter('--set-candidate'),
            )
            .option(
              '--fail-on <what>',
              'exit with 1 where the candidate is slower, or not-faster',
              choiceOption('--fail-on', FAIL_ON),
            ),
          DEVICE_OF_RUN,
        ),
      ),
    ),
    'compare',
    'baseline',
    'candidate',
  );
  act(
    withStore(
      withJudging(
        add('inspect', 'show the source line by line with its PTX and what it costs')
          .argument('<candidate>', CANDIDATE_ARGUMENT)
          .option(
            '--lines <count>',
            'how many hot lines to show with their PTX',
            integerOption('--lines', 0, 1e6),
            DEFAULT_HOT_LINES,
          ),
        DEVICE_OF_RUN,
      ),
    ),
    'inspect',
    'target',
  );
  const running = (argv: readonly string[]): Command =>
    argv.map((word) => program.commands.find((command) => command.name() === word)).find(Boolean) ?? program;
  return { program, running };
}
