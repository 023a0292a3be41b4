import { join } from 'node:path';
import type { DeviceIdentity } from '../../core/device.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { Candidate, KernelFile } from '../../core/kernel.ts';
import type { PlannedLaunch } from '../../core/launch-plan.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import type { TracedPlace, WarpTrace } from '../../core/warp-trace.ts';
import { planLaunches } from '../../evaluation/launches/plan-launches.ts';
import { DEVICE_SPECS } from '../../hardware/device-specs.ts';
import { rooflineChart } from '../../reports/charts/roofline-chart.ts';
import { figureText, goalText, hintsOf, mistakeLines } from '../../reports/documents/lesson-check.ts';
import { buildInspectView, type InspectView } from '../../reports/inspect-view.ts';
import { rooflineOfOne } from '../../reports/view/roofline.ts';
import { kernelTexts } from '../author/kernel-texts.ts';
import { readSubmission } from '../author/submission.ts';
import { rooflineOf } from '../bounds.ts';
import { candidateTarget } from '../candidate-target.ts';
import { judgeLesson, KERNEL_FOLDER } from '../course/check-lesson.ts';
import { findLesson, lessonNumber, numberAfter, readPage } from '../course/lessons.ts';
import { noteSolved } from '../course/progress.ts';
import { holdTexts } from '../hold-texts.ts';
import { loadProblem } from '../loading/load-problem.ts';
import { ensureTrusted } from '../loading/trust.ts';
import { openSession, type Session } from '../session.ts';
import { loadKernelTarget } from '../target.ts';
import { chooseWorkload } from '../workload.ts';

/** What a playground begins with. */
export interface OpenedKernel {
  /** As it was asked for. */
  readonly target: string;
  readonly problem: string;
  readonly description: string;
  /** kernel.json and the sources, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly workloads: readonly { readonly name: string; readonly dimensions: Readonly<Record<string, number>> }[];
  readonly parameters: KernelFile['parameters'];
}

/** A kernel as somebody is writing it. */
export interface Draft {
  /** Whose problem judges it. */
  readonly target: string;
  readonly files: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, number>>;
  /** Its name, or dimensions such as `R=64,N=256`. */
  readonly workload: string;
  /** A virtual one. */
  readonly device: string;
}

/** One step of the launch plan. */
export type ShownLaunch = Pick<PlannedLaunch, 'functionName' | 'grid' | 'block' | 'dynamicSharedBytes'> & {
  readonly step: number;
};

/** What a quick look at a draft shows. */
export interface Look {
  /** Without counters: `lines` has them. */
  readonly evaluation: Omit<Evaluation, 'counters'>;
  readonly view: InspectView;
  readonly launches: readonly ShownLaunch[];
  /** SVG; `null` where the candidate has no place in one. */
  readonly roofline: string | null;
}

/** The lanes of one warp of a draft. */
export interface DraftTrace {
  readonly trace: WarpTrace;
  readonly launch: ShownLaunch;
}

/** Always the same inputs, so that only the draft makes a difference. */
const SEED = 1;
/** Devices that stay open. */
const MOST_SESSIONS = 3;

/** @throws WarpsmithError as `loadKernelTarget`. */
export async function openKernel(target: string): Promise<OpenedKernel> {
  const { kernel, problem } = await loadKernelTarget(target);
  return {
    target,
    problem: problem.file.name,
    description: kernel.file.description ?? '',
    files: kernelTexts(kernel),
    workloads: problem.file.workloads.map(({ name, dimensions }) => ({ name, dimensions })),
    parameters: kernel.file.parameters,
  };
}

/** A lesson with the kernel that it begins with. */
export interface OpenedLesson extends OpenedKernel {
  readonly lesson: {
    readonly name: string;
    readonly number: number;
    readonly title: string;
    readonly device: string;
    readonly workload: string;
    readonly goals: readonly string[];
    /** Markdown. */
    readonly page: string;
  };
}

/** @param text number or name. @throws WarpsmithError `unknown-lesson`. */
export async function openLesson(text: string): Promise<OpenedLesson> {
  const lesson = await findLesson(text);
  const { name, title, device, workload, goals } = lesson.file;
  return {
    ...(await openKernel(join(lesson.folder, KERNEL_FOLDER))),
    lesson: {
      ...{ name, number: Number(lessonNumber(lesson.file)), title, device, workload },
      goals: goals.map((goal) => goalText(goal)),
      page: await readPage(lesson),
    },
  };
}

/** Judges drafts in a hurry, one at a time, on virtual devices that stay open until their process ends. */
export class Workshop {
  readonly #sessions = new Map<string, Session>();

  /**
   * As `warpsmith evaluate --quick`: two checks, counters, a prediction.
   *
   * @throws WarpsmithError for mistakes in files, workloads and parameters; the signal's reason.
   */
  async look(draft: Draft, signal: AbortSignal): Promise<Look> {
    const { problem, candidate, workload, session } = await this.#begin(draft);
    const { spec } = session.device;
    const texts = holdTexts();
    const evaluation = await session.evaluator.evaluate({
      ...{ problem, candidate, workload, seed: SEED, id: 'e0', quick: true, signal },
      keep: { store: texts, sass: false },
    });
    if (evaluation.error) throw new WarpsmithError(evaluation.error);
    const ptx = texts.get(evaluation.artifacts?.ptx ?? '');
    const { sources } = candidate.kernel;
    const view = buildInspectView({ evaluation, label: candidate.kernel.file.name, sources, ptx });
    const { counters: _counters, ...told } = evaluation;
    const roofline = rooflineOfOne(evaluation, rooflineOf(problem.file, workload, spec), workload.cache);
    return {
      evaluation: told,
      view,
      launches: shownLaunches(problem, candidate, workload, session),
      roofline: roofline && rooflineChart(roofline)(ROOFLINE_SIZE).markup,
    };
  }

  /**
   * Judges a draft against the goals of a lesson, as `warpsmith learn check` does.
   *
   * @throws WarpsmithError `unknown-lesson`; as {@link look}.
   */
  async check({ lesson: name, files }: DraftOfLesson, signal: AbortSignal): Promise<JudgedDraft> {
    const lesson = await findLesson(name);
    const candidate = readSubmission({ files }, await loadProblem(lesson.folder));
    const session = await this.#session(lesson.file.device);
    const { evaluation, goals, ...judged } = await judgeLesson(lesson, candidate, session, { signal });
    if (judged.solved) await noteSolved(lesson.file, 'in the playground');
    return {
      solved: judged.solved,
      goals: [
        { text: 'right on every check', holds: judged.isRight, hints: judged.isRight ? [] : mistakeLines(evaluation) },
        ...goals.map((goal) => ({
          text: goalText(goal.goal, goal.limit),
          holds: goal.holds,
          ...(goal.goal.kind === 'figure' &&
            goal.value !== undefined && { got: figureText(goal.goal.figure, goal.value) }),
          hints: goal.holds ? [] : hintsOf(goal),
        })),
        ...judged.notJudged.map((goal) => ({ text: goalText(goal), holds: false, hints: [] })),
      ],
      next: numberAfter(lesson),
    };
  }

  /**
   * A candidate of a run line by line with its PTX, compiled as for its device; nothing runs. `null` where there is no data
   * sheet of the device, whose code only the device's own compiler can tell.
   *
   * @throws WarpsmithError as `candidateTarget`; `does-not-compile`.
   */
  async code({ store, candidate: named }: NamedCandidate, signal: AbortSignal): Promise<InspectView | null> {
    const { candidate, origin, label } = await candidateTarget(named, { store, parameters: {} });
    const { evaluation } = origin!.event;
    const device = virtualLike(evaluation.device);
    if (device === undefined) return null;
    const { compile } = await this.#session(device);
    const { compiled } = await compile!(candidate, signal);
    if (!compiled.ok) throw doesNotCompile(named, compiled.message);
    return buildInspectView({ evaluation, label, sources: candidate.kernel.sources, ptx: compiled.code.text });
  }

  /** Follows one warp. @throws WarpsmithError `no-trace`; as {@link look}. */
  async trace({ draft, place }: { draft: Draft; place: TracedPlace }, signal: AbortSignal): Promise<DraftTrace> {
    const { problem, candidate, workload, session } = await this.#begin(draft);
    const launch = shownLaunches(problem, candidate, workload, session).find(({ step }) => step === place.step);
    refuseUnknownPlace(launch, place);
    const outcome = await session.trace!({ problem, candidate, workload, seed: SEED, place, signal });
    if (!outcome.ok) throw noTrace(outcome.reason);
    return { trace: outcome.trace, launch: launch! };
  }

  async #begin({ target, files, parameters, workload: text, device }: Draft) {
    if (!device.startsWith('virtual:')) throw needsVirtual(device);
    const { problem } = await loadKernelTarget(target);
    await ensureTrusted(problem, { namedBy: 'user' });
    const workload = chooseWorkload(problem.file, text === '' ? undefined : text);
    const candidate = readSubmission({ files, parameters }, problem);
    return { problem, workload, candidate, session: await this.#session(device) };
  }

  /** The device that was used last stays open longest. */
  async #session(device: string): Promise<Session> {
    const session = this.#sessions.get(device) ?? (await openSession({ device }));
    this.#sessions.delete(device);
    this.#sessions.set(device, session);
    const [[oldest, its] = []] = this.#sessions;
    if (this.#sessions.size > MOST_SESSIONS && oldest !== undefined) {
      this.#sessions.delete(oldest);
      await its![Symbol.asyncDispose]();
    }
    return session;
  }
}

/** A lesson's kernel as somebody is writing it. */
export interface DraftOfLesson {
  readonly lesson: string;
  readonly files: Readonly<Record<string, string>>;
}

/** What became of it, goal by goal in words. */
export interface JudgedDraft {
  readonly solved: boolean;
  readonly goals: readonly {
    readonly text: string;
    readonly holds: boolean;
    readonly got?: string;
    readonly hints: readonly string[];
  }[];
  /** Number of the next lesson. */
  readonly next: string | null;
}

/** A candidate of a run, as in `RUN/e12`. */
export interface NamedCandidate {
  readonly store: string;
  readonly candidate: string;
}

/** The virtual device itself, or the one with the data sheet of a real device's board. */
function virtualLike({ id, kind, name }: DeviceIdentity): string | undefined {
  if (kind === 'virtual') return id;
  const spec = [...DEVICE_SPECS.values()].find((one) => name.startsWith(one.name));
  return spec && `virtual:${spec.id}`;
}

const doesNotCompile = (file: string, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'does-not-compile',
    message: 'The candidate does not compile here.',
    file,
    received,
    expected: 'code that compiles, as it did in its run',
  });

export const ROOFLINE_SIZE = { width: 460, height: 300, id: 'roofline' };

function shownLaunches(
  problem: Problem,
  candidate: Candidate,
  { dimensions }: Workload,
  { device: { spec } }: Session,
): ShownLaunch[] {
  return planLaunches({ problem, candidate, dimensions, spec }).steps.flatMap((step, index) => {
    if (step.kind !== 'launch') return [];
    const { functionName, grid, block, dynamicSharedBytes } = step;
    return [{ step: index, functionName, grid, block, dynamicSharedBytes }];
  });
}

const LANES = 32;
const countOf = ([x, y, z]: readonly [number, number, number]): number => x * y * z;

function refuseUnknownPlace(launch: ShownLaunch | undefined, { step, cta, warp }: TracedPlace) {
  if (!launch) throw noTrace(`step ${step} of the launch plan is no launch`);
  const [ctas, warps] = [countOf(launch.grid), Math.ceil(countOf(launch.block) / LANES)];
  if (cta >= ctas) throw noTrace(`the launch has ${ctas} CTAs, from 0 on; there is no CTA ${cta}`);
  if (warp >= warps) throw noTrace(`a CTA has ${warps} warps, from 0 on; there is no warp ${warp}`);
}

const noTrace = (reason: string): WarpsmithError =>
  new WarpsmithError({ code: 'no-trace', message: `The warp can't be followed: ${reason}` });

const needsVirtual = (device: string): WarpsmithError =>
  new WarpsmithError({
    code: 'playground-needs-a-virtual-device',
    message: 'The playground predicts times of kernels that nobody has verified.',
    received: device,
    expected: 'a virtual device',
    hint: 'Use warpsmith evaluate for a real GPU.',
  });
