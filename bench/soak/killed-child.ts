/**
 * Starts a run, or goes on with the one that lies in the store, with a mark on stdout when it opens the run and one for each event. Made to be
 * killed.
 *
 *     node bench/soak/killed-child.ts '{"store": …, "journal": …, "scenario": …, "evaluations": 40, "pauseMs": 5}'
 */
import { prepareRun, runLoop } from '../../src/app/optimize.ts';
import { resumeRun } from '../../src/app/resume.ts';
import { WarpsmithError } from '../../src/core/errors.ts';
import { createRunFolder, listRuns } from '../../src/store/run-folder.ts';
import { openFakeSession } from './fake-session.ts';
import { requestOf, SCENARIOS } from './scenarios.ts';

export interface ChildRequest {
  store: string;
  journal: string;
  /** One of {@link SCENARIOS}. */
  scenario: string;
  evaluations: number;
  pauseMs: number;
  /** A run of its own, whatever lies in the store. */
  fresh?: boolean;
}

const {
  store,
  journal,
  scenario: name,
  evaluations,
  pauseMs,
  fresh = false,
} = JSON.parse(process.argv[2]!) as ChildRequest;
const scenario = SCENARIOS[name]!;
const openSession = async () => openFakeSession({ kind: scenario.kind, pauseMs, journal });
const onEvent = () => void process.stdout.write('.');

async function start(): Promise<void> {
  const prepared = await prepareRun({ ...requestOf(scenario, store, evaluations), onEvent });
  await using session = await openSession();
  const run = createRunFolder(store, name);
  process.stdout.write('.');
  await runLoop(prepared, session, run, { priors: { patterns: [], costs: [] } });
}

/** @returns false when the run was killed before it had logged that it began. */
async function resume(): Promise<boolean> {
  process.stdout.write('.');
  try {
    await resumeRun({ store, run: 'latest', onEvent }, openSession);
    return true;
  } catch (error) {
    if (error instanceof WarpsmithError && error.details.code === 'nothing-to-resume') return false;
    throw error;
  }
}

if (fresh || listRuns(store).length === 0 || !(await resume())) await start();
