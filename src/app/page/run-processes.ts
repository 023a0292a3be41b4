import { setTimeout as sleep } from 'node:timers/promises';
import { WarpsmithError } from '../../core/errors.ts';
import { commandLine, type RequestOf } from '../../core/requests/request.ts';
import { type OwnCommand, startOwnCommand } from '../../process/own-command.ts';
import { signalProcess } from '../../process/process-group.ts';
import { listRuns, runFolderPath } from '../../store/run-folder.ts';
import { writerOf } from '../../store/writer-lock.ts';
import { storedRun } from './stored-run.ts';

/** What may be asked of a new run; the rest has the defaults of `warpsmith optimize`. */
export type StartRequest = Pick<RequestOf<'optimize'>, 'target' | 'device' | 'workloads' | 'maximumEvaluations'>;

/** A run writes its folder within this time, or has said why not. */
const LONGEST_START_MS = 60_000;
const POLL_MS = 100;

/** The runs that a page starts, resumes and stops: each is a process, as from a command line. */
export interface RunProcesses extends AsyncDisposable {
  /** @returns its id. @throws WarpsmithError `run-not-started` with what the command said. */
  start(request: StartRequest): Promise<string>;
  /** @throws WarpsmithError `run-not-started`, also if another process writes it. */
  resume(id: string): Promise<void>;
  /** As Ctrl-C does, whoever started it. @throws WarpsmithError `run-not-running`. */
  stop(id: string): void;
}

export function openRunProcesses(store: string): RunProcesses {
  const commands = new Set<OwnCommand>();
  const launch = (words: readonly string[]): OwnCommand => {
    const command = startOwnCommand(words);
    commands.add(command);
    command.ended.then(() => commands.delete(command));
    return command;
  };
  const isWrittenBy = ({ pid }: OwnCommand, id: string): boolean => writerOf(runFolderPath(store, id)) === pid;
  return {
    async start(request) {
      const before = new Set(listRuns(store));
      const command = launch(commandLine('optimize', { ...request, store }).slice(1));
      return await begun(command, () => listRuns(store).find((id) => !before.has(id) && isWrittenBy(command, id)));
    },
    async resume(id) {
      const command = launch(commandLine('resume', { run: id, store }).slice(1));
      // Its log says that the run has ended until the command cuts it.
      const isBegun = (): boolean => isWrittenBy(command, id) && storedRun(store, id).run.state === 'running';
      await begun(command, () => (isBegun() ? id : undefined));
    },
    stop(id) {
      const pid = writerOf(runFolderPath(store, id));
      if (pid === undefined) throw notRunning(id);
      signalProcess(pid, 'SIGINT');
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...commands].map((command) => command.close()));
    },
  };
}

/** Waits until a command writes its run. One that ends before may have had nothing to do. */
async function begun(command: OwnCommand, find: () => string | undefined): Promise<string> {
  const deadline = performance.now() + LONGEST_START_MS;
  while (command.isRunning && performance.now() < deadline) {
    const id = find();
    if (id !== undefined) return id;
    await sleep(POLL_MS);
  }
  const { exitCode, said } = command.isRunning ? { exitCode: null, said: 'no run yet' } : await command.ended;
  throw new WarpsmithError({
    code: 'run-not-started',
    message: said.trim() || 'The command ended without a run.',
    received: exitCode === null ? 'no run within a minute' : `exit code ${exitCode}`,
    expected: 'a run that writes its folder',
    hint: 'The same command in a terminal says more.',
  });
}

const notRunning = (id: string): WarpsmithError =>
  new WarpsmithError({
    code: 'run-not-running',
    message: `No process of this machine writes ${id}.`,
    received: id,
    expected: 'a run that is going on',
    hint: 'It may have ended a moment ago.',
  });
