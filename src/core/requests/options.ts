import { DTYPES } from '../dtype.ts';
import { UNREACHED } from '../unreached.ts';
import { STRATEGY_NAMES } from '../vocabulary.ts';
import {
  COMMAND_WORDS,
  choice,
  FLAG,
  integer,
  type Kind,
  PARAMETERS,
  PATH,
  positive,
  TEXT,
  TEXTS,
  WORKERS,
  zeroOrMore,
} from './kinds.ts';

/** Completions that a shell offers for a value, besides the words of a {@link choice}. */
export type Completed =
  /** Files, or folders alone. */
  | 'file'
  | 'folder'
  /** A folder, or a bundled problem or kernel by its name. */
  | 'target'
  /** A kernel of the folder that is given, or a folder. */
  | 'rung'
  | 'device'
  /** A run of the store. */
  | 'run'
  /** A run, or a folder. */
  | 'candidate';

/** One option of a command: the only place where it is described. */
export interface Option<T = unknown> {
  /** As help shows it, e.g. `-o, --output <folder>`. */
  readonly flags: string;
  readonly kind: Kind<T>;
  readonly help: string;
  /** What leaving it out means. */
  readonly default?: T;
  /** The default in words, where it is worked out. */
  readonly defaultHelp?: string;
  readonly completes?: Completed;
  /** Whether a run's log keeps it, because it affects how the run continues. */
  readonly isLogged?: true;
  /** Set if only real GPUs use the option: why a virtual one does not. */
  readonly onlyOnGpus?: string;
  /** Whether it is about the process that runs the command, so that a program that calls warpsmith has no use for it. */
  readonly isOfProcess?: true;
  /** Whether a replay excludes it, because the recording fixes its value or can't answer it. */
  readonly notInReplays?: true;
}

/** A row of a command's table: flags, the kind of its value, help, and what else is to be said of it. */
export const option = <
  K extends Option['kind'],
  const M extends Partial<Omit<Option, 'flags' | 'kind' | 'help'>> = Record<never, never>,
>(
  flags: string,
  kind: K,
  help: string,
  more: M = {} as M,
): { flags: string; kind: NoInfer<K>; help: string } & NoInfer<M> => ({ flags, kind, help, ...more });

/** Options by the name they have in a request. */
export type Options = Readonly<Record<string, Option>>;

const CACHES = ['hot', 'cold'] as const;
/** Whether a kernel finds its inputs in the L2 cache. */
export type Cache = (typeof CACHES)[number];

const TOOLCHAIN_NAMES = ['nvrtc', 'nvcc', 'clang'] as const;

/** The strategy that findings and patterns guide. */
export const GUIDED = 'guided';
export const RUN_STRATEGIES = [GUIDED, ...STRATEGY_NAMES] as const;

/** What a comparison is to fail on. */
export const FAIL_ON = ['slower', 'not-faster'] as const;
export type FailOn = (typeof FAIL_ON)[number];

/** Default of `--store`, relative to the working folder. */
export const DEFAULT_STORE = '.warpsmith';

const TIERS = ['screen', 'accept'] as const;
const LONGEST_RUN_SECONDS = 86_400;
const EVALUATIONS = integer(1, 1e6);

export const trust = option('--trust', FLAG, "run the problem's reference and baseline.py without asking");

export const seed = option(
  '--seed <seed>',
  integer(0, 2 ** 32 - 1),
  'seed of inputs, orders and drawn shapes, to repeat a command',
  { defaultHelp: 'drawn, and said afterwards' },
);

export const workload = option(
  '--workload <workload>',
  TEXT,
  "a workload's name, or dimensions such as B=1,H=8,S=512,D=64",
);

export const workloads = option('--workload <workload>', TEXTS, "a workload's name, dimensions, or all; repeatable", {
  default: [],
});

/** Of problems that take several. */
export const dtype = option(
  '--dtype <dtype>',
  choice(DTYPES),
  'element type, of a problem that takes several, such as bf16',
  { defaultHelp: "the problem's first that the kernel computes in; evaluate judges the others, too", isLogged: true },
);

export const parameters = option('--set <name=value>', PARAMETERS, 'set a parameter; repeatable', { default: {} });

export const checks = option(
  '--checks <which>',
  choice(['thorough', 'usual']),
  'thorough, as for a winner, or usual, as in a search: fewer shapes and inputs, in less time',
  { default: 'thorough' },
);

export const unreached = option(
  '--unreached <what>',
  choice(UNREACHED),
  'what no check saw, such as a condition that went one way: name it, or refuse the kernel as unverified; for a GPU, a virtual one looks',
  { defaultHelp: 'refuse; with --checks usual, name' },
);

/** The same, of the kernels that an author hands in. */
export const authorsUnreached = {
  ...unreached,
  help: "what no check of an author's kernel saw, such as a condition that went one way: name it, or refuse the kernel as unverified; for a GPU, a virtual one looks",
  default: 'refuse',
  defaultHelp: undefined,
} as const;

export const tier = option(
  '--tier <tier>',
  choice(TIERS),
  'how long a GPU measures: screen (short) or accept (for a verdict)',
  { onlyOnGpus: 'it predicts a time, and measures none' },
);

export const output = option('-o, --output <folder>', PATH, 'where to write it', { completes: 'folder' });

/** Of commands that hand kernels over. */
export const HANDED_OVER = {
  unverifiedSizes: option('--unverified-sizes', FLAG, 'take calls of sizes at which no result was compared, too'),
} as const satisfies Options;

/** Where kernels are judged. */
export const DEVICE = {
  trust,
  device: option('--device <id>', TEXT, 'device to judge kernels on; see `warpsmith devices`', {
    defaultHelp: 'first GPU, else virtual:l4',
    completes: 'device',
    notInReplays: true,
  }),
  threads: option('--threads <count>', integer(1, 256), 'worker threads of a virtual device; never changes a result', {
    isLogged: true,
    notInReplays: true,
  }),
  toolchain: option('--toolchain <name>', choice(TOOLCHAIN_NAMES), 'compiler: nvrtc, nvcc or clang', {
    defaultHelp: 'the first of them that is there; clang on virtual devices',
    isLogged: true,
    notInReplays: true,
  }),
  runTimeoutSeconds: option(
    '--run-timeout <seconds>',
    positive(LONGEST_RUN_SECONDS),
    "wall-clock limit of one run of the kernel's launches",
    { defaultHelp: '10 on a GPU, 20 on a virtual one, more for large workloads', isLogged: true },
  ),
  fresh: option('--fresh', FLAG, 'repeat evaluations that a virtual device has made before', {
    isLogged: true,
    notInReplays: true,
  }),
  record: option('--record <file>', PATH, 'write every evaluation, with samples and counters, to this .jsonl.gz file', {
    completes: 'file',
    isLogged: true,
    notInReplays: true,
  }),
  replay: option('--replay <file>', PATH, 'answer from a recording instead of a device', {
    completes: 'file',
    isLogged: true,
  }),
} as const satisfies Options;

/** {@link DEVICE} for commands that are about runs. */
export const DEVICE_OF_RUN = {
  ...DEVICE,
  device: { ...DEVICE.device, defaultHelp: "the run's; without one first GPU, else virtual:l4" },
} as const satisfies Options;

/** Who judges, where several do at a time. */
export const SPREADING = {
  workers: option(
    '--workers <which>',
    WORKERS,
    'candidates at a time: on one GPU, or in processes of a virtual device; with --queue whose: gpu=h200 or virtual:l4',
    { defaultHelp: 'one; with several GPUs one each', isLogged: true, notInReplays: true },
  ),
  queue: option(
    '--queue <address>',
    TEXT,
    'redis:// address of the queue from which workers elsewhere take candidates',
    {
      isLogged: true,
      notInReplays: true,
    },
  ),
} as const satisfies Options;

export const MEASURING = {
  cache: option('--cache <state>', choice(CACHES), "hot or cold, instead of the workload's own"),
  seed,
} as const satisfies Options;

export const JUDGING = { workload, dtype, parameters, ...MEASURING } as const satisfies Options;

export const BASELINES = {
  baselines: option(
    '--baseline <name>',
    TEXTS,
    'baseline to measure in the same blocks: start, a rung, a kernel folder, a library baseline, or all (every library); repeatable; GPUs only',
    { completes: 'rung', default: [] },
  ),
} as const satisfies Options;

export const energy = option('--energy', FLAG, 'also measure joules per launch sequence, by NVML; GPUs only', {
  isLogged: true,
});

/** Options for evidence beside a time, on real GPUs. */
export const EVIDENCE = {
  ...BASELINES,
  tier,
  profile: option('--profile <level>', choice(['none', 'light', 'full']), 'profile on a GPU: none, light or full', {
    onlyOnGpus: 'it counts every instruction and every access anyway',
  }),
  sanitize: option('--sanitize', FLAG, 'check the kernel with compute-sanitizer, on a GPU', {
    onlyOnGpus: 'it checks every access anyway',
  }),
} as const satisfies Options;

export const STORE = {
  store: option('--store <folder>', PATH, 'folder that holds runs/', { default: DEFAULT_STORE, completes: 'folder' }),
} as const satisfies Options;

/** What is kept of what somebody tries by hand. */
export const ATTEMPT = {
  note: option('--note <text>', TEXT, 'what you tried, for `warpsmith log`', { notInReplays: true }),
  parent: option('--parent <attempt>', TEXT, 'the attempt that it changes, such as a3, or none', {
    defaultHelp: 'the earlier one that differs least',
    notInReplays: true,
  }),
  journal: option('--no-journal', FLAG, 'keep nothing of this attempt in the store', { default: true }),
  ...STORE,
} as const satisfies Options;

export const RUN_FILTER = {
  problem: option('--problem <problem>', TEXT, 'only runs of this problem, by its name'),
  device: option('--device <device>', TEXT, 'only runs on this device, by its id or name, e.g. virtual:l4', {
    completes: 'device',
  }),
} as const satisfies Options;

const NO_GPU_TIME = 'it takes no GPU time';

export const BUDGETS = {
  maximumEvaluations: option(
    '--max-evaluations <count>',
    EVALUATIONS,
    'limit of evaluations, with start, confirmation and ablation',
    { defaultHelp: '30, or none beside another budget' },
  ),
  maximumMinutes: option('--max-minutes <minutes>', positive(), 'budget in wall time'),
  maximumGpuMinutes: option('--max-gpu-minutes <minutes>', positive(), 'budget in GPU time', {
    onlyOnGpus: `${NO_GPU_TIME}; --max-minutes bounds wall time`,
  }),
  maximumMoney: option('--max-money <amount>', positive(), 'budget in money, with --gpu-price', {
    onlyOnGpus: `${NO_GPU_TIME}, which is what costs money`,
  }),
} as const satisfies Options;

/** Two weeks, which a timer takes. */
const LONGEST_LEASE_MINUTES = 20_160;

/** How a rented GPU is given back. */
export const RELEASE = {
  releaseCommand: option(
    '--release-command <words>',
    COMMAND_WORDS,
    'what gives a rented GPU back, run once at the end: an executable, or a JSON array of it and its arguments',
    { isOfProcess: true },
  ),
  releaseAfterMinutes: option(
    '--release-after <minutes>',
    zeroOrMore(LONGEST_LEASE_MINUTES),
    'from the end of the work, however it ends, to the release',
    { defaultHelp: '5', isOfProcess: true },
  ),
  deadlineMinutes: option(
    '--deadline <minutes>',
    positive(LONGEST_LEASE_MINUTES),
    'from the start to the release at the latest, whatever hangs',
    { defaultHelp: 'none', isOfProcess: true },
  ),
  releaseTimeoutSeconds: option('--release-timeout <seconds>', positive(3600), 'limit of the release command', {
    defaultHelp: '120',
    isOfProcess: true,
  }),
} as const satisfies Options;

/** Who writes kernels during a run, and what that may cost. */
export const AUTHOR = {
  author: option(
    '--author <who>',
    TEXTS,
    'who writes kernels: model (asks the one of --model), or the command of a coding agent; repeatable, a bandit shares out the budget',
    { defaultHelp: 'nobody: a strategy chooses among those there are', isLogged: true },
  ),
  model: option(
    '--model <name>',
    TEXT,
    'anthropic:NAME, or openai-compatible:NAME with --endpoint; the key comes from the environment',
    { isLogged: true },
  ),
  endpoint: option('--endpoint <url>', TEXT, 'where the model listens, e.g. http://localhost:8000/v1', {
    defaultHelp: "Anthropic's own",
    isLogged: true,
  }),
  mode: option(
    '--mode <mode>',
    choice(['free', 'insight', 'full']),
    'what the model is shown first: free (the kernel), insight (and its findings), full (and other kernels)',
    { default: 'insight', isLogged: true },
  ),
  maximumTokens: option('--max-tokens <count>', integer(1, 1e12), 'budget in tokens of the model, sent and answered', {
    default: 1_000_000,
    isLogged: true,
  }),
  maximumCost: option('--max-cost <amount>', positive(), 'budget in money for tokens, with --price', {
    isLogged: true,
  }),
  price: option(
    '--price <sent,answered>',
    TEXT,
    'price of a million tokens sent and of a million answered, e.g. 3,15',
    { isLogged: true },
  ),
  onlyAuthors: option('--only-authors', FLAG, 'nobody else proposes: neither findings nor a search choose settings', {
    isLogged: true,
  }),
  transcript: option('--transcript <file>', PATH, "take the answers from a run's transcript.jsonl, and ask no model", {
    completes: 'file',
    isLogged: true,
  }),
} as const satisfies Options;

/** How agent processes of `--author` run. */
export const AGENTS = {
  stepEvaluations: option('--step-evaluations <count>', EVALUATIONS, 'an agent process: its share of evaluations', {
    default: 10,
    isLogged: true,
  }),
  stepMinutes: option('--step-minutes <minutes>', positive(10_080), 'an agent process: its share of wall time', {
    default: 20,
    isLogged: true,
  }),
  unreached: { ...authorsUnreached, isLogged: true },
  showRungs: option('--show-rungs', FLAG, "let authors see the problem's other rungs, and those be tried that choose", {
    isLogged: true,
  }),
  contain: option(
    '--contain <when>',
    choice(['auto', 'always', 'never']),
    'an agent process: run it in bubblewrap where that works (auto), or not at all without (always)',
    { default: 'auto', isLogged: true },
  ),
  agentOffline: option('--agent-offline', FLAG, 'an agent process: no network; most need one to reach their model', {
    isLogged: true,
  }),
  agentEnvironment: option(
    '--agent-env <name>',
    TEXTS,
    'an agent process: an environment variable it gets; repeatable',
    {
      isLogged: true,
    },
  ),
  agentReads: option(
    '--agent-read <path>',
    TEXTS,
    'an agent process: a path in the home folder it may read; repeatable',
    {
      isLogged: true,
    },
  ),
} as const satisfies Options;

/** Of a resumed run in which a model writes. */
export const LARGER_AUTHOR_BUDGETS = {
  maximumTokens: {
    flags: AUTHOR.maximumTokens.flags,
    kind: AUTHOR.maximumTokens.kind,
    help: 'a larger budget in tokens of the model',
  },
  maximumCost: {
    flags: AUTHOR.maximumCost.flags,
    kind: AUTHOR.maximumCost.kind,
    help: 'a larger budget in money for tokens',
  },
} as const satisfies Options;

export const LARGER_BUDGETS = {
  maximumEvaluations: {
    ...BUDGETS.maximumEvaluations,
    help: 'a larger limit of evaluations than the run had',
    defaultHelp: undefined,
  },
  maximumMinutes: { ...BUDGETS.maximumMinutes, help: 'a larger budget in wall time' },
  maximumGpuMinutes: { ...BUDGETS.maximumGpuMinutes, help: 'a larger budget in GPU time' },
  maximumMoney: { ...BUDGETS.maximumMoney, help: 'a larger budget in money' },
} as const satisfies Options;
