import { MINIMISED, STRATEGY_NAMES } from '../vocabulary.ts';
import {
  choice,
  choices,
  FLAG,
  GPU_PRICE,
  IDENTIFIER,
  integer,
  NAME,
  PARAMETERS,
  PATH,
  percent,
  positive,
  TEXT,
  TEXTS,
} from './kinds.ts';
import {
  AGENTS,
  ATTEMPT,
  AUTHOR,
  authorsUnreached,
  BASELINES,
  BUDGETS,
  type Completed,
  checks,
  DEVICE,
  DEVICE_OF_RUN,
  dtype,
  EVIDENCE,
  energy,
  FAIL_ON,
  GUIDED,
  HANDED_OVER,
  JUDGING,
  LARGER_AUTHOR_BUDGETS,
  LARGER_BUDGETS,
  MEASURING,
  type Options,
  option,
  output,
  parameters,
  RELEASE,
  RUN_FILTER,
  RUN_STRATEGIES,
  SPREADING,
  STORE,
  seed,
  tier,
  trust,
  unreached,
  workload,
  workloads,
} from './options.ts';

/** One positional argument; `[in brackets]` it may be left out, `<with dots...>` there may be several. */
export interface Argument {
  readonly shown: string;
  readonly help: string;
  readonly default?: string;
  /** The only words that it takes. */
  readonly choices?: readonly string[];
  /** What a shell offers: of a kind, or these words among others. */
  readonly completes?: Completed | readonly string[];
}

/** One command: the only place where its grammar is described. */
export interface Command {
  readonly summary: string;
  /** Under which heading help lists it. */
  readonly group: keyof typeof GROUPS;
  /** In their order, by the name they have in a request. */
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly options: Options;
}

/** Headings of the help, in their order. */
export const GROUPS = {
  judge: 'Judge a kernel:',
  optimise: 'Make it faster:',
  look: 'Look at runs:',
  hand: 'Hand over:',
  learn: 'Learn:',
  machine: 'This machine:',
} as const;

/** Shells whose command lines can be completed. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What can be done with workers that Slurm runs. */
export const SLURM_ACTIONS = ['up', 'status', 'down'] as const;
export type SlurmAction = (typeof SLURM_ACTIONS)[number];

/** Of the lessons of the course, in their order. */
const LESSON_NUMBERS = Array.from({ length: 12 }, (_, index) => String(index + 1).padStart(2, '0'));

const CANDIDATE = "a run (its best), RUN/e12, the beginning of a candidate's id, or a kernel folder";

const kernelFolder = {
  shown: '<folder>',
  help: 'a kernel folder, a problem folder for its start, or a bundled name such as softmax',
  completes: 'target',
} as const;

const runOrLatest = {
  shown: '[run]',
  help: "a run's id, its beginning, its folder, or latest",
  default: 'latest',
  completes: 'run',
} as const;

/** Where a search or an author begins. */
const START = {
  shown: '<folder>',
  help: 'a problem folder, a kernel folder to start from, or a bundled name such as softmax',
  completes: 'target',
} as const;

const SEVERAL_DEVICES = {
  ...DEVICE.device,
  help: 'device to judge kernels on; several GPUs as cuda:0,cuda:1 or cuda:all; see `warpsmith devices`',
} as const;

/** How an MCP server judges what an author submits. */
const SERVING = {
  trust,
  device: DEVICE.device,
  threads: DEVICE.threads,
  toolchain: DEVICE.toolchain,
  runTimeoutSeconds: DEVICE.runTimeoutSeconds,
  workload,
  dtype,
  cache: MEASURING.cache,
  maximumEvaluations: { ...BUDGETS.maximumEvaluations, help: 'how many kernels are judged', defaultHelp: '30' },
  maximumMinutes: { ...BUDGETS.maximumMinutes, help: 'wall time in which kernels are taken' },
  author: option('--author <name>', NAME, 'who writes the kernels, for the journal', { default: 'agent' }),
  unreached: authorsUnreached,
  showRungs: option('--show-rungs', FLAG, 'show the author every rung of the ladder, not only the start'),
  ...STORE,
} as const satisfies Options;

/** Where kernels of a change are judged. Recordings hold single kernels, so there is none of a change. */
const { record: _record, replay: _replay, ...JUDGING_PLACE } = DEVICE;

/** What `init` is told beside a .cu file. */
export const DRAFTING = {
  output: {
    ...output,
    help: 'of a .cu file: the problem folder to write',
    defaultHelp: "the file's name without .cu",
  },
  kernels: option('--kernel <name>', TEXTS, 'of a .cu file: a kernel to take, in launch order; repeatable', {
    default: [],
    defaultHelp: 'all that are launched',
  }),
  values: option(
    '--value <name=number>',
    PARAMETERS,
    "of a .cu file: a size of the host code, or a kernel's parameter; repeatable",
    { default: {} },
  ),
  buffers: option(
    '--buffer <name=elements>',
    TEXTS,
    'of a .cu file: how many elements a buffer has, such as A=M*K; repeatable',
    { default: [] },
  ),
  parameters: option(
    '--parameter <name=values>',
    TEXTS,
    'of a .cu file: a number that becomes a parameter, such as TILE=16,32, or TILE for powers of two around it; none for none; repeatable',
    { default: [], defaultHelp: 'those of launches, shared arrays and loops' },
  ),
  grid: option('--grid <extents>', TEXT, 'of a .cu file: the grid, such as "ceilDiv(N, 256)", x first'),
  block: option('--block <extents>', TEXT, 'of a .cu file: the block, such as "32, 8", x first'),
  shared: option('--shared <bytes>', TEXT, 'of a .cu file: bytes of dynamic shared memory'),
  reference: option(
    '--reference <what>',
    TEXT,
    "of a .cu file: translate the file's own CPU function (cpu), call a Python function (python:FILE.py:function), compare with the kernel as it is (original), or leave it to you (stub)",
    { defaultHelp: 'cpu if there is one that can be translated' },
  ),
} as const satisfies Options;

/** Every command, in the order of the help. */
export const COMMANDS = {
  check: {
    summary: 'validate problem.json and kernel.json and print the launch plans, running nothing',
    group: 'judge',
    arguments: {
      target: { shown: '<folder>', help: 'a problem folder (all rungs) or a kernel folder', completes: 'target' },
    },
    options: { workload: { ...workload, help: 'only this workload' }, dtype, parameters },
  },
  evaluate: {
    summary: 'judge one kernel: compile, verify, count, time, diagnose',
    group: 'judge',
    arguments: { target: kernelFolder },
    options: {
      ...DEVICE,
      ...JUDGING,
      ...EVIDENCE,
      energy,
      quick: option(
        '--quick',
        FLAG,
        'two checks only, then counters and a prediction, on a virtual device: unverified, exit code 4',
        { notInReplays: true },
      ),
      sampleCtas: option(
        '--sample-ctas <count>',
        integer(1, 2 ** 31 - 1),
        'for a workload too large to be simulated: run about this many of its CTAs, verify smaller shapes only: unverified, exit code 4',
        { notInReplays: true },
      ),
      checks,
      unreached,
      suites: option(
        '--suite <name>',
        TEXTS,
        "also verify the shapes of this suite of the problem's suites.json; repeatable",
        { default: [] },
      ),
      keep: option(
        '--keep <folder>',
        PATH,
        "write PTX, machine code and the profiler's report, if any, into this folder",
        { completes: 'folder', notInReplays: true },
      ),
      brief: option(
        '--brief',
        FLAG,
        'print at most 1,200 tokens: verdict, ratio to the parent, what limits it; as `warpsmith mcp` tells authors',
      ),
      ...ATTEMPT,
    },
  },
  diagnose: {
    summary: 'say what limits a kernel and what to try',
    group: 'judge',
    arguments: { target: kernelFolder },
    options: { ...DEVICE, ...JUDGING, ...EVIDENCE, ...ATTEMPT },
  },
  audit: {
    summary: "test a problem's checks with generic wrong kernels, and list those that pass",
    group: 'judge',
    arguments: { target: { shown: '<folder>', help: 'a problem folder', completes: 'target' } },
    options: { trust, dtype, seed: { ...seed, help: 'seeds the inputs', defaultHelp: undefined, default: 1 } },
  },
  measure: {
    summary: 'measure several kernels beside library baselines, in the same blocks, on a GPU',
    group: 'judge',
    arguments: { target: { shown: '<folder>', help: 'a problem folder, or a kernel folder', completes: 'target' } },
    options: {
      ...DEVICE,
      kernels: option('--kernel <kernel>', TEXTS, 'a rung or a kernel folder; repeatable', {
        default: [],
        defaultHelp: 'every rung',
        completes: 'rung',
      }),
      workloads,
      dtype,
      parameters,
      ...MEASURING,
      tier: { ...tier, help: 'how long to measure: screen or accept', onlyOnGpus: undefined, default: 'accept' },
      blocks: option('--blocks <count>', integer(1, 10_000), 'a fixed number of blocks'),
      energy,
      ...BASELINES,
    },
  },
  optimize: {
    summary: 'search for a faster kernel',
    group: 'optimise',
    arguments: { target: START },
    options: {
      ...DEVICE,
      device: SEVERAL_DEVICES,
      ...SPREADING,
      workloads: {
        ...workloads,
        help: "a workload's name, dimensions, or all, with a weight as in b1h8s512d64:2; repeatable: then the objective is the geometric mean",
      },
      dtype,
      parameters,
      ...MEASURING,
      strategy: option(
        '--strategy <name>',
        choice(RUN_STRATEGIES),
        `how to choose the next candidate: ${RUN_STRATEGIES.join(', ')}`,
        { default: GUIDED },
      ),
      prior: option(
        '--prior <source>',
        TEXT,
        'times that a search begins with: a run, a recording, results of an auto-tuner, virtual:<gpu> to predict every setting, or none',
        { defaultHelp: 'the best of the store: the same kernels on another device or workload', completes: 'run' },
      ),
      objective: option(
        '--objective <kind>',
        choice(['geometric-mean', 'per-workload']),
        'for several workloads: geometric-mean (one kernel for all) or per-workload (a dispatch table)',
        { default: 'geometric-mean' },
      ),
      minimise: option(
        '--minimise <what>',
        choice(MINIMISED),
        'what a kernel is kept for: less time, or less energy per launch sequence by NVML (GPUs only; takes longer)',
        { default: 'time', isLogged: true },
      ),
      diagnosis: option('--no-diagnosis', FLAG, 'guided: choose among the same changes, but ignore the findings', {
        default: true,
        isLogged: true,
      }),
      exploring: option(
        '--no-exploring',
        FLAG,
        'guided: stop when no finding suggests a move, instead of a blind search',
        { default: true, isLogged: true },
      ),
      ablation: option('--no-ablation', FLAG, "skip the ablation: do not undo the winner's changes one by one", {
        default: true,
        isLogged: true,
      }),
      ...BUDGETS,
      gpuPricePerHour: option(
        '--gpu-price <price>',
        GPU_PRICE,
        'price of a GPU hour, for the ledger; or a listed one: auto, a GPU such as h200, or one of a provider: h100-sxm@lambda',
      ),
      prices: option('--prices <file>', PATH, 'a list of prices, for --gpu-price by name', {
        completes: 'file',
        defaultHelp: "warpsmith's own list, each price with its date",
      }),
      goal: option(
        '--goal <goal>',
        TEXT,
        'stop at this speed-up (2x) or time (50us); with --minimise energy, at this ratio of joules (1.5x)',
      ),
      patience: option(
        '--patience <count>',
        integer(1, 1e6),
        'stop the search after so many evaluations in a row without a better kernel',
        { isLogged: true },
      ),
      energy: {
        ...energy,
        help: 'also measure joules per launch sequence of the confirmed best and the start; GPUs only',
      },
      requireSanitizer: option(
        '--require-sanitizer',
        FLAG,
        'refuse a winner that compute-sanitizer has not cleared; GPUs only',
        { isLogged: true, onlyOnGpus: 'it checks every access anyway' },
      ),
      ...AUTHOR,
      ...AGENTS,
      ...RELEASE,
      ...STORE,
    },
  },
  worker: {
    summary: 'judge candidates that runs elsewhere put into a queue',
    group: 'optimise',
    arguments: {},
    options: {
      queue: option(
        '--queue <address>',
        TEXT,
        'redis:// address of the queue; its password and key come from the environment',
      ),
      device: SEVERAL_DEVICES,
      workers: { ...SPREADING.workers, help: 'processes of a virtual device, each a worker', defaultHelp: 'one' },
      threads: DEVICE.threads,
      toolchain: DEVICE.toolchain,
      runTimeoutSeconds: DEVICE.runTimeoutSeconds,
      fresh: DEVICE.fresh,
      idleMinutes: option('--idle-minutes <minutes>', positive(), 'end after this long without a candidate', {
        defaultHelp: 'never',
      }),
      ...RELEASE,
      releaseAfterMinutes: {
        ...RELEASE.releaseAfterMinutes,
        help: 'end after this long without a candidate, and release the GPU; however it ends, so long after the last one',
      },
    },
  },
  slurm: {
    summary: 'start workers as a Slurm array, list them, or end them',
    group: 'optimise',
    arguments: {
      action: { shown: '<action>', help: `one of ${SLURM_ACTIONS.join(', ')}`, choices: SLURM_ACTIONS },
      words: {
        shown: '[words...]',
        help: 'up: options for sbatch, after --; down: numbers of jobs, or none for all workers',
      },
    },
    options: {
      queue: option('--queue <address>', TEXT, 'up: redis:// address of the queue'),
      gpus: option('--gpus <count>', integer(1, 10_000), 'up: how many workers, one for each GPU'),
      device: {
        ...DEVICE.device,
        help: 'up: device of each worker',
        defaultHelp: 'cuda:0, the GPU that Slurm gives it',
      },
      idleMinutes: option('--idle-minutes <minutes>', positive(), 'up: end after this long without a candidate', {
        defaultHelp: 'never',
      }),
    },
  },
  resume: {
    summary: 'continue a run that was interrupted or killed',
    group: 'optimise',
    arguments: { run: runOrLatest },
    options: { trust, ...LARGER_BUDGETS, ...LARGER_AUTHOR_BUDGETS, ...RELEASE, ...STORE },
  },
  report: {
    summary: 'print the report of a run, or compare two',
    group: 'look',
    arguments: { run: runOrLatest },
    options: {
      against: option(
        '--against <run>',
        TEXT,
        'another run: best against best, evaluations to reach it, and what was different',
      ),
      format: option(
        '--format <format>',
        choice(['terminal', 'html', 'markdown', 'json']),
        'terminal, html, markdown or json',
        { defaultHelp: "what --output's name says, else terminal" },
      ),
      output: { ...output, flags: '-o, --output <file>', help: 'write it into this file', completes: 'file' },
      ...STORE,
    },
  },
  log: {
    summary: 'show what was tried by hand, as a tree: what each change did',
    group: 'look',
    arguments: {
      what: { shown: '[what]', help: 'all, a problem by its name, or one attempt such as a3', default: 'all' },
    },
    options: {
      last: option('--last <count>', integer(1, 100_000), 'only so many attempts, the newest', { default: 50 }),
      ...STORE,
    },
  },
  runs: {
    summary: 'list the runs of a store',
    group: 'look',
    arguments: {},
    options: {
      ...RUN_FILTER,
      rebuild: option('--rebuild', FLAG, 'rebuild the index of the store from the logs of its runs'),
      ...STORE,
    },
  },
  show: {
    summary: 'show a run, one of its evaluations, or a candidate, with the evidence',
    group: 'look',
    arguments: {
      what: {
        shown: '[what]',
        help: 'a run, <run>/e12, e12 of the newest run, or the beginning of a candidate’s id',
        default: 'latest',
        completes: 'run',
      },
    },
    options: STORE,
  },
  ui: {
    summary: 'open a page in the browser: runs as they go, candidates line by line, and a playground',
    group: 'look',
    arguments: {},
    options: {
      port: option('--port <port>', integer(0, 65_535), 'port of 127.0.0.1 to listen on; 0 takes a free one', {
        default: 0,
      }),
      open: option('--no-open', FLAG, 'open no browser, only print the address', { default: true }),
      ...STORE,
    },
  },
  patterns: {
    summary: 'list the patterns, with the gains of their moves in the store’s runs',
    group: 'look',
    arguments: {},
    options: {
      ...RUN_FILTER,
      evidence: option('--evidence', FLAG, 'list every move: its finding and counters, expected gain and real gain'),
      ...STORE,
    },
  },
  'search-bench': {
    summary: 'replay a fully evaluated space, and compare how fast each strategy finds its best',
    group: 'optimise',
    arguments: {
      file: {
        shown: '<file>',
        help: 'auto-tuning results: T4 JSON or a cache file of Kernel Tuner, plain or gzipped',
        completes: 'file',
      },
    },
    options: {
      strategies: option(
        '--strategy <name>',
        choices(STRATEGY_NAMES),
        `one of ${STRATEGY_NAMES.join(', ')}; repeatable`,
        { default: STRATEGY_NAMES, defaultHelp: 'all' },
      ),
      seeds: option('--seeds <count>', integer(1, 1e4), 'runs of each strategy', { default: 50 }),
      evaluations: option('--evaluations <count>', integer(1, 1e5), 'evaluations of each run', { default: 200 }),
      within: option('--within <percent>', positive(), 'largest distance from the best that counts as found', {
        default: 5,
      }),
      prior: option(
        '--prior <file>',
        PATH,
        'results of the same kernel on another device, for strategies that learn from them',
        {
          completes: 'file',
        },
      ),
      svg: option('--svg <file>', PATH, 'write a plot of the best so far by evaluation', { completes: 'file' }),
    },
  },
  dispatch: {
    summary: 'make a dispatch table from the winners of several runs, or from given kernels',
    group: 'hand',
    arguments: {
      targets: {
        shown: '<targets...>',
        help: 'runs of one problem on one device, one for each workload; with --kernels, the problem folder',
        completes: 'candidate',
      },
    },
    options: {
      ...DEVICE_OF_RUN,
      device: {
        ...DEVICE_OF_RUN.device,
        help: 'device to judge kernels on; with --kernels also several GPUs, as cuda:0,cuda:1 or cuda:all',
      },
      kernels: option('--kernels <file>', PATH, 'judge the kernels and settings that this JSON file lists', {
        completes: 'file',
      }),
      workloads: {
        ...workloads,
        help: "with --kernels: a workload's name, dimensions, or all; repeatable",
        defaultHelp: 'all',
      },
      dtype: { ...dtype, help: 'with --kernels: element type, of a problem that takes several' },
      seed,
      tier: { ...tier, help: 'with --kernels: how long a GPU measures, screen or accept', default: 'accept' },
      blocks: option('--blocks <count>', integer(1, 10_000), 'with --kernels: a fixed number of blocks'),
      rows: option(
        '--rows <folder>',
        PATH,
        'with --kernels: keep judged rows in this folder until the table is complete, and go on with those that are there, also on another machine with the same GPU, driver and compiler',
        { completes: 'folder', defaultHelp: 'the cache folder' },
      ),
      output: { ...output, default: 'dispatch' },
      ...HANDED_OVER,
      ...STORE,
    },
  },
  export: {
    summary: 'write a kernel so that it can be used without warpsmith',
    group: 'hand',
    arguments: { target: { shown: '[candidate]', help: CANDIDATE, default: 'latest', completes: 'candidate' } },
    options: {
      dtype,
      parameters: { ...parameters, default: undefined },
      output: { ...output, defaultHelp: 'export; nowhere with --commit or --torch' },
      commit: option('--commit', FLAG, "commit the run's kept changes to a branch of the start kernel's repository"),
      torch: option(
        '--torch <folder>',
        PATH,
        'write a Python package for PyTorch, with machine code, into this folder; also of a folder that dispatch wrote',
        { completes: 'folder' },
      ),
      architectures: option(
        '--arch <architecture>',
        TEXTS,
        'with --torch: an architecture to compile for, such as sm_80 or sm_90a; repeatable',
        { default: [], defaultHelp: "the run's device; else what the kernels declare, or sm_80 and sm_90" },
      ),
      toolchain: {
        ...DEVICE.toolchain,
        help: 'with --torch: compiler, nvrtc or nvcc',
        defaultHelp: 'the first of them that is there',
        isLogged: undefined,
        notInReplays: undefined,
      },
      name: option('--name <name>', IDENTIFIER, "the launch header's namespace, and the Python package", {
        defaultHelp: 'problem and kernel',
      }),
      ...HANDED_OVER,
      ...STORE,
    },
  },
  compare: {
    summary: 'say whether one kernel is faster than another',
    group: 'judge',
    arguments: {
      baseline: { shown: '<baseline>', help: CANDIDATE, completes: 'candidate' },
      candidate: { shown: '<candidate>', help: 'likewise', completes: 'candidate' },
    },
    options: {
      ...DEVICE_OF_RUN,
      workloads,
      dtype,
      baselineParameters: option(
        '--set-baseline <name=value>',
        PARAMETERS,
        'set a parameter of the baseline; repeatable',
        { default: {} },
      ),
      candidateParameters: option(
        '--set-candidate <name=value>',
        PARAMETERS,
        'set a parameter of the candidate; repeatable',
        { default: {} },
      ),
      ...MEASURING,
      energy,
      failOn: option('--fail-on <what>', choice(FAIL_ON), 'exit with 1 if the candidate is slower, or not-faster'),
      note: ATTEMPT.note,
      journal: ATTEMPT.journal,
      ...STORE,
    },
  },
  gate: {
    summary: 'refuse a change that makes a kernel wrong or slower',
    group: 'judge',
    arguments: {
      folder: {
        shown: '[folder]',
        help: 'a folder of a git repository: only kernels in it or below it',
        default: '.',
        completes: 'folder',
      },
    },
    options: {
      base: option(
        '--base <ref>',
        TEXT,
        'the commit, branch or tag that the change is to go into, such as origin/main',
      ),
      ...JUDGING_PLACE,
      workloads: {
        ...workloads,
        help: "a workload's name, dimensions, or all; repeatable",
        defaultHelp: "the problem's first that the kernel takes",
      },
      dtype,
      ...MEASURING,
      checks: { ...checks, default: 'usual' },
      maximumSlowdown: option(
        '--max-slowdown <percent>',
        percent(1000),
        'how much slower a kernel may become; a GPU also needs the verdict slower',
        { default: 3, defaultHelp: '3%' },
      ),
      most: option('--most <count>', integer(1, 100_000), 'judge at most so many kernels, and name the others', {
        defaultHelp: 'all that are touched',
      }),
      baselineFile: option(
        '--baseline <file>',
        PATH,
        'the best times so far, by kernel, workload and device: what is worse is refused, too',
        { completes: 'file' },
      ),
      update: option('--update', FLAG, 'write what is better, or new, into the file of --baseline'),
      markdown: option('--markdown <file>', PATH, 'write the result as a comment for a pull request', {
        completes: 'file',
      }),
      sarif: option('--sarif <file>', PATH, 'write refusals and findings as SARIF 2.1.0', { completes: 'file' }),
    },
  },
  inspect: {
    summary: 'show each source line with its PTX and its cost',
    group: 'look',
    arguments: { target: { shown: '<candidate>', help: CANDIDATE, completes: 'candidate' } },
    options: {
      ...DEVICE_OF_RUN,
      ...JUDGING,
      hotLines: option('--lines <count>', integer(0, 1e6), 'how many hot lines to show with their PTX', { default: 8 }),
      ...STORE,
    },
  },
  mcp: {
    summary: 'let a coding agent write kernels for a problem, and judge them: an MCP server',
    group: 'optimise',
    arguments: { target: START },
    options: {
      ...SERVING,
      http: option('--http <port>', integer(0, 65_535), 'listen on 127.0.0.1 instead of stdin; 0 takes a free port', {
        defaultHelp: 'stdio',
      }),
    },
  },
  new: {
    summary: 'make a problem folder to change: a small problem with two kernels that passes as it is',
    group: 'optimise',
    arguments: {
      name: { shown: '<name>', help: 'the folder, new or empty; its last part names the problem', completes: 'folder' },
    },
    options: {},
  },
  init: {
    summary: 'make a problem folder from a .cu file; or, with --agent, a folder for a coding agent',
    group: 'optimise',
    arguments: {
      target: {
        shown: '<target>',
        help: 'a .cu file, with its host code; with --agent a problem or kernel folder, or a bundled name such as softmax',
        completes: 'target',
      },
    },
    options: {
      ...DRAFTING,
      agent: option('--agent <folder>', PATH, 'write a folder for a coding agent, new or empty', {
        completes: 'folder',
      }),
      ...SERVING,
    },
  },
  import: {
    summary:
      'make a problem folder from a benchmark’s definition (FlashInfer Trace, KernelBench), and audit its own checks',
    group: 'optimise',
    arguments: {
      target: {
        shown: '<definition>',
        help: 'of FlashInfer Trace: a JSON file; of KernelBench: a Python file, which needs PyTorch',
        completes: 'file',
      },
    },
    options: {
      output: { ...output, help: 'the problem folder to write', defaultHelp: "the definition's name" },
      workloads: option('--workloads <file>', PATH, 'workloads of FlashInfer Trace, one a line of JSON', {
        completes: 'file',
      }),
      values: option(
        '--value <name=number>',
        PARAMETERS,
        'a scalar input, an axis without workloads, or a size of a module; repeatable',
        {
          default: {},
        },
      ),
      trust,
      seed: { ...seed, help: 'seeds the inputs of the audit', defaultHelp: undefined, default: 1 },
    },
  },
  learn: {
    summary: 'learn CUDA in twelve short lessons, with no GPU: list them, begin one, check a solution',
    group: 'learn',
    arguments: {
      lesson: {
        shown: '[lesson]',
        help: 'all, a lesson by its number such as 03 or its name, or check',
        default: 'all',
        completes: ['all', 'check', ...LESSON_NUMBERS],
      },
      folder: { shown: '[folder]', help: 'of check: the folder of the lesson', default: '.', completes: 'folder' },
    },
    options: {
      output: { ...output, help: 'of a lesson: where to copy its start', defaultHelp: "the lesson's name" },
      threads: DEVICE.threads,
    },
  },
  doctor: {
    summary: 'show what works on this machine and what is missing',
    group: 'machine',
    arguments: {},
    options: {},
  },
  devices: { summary: 'list the devices kernels can be judged on', group: 'machine', arguments: {}, options: {} },
  completion: {
    summary: 'print a script that completes command lines in a shell',
    group: 'machine',
    arguments: { shell: { shown: '<shell>', help: `one of ${SHELLS.join(', ')}`, choices: SHELLS } },
    options: {},
  },
} as const satisfies Readonly<Record<string, Command>>;

export type CommandName = keyof typeof COMMANDS;
