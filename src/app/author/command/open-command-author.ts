import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { EXIT, WarpsmithError } from '../../../core/errors.ts';
import { type AgentWall, findAgentWall } from '../../../process/agent-wall.ts';
import { findExecutable, isExecutableFile } from '../../../process/find-executable.ts';
import { minimalEnvironment } from '../../../process/minimal-environment.ts';
import { packageFolder } from '../../../process/package-folder.ts';
import { sha256 } from '../../../process/sha256.ts';
import { differingFile, hashProblemFiles } from '../../loading/hash-problem-files.ts';
import type { Surroundings } from '../../session.ts';
import { type AuthorOptions, MODEL } from '../author-options.ts';
import { benchOfRun, refusedSubmission } from '../check-submission.ts';
import { describeProblem } from '../describe-problem.ts';
import type { RunAtHand } from '../run-at-hand.ts';
import type { RunTranscript } from '../run-transcript.ts';
import { type AgentCommand, CommandAuthor, type ServeTurn } from './command-author.ts';
import { commandWords } from './command-words.ts';
import { RunTurn, type RunTurnParts } from './run-turn.ts';

export interface CommandAuthorRequest
  extends Omit<RunAtHand, 'seed'>,
    Pick<RunTurnParts, 'problem' | 'workload' | 'start' | 'rungs'> {
  readonly options: AuthorOptions & Pick<Surroundings, 'signal' | 'onStep'> & { readonly store: string };
  readonly serveAgents: ServeTurn | undefined;
  readonly kept: RunTranscript;
}

/** Variables of this process that most programs need; no key is among them. */
const PASSED_ON = [
  ...['HOME', 'USER', 'LOGNAME', 'TERM', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
] as const;

/**
 * The coding agents that write a run's kernels.
 *
 * @throws WarpsmithError `no-agent`, `not-contained`, `no-server`.
 */
export async function openCommandAuthor(request: CommandAuthorRequest): Promise<CommandAuthor> {
  const { options, session, run, problem, workload, start, priors, kept, closing, serveAgents } = request;
  const { author = [], mode, stepEvaluations, stepMinutes, showRungs = false, signal } = options;
  const { agentEnvironment = [], agentReads = [], agentOffline = false, onStep } = options;
  const { recorded, goesOn, record } = kept;
  const words = new Set(author.filter((who) => who !== MODEL));
  const commands = [...words].map((text) => commandOf(text, goesOn));
  const wall = goesOn ? await wallOf(options) : undefined;
  if (goesOn && !serveAgents) throw noServer();
  if (goesOn && !wall) onStep?.(NOT_CONTAINED);
  const known = hashProblemFiles(problem.folder);
  const rungsShown = request.rungs.filter(({ file }) => file.name !== start.kernel.file.name);
  const rungs = showRungs ? rungsShown : [];
  const turn = new RunTurn({ problem, workload, session, start, rungs, showsRungs: showRungs });
  const opened = new CommandAuthor({
    commands,
    mode,
    turn,
    problem: await describeProblem(turn),
    priors,
    share: { evaluations: stepEvaluations, minutes: stepMinutes },
    wall,
    reach: {
      hasNetwork: !agentOffline,
      readable: agentReads.map((path) => resolve(path)),
      hidden: hiddenFrom(problem.folder, options.store),
    },
    environment: { ...minimalEnvironment([...PASSED_ON, ...agentEnvironment]), CUDA_VISIBLE_DEVICES: '' },
    secrets: agentEnvironment.flatMap((name) => process.env[name] || []),
    serve: serveAgents ?? (() => Promise.reject(new Error('a replay serves nobody'))),
    check: (candidate) => refusedSubmission(benchOfRun(session, problem, workload), candidate, signal),
    requireUnchanged: () => requireSame(known, problem.folder),
    recorded: recorded.agents,
    goesOn,
    record,
    keep: (step, files) => void run.replaceFolder(join('steps', `${step}`), files),
    signal,
  });
  closing.use(opened);
  return opened;
}

const NOT_CONTAINED =
  "Agents are not contained: bubblewrap isn't here, doesn't work, or was not wanted. They can read and write what you can.";

function commandOf(text: string, isStarted: boolean): AgentCommand {
  const [word = '', ...args] = commandWords(text);
  const program = word.includes('/') ? (isExecutableFile(word) ? resolve(word) : undefined) : findExecutable(word);
  if (program === undefined && isStarted) throw noAgent(word);
  return { name: nameOf([word, ...args]), program: program ?? word, args };
}

const LONGEST_NAME = 60;
const HASH_DIGITS = 6;

/** For logs and reports, without folders. What is cut off shows in a hash, so that two commands have two names. */
function nameOf(words: readonly string[]): string {
  const shown = words.map((word) => (word.startsWith('/') ? basename(word) : word)).join(' ');
  if (shown.length <= LONGEST_NAME) return `command: ${shown}`;
  return `command: ${shown.slice(0, LONGEST_NAME)}… ${sha256(words.join('\0')).slice(0, HASH_DIGITS)}`;
}

/** @throws WarpsmithError `not-contained`. */
async function wallOf({ contain }: AuthorOptions): Promise<AgentWall | undefined> {
  if (contain === 'never') return undefined;
  const wall = await findAgentWall();
  if (!wall && contain === 'always') throw notContained();
  return wall;
}

/** What would show an agent the answers, or let it at the results. */
const hiddenFrom = (problemFolder: string, store: string): string[] => [
  homedir(),
  resolve(packageFolder('bin'), '..'),
  resolve(problemFolder, '..'),
  resolve(problemFolder),
  resolve(store),
  process.cwd(),
];

function requireSame(known: Readonly<Record<string, string>>, folder: string): void {
  const now = hashProblemFiles(folder);
  const name = differingFile(known, now);
  if (name === undefined) return;
  throw new WarpsmithError({
    code: 'problem-changed',
    message: 'The problem has changed while an agent worked: nothing of it counts any more.',
    file: join(folder, name),
    received: now[name] ?? 'nothing',
    expected: known[name] ?? 'nothing of that name',
    hint: 'Restore it, see who changed it, and contain agents with bubblewrap.',
  });
}

const noAgent = (received: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'no-agent',
      message: "The author's program isn't there, or may not be run.",
      path: '--author',
      received,
      expected: 'a program on the search path, or the path of one',
      hint: 'Install it, or give its path.',
    },
    EXIT.deviceOrToolMissing,
  );

const noServer = (): WarpsmithError =>
  new WarpsmithError({
    code: 'no-agent-server',
    message: 'Nobody serves the agents of --author.',
    path: 'serveAgents',
    received: 'nothing',
    expected: '`serveAgents`, which warpsmith exports; the command line brings it',
    hint: 'Add it to the request.',
  });

const notContained = (): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'not-contained',
      message: 'Agents can’t be contained here.',
      path: '--contain',
      received: 'no bubblewrap that works',
      expected: 'bwrap on the search path, and a system that lets it make namespaces',
      hint: 'Install bubblewrap, or leave --contain always out.',
    },
    EXIT.deviceOrToolMissing,
  );
